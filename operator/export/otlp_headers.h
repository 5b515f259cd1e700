/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the headers of a request that the administrator puts into a file, such as credentials:
 * "Name: value", one a line; empty lines and lines that begin with '#' are ignored. No error quotes
 * the file.
 */
#ifndef AFTERGLOW_OPERATOR_EXPORT_OTLP_HEADERS_H
#define AFTERGLOW_OPERATOR_EXPORT_OTLP_HEADERS_H

#include <stddef.h>

#include "lib/err.h"

#define OTLP_HEADERS_MAX 16
#define OTLP_HEADERS_FILE_MAX ((size_t)64 << 10)

struct otlp_headers {
	char *text; /* that the lines point into */
	const char *lines[OTLP_HEADERS_MAX + 2]; /* our Content-Type first; NULL-terminated */
};

/*
 * Reads the file; NULL: there is none. Returns -EINVAL if a line is not a header, or there are too
 * many; -EFBIG; or a read error.
 */
int otlp_headers_read(const char *path, struct otlp_headers *ret_headers, struct err *err);
void otlp_headers_release(struct otlp_headers *headers);

#endif
