/* SPDX-License-Identifier: Apache-2.0 */
/* What one record of a Ray log says. */
#pragma once

#include <sys/types.h>

#include "sidecar/ray/ray_process.h"

/* Bytes of what is kept of a line, a final NUL among them. */
#define RAY_LINE_TEXT_MAX 400

enum ray_kind {
	RAY_NOTHING,
	RAY_MEMORY_KILL, /* Ray's memory monitor killed a worker */
	RAY_WORKER_CRASH, /* a worker died, and Ray did not end it */
	RAY_NO_ENVIRONMENT, /* a runtime environment could not be made, so no worker started */
	RAY_FDS_EXHAUSTED, /* "Too many open files" */
	RAY_DAEMON_CRASH, /* a signal ended raylet or the GCS, and its handler could log that */
	RAY_NODE_LOST, /* a node's health check failed, or it was declared dead */
	RAY_PROCESS_EXITED, /* `ray start` says that a child of it did not end in order */
	RAY_AGENT_FAILED, /* raylet says that it ends because one of its agents has ended */
	RAY_GCS_LOST, /* raylet ends: it does not reach the GCS any more, or a GCS that knows it */
	RAY_GAVE_UP, /* raylet or the GCS server aborts itself: "Check failed: ..." */
	RAY_STOPPED, /* raylet or the GCS server was asked to stop with SIGTERM */
	/* raylet says that the disk to which it spills objects is too full for more of them */
	RAY_DISK_FULL,
	/* raylet refused to create an object, because it had nowhere to spill others */
	RAY_OBJECT_REFUSED,
	/* raylet says something about its resource isolation; detail is a sentence of ours */
	RAY_ISOLATION,
	/*
	 * the autoscaler says, again and again, that no node can have a request; detail is the
	 * request
	 */
	RAY_INFEASIBLE,
	RAY_SUMMARY, /* how many workers were killed and crashed in the last minute */
};

/*
 * What one record says. Texts are one line of valid UTF-8 without control characters, "" if the
 * record does not have them.
 */
struct ray_event {
	enum ray_kind kind;
	pid_t pid; /* in the container's PID namespace; 0: not in the record */
	unsigned int workers; /* how many were killed at once; pid and task are the first one's */
	char worker_id[60]; /* hexadecimal */
	char task[96]; /* "ray::leak" */
	char held[24]; /* what Ray says the worker held: "0.71GB" */
	char memory[80]; /* "1.42GB used / 1.46GB limit (0.972349)" */
	char detail
		/* why: the exceeded threshold, the worker's exit detail, the line itself */
		[RAY_LINE_TEXT_MAX];
	char table
		[1600]; /* Ray's own table, "PID\tMEM(GB)\tCOMMAND" and rows, each ended by a newline */
	unsigned int killed, crashed; /* with RAY_SUMMARY */
	/* the process of Ray's own that the record is about, if it is about one */
	enum ray_process_kind process;
	/* the process that wrote a record about Ray's own, by the record's head; 0: not in it */
	pid_t writer;
	int returncode; /* of RAY_PROCESS_EXITED, as Python counts: -9 after SIGKILL */
};
