/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what /proc shows of a process that holds much memory. */
#include "sidecar/sample/large_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/strbuf.h"
#include "lib/units.h"
#include "sidecar/sample/proc_parse.h"
#include "sidecar/sample/proc_stat.h"
#include "sidecar/sample/rootfd.h"

#define TEXT_MAX \
	4096 /* status has about 60 lines; it may name many groups, but VmStk comes before */

/*
 * Returns what follows the label, which begins with the end of the line before; NULL: there is
 * none.
 */
static const char *after_label(const char *text, const char *label)
{
	const char *at = strstr(text, label);

	return at ? at + strlen(label) + strspn(at + strlen(label), " \t") : NULL;
}

static int64_t number_at(const char *text)
{
	return text && *text >= '0' && *text <= '9' ? strtoll(text, NULL, 10) : -1;
}

int64_t large_process_parse_stack(const char *status)
{
	int64_t kib = number_at(after_label(status, "\nVmStk:"));

	return kib < 0 || kib > INT64_MAX / 1024 ? -1 : kib * 1024;
}

int64_t large_process_parse_open_files(const char *limits)
{
	return number_at(after_label(limits, "\nMax open files"));
}

static int64_t read_part(int root_fd, pid_t pid, const char *file,
			 int64_t (*parse)(const char *text))
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TEXT_MAX);
	char path[48];

	snprintf(path, sizeof(path), "proc/%d/%s", (int)pid, file);
	return rootfd_read_no_fuse(root_fd, path, &text, NULL) < 0 ? -1 : parse(strbuf_str(&text));
}

void large_process_read(int root_fd, pid_t pid, struct large_process *ret_process)
{
	int64_t tick_ns = NS_PER_SEC / sysconf(_SC_CLK_TCK);
	char text[PROC_STAT_MAX];
	unsigned long long ticks;

	*ret_process = (struct large_process){
		.pid = pid,
		.stack = read_part(root_fd, pid, "status", large_process_parse_stack),
		.open_files = read_part(root_fd, pid, "limits", large_process_parse_open_files),
	};
	if (proc_stat_read(root_fd, pid, text) && proc_parse_start(text, &ticks) &&
	    ticks < (unsigned long long)(INT64_MAX / tick_ns))
		ret_process->started_ns = (int64_t)ticks * tick_ns;
}
