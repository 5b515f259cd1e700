/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a bundle from a store and writes it as a tar archive, for people who want it on their
 * machine (kubectl afterglow bundle).
 */
#pragma once

#include "sidecar/ship/fault.h"
#include "sidecar/ship/options.h"

/*
 * Writes the bundle options->as to out_fd: first MANIFEST.json, then the files that it lists,
 * reports first and cores last. It does not check digests; the receiver does. A file that the
 * manifest lists but the store no longer has is left out: it may have been removed to make room.
 * deadline_ns is CLOCK_BOOTTIME, 0: none. Returns 0, or -1 with fault; the archive is then cut.
 */
int read_bundle(const struct ship_options *options, int64_t deadline_ns, int out_fd,
		struct fault *fault);
