/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps how much memory the runs of each task and actor of a container had at most. Pure: the
 * process table (processes.h) says when a run begins, what it holds and when it ends.
 *
 * A run is a process as long as its title names the same task or actor, and its memory is RSS-SHR
 * of the process and of its children together. A worker that runs one task several times without a
 * pause between them shows as one run, and a run between two samples does not show at all: so the
 * numbers of runs are what was seen, and never more than there were.
 *
 * A Ray container can set any title. There are TASK_NAMES_MAX names; if another comes, the one that
 * needs least and does not run is counted among the others. If all names run, the new one is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/sample/proc_parse.h"

#define TASK_NAMES_MAX 64
#define TASK_OTHERS TASK_NAMES_MAX /* the place of all other names together */
/*
 * The distribution of peaks: four buckets for each doubling, so that a quantile is at most 19 % too
 * large. The first ends at a MiB, and the last has everything from 724 GiB on.
 */
#define TASK_BUCKETS 80
/* Names that metrics may have; such a name keeps its place. */
#define TASK_LABELS_MAX 16
#define TASK_LABEL_FROM ((int64_t)64 << 20) /* bytes of its peak */

struct task_need {
	char name[PROCESS_NAME_MAX]; /* of the component: "ray::NAME" */
	bool labelled; /* one of the TASK_LABELS_MAX names */
	uint32_t running; /* runs that have not ended */
	uint32_t at_once; /* the most that ran in one sweep */
	uint64_t runs; /* that were seen, with those that have not ended */
	int64_t peak; /* bytes */
	uint32_t by_peak[TASK_BUCKETS]; /* runs whose own peak is in that bucket */
};

struct task_memory {
	struct task_need list[TASK_NAMES_MAX + 1];
	uint32_t n, n_labelled;
	/* the most that all processes but those of tasks and idle workers had, bytes */
	int64_t beside;
};

/* Begins a run, whose peak is 0 at first. Returns the place of its name. */
unsigned int task_memory_begin(struct task_memory *m, const char *name);
/* Notes that the peak of a run has risen. */
void task_memory_raise(struct task_memory *m, unsigned int place, int64_t from, int64_t to);
void task_memory_end(struct task_memory *m, unsigned int place);
/* To be called after each sweep. beside: as above, now. */
void task_memory_swept(struct task_memory *m, int64_t beside);

/* The largest peak that the bucket counts, bytes. */
int64_t task_bucket_top(unsigned int bucket);
