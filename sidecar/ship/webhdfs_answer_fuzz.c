/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any answer of a NameNode. A fault must be one printable line, and every part of a
 * location must be checked.
 */
#include "sidecar/ship/webhdfs_answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/printable.h"
#include "sidecar/ship/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_location(const uint8_t *data, size_t size)
{
	char location[HTTP_HEADER_MAX];
	struct fault fault;
	size_t n = size < sizeof(location) ? size : sizeof(location) - 1;

	memcpy(location, data, n);
	location[n] = '\0';
	if (webhdfs_check_location(location, "op=CREATE", true, &fault) == 0 &&
	    strncmp(location, "https://", 8) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_answer answer = { .status = size % 3 ? 403 : 200,
				      .length = -1,
				      .body = STRBUF_INIT(1 << 20) };
	char digest[SHA256_TEXT_MAX], exception[64], shown[ERR_TEXT_MAX], *token = NULL;
	struct webhdfs_status status;
	struct fault fault;

	strbuf_add(&answer.body, data, size);
	webhdfs_fault(&answer, "nn", &fault);
	copy_printable(shown, sizeof(shown), fault.text, strlen(fault.text));
	if (strcmp(shown, fault.text) != 0)
		abort();
	webhdfs_exception(&answer, exception);
	webhdfs_token_refused(&answer);
	webhdfs_ticket_fault(&answer, "nn", "ray@X", &fault);
	if (webhdfs_read_token(&answer, &token, NULL) == 0 && !credential_is_word(token))
		abort();
	free(token);
	webhdfs_refused(&answer);
	webhdfs_read_digest(&answer, digest);
	if (strnlen(digest, sizeof(digest)) == sizeof(digest) ||
	    (webhdfs_read_status(&answer, &status, NULL) == 0 && status.length < 0))
		abort();
	strbuf_release(&answer.body);
	check_location(data, size);
	return 0;
}
