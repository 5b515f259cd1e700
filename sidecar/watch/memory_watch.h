/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a container for memory that grows for hours. It watches the anonymous memory as a whole
 * (neither page cache nor the object store, which are full by design), and that of the processes
 * that live as long as the Ray node: gcs_server, raylet, the dashboard, drivers. It uses the
 * readings of the samples twice a minute, and decides every five minutes. The history takes 12 KiB
 * of memory and ends with the sidecar. Growth is reported until there was none for half an hour.
 */
#pragma once

#include <cjson/cJSON.h>

#include "sidecar/sample/components.h"
#include "sidecar/sample/long_trend.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/processes.h"

#define MEMORY_WATCH_EVERY_NS (30 * NS_PER_SEC)
#define MEMORY_WATCH_PROCESSES_MAX 8

struct memory_forecast {
	struct long_growth growth; /* rate 0: nothing grows */
	int64_t bytes; /* of what grows, at the last reading */
	int64_t limit; /* of the container */
	/* the process with the greater part of the growth; 0: no single watched process has it */
	pid_t pid;
	char process[PROCESS_NAME_MAX]; /* its name, "" without one */
};

enum memory_change { MEMORY_SAME, MEMORY_BEGAN_TO_GROW, MEMORY_CEASED_TO_GROW };

/* Must be initialized to { 0 }. */
struct memory_watch {
	struct memory_forecast forecast; /* as of the last five minutes in which there was growth */
	/* Private: */
	struct long_trend all;
	struct watched_memory {
		pid_t pid;
		enum component_kind kind;
		bool seen; /* in the look that is under way */
		int64_t own; /* bytes */
		char name[PROCESS_NAME_MAX];
		struct long_trend trend;
	} list[MEMORY_WATCH_PROCESSES_MAX];
	size_t n;
	int64_t looked_ns, judged;
	unsigned quiet; /* consecutive decisions without growth */
};

/*
 * To be called after each sample. t may be NULL. Does nothing if the last reading is younger than
 * MEMORY_WATCH_EVERY_NS.
 */
enum memory_change memory_watch_poll(struct memory_watch *w, const struct memory *m,
				     const struct process_table *t, int64_t now_ns);

/*
 * The parts of memory_watch_poll, for the tests: begin a reading (false: it is not due yet), add
 * each process, decide.
 */
bool memory_watch_begin(struct memory_watch *w, const struct memory *m, int64_t now_ns);
void memory_watch_process(struct memory_watch *w, const struct process *p);
enum memory_change memory_watch_end(struct memory_watch *w, const struct memory *m);

/*
 * Writes "gcs_server (PID 42) holds 1.2 GiB and has grown by 20.0 MiB per hour for 4 h 0 min: at
 * that rate the container ...". Returns text.
 */
const char *memory_watch_describe(const struct memory_forecast *f, char *text, size_t size);
/*
 * Returns the same with all figures, for the caller to free: {"sentence", "process", "pid",
 * "bytes", "growthBytesPerHour", "grewSeconds", "limitBytes", "secondsLeft"}.
 */
cJSON *memory_watch_to_json(const struct memory_forecast *f);
