/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text of Kubernetes objects in half its bytes: what stands in nearly
 * every pod is kept as one byte each. These bytes are control characters, of
 * which JSON text has none. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_KUBE_SQUEEZE_H
#define AFTERGLOW_OPERATOR_KUBE_SQUEEZE_H

#include <stddef.h>

#include "lib/strbuf.h"

/* Squeezes, in place, len bytes that cJSON printed without blanks; returns how many are left. */
size_t squeeze(char *text, size_t len);

/* Appends what they were. */
void unsqueeze(const char *text, size_t len, struct strbuf *out);

#endif
