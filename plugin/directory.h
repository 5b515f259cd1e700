/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the directory to which a command saves files. */
#pragma once

#include "lib/err.h"

/*
 * Makes the directory and those above it that are missing, or opens it if it exists and is empty.
 * -EEXIST: it is not empty. The caller closes *ret_fd.
 */
int directory_open_empty(const char *path, int *ret_fd, struct err *err);
