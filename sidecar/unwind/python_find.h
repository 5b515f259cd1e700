/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process had a CPython interpreter, and where. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_PYTHON_FIND_H
#define AFTERGLOW_SIDECAR_UNWIND_PYTHON_FIND_H

#include "sidecar/unwind/python.h"
#include "sidecar/unwind/stack.h"

/* False when no module of the process is a Python. Else py is open; its why tells what is amiss. python_release always. */
bool python_find(struct python *py, const struct unwinder *u);

#endif
