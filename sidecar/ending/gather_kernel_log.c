/* SPDX-License-Identifier: Apache-2.0 */
/* Adds kernel.log and syslog.log to a bundle. */
#include "sidecar/ending/gather.h"

#include <string.h>

#include "lib/syslog_lines.h"

#define SYSLOG_MAX (64 * 1024)
#define SYSLOG_SEARCHED_MAX (4 << 20) /* on a node, most lines are about other pods */

/*
 * Reads the syslog file. In a pod the file is that of the node, so only lines that concern the pod
 * are kept. Elsewhere it is that of the machine, and all lines are kept.
 */
static int read_syslog(const struct kernel_log *k, const char *pod, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf all = STRBUF_INIT(SYSLOG_SEARCHED_MAX);
	const struct syslog_subject subject = { k->pod_uid, pod, k->cgroup };

	if (!k->pod_uid)
		return kernel_log_syslog_tail(k->options.syslog, SYSLOG_MAX, out, NULL);
	int rc = kernel_log_syslog_tail(k->options.syslog, SYSLOG_SEARCHED_MAX, &all, NULL);
	if (rc >= 0)
		syslog_lines_of(strbuf_str(&all), all.len, &subject, SYSLOG_MAX, out);
	return rc;
}

void gather_kernel_log(struct bundle *b, const struct observer *o, struct report *r)
{
	_cleanup_strbuf_ struct strbuf syslog = STRBUF_INIT(SYSLOG_SEARCHED_MAX);
	const struct kernel_log *k = &o->kernel;

	if (k->excerpt)
		bundle_add(b, "kernel.log", k->excerpt, strlen(k->excerpt), NULL);
	if (!k->options.syslog && k->node_syslog && k->node_syslog->len > 0)
		bundle_add(b, "syslog.log", strbuf_str(k->node_syslog), k->node_syslog->len, NULL);
	if (!k->options.syslog)
		return;
	if (read_syslog(k, r->id.pod, &syslog) < 0)
		verdict_add_missing(
			&r->verdict, "syslog",
			k->pod_uid ?
				"recording.syslog.group: the group that may read the node's file, such as 4 (adm)" :
				"a readable file where --syslog says, or in that directory");
	else if (syslog.len > 0)
		bundle_add(b, "syslog.log", strbuf_str(&syslog), syslog.len, NULL);
}
