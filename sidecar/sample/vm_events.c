/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the kernel counts for the whole machine. */
#include "sidecar/sample/vm_events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/fileio.h"

#define VMSTAT_MAX (64 << 10)

int64_t vm_events_parse_oom_kills(const char *vmstat)
{
	static const char name[] = "\noom_kill ";
	const char *at = strstr(vmstat, name);
	int64_t kills;

	return at && sscanf(at + strlen(name), "%18" SCNd64, &kills) == 1 ? kills : -1;
}

int64_t vm_events_oom_kills(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(VMSTAT_MAX);

	if (file_read(AT_FDCWD, "/proc/vmstat", &text, NULL) < 0)
		return -1;
	return vm_events_parse_oom_kills(strbuf_str(&text));
}
