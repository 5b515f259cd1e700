/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the kernel counts for the whole machine. */
#include "sidecar/sample/vm_events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/macros.h"
#include "sidecar/sample/rootfd.h"

#define VMSTAT_MAX (64 << 10)

int64_t vm_events_parse_oom_kills(const char *vmstat)
{
	static const char name[] = "\noom_kill ";
	const char *at = strstr(vmstat, name);
	int64_t kills;

	return at && sscanf(at + strlen(name), "%18" SCNd64, &kills) == 1 ? kills : -1;
}

/* LXCFS mounts files of its own over some of /proc, and whoever reads one waits for that server. */
static int proc_read(const char *file, struct strbuf *text)
{
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return rootfd_read_no_fuse(proc_fd, file, text, NULL);
}

int64_t vm_events_oom_kills(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(VMSTAT_MAX);

	if (proc_read("vmstat", &text) < 0)
		return -1;
	return vm_events_parse_oom_kills(strbuf_str(&text));
}

/* Returns the bytes of the line that begins with name; -1: there is none, or it is no number. */
static int64_t meminfo_find(const char *meminfo, const char *name)
{
	const char *at = strstr(meminfo, name);
	int64_t kib;
	int n = 0;

	return at && sscanf(at + strlen(name), "%15" SCNd64 " kB%n", &kib, &n) == 1 && n > 0 &&
			       kib >= 0 ?
		       kib * 1024 :
		       -1;
}

void vm_events_parse_memory(const char *meminfo, struct machine_memory *ret_memory)
{
	int64_t total = meminfo_find(meminfo, "MemTotal:"),
		available = meminfo_find(meminfo, "MemAvailable:");
	int64_t used = total - available - MAX(meminfo_find(meminfo, "Hugetlb:"), (int64_t)0);

	*ret_memory = (struct machine_memory){ 0 };
	if (available >= 0 && used > 0)
		*ret_memory = (struct machine_memory){ .total = total, .used = used };
}

void vm_events_memory(struct machine_memory *ret_memory)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(VMSTAT_MAX);

	proc_read("meminfo", &text);
	vm_events_parse_memory(strbuf_str(&text), ret_memory);
}
