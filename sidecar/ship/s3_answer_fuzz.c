/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a server's XML. What is taken from it must be bounded, printable and in
 * range.
 */
#include "sidecar/ship/s3_answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/printable.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARTS 5

static void check_token(const char *s, size_t max)
{
	if (strnlen(s, max) == max)
		abort();
	for (; *s; s++)
		if (*s <= ' ' || *s >= 0x7f || strchr("<>&", *s))
			abort();
}

static void check_id(const char *id, void *arg)
{
	(void)arg;
	check_token(id, UPLOAD_ID_MAX);
}

static void check_parts(const char *text, size_t size)
{
	struct s3_part parts[PARTS];
	int64_t next = 0;

	for (size_t i = 0; i < PARTS; i++)
		parts[i] = (struct s3_part){ .size = -1 };
	if (s3_list_parts(text, size, parts, PARTS, &next, NULL) == 0 && next < 0)
		abort();
	for (size_t i = 0; i < PARTS; i++) {
		check_token(parts[i].etag, S3_ETAG_MAX);
		if (parts[i].size < -1 || (parts[i].size >= 0 && !*parts[i].etag))
			abort();
	}
}

static void check_fault(const char *text, size_t size)
{
	static const struct s3_place place = { .bucket = "b", .region = "r", .endpoint = "e" };
	struct http_answer answer = { .status = size % 2 ? 403 : 200,
				      .length = -1,
				      .body = STRBUF_INIT(1 << 20) };
	char shown[ERR_TEXT_MAX];
	struct fault fault;

	strbuf_add(&answer.body, text, size);
	s3_fault(&answer, &place, &fault);
	copy_printable(shown, sizeof(shown), fault.text, strlen(fault.text));
	if (strcmp(shown, fault.text) != 0)
		abort();
	strbuf_release(&answer.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	char id[UPLOAD_ID_MAX] = "";
	struct sts_credentials c = { 0 };

	if (s3_upload_id(text, size, id, NULL) == 0)
		check_token(id, sizeof(id));
	check_parts(text, size);
	s3_list_uploads(text, size, "k", check_id, NULL, NULL);
	if (sts_read_credentials(text, size, &c, NULL) == 0) {
		check_token(c.session_token, 1 << 20);
		sts_credentials_release(&c);
	}
	check_fault(text, size);
	return 0;
}
