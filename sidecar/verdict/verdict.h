/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A verdict: what killed the process or the container, how certain that is, and what it rests on.
 */
#pragma once

#include <stdint.h>

#include "lib/failure_class.h"
#include "lib/macros.h"
#include "sidecar/sample/isolation.h"

#define EVIDENCE_MAX 8
#define MISSING_MAX 8
#define EVIDENCE_TEXT_MAX 440 /* a line of Ray's logs and some words of ours */

struct evidence {
	const char *source; /* "memory.events", "wait status", ...: static text */
	char text[EVIDENCE_TEXT_MAX];
};

struct missing {
	char what[160], needs[320];
};

/* The process that ended first. */
struct verdict_process {
	char name
		[48]; /* for Ray's own processes the name that Ray uses, such as "raylet"; "": not known */
	int pid; /* in the container's PID namespace; 0: not known */
	int signal; /* 0: none */
	int exit_code; /* -1: a signal ended the process, or the code is not known */
	char worker_id[60]; /* Ray's ID of a worker, hexadecimal; "": not known */
};

struct verdict {
	enum failure_class class;
	enum confidence confidence;
	int exit_code; /* as in a shell, 128+N after signal N; -1 unknown */
	int signal; /* 0: none */
	/*
	 * The memory limit at which the OOM killer came, bytes; 0: not known, or the container's
	 * own.
	 */
	int64_t limit;
	struct verdict_process process; /* the process that ended first */
	/* with limit: the part of Ray's resource isolation that it limits */
	enum isolation_part isolation;
	/* Ray had refused an object shortly before, because the disk to which it spills was full */
	bool object_refused;
	/* the command ended for reasons of its own, and stopped the Ray that it had started */
	bool stopped_its_ray;
	char sentence[320];
	struct evidence evidence[EVIDENCE_MAX];
	unsigned int n_evidence;
	struct missing missing[MISSING_MAX];
	unsigned int n_missing;
};

/*
 * Sets what happened and how sure that is, with its sentence; verdict_say sets the sentence alone.
 */
void verdict_set(struct verdict *v, enum failure_class class, enum confidence confidence,
		 const char *fmt, ...) _printf_(4, 5);
void verdict_say(struct verdict *v, const char *fmt, ...) _printf_(2, 3);
/*
 * Continues in place of the full stop: "; before, it had ...". A sentence that was cut stays as it
 * is.
 */
void verdict_continue(struct verdict *v, const char *fmt, ...) _printf_(2, 3);

/* Each adds a line to the verdict. When the list is full, the line is dropped. */
void verdict_add_evidence(struct verdict *v, const char *source, const char *fmt, ...)
	_printf_(3, 4);
void verdict_add_missing(struct verdict *v, const char *what, const char *needs);
