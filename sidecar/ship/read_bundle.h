/* SPDX-License-Identifier: Apache-2.0 */
/* The way back: reads a bundle from a store and writes it as a tar archive, for people who want it on their machine. */
#ifndef AFTERGLOW_SIDECAR_SHIP_READ_BUNDLE_H
#define AFTERGLOW_SIDECAR_SHIP_READ_BUNDLE_H

#include "sidecar/ship/fault.h"
#include "sidecar/ship/options.h"

/*
 * Writes the bundle options->as to out_fd: first MANIFEST.json, then the files that it lists, reports first and cores last.
 * The receiver compares digests: whatever was damaged on the way is seen there. A file that the manifest lists and the store no longer
 * has (its place was needed) is left out. deadline_ns is CLOCK_BOOTTIME, 0: none. 0, or -1 with fault; the archive then has no end.
 */
int read_bundle(const struct ship_options *options, int64_t deadline_ns, int out_fd, struct fault *fault);

#endif
