/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a process that lives as if it were a core: registers and stacks from the launcher's dump
 * (launch/dump.h), mappings from /proc/PID/maps, all other memory from /proc/PID/mem. All three
 * come as descriptors from the container and are hostile.
 */
#pragma once

#include "sidecar/unwind/core.h"

#define LIVE_MAPS_TEXT_MAX ((size_t)8 << 20) /* bytes; what is longer is cut */

/*
 * Makes a core of them, which the caller closes with core_close; the descriptors stay the caller's.
 * -EPROTO: it is no dump, or one of another version; -ENOTSUP: it is from another machine;
 * -ENODATA: it has no thread.
 */
int live_open(struct core *core, int dump_fd, int memory_fd, int maps_fd, struct err *err);

/*
 * Whether the thread is where it was when it was stopped: no byte of its copied stack has changed,
 * from its stack pointer up to the address `end`. So it waits, or it has come back to the same
 * place. False also if these bytes were not copied.
 */
bool live_is_unmoved(struct core *core, const struct core_thread *thread, uint64_t end);
