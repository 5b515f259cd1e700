/* SPDX-License-Identifier: Apache-2.0 */
/* Adds backtrace.txt and stacks.txt to a bundle. */
#include "sidecar/ending/gather.h"

#include "lib/log.h"

void gather_crash(struct bundle *b, const struct observer *, struct report *r)
{
	const struct strbuf *s = r->stacks;
	struct err err = { 0 };

	r->backtrace_kept = r->backtrace && r->backtrace->len;
	if (r->backtrace_kept &&
	    bundle_add(b, "backtrace.txt", r->backtrace->data, r->backtrace->len, &err) < 0)
		log_warning_limited("a backtrace was not kept: %s", err_text(&err));
	if (s && s->len && bundle_add(b, "stacks.txt", s->data, s->len, &err) < 0)
		log_warning_limited("stacks were not kept: %s", err_text(&err));
}
