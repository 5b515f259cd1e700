/* SPDX-License-Identifier: Apache-2.0 */
/* What core.c, core_notes.c and live.c share. */
#pragma once

#include "sidecar/unwind/core.h"

/* Reads the notes of core->elf; a note that is cut ends the reading. Fails only without memory. */
int core_notes_read(struct core *core, struct err *err);

/*
 * Sorts segments, copies and maps by address. No kernel writes segments that overlap: if there are
 * some all the same, the first counts.
 */
void core_arrange(struct core *core);

/* The copy that holds address, or NULL. */
const struct core_segment *core_copy_at(const struct core *core, uint64_t address);
