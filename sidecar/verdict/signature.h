/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signature of a failure: a short text that is equal for equal causes and
 * differs for different ones, whatever pod, node or moment it happened in. Pure.
 *
 *   v1:CLASS:PROCESS-OR-TASK:DETAIL
 *
 * CLASS is the name of the failure class. PROCESS-OR-TASK is who died first: a task
 * or actor ("task/leak"), one of Ray's own processes ("raylet"), a process by its
 * name, or else the container. DETAIL is the inner signal, the function that the
 * backtrace blames and the user's Python function, or the exit code, and what is
 * known of the cause. A '?' at the end says that nothing is known of the cause: equal
 * ones may then have different causes, so nobody should count them as one.
 *
 * It is at most 192 bytes of [A-Za-z0-9] and ".:_/+-=,@#~?", so it needs no quoting
 * in JSON, YAML, HTML, a shell or an annotation. Numbers, PIDs, addresses, hexadecimal
 * ids, generated parts of pod names and directories are replaced by '#' or left out.
 * docs/signatures.md describes the text for users.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_SIGNATURE_H
#define AFTERGLOW_SIDECAR_VERDICT_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/failure_class.h"
#include "sidecar/crash/crash_info.h"
#include "sidecar/verdict/classify.h"

#define SIGNATURE_MAX 193 /* with its NUL */

/* What a signature is made of. Texts come from the user's container and may hold anything; NULL or "": not known. */
struct signature_cause {
	enum failure_class class;
	const char *container;
	const char *who; /* task, actor or process that died first, as people know it: "ray::leak", "raylet" */
	int signal; /* that ended it; 0: none is known */
	int exit_code; /* of the command's own; -1: none, or it says no more than the class */
	const struct crash_info *crash; /* NULL: there is no core of it */
	const char *module; /* without a backtrace: the file that the kernel says it crashed in */
	const char *words; /* one line about the cause, in Ray's or a library's words */
	int xid; /* of a GPU that failed; 0: none */
	bool cause_unknown; /* the rest says how it ended and not why */
};

/* Always a whole signature, whatever the texts hold. */
void signature_make(const struct signature_cause *c, char ret_signature[static SIGNATURE_MAX]);

/* Of a verdict. largest: the name of the largest process at the end, for a kill whose victim is not known; "" none. */
void signature_of(const struct observation *o, const struct verdict *v, const char *largest,
		  char ret_signature[static SIGNATURE_MAX]);

/* Nothing is known of the cause behind it: equal signatures do not mean equal causes. */
bool signature_is_weak(const char *signature);

#endif
