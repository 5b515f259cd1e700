/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses JSON text of Kubernetes objects to half its size: texts that occur in nearly
 * every pod are stored as one byte each. These bytes are control characters, which do
 * not occur in JSON text. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_KUBE_SQUEEZE_H
#define AFTERGLOW_OPERATOR_KUBE_SQUEEZE_H

#include <stddef.h>

#include "lib/strbuf.h"

/* Squeezes, in place, len bytes that cJSON printed without blanks; returns how many are left. */
size_t squeeze(char *text, size_t len);

/* Appends the original text. */
void unsqueeze(const char *text, size_t len, struct strbuf *out);

#endif
