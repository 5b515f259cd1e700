/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the kernel counts for the whole machine: /proc/vmstat and /proc/meminfo are the same
 * in all containers, but where LXCFS stands in the place of one. That file is not read: it is a
 * container's, and its server may not answer.
 */
#pragma once

#include <stdint.h>

/* Returns oom_kill of /proc/vmstat; -1 if there is none (it needs Linux 4.13). Pure. */
int64_t vm_events_parse_oom_kills(const char *vmstat);

/*
 * Returns how many processes the OOM killer has killed on this machine, in any memory cgroup; -1:
 * not known. The kernel counts before it sends the signal.
 */
int64_t vm_events_oom_kills(void);

struct machine_memory {
	int64_t total; /* bytes; 0: not known */
	/*
	 * bytes that the kernel cannot take back for others, without huge pages that were set aside
	 */
	int64_t used;
};

/* Reads it from /proc/meminfo (MemTotal, MemAvailable, Hugetlb; Linux 3.14, 4.16). */
void vm_events_memory(struct machine_memory *ret_memory);
void vm_events_parse_memory(const char *meminfo, struct machine_memory *ret_memory); /* pure */
