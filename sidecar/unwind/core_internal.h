/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the notes of a core: threads, signal, command, files. Used by core.c alone. */
#pragma once

#include "sidecar/unwind/core.h"

/* Reads the notes of core->elf; a note that is cut ends the reading. Fails only without memory. */
int core_notes_read(struct core *core, struct err *err);
