/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a core: threads, signal, command, files. Used by core.c alone. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_CORE_NOTES_H
#define AFTERGLOW_SIDECAR_UNWIND_CORE_NOTES_H

#include "sidecar/unwind/core.h"

/* Takes what len bytes of notes at offset hold; a note that is cut ends the reading. Fails only without memory. */
int core_notes_read(struct core *core, uint64_t offset, uint64_t len, struct err *err);

/* As many of len bytes of the core file as are there. */
size_t core_read_file(struct core *core, uint64_t offset, void *out, size_t len);

#endif
