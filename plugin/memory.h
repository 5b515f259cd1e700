/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what the tasks of a cluster have needed: in its sidecars, in what the operator kept, in
 * bundles, or in a file.
 */
#pragma once

#include "lib/strbuf.h"
#include "plugin/options.h"

/* Carries out `memory WHAT [BEFORE]`. Returns 0 or a negative error. */
int memory_command(const struct options *o, struct strbuf *out, struct err *err);
