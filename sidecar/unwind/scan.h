/* SPDX-License-Identifier: Apache-2.0 */
/* What a stack that cannot be followed any more still shows: addresses that calls would return to. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_SCAN_H
#define AFTERGLOW_SIDECAR_UNWIND_SCAN_H

#include "sidecar/unwind/modules.h"

#define SCAN_WORDS 2048
#define SCAN_FOUND_MAX 16

/* Return addresses from sp upwards, nearest first: some of calls that are over. x86-64 only; 0 elsewhere. */
size_t scan_stack(struct modules *modules, uint64_t sp, uint64_t out[static SCAN_FOUND_MAX]);

/* Whether the len bytes before a return address end in a call instruction of x86-64. Pure. */
bool scan_is_call(const uint8_t *before, size_t len);

#endif
