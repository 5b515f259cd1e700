/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks an operator whether it is ready, or its webhook for a valid certificate, as the chart's test
 * does from a pod of its own: afterglow-operator --check-ready URL [--check-ca FILE].
 */
#pragma once

#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"

/*
 * Asks url (http://HOST:8080/readyz) once a second until the answer is 200, for at most
 * patience_ns, and adds the last answer to out. With ca_file, which is for a webhook
 * (https://HOST), any answer will do: it came from a server whose certificate is for HOST, valid
 * now, and signed by one of the authorities in that file. NULL: there is none. -EINVAL: ca_file was
 * given, and url is not of https. -ETIMEDOUT: it was not ready within that time; err has the last
 * status or what went wrong.
 */
int ready_check(const char *url, const char *ca_file, int64_t patience_ns, struct strbuf *out,
		struct err *err);
