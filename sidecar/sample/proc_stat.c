/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/stat of a container. */
#include "sidecar/sample/proc_stat.h"

#include <stdio.h>

#include "lib/strbuf.h"
#include "sidecar/sample/proc_parse.h"
#include "sidecar/sample/rootfd.h"

bool proc_stat_read(int root_fd, pid_t pid, char text[static PROC_STAT_MAX])
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(PROC_STAT_MAX - 1);
	char path[40];

	snprintf(path, sizeof(path), "proc/%d/stat", (int)pid);
	if (rootfd_read_no_fuse(root_fd, path, &out, NULL) < 0)
		return false;
	snprintf(text, PROC_STAT_MAX, "%s", strbuf_str(&out));
	return true;
}

bool proc_stat_gone(int root_fd, pid_t pid)
{
	char text[PROC_STAT_MAX];

	return !proc_stat_read(root_fd, pid, text) || proc_parse_dying(text);
}
