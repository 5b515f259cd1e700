/* SPDX-License-Identifier: Apache-2.0 */
/* Searches a stack that cannot be unwound for addresses that calls would return to. */
#pragma once

#include "sidecar/unwind/modules.h"

#define SCAN_WORDS 2048
#define SCAN_FOUND_MAX 16

/*
 * Finds return addresses from sp upwards, the nearest first; some belong to calls that have ended.
 * Returns their number; 0 on machines other than x86-64.
 */
size_t scan_stack(struct modules *modules, uint64_t sp, uint64_t out[static SCAN_FOUND_MAX]);

/* Whether the len bytes before a return address end in a call instruction of x86-64. Pure. */
bool scan_is_call(const uint8_t *before, size_t len);
