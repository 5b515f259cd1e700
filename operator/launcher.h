/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's program file, which goes into a ConfigMap. It is mapped, not
 * read: of its 110 KiB nothing need be in memory but while a ConfigMap is written.
 * The file is the image's own, or a build's, which makes a new one each time: one
 * that is shortened meanwhile would end the operator with SIGBUS.
 */
#ifndef AFTERGLOW_OPERATOR_LAUNCHER_H
#define AFTERGLOW_OPERATOR_LAUNCHER_H

#include <stddef.h>

#include "lib/err.h"

/* A ConfigMap holds at most 1 MiB, of which base64 takes a third. */
#define LAUNCHER_MAX ((size_t)700 << 10)

struct launcher {
	void *data; /* NULL: none */
	size_t len;
};

/* A regular file of 1 byte to LAUNCHER_MAX. The error names it. */
int launcher_map(const char *path, struct launcher *ret_launcher, struct err *err);
void launcher_release(struct launcher *launcher);

#endif
