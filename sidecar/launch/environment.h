/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the command the environment with which the kernel started the container. A shell stands
 * before us, and shells change what they hand down: dash and ash drop variables such as `a.b` and
 * exported functions of bash, and all set PWD, OPTIND or IFS anew.
 *
 * Theory of operation. /proc/PID/environ of the shell still has what the kernel gave it. The shell
 * calls `afterglow-launch --environment` as a child and hands what that prints, the difference, to
 * the launcher in a variable. A difference is one line for each variable: NAME=VALUE, or NAME alone
 * for one that the shell has added. %XX stands for a byte that a shell could change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ENVIRONMENT_VARIABLE "AFTERGLOW_ENVIRONMENT"
#define ENVIRONMENT_RESTORED "afterglow-launch"
#define ENVIRONMENT_DIFFERENCE_MAX 65536 /* bytes; the kernel takes no variable above 128 KiB */

/*
 * Writes the difference between an environment as /proc/PID/environ shows it (len bytes, each entry
 * ends with a zero) and another one, which is as environ(7). Returns false, and an empty text, if
 * it has more than size - 1 bytes. Pure.
 */
bool environment_difference(const char *was, size_t len, char *const *is, char *ret_text,
			    size_t size);

/*
 * Applies a difference to this process's own environment. The text is decoded in place, and has to
 * stay as long as the process.
 */
void environment_apply(char *text);

/*
 * Prints the difference between this process's environment and its parent's at the start of the
 * parent; nothing if there is none.
 */
void environment_print(void);

/*
 * Applies the difference in ENVIRONMENT_VARIABLE, and removes that. Then this program, which
 * self_fd has open, starts again under the name ENVIRONMENT_RESTORED: people read the container's
 * environment in /proc/1/environ, and the kernel shows there what exec was given. self_fd 0: it
 * goes on as it is.
 */
void environment_restore(char **argv, int self_fd);
