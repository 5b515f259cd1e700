/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file with the desktop's program for it. */
#pragma once

#include "lib/err.h"

/*
 * Runs xdg-open, on macOS open, and waits until that has ended. Returns -ENOENT if there is no such
 * program, -EIO if it failed.
 */
int browser_open(const char *path, struct err *err);
