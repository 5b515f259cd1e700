/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signature of a failure: a short text that is equal for equal causes and
 * differs for different ones, whatever pod, node or moment it happened in. Pure.
 *
 *   v1:CLASS:PROCESS-OR-TASK:DETAIL
 *
 * CLASS is the name of the failure class. PROCESS-OR-TASK is what died first: a task
 * or actor ("task/leak"), one of Ray's own processes ("raylet"), a process by its
 * name, or else the container. DETAIL is the inner signal, the function that the
 * backtrace blames and the user's Python function, or the exit code, and what is
 * known of the cause. A '?' at the end says that nothing is known of the cause: failures
 * with that signature may have different causes and must not be counted as the same.
 *
 * It is at most 192 bytes of [A-Za-z0-9] and ".:_/+-=,@#~?", so it needs no quoting
 * in JSON, YAML, HTML, a shell or an annotation. Numbers, PIDs, addresses, hexadecimal
 * ids, generated parts of pod names and directories are replaced by '#' or left out.
 * docs/signatures.md describes the text for users.
 */
#pragma once

#include <stdbool.h>

#include "lib/failure_class.h"
#include "sidecar/crash/crash_info.h"
#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

#define SIGNATURE_MAX 193 /* with its NUL */

/*
 * What a signature is made of. Texts come from the user's container and may contain anything; NULL
 * or "": not known.
 */
struct signature_cause {
	enum failure_class class;
	const char *container;
	const char *
		who; /* task, actor or process that died first, as people know it: "ray::leak", "raylet" */
	int signal; /* the signal that ended it; 0: none is known */
	/* the command's own exit code; -1: none, or it says no more than the class */
	int exit_code;
	const struct crash_info *crash; /* from its core; NULL: there is no core */
	/* without a backtrace: the file in which it crashed, according to the kernel */
	const char *module;
	const char *words; /* one line about the cause, in Ray's or a library's words */
	int xid; /* the Xid error of a GPU that failed; 0: none */
	bool cause_unknown; /* the other fields say how it ended, but not why */
};

/* Makes the signature. The result is always valid, whatever the texts contain. */
void signature_make(const struct signature_cause *c, char ret_signature[static SIGNATURE_MAX]);

/*
 * Makes the signature of a verdict. largest: the name of the largest process at the end, used for a
 * kill if its victim is not known; "": none.
 */
void signature_of(const struct observation *o, const struct verdict *v, const char *largest,
		  char ret_signature[static SIGNATURE_MAX]);

/* Whether nothing is known of the cause, so that equal signatures do not mean equal causes. */
bool signature_is_weak(const char *signature);
