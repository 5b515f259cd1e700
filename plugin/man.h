/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes man pages from the help of the commands: kubectl-afterglow(1), and
 * kubectl-afterglow-COMMAND(1) for each command.
 */
#pragma once

#include "lib/err.h"
#include "plugin/command.h"

/* Appends the page of a command; COMMAND_NONE: the page of the program. Pure. */
void man_page(enum command command, struct strbuf *out);

/* Writes all pages into the directory, which must exist. */
int man_write(const char *directory, struct err *err);
