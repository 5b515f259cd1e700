/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that goes to a person's terminal passes through here, because names, messages and
 * objects may come from a tenant, and kubectl leaves most control characters in them as they are.
 * Such characters are replaced by '?', so JSON stays valid.
 */
#pragma once

#include <stddef.h>

#include "lib/err.h"
#include "lib/macros.h"

/*
 * Writes text, which it may change, to standard output or standard error: as it is where standard
 * output is a file or a program. Line ends and tabs stay.
 */
int terminal_write(int fd, char *text, size_t len, struct err *err);

/* Prints to standard error. */
void stderr_note(const char *format, ...) _printf_(1, 2);
