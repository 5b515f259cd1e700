/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was seen, newest first to be forgotten last: every sample of the last
 * seconds, and one a second of the minutes before. Bounded, in one allocation.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_HISTORY_H
#define AFTERGLOW_SIDECAR_SAMPLE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/sample/memcg.h"
#include "sidecar/sample/proc_parse.h"

#define SAMPLE_TOP 5

struct sample {
	int64_t at_ns; /* CLOCK_BOOTTIME */
	struct memory memory;
	uint32_t n_processes; /* of the container */
	uint32_t n_top;
	struct {
		pid_t pid;
		int64_t rss, shared;
		char name[PROCESS_NAME_MAX];
	} top[SAMPLE_TOP]; /* largest RSS-SHR first */
};

struct history;

struct history *history_new(void); /* NULL: no memory */
void history_free(struct history *h);
void history_add(struct history *h, const struct sample *s);

/* Calls fn for each sample, oldest first. */
void history_each(const struct history *h, void (*fn)(const struct sample *s, void *arg), void *arg);

/* The newest sample, NULL while there is none. Valid until the next history_add. */
const struct sample *history_last(const struct history *h);

#endif
