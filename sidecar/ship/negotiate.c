/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encloses an AP-REQ in the frames of GSS-API and SPNEGO, from the inside out, and encodes the
 * result.
 */
#include "sidecar/ship/negotiate.h"

#include <assert.h>
#include <string.h>

#include "lib/base64.h"

/* Six frames, each of at most 4 bytes, and the constant parts. */
#define FRAMES_MAX 64

#define OID_KRB5 "\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" /* 1.2.840.113554.1.2.2 */
#define OID_SPNEGO "\x06\x06\x2b\x06\x01\x05\x05\x02" /* 1.3.6.1.5.5.2 */
/* The field mechTypes of NegTokenInit: a sequence of one mechanism. */
#define MECH_TYPES "\xa0\x0d\x30\x0b" OID_KRB5

enum { TAG_OCTETS = 0x04, TAG_SEQUENCE = 0x30, TAG_APPLICATION = 0x60, TAG_0 = 0xa0, TAG_2 = 0xa2 };

/* The length of the bindings, least significant byte first; they are 0. */
const unsigned char negotiate_checksum[24] = { 16 };

/* DER that grows to the front: the length of a frame is known only when its content is. */
struct der {
	unsigned char bytes[NEGOTIATE_MAX + FRAMES_MAX];
	size_t start;
};

static void negotiate_prepend(struct der *d, const void *data, size_t len)
{
	assert(len <= d->start);
	d->start -= len;
	memcpy(d->bytes + d->start, data, len);
}

/* Puts the tag and the length of all that is there before it. */
static void negotiate_enclose(struct der *d, unsigned char tag)
{
	size_t len = sizeof(d->bytes) - d->start;
	unsigned char frame[4] = { tag, (unsigned char)len };
	size_t n = 2;

	if (len > 0xff) {
		frame[1] = 0x82, frame[2] = (unsigned char)(len >> 8),
		frame[3] = (unsigned char)len;
		n = 4;
	} else if (len > 0x7f) {
		frame[1] = 0x81, frame[2] = (unsigned char)len;
		n = 3;
	}
	negotiate_prepend(d, frame, n);
}

static void enclose_all(struct der *d)
{
	negotiate_prepend(d, "\x01\x00", 2); /* "this is an AP-REQ" */
	negotiate_prepend(d, OID_KRB5, sizeof(OID_KRB5) - 1);
	negotiate_enclose(d, TAG_APPLICATION);
	negotiate_enclose(d, TAG_OCTETS); /* mechToken [2] of NegTokenInit */
	negotiate_enclose(d, TAG_2);
	negotiate_prepend(d, MECH_TYPES, sizeof(MECH_TYPES) - 1);
	negotiate_enclose(d, TAG_SEQUENCE);
	negotiate_enclose(d, TAG_0);
	negotiate_prepend(d, OID_SPNEGO, sizeof(OID_SPNEGO) - 1);
	negotiate_enclose(d, TAG_APPLICATION);
}

void negotiate_header(const void *ap_req, size_t len, struct strbuf *header)
{
	static struct der d;
	static char text[BASE64_MAX(sizeof(d.bytes))];

	_Static_assert(sizeof(d.bytes) <= 0xffff, "two bytes hold each length");
	_Static_assert(sizeof("Authorization: Negotiate ") + sizeof(text) < NEGOTIATE_HEADER_MAX,
		       "the header has room for the longest token");
	if (len > NEGOTIATE_MAX) {
		header->failed = true;
		return;
	}
	d.start = sizeof(d.bytes);
	negotiate_prepend(&d, ap_req, len);
	enclose_all(&d);
	base64_encode(d.bytes + d.start, sizeof(d.bytes) - d.start, text);
	strbuf_addf(header, "Authorization: Negotiate %s", text);
	explicit_bzero(&d, sizeof(d));
	explicit_bzero(text, sizeof(text));
}
