/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses JSON text of Kubernetes objects to half its bytes. */
#include "operator/kube/squeeze.h"

#include <string.h>

/*
 * The code of a fragment is its index, counted from 1. That of a long fragment is WIDE, followed by
 * its index. All fragments begin with a quote, so a comparison is needed only at quotes. Of two
 * fragments with the same beginning the longer one comes first, and the long ones come before the
 * others. The codes are not stored outside of the process, so the tables may change.
 *
 * Hexadecimal digits become bytes: container ids, uids and hashes are a third of what is left of a
 * pod. After WIDE follows UUID and the 16 bytes of a uid, or HEX plus the number of bytes that
 * follow.
 */
#define WIDE 0x1f
#define UUID 0x7f
#define HEX 0x80
#define HEX_BYTES_MAX 0x7f
/* For fewer digits the code would not be shorter. */
#define HEX_DIGITS_MIN 8
#define UUID_BYTES 16
#define UUID_LEN 36

struct fragment {
	const char *text;
	size_t len;
};
#define F(text) { text, sizeof(text) - 1 }

/*
 * Long parts that most Ray pods have in common: those of this operator, of KubeRay and of the
 * kubelet.
 */
static const struct fragment wide[] = {
	F("\"conditions\":[{\"type\":\"PodReadyToStartContainers\",\"status\":\"True\"},{\"type\":\"Initialized\",\"status\":\"True\"},"
	  "{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"ContainersReady\",\"status\":\"True\"},{\"type\":\"PodScheduled\","
	  "\"status\":\"True\"}],"),
	F("\"conditions\":[{\"type\":\"Initialized\",\"status\":\"True\"},{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":"
	  "\"ContainersReady\",\"status\":\"True\"},{\"type\":\"PodScheduled\",\"status\":\"True\"}],"),
	F("\"name\":\"afterglow\",\"ports\":[{\"name\":\"afterglow-http\",\"containerPort\":9095,\"protocol\":\"TCP\"}],\"resources\":"
	  "{\"limits\":{\"cpu\":\""),
	F("\"ports\":[{\"name\":\"metrics\",\"containerPort\":8080,\"protocol\":\"TCP\"}],\"resources\":{\"limits\":{\"cpu\":\""),
	F("\"ray.io/worker-group-replica-index\":\""),
	F("\"annotations\":{\"afterglow.dev/recreate-hash\":\"v1-"),
	F("\"ray.io/kuberay-version\":\""),
	F("\"volumes\":[{},{\"configMap\":{\"items\":[{\"key\":\"launch-x86_64-"),
	F("\"terminationGracePeriodSeconds\":30"),
	F("\"lastState\":{},\"ready\":true,\"restartCount\":0,\"containerID\":\"containerd://"),
	F("\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"),
};
_Static_assert(ARRAY_SIZE(wide) < UUID, "the place of a long one is below the other codes behind WIDE");

static const struct fragment fragments[] = {
	F("\"metadata\":{\"name\":\""),
	F("\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\""),
	F("\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{"),
	F("\"namespace\":\""),
	F("\"uid\":\""),
	F("\"resourceVersion\":\""),
	F("\"creationTimestamp\":\""),
	F("\"labels\":{\"app.kubernetes.io/created-by\":\"kuberay-operator\",\"app.kubernetes.io/name\":\"kuberay\",\"ray.io/cluster\":\""),
	F("\"ray.io/group\":\""),
	F("\"ray.io/identifier\":\""),
	F("\"ray.io/is-ray-node\":\"yes\",\"ray.io/node-type\":\""),
	F("\"containers\":[{\"name\":\""),
	F("\"resources\":{\"limits\":{\"cpu\":\""),
	F("\"requests\":{\"cpu\":\""),
	F("\"memory\":\""),
	F("\"restartPolicy\":\""),
	F("\"nodeName\":\""),
	F("\"status\":{\"phase\":\""),
	F("\"conditions\":[{\"type\":\""),
	F("\"status\":\"True\"},{\"type\":\""),
	F("\"status\":\"False\",\"reason\":\""),
	F("\"podIP\":\""),
	F("\"startTime\":\""),
	F("\"containerStatuses\":[{\"name\":\""),
	F("\"containerID\":\"containerd://"),
	F("\"ready\":true,\"restartCount\":"),
	F("\"started\":true"),
	F("\"lastState\":{}"),
	F("\"state\":{\"running\":{\"startedAt\":\""),
	F("\"name\":\""),
};
#undef F
_Static_assert(ARRAY_SIZE(fragments) < WIDE, "codes are control characters, and the last is WIDE");

/* Returns whether a dash stands before this byte of a uid. */
static bool has_dash(size_t byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

/* --- Squeezing -------------------------------------------------------------------------------------------- */

/* Returns the index, from 1, of the fragment with which text begins; 0 if there is none. */
static size_t squeeze_find(const struct fragment *list, size_t n, const char *text, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].len <= len && text[1] == list[i].text[1] &&
		    memcmp(text, list[i].text, list[i].len) == 0)
			return i + 1;
	return 0;
}

/*
 * Writes the code of the fragment with which text begins to *to, which never points beyond text.
 * Returns the fragment's length; 0 if there is none.
 */
static size_t put_code(const char *text, size_t len, char **to)
{
	size_t place = squeeze_find(wide, ARRAY_SIZE(wide), text, len);

	if (place) {
		*(*to)++ = WIDE;
		*(*to)++ = (char)place;
		return wide[place - 1].len;
	}
	place = squeeze_find(fragments, ARRAY_SIZE(fragments), text, len);
	if (!place)
		return 0;
	*(*to)++ = (char)place;
	return fragments[place - 1].len;
}

/* Capital digits are not accepted, because the text has to be restored unchanged. */
static int squeeze_digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Counts the digits at the beginning of text, up to max. */
static size_t count_digits(const char *text, size_t max)
{
	size_t n = 0;

	while (n < max && squeeze_digit_of(text[n]) >= 0)
		n++;
	return n;
}

static char byte_of(const char *digits)
{
	return (char)(squeeze_digit_of(digits[0]) << 4 | squeeze_digit_of(digits[1]));
}

static bool read_uuid(const char *text, size_t len, char bytes[UUID_BYTES])
{
	if (len < UUID_LEN)
		return false;
	for (size_t i = 0; i < UUID_BYTES; i++) {
		if (has_dash(i) && *text++ != '-')
			return false;
		if (count_digits(text, 2) < 2)
			return false;
		bytes[i] = byte_of(text);
		text += 2;
	}
	return true;
}

static void put_bytes(int code, const char *bytes, size_t n, char **to)
{
	*(*to)++ = WIDE;
	*(*to)++ = (char)code;
	memcpy(*to, bytes, n);
	*to += n;
}

/* Does the same for digits. If there are too few, they are copied unchanged. */
static size_t put_digits(const char *text, size_t len, char **to)
{
	char bytes[HEX_BYTES_MAX]; /* *to may point into text */
	size_t digits = count_digits(text, MIN(len, (size_t)2 * HEX_BYTES_MAX)), n = digits / 2;

	if (digits == 8 && read_uuid(text, len, bytes)) {
		put_bytes(UUID, bytes, UUID_BYTES, to);
		return UUID_LEN;
	}
	if (digits < HEX_DIGITS_MIN) {
		memmove(*to, text, digits);
		*to += digits;
		return digits;
	}
	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_of(text + 2 * i);
	put_bytes((int)(HEX + n), bytes, n, to);
	return 2 * n;
}

size_t squeeze(char *text, size_t len)
{
	char *to = text;
	size_t size;

	for (size_t from = 0; from < len; from += size) {
		size = text[from] == '"' ? put_code(text + from, len - from, &to) :
					   put_digits(text + from, len - from, &to);
		if (!size) {
			*to++ = text[from];
			size = 1;
		}
	}
	return (size_t)(to - text);
}

/* --- Restoring ------------------------------------------------------------------------------- */

static void add_digits(const char *bytes, size_t n, bool uuid, struct strbuf *out)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * HEX_BYTES_MAX];
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (uuid && has_dash(i))
			text[len++] = '-';
		text[len++] = digits[(unsigned char)bytes[i] >> 4];
		text[len++] = digits[bytes[i] & 0xf];
	}
	strbuf_add(out, text, len);
}

/*
 * Appends the text of a code after WIDE. Returns the number of bytes of the code; 0 if it is
 * invalid.
 */
static size_t add_wide(const char *text, size_t len, struct strbuf *out)
{
	unsigned char code = len ? (unsigned char)text[0] : 0;
	size_t n = code == UUID ? UUID_BYTES : code > HEX ? code - HEX : 0;

	if (n && n < len) {
		add_digits(text + 1, n, code == UUID, out);
		return 1 + n;
	}
	if (n || !code || code > ARRAY_SIZE(wide))
		return 0;
	strbuf_add(out, wide[code - 1].text, wide[code - 1].len);
	return 1;
}

/* Does the same for any code. */
static size_t add_code(const char *text, size_t len, struct strbuf *out)
{
	unsigned char code = (unsigned char)text[0];
	size_t behind;

	if (code == WIDE) {
		behind = add_wide(text + 1, len - 1, out);
		return behind ? 1 + behind : 0;
	}
	if (!code || code > ARRAY_SIZE(fragments))
		return 0;
	strbuf_add(out, fragments[code - 1].text, fragments[code - 1].len);
	return 1;
}

void unsqueeze(const char *text, size_t len, struct strbuf *out)
{
	size_t plain, size;

	for (size_t i = 0; i < len; i += size) {
		for (plain = i; i < len && (unsigned char)text[i] > WIDE;)
			i++;
		strbuf_add(out, text + plain, i - plain);
		size = i < len ? add_code(text + i, len - i, out) : 0;
		if (!size && i < len) {
			strbuf_addc(out, text[i]);
			size = 1;
		}
	}
}
