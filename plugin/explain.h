/* SPDX-License-Identifier: Apache-2.0 */
/* What an exit code or a class of failure means, for a person who sees it for the first time. Pure. */
#ifndef AFTERGLOW_PLUGIN_EXPLAIN_H
#define AFTERGLOW_PLUGIN_EXPLAIN_H

#include "lib/err.h"
#include "lib/strbuf.h"

/* what: an exit code from 0 to 255, or the name of a class in any case. -EINVAL: neither; err names what would be right. */
int explain(const char *what, struct strbuf *out, struct err *err);

/* Appends text with line breaks at blanks, so that no line is longer than 100 columns, each after indent blanks. */
void add_wrapped(struct strbuf *out, const char *text, size_t indent);

#endif
