/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before a hostile file is read: from here on the process can read and write
 * what it has open, ask for memory, and end. It opens no file, no socket, starts
 * nothing, gains nothing.
 */
#ifndef AFTERGLOW_SIDECAR_PACK_CONFINE_H
#define AFTERGLOW_SIDECAR_PACK_CONFINE_H

#include <stdint.h>

#include "lib/err.h"

/* Threads that run are confined too. memory: address space in bytes; seconds: of processor time. */
int confine_self(uint64_t memory, unsigned int seconds, struct err *err);

#endif
