/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses JSON text of Kubernetes objects, a running Ray pod to a sixth of its size, by a
 * dictionary that has what nearly every such pod has. Only for this process: another version may
 * have another dictionary.
 */
#pragma once

#include <stddef.h>

/* Returns the compressed text, which may have any bytes. The caller frees it; NULL: no memory. */
char *squeeze(const char *text, size_t len, size_t *ret_len);

/*
 * Returns the original text, not terminated. The caller frees it; NULL: no memory, or data is none
 * of squeeze's.
 */
char *unsqueeze(const char *data, size_t len, size_t *ret_len);
