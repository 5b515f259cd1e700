/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any answer in place of the node's agent. What is taken from it must be fit for a
 * header.
 */
#include "sidecar/ship/token_answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/ship/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *word)
{
	if (!credential_is_word(word) || strlen(word) >= CREDENTIAL_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct sts_credentials c = { 0 };
	int64_t seconds = 0;
	char *token = NULL, *uri, why[OAUTH_ERROR_MAX];

	if (container_read_credentials(text, size, &c, NULL) == 0) {
		check(c.access_key_id);
		check(c.secret_access_key);
		check(c.session_token);
		sts_credentials_release(&c);
	}
	if (oauth_read_token(text, size, &token, &seconds, NULL) == 0) {
		check(token);
		if (seconds < 1 || seconds > 86400)
			abort();
		free(token);
	}
	oauth_read_error(text, size, why);
	if (strnlen(why, sizeof(why)) == sizeof(why))
		abort();
	uri = strndup(text, size);
	if (uri && container_uri_is_safe(uri) && strncmp(uri, "http", 4) != 0)
		abort();
	free(uri);
	return 0;
}
