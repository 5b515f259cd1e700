/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a bundle to a store: sends the files that the store does not have or has with other
 * content, reports first, cores and then the manifest last.
 */
#pragma once

#include "sidecar/ship/fault.h"
#include "sidecar/ship/options.h"

#define DELIVER_URL_MAX (2 * STORE_PATH_MAX + 400)

/*
 * Ships the bundle that options name, and prints progress to stdout. ret_url is the bundle's URL in
 * the store; it is set also on failure. deadline_ns is CLOCK_BOOTTIME, 0: none. Returns 0, or -1
 * with fault; files that were sent until then stay in the store, and the next run does not send
 * them again.
 */
int deliver(const struct ship_options *options, int64_t deadline_ns,
	    char ret_url[static DELIVER_URL_MAX], struct fault *fault);
