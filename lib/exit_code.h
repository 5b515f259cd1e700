/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This is what an exit code says by itself. A shell and the kubelet report a signal as 128 + its
 * number, and a shell reports a command that it could not start as 126 or 127. Any program may also
 * exit with such a code of its own, so a code proves neither. Signals have the numbers of Linux on
 * every system.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/failure_class.h"

#define EXIT_CODE_NOT_EXECUTABLE 126
#define EXIT_CODE_NOT_FOUND 127
#define EXIT_CODE_OF_SIGNAL(signo) (128 + (signo))

/*
 * Returns the signal that the code stands for, 0 if none. A program that exits with 160 or more
 * hardly means a real-time signal, and no program ends by SIGSTOP.
 */
int exit_code_signal(int64_t code);

/* Returns whether a shell reports by it that it could not start a command. */
bool exit_code_is_of_shell(int64_t code);

/* Returns whether it is the code of a command that SIGTERM or SIGKILL ended. */
bool exit_code_is_of_stop(int64_t code);

/*
 * Returns the class of a command that failed with this code, if nothing else is known;
 * FAILURE_UNKNOWN if the code is 0, 128 or no exit code.
 */
enum failure_class exit_code_class(int64_t code);
