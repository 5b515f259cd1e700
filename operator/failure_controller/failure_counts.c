/* SPDX-License-Identifier: Apache-2.0 */
/* Counts RayFailures, and keeps the last of each kind. */
#include "operator/failure_controller/failure_counts.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/utf8.h"

#define PART_MAX 63 /* limit of a namespace's name and of a label's value, in bytes */
#define NAME_MAX_BYTES 253 /* limit of an object's name */

struct failure_count {
	double n;
	int64_t first_ns, last_ns;
	double ended_s; /* Unix time at which the last failure ended */
	char *last; /* the labels of that failure; NULL: there was no memory */
};

static void failure_count_free(void *value)
{
	struct failure_count *count = value;

	if (count)
		free(count->last);
	free(count);
}

void failure_counts_release(struct failure_counts *counts)
{
	namespace_map_release(&counts->series, failure_count_free);
}

/* Drops the oldest series of the namespace that has most, so that a tenant displaces its own. */
static void failure_counts_make_room(struct failure_counts *counts)
{
	const struct failure_count *drop = NULL;
	const char *key, *drop_key = NULL;
	size_t most = 0;
	void *value;

	strmap_each(&counts->series.map, &key, &value) {
		const struct failure_count *count = value;
		size_t n = namespace_share_of(&counts->series.share, key);

		if (!drop || n > most || (n == most && count->last_ns < drop->last_ns)) {
			drop = count;
			drop_key = key;
			most = n;
		}
	}
	if (drop)
		failure_count_free(namespace_map_remove(&counts->series, drop_key));
}

static struct failure_count *failure_counts_count_of(struct failure_counts *counts, const char *key,
						     int64_t now_ns)
{
	struct failure_count *count = strmap_get(&counts->series.map, key);

	if (count)
		return count;
	if (counts->series.map.n >= FAILURE_COUNTS_MAX)
		failure_counts_make_room(counts);
	count = namespace_map_get_or_add(&counts->series, key, sizeof(*count), SIZE_MAX);
	if (count)
		count->first_ns = now_ns;
	return count;
}

/*
 * Adds a label, unless its value is missing. Anybody may have chosen the value: it is escaped and
 * cut.
 */
static void failure_counts_add_label(struct strbuf *out, const char *name, const char *value,
				     size_t max)
{
	size_t len = value ? strnlen(value, max) : 0;

	if (!len)
		return;
	strbuf_addf(out, "%s%s=\"", out->len ? "," : "", name);
	for (size_t i = 0, end = value[len] ? utf8_cut(value, len) : len; i < end; i++) {
		if (value[i] == '"' || value[i] == '\\')
			strbuf_addc(out, '\\');
		strbuf_addc(out, (unsigned char)value[i] < ' ' ? ' ' : value[i]);
	}
	strbuf_addc(out, '"');
}

/* Adds what a failure is of: the labels that both metrics have. */
static void failure_counts_add_place(struct strbuf *out, const cJSON *failure)
{
	/* clang-format off */
	static const char *const labels[][2] = {
		{ "namespace", "metadata.namespace" }, { "cluster", "spec.cluster" }, { "owner_kind", "spec.owner.kind" },
		{ "owner_name", "spec.owner.name" },   { "class", "spec.class" },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		failure_counts_add_label(out, labels[i][0], json_str(failure, labels[i][1]),
					 PART_MAX);
}

/* Remembers the failure as the last one of its series. */
static void failure_count_keep(struct failure_count *count, const cJSON *failure,
			       bool quote_verdicts)
{
	struct strbuf out = STRBUF_INIT(METRIC_LABELS_MAX);
	int64_t ended_ns;

	failure_counts_add_place(&out, failure);
	failure_counts_add_label(&out, "failure", json_str(failure, "metadata.name"),
				 NAME_MAX_BYTES);
	failure_counts_add_label(&out, "verdict",
				 quote_verdicts ? json_str(failure, "spec.verdict") : NULL,
				 FAILURE_COUNTS_TEXT_MAX);
	failure_counts_add_label(&out, "advice",
				 quote_verdicts ? json_str(failure, "spec.advice") : NULL,
				 FAILURE_COUNTS_TEXT_MAX);
	free(count->last);
	count->last = strbuf_detach(&out);
	count->ended_s =
		json_time(failure, "spec.endedAt", &ended_ns) ? (double)(ended_ns / NS_PER_SEC) : 0;
}

void failure_counts_add(struct failure_counts *counts, const cJSON *failure, int64_t now_ns)
{
	_cleanup_strbuf_ struct strbuf labels = STRBUF_INIT(METRIC_LABELS_MAX);
	_cleanup_strbuf_ struct strbuf key = STRBUF_INIT(METRIC_LABELS_MAX);

	failure_counts_add_place(&labels, failure);
	failure_counts_add_label(&labels, "container", json_str(failure, "spec.container"),
				 PART_MAX);
	failure_counts_add_label(&labels, "confidence", json_str(failure, "spec.confidence"),
				 PART_MAX);
	strbuf_addf(&key, "%s %s", json_str_or(failure, "metadata.namespace", ""),
		    strbuf_str(&labels));
	if (strbuf_failed(&labels) || strbuf_failed(&key))
		return;
	struct failure_count *count = failure_counts_count_of(counts, strbuf_str(&key), now_ns);
	if (!count)
		return;
	count->n++;
	count->last_ns = now_ns;
	failure_count_keep(count, failure, counts->quote_verdicts);
}

void failure_counts_publish(const struct failure_counts *counts, int64_t now_ns,
			    struct metrics *metrics)
{
	const char *key;
	void *value;

	metrics_forget(metrics, METRIC_FAILURES);
	metrics_forget(metrics, METRIC_FAILURE_LAST);
	strmap_each(&counts->series.map, &key, &value) {
		const struct failure_count *count = value;
		bool is_new = now_ns - count->first_ns < FAILURE_COUNTS_ZERO_NS;

		metrics_set(metrics, METRIC_FAILURES, is_new ? 0 : count->n, "%s",
			    strchr(key, ' ') + 1);
		if (count->last && now_ns - count->last_ns < FAILURE_COUNTS_LAST_NS)
			metrics_set(metrics, METRIC_FAILURE_LAST, count->ended_s, "%s",
				    count->last);
	}
}
