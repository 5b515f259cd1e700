/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Ray's exception that ended a program, and which node, worker or actor it says had died.
 * Pure. The text is the end of a job driver's log, which the program itself wrote, so it is hostile
 * and makes nothing certain.
 *
 * As Ray 2.39 and 2.60 write them:
 *   ray.exceptions.NodeDiedError: Task failed because the node it was running on is dead or
 *   unavailable. Node IP: 10.0.0.7, node ID: HEX. .. ray.exceptions.ActorDiedError: The actor died
 *   unexpectedly before finishing this task.\n\tclass_name: A\n\tactor_id: HEX\n
 *       \tpid: 26\n\tip: 10.0.0.7\nThe actor died because its node has died. Node Id: HEX
 *   ray.exceptions.OutOfMemoryError: .. Memory on the node (IP: 10.0.0.7, ID: HEX) .. pid=13, ..
 *   worker ID=HEX (before 2.5x: this worker (ID: HEX)) ray.exceptions.OwnerDiedError: .. Owner
 *   worker ID: HEX, owner node ID: HEX, owner address: 10.0.0.7:34073.
 *   ray.exceptions.TaskCancelledError: Task: TaskID(HEX) was cancelled.
 *   ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing this task. ..
 * WorkerCrashedError names nothing; a line of raylet before it does, where the driver prints those
 * (log_to_driver):
 *   (raylet, ip=10.0.0.7) A worker died or was killed .. Worker ID: HEX Node ID: HEX Worker IP
 *   address: 10.0.0.7 .. Worker PID: 29
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sidecar/ray/ray_lines.h"

#define RAY_ID_MAX 60 /* bytes of a Ray ID in hexadecimal, with the final NUL */

/* Texts are "" where the exception does not name it. All of them are about what had died. */
struct ray_error {
	char name[24]; /* "NodeDiedError"; "": none of Ray's exceptions ended the program */
	char line[RAY_LINE_TEXT_MAX]; /* the exception's own line, printable UTF-8 */
	char node_id[RAY_ID_MAX], worker_id[RAY_ID_MAX],
		actor_id[RAY_ID_MAX]; /* lower-case hexadecimal */
	char ip[46]; /* of the node */
	pid_t pid; /* of the worker, in its container's PID namespace; 0: not named */
	const char *
		meant; /* static: "ray.kill" or "ray.cancel", by which a program of the job ended it; NULL: neither */
};

/*
 * Finds the exception that ended the program. One that the program has survived does not count: a
 * later traceback that does not follow from it, as Python's chains of exceptions do, forgets it,
 * unless it is Tune's about trials that all failed by such exceptions: then that of the last one
 * counts. Returns false, and name "", if there is none.
 */
bool ray_error_parse(const char *text, size_t len, struct ray_error *ret_error);

/*
 * Writes "worker PID 29 on node 10.0.0.7" or "node 10.0.0.7 (76fd0174d17b...)", what the exception
 * says had died; "" if it names nothing by which its report could be found. Returns text.
 */
#define RAY_ERROR_ABOUT_MAX 128
const char *ray_error_about(const struct ray_error *error, char text[static RAY_ERROR_ABOUT_MAX]);
