/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.log and syslog.log of a bundle. */
#include "sidecar/record/gather_kernel_log.h"

#include <string.h>

#define SYSLOG_MAX (64 * 1024)

void gather_kernel_log(struct bundle *b, const struct observer *o, struct report *r)
{
	_cleanup_strbuf_ struct strbuf syslog = STRBUF_INIT(SYSLOG_MAX);
	const struct kernel_log *k = &o->kernel;

	if (k->excerpt)
		bundle_add(b, "kernel.log", k->excerpt, strlen(k->excerpt), NULL);
	if (!k->options.syslog)
		return;
	if (kernel_log_syslog_tail(k->options.syslog, &syslog, NULL) < 0)
		verdict_add_missing(&r->verdict, "syslog", "a readable file where --syslog says, or in that directory");
	else
		bundle_add(b, "syslog.log", strbuf_str(&syslog), syslog.len, NULL);
}
