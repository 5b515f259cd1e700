/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the CPython interpreter of a process. */
#pragma once

#include "sidecar/unwind/python.h"
#include "sidecar/unwind/stack.h"

/*
 * Returns false if no module of the process is a Python. Else py is open, and py->why says what is
 * wrong, if anything. python_release must always be called.
 */
bool python_find(struct python *py, const struct unwinder *u);
