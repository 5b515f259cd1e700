/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing one bundle to one store: what is missing or differs, in the order of its worth. */
#ifndef AFTERGLOW_SIDECAR_SHIP_DELIVER_H
#define AFTERGLOW_SIDECAR_SHIP_DELIVER_H

#include "sidecar/ship/fault.h"
#include "sidecar/ship/options.h"

#define DELIVER_URL_MAX (2 * STORE_PATH_MAX + 300)

/* Writes progress to stdout. *ret_url is where the bundle then is. */
int deliver(const struct ship_options *options, int64_t deadline_ns, char ret_url[static DELIVER_URL_MAX],
	    struct fault *fault);

#endif
