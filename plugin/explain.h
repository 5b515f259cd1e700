/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains an exit code, a signal, a class of failures or a word to a person who sees it for the
 * first time. Pure.
 */
#pragma once

#include <stdbool.h>

#include "lib/err.h"
#include "lib/strbuf.h"

/*
 * Appends the explanation. what is an exit code from 0 to 255, a signal (SIGKILL, KILL or -9), the
 * name of a class, a reason of Kubernetes, or an exception or message of Ray's, which may stand in
 * a longer text; in upper or lower case. of_command: for a reader who has `afterglow run` and no
 * Kubernetes. Returns -EINVAL if it is none; then err lists the valid values.
 */
int explain(const char *what, bool as_json, bool of_command, struct strbuf *out, struct err *err);

/*
 * Appends text, with line breaks at blanks so that no line exceeds 100 columns. Each line begins
 * with indent blanks.
 */
void add_wrapped(struct strbuf *out, const char *text, size_t indent);
