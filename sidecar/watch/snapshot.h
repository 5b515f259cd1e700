/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot holds what one sample of a container shows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sidecar/report/report.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/large_process.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/processes.h"
#include "sidecar/sample/vm_events.h"

/* The memory and the largest processes at one moment. */
struct snapshot {
	int64_t at_ns; /* CLOCK_BOOTTIME; 0: there was no sample yet */
	struct memory memory;
	struct process top[REPORT_TOP_MAX]; /* the largest first */
	size_t n_top;
	uint32_t n_processes;
	int64_t ends; /* process_table_ends; -1: not known */
	struct components components;
	struct zombies zombies;
	struct large_process
		large; /* of top[0], once half of the limit is in use; pid 0: nothing is known */
	int64_t shm_used; /* bytes of the container's /dev/shm; -1: not known */
	struct machine_memory machine;
};

/* Whether that process is among the largest. */
static inline bool snapshot_has(const struct snapshot *s, pid_t pid)
{
	for (size_t i = 0; pid > 0 && i < s->n_top; i++)
		if (s->top[i].pid == pid)
			return true;
	return false;
}

/* The memory of that process, which nobody shares with it; 0: it is not among the largest. */
static inline int64_t snapshot_held(const struct snapshot *s, pid_t pid)
{
	for (size_t i = 0; pid > 0 && i < s->n_top; i++)
		if (s->top[i].pid == pid)
			return process_own(&s->top[i]);
	return 0;
}
