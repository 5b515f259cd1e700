/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the header with which a client proves its identity to an HTTP server by Kerberos (RFC
 * 4559). libkrb5 makes Kerberos' own message, AP-REQ. The frames around it are those of GSS-API
 * (RFC 4121, 4.1) and SPNEGO (RFC 4178, 4.2): a few constant bytes and lengths. A GSS-API library
 * for them would make afterglow-ship larger by 0.4 MB. Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/strbuf.h"

/* Bytes of an AP-REQ. Hadoop's servers accept headers of 64 KiB, which is 48 KiB before base64. */
#define NEGOTIATE_MAX ((size_t)47 << 10)
/* Bytes of the whole header. */
#define NEGOTIATE_HEADER_MAX ((size_t)64 << 10)

/*
 * The type of the checksum in an AP-REQ, and what it is made of (RFC 4121, 4.1.1): no channel
 * bindings, and no flag. We do not ask that the server prove its own identity, because TLS does
 * that before it gets our ticket.
 */
#define NEGOTIATE_CHECKSUM 0x8003
extern const unsigned char negotiate_checksum[24];

/*
 * Appends "Authorization: Negotiate ..." with an AP-REQ of len bytes to header. header fails if the
 * AP-REQ is longer than NEGOTIATE_MAX, or if there is no memory.
 */
void negotiate_header(const void *ap_req, size_t len, struct strbuf *header);
