/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up a value on a disk that may not answer. */
#include "sidecar/record/recent.h"

#include <string.h>

#include "lib/macros.h"
#include "lib/units.h"

#define HANGS_NS (2 * NS_PER_SEC)

struct look {
	errand_fill_fn fn;
	const void *arg;
	void *value;
	size_t size;
};

static void fill(int fd, void *arg)
{
	const struct look *l = arg;

	l->fn(l->arg, l->value);
	errand_send(fd, l->value, l->size, -1);
}

static bool on_filled(const void *data, size_t len, int passed_fd, void *arg)
{
	const struct look *l = arg;

	closep(&passed_fd);
	if (len == l->size)
		memcpy(l->value, data, len);
	return false;
}

void recent_look(struct recent *r, errand_fill_fn fn, const void *arg, void *value, size_t size, int64_t now_ns)
{
	struct look l = { .fn = fn, .arg = arg, .value = value, .size = size };

	if (r->errand.pid && errand_wait(&r->errand, 0, on_filled, &l) != ERRAND_ENDED)
		return;
	if (r->looked_ns && now_ns - r->looked_ns < r->spacing_ns)
		return;
	if (errand_start(&r->errand, fill, &l, NULL) < 0)
		return;
	r->looked_ns = now_ns;
	errand_wait(&r->errand, RECENT_WITHIN_NS, on_filled, &l);
}

bool recent_hangs(struct recent *r, int64_t now_ns)
{
	return errand_age_ns(&r->errand, now_ns) >= HANGS_NS;
}

void recent_release(struct recent *r)
{
	errand_cancel(&r->errand);
}
