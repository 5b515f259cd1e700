/* SPDX-License-Identifier: Apache-2.0 */
/* Forecasts from what Ray has spilled when the disk will be full. */
#include "sidecar/ray/spill.h"

#include <stdio.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/span.h"

#define WATCHED_MIN_NS (30 * NS_PER_SEC) /* a shorter burst is no trend */
#define GROWTH_MIN (INT64_C(64) << 20) /* bytes over the window */
#define BYTES_MAX (INT64_C(1) << 55)
#define LOGS_WORTH_SAYING (INT64_C(64) << 20) /* bytes */

bool spill_state_parse(const char *text, size_t len, int64_t *ret_bytes)
{
	struct span rest = span_after((struct span){ text, len }, "num bytes currently spilled: ");
	int64_t value;

	/* The number may be incomplete if it ends with the text. */
	if (!span_number(&rest, BYTES_MAX, &value) || !rest.len)
		return false;
	*ret_bytes = value;
	return true;
}

static void readings_add(struct spill_readings *s, int64_t at_ns, int64_t bytes)
{
	/* The time before the first byte says nothing about the rate. */
	if (s->n > 0 && (bytes == 0 || bytes < s->points[s->n - 1].bytes / 2))
		s->n = 0;
	if (s->n == SPILL_POINTS_MAX) {
		memmove(&s->points[0], &s->points[1],
			(SPILL_POINTS_MAX - 1) * sizeof(s->points[0]));
		s->n--;
	}
	s->points[s->n].at_ns = at_ns;
	s->points[s->n++].bytes = bytes;
}

void spill_add(struct spill *s, int64_t at_ns, int64_t objects, int64_t logs)
{
	readings_add(&s->objects, at_ns, objects);
	readings_add(&s->logs, at_ns, logs);
}

static int64_t rate_of(const struct spill_readings *s)
{
	if (s->n < 2)
		return 0;
	int64_t span = s->points[s->n - 1].at_ns - s->points[0].at_ns;
	int64_t growth = s->points[s->n - 1].bytes - s->points[0].bytes;
	if (span < WATCHED_MIN_NS || growth < GROWTH_MIN)
		return 0;
	return (int64_t)((double)growth / ((double)span / (double)NS_PER_SEC));
}

static void find_bound(const struct spill_disk *disk, struct spill_forecast *f)
{
	if (disk->total > 0) {
		f->bound = SPILL_FILESYSTEM;
		f->room =
			MAX(disk->available - (int64_t)(SPILL_KUBELET_SHARE * (double)disk->total),
			    (int64_t)0);
	}
	if (disk->limit > 0 && (f->bound == SPILL_NO_BOUND ||
				MAX(disk->limit - f->bytes - disk->logs, (int64_t)0) < f->room)) {
		f->bound = SPILL_LIMIT;
		f->room = MAX(disk->limit - f->bytes - disk->logs, (int64_t)0);
	}
}

void spill_forecast(const struct spill *s, const struct spill_disk *disk,
		    struct spill_forecast *ret_forecast)
{
	struct spill_forecast f = SPILL_FORECAST_NONE;

	if (s->objects.n > 0) {
		f.bytes = s->objects.points[s->objects.n - 1].bytes;
		f.rate = rate_of(&s->objects) + rate_of(&s->logs);
		find_bound(disk, &f);
		if (f.rate > 0 && f.bound != SPILL_NO_BOUND)
			f.left_ns = (int64_t)MIN(
				(double)f.room / (double)f.rate * (double)NS_PER_SEC, 9e18);
	}
	*ret_forecast = f;
}

static int step_of(int64_t left_ns)
{
	if (left_ns < 0 || left_ns > SPILL_WARN_NS)
		return 0;
	return left_ns > SPILL_URGENT_NS ? 1 : 2;
}

bool spill_warns(struct spill *s, const struct spill_forecast *f)
{
	int step = step_of(f->left_ns);

	if (step > s->warned) {
		s->warned = step;
		return true;
	}
	if (f->left_ns < 0 || f->left_ns > 2 * SPILL_WARN_NS)
		s->warned = 0;
	return false;
}

const char *spill_describe(const struct spill_forecast *f, const struct spill_disk *disk,
			   const char *where, char *text, size_t size)
{
	char bytes[SIZE_TEXT_MAX];
	bool logs = disk->logs >= LOGS_WORTH_SAYING, alone = logs && f->bytes <= 0;
	size_t n = (size_t)snprintf(text, size, "%s%s%s",
				    alone ? "on the disk of" :
					    size_format((uint64_t)MAX(f->bytes, (int64_t)0), bytes),
				    alone ? " " : " of objects are spilled to ", where);

	if (n < size && logs)
		n += (size_t)snprintf(text + n, size - n, "%s Ray's logs take up %s",
				      alone ? "" : " and", SIZE_TEXT(disk->logs));
	if (n < size && disk->total > 0)
		n += (size_t)snprintf(text + n, size - n, ", %s of %s available there",
				      SIZE_TEXT(disk->available), SIZE_TEXT(disk->total));
	if (n < size && disk->limit > 0)
		n += (size_t)snprintf(text + n, size - n, ", ephemeral-storage limit %s",
				      SIZE_TEXT(disk->limit));
	if (n < size && f->left_ns >= 0)
		snprintf(text + n, size - n, "; at +%s/s %s in %s", SIZE_TEXT(f->rate),
			 f->bound == SPILL_LIMIT ? "the limit is met" :
						   "less than 10 % of it is left",
			 DURATION_TEXT(f->left_ns));
	return text;
}
