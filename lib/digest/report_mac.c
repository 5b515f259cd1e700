/* SPDX-License-Identifier: Apache-2.0 */
/* Signs what a sidecar tells the operator. */
#include "lib/digest/report_mac.h"

#include <string.h>

#include "lib/digest/sha256.h"
#include "lib/macros.h"

#define BLOCK 64 /* bytes of a block of SHA-256 */
#define MEMBER ",\"mac\":\""
#define END "\"}"

static unsigned hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Begins a digest with the key's block; the key is cut to a block. */
static void keyed_begin(struct sha256 *s, const char *key, unsigned char pad)
{
	unsigned char block[BLOCK] = { 0 };

	memcpy(block, key, MIN(strlen(key), sizeof(block)));
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= pad;
	sha256_begin(s);
	sha256_add(s, block, sizeof(block));
}

static void mac_compute(const char *key, const char *kind, const char *text, size_t len,
			char ret_mac[static SHA256_TEXT_MAX])
{
	unsigned char inner[SHA256_BYTES];
	struct sha256 s;

	keyed_begin(&s, key, 0x36);
	sha256_add(&s, kind, strlen(kind));
	sha256_add(&s, text, len);
	sha256_end(&s, ret_mac);
	for (size_t i = 0; i < sizeof(inner); i++)
		inner[i] = (unsigned char)(hex_digit(ret_mac[2 * i]) << 4 |
					   hex_digit(ret_mac[2 * i + 1]));
	keyed_begin(&s, key, 0x5c);
	sha256_add(&s, inner, sizeof(inner));
	sha256_end(&s, ret_mac);
	ret_mac[REPORT_MAC_LEN] = '\0';
}

void report_mac_append(const char *key, const char *kind, const char *json, struct strbuf *out)
{
	size_t len = strlen(json);
	char mac[SHA256_TEXT_MAX];

	if (!key || len < 2 || json[len - 1] != '}') {
		strbuf_adds(out, json);
		return;
	}
	mac_compute(key, kind, json, len - 1, mac);
	strbuf_add(out, json, len - 1);
	strbuf_addf(out, MEMBER "%s" END, mac);
}

bool report_mac_holds(const char *key, const char *kind, const char *text, size_t len)
{
	const size_t tail = sizeof(MEMBER) - 1 + REPORT_MAC_LEN + sizeof(END) - 1;
	char mac[SHA256_TEXT_MAX], different = 0;

	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	if (len < tail)
		return false;
	const char *at = text + len - tail;
	if (memcmp(at, MEMBER, sizeof(MEMBER) - 1) != 0 ||
	    memcmp(text + len - (sizeof(END) - 1), END, sizeof(END) - 1) != 0)
		return false;
	mac_compute(key, kind, text, len - tail, mac);
	/* The time of the comparison tells nothing about the right signature. */
	for (size_t i = 0; i < REPORT_MAC_LEN; i++)
		different |= (char)(at[sizeof(MEMBER) - 1 + i] ^ mac[i]);
	return !different;
}
