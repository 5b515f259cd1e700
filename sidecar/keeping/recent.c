/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up a value on a disk that may not answer. */
#include "sidecar/keeping/recent.h"

#include "lib/units.h"

#define HANGS_NS (2 * NS_PER_SEC)

void recent_look(struct recent *r, errand_fill_fn fn, const void *arg, void *value, size_t size,
		 int64_t now_ns)
{
	errand_take(&r->errand, value, size);
	if (r->errand.pid || (r->looked_ns && now_ns - r->looked_ns < r->spacing_ns))
		return;
	if (errand_ask(&r->errand, fn, arg, value, size, NULL) >= 0)
		r->looked_ns = now_ns;
}

bool recent_hangs(const struct recent *r, int64_t now_ns)
{
	/* errand_busy would throw away an answer that was not taken. */
	return r->errand.pid && now_ns - r->errand.since_ns >= HANGS_NS;
}

void recent_release(struct recent *r)
{
	errand_cancel(&r->errand);
}
