/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses JSON text of Kubernetes objects to half its size: texts that occur in nearly
 * every pod are stored as one or two bytes, and two hexadecimal digits as one. The first
 * byte of each code is a control character, which does not occur in JSON text; the result
 * may have NUL bytes. Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/strbuf.h"

/* Squeezes, in place, len bytes that cJSON printed without blanks; returns how many are left. */
size_t squeeze(char *text, size_t len);

/* Appends the original text. */
void unsqueeze(const char *text, size_t len, struct strbuf *out);
