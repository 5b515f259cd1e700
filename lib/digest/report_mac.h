/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signs what a sidecar tells the operator, with a key that only these two have: the Ray container
 * can write the termination message, and can answer in the sidecar's place at its port. The
 * signature (HMAC-SHA256, RFC 2104, cut to 128 bits) is the last member of the JSON object:
 * {...,"mac":"0123..."}. It covers all before it, byte by byte, and what kind of text it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/strbuf.h"

/*
 * The environment variable of the sidecar with the key, and the pod's annotation that it comes
 * from.
 */
#define REPORT_KEY_VARIABLE "AFTERGLOW_REPORT_KEY"
#define REPORT_KEY_ANNOTATION "afterglow.dev/report-key"
#define REPORT_KEY_LEN 32 /* hexadecimal digits of a key */

/* Kinds of texts. */
#define REPORT_MAC_TERMINATION "termination"
#define REPORT_MAC_FAILURES "failures"

/* Bytes that a signature adds. */
#define REPORT_MAC_LEN 32
#define REPORT_MAC_ROOM (sizeof(",\"mac\":\"\"") - 1 + REPORT_MAC_LEN)

/* Appends json, the text of an object with members, with its signature. key NULL: without one. */
void report_mac_append(const char *key, const char *kind, const char *json, struct strbuf *out);
/* Returns whether the text ends with its right signature; blanks may follow. */
bool report_mac_holds(const char *key, const char *kind, const char *text, size_t len);
