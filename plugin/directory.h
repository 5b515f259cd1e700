/* SPDX-License-Identifier: Apache-2.0 */
/* The directory that a person names for what a command saves. */
#ifndef AFTERGLOW_PLUGIN_DIRECTORY_H
#define AFTERGLOW_PLUGIN_DIRECTORY_H

#include "lib/err.h"

/* Makes it, with what is missing above it, or takes an empty one; the caller closes *ret_fd. -EEXIST: there is something in it. */
int directory_open_empty(const char *path, int *ret_fd, struct err *err);

#endif
