/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any texts. A signature must be complete, short and of its alphabet, and the same
 * texts must give the same signature.
 */
#include "sidecar/verdict/signature.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())
#define ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+-=,@#~"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes the next part, up to a NUL. */
static void next(const uint8_t **data, size_t *size, char *out, size_t out_size)
{
	size_t len = strnlen((const char *)*data, *size), taken = MIN(len, out_size - 1);

	memcpy(out, *data, taken);
	out[taken] = '\0';
	len += len < *size;
	*data += len;
	*size -= len;
}

static void check(const char *signature)
{
	const char *p = signature;

	CHECK(strlen(signature) < SIGNATURE_MAX && strncmp(p, "v1:", 3) == 0);
	p = strchr(p + 3, ':');
	CHECK(p);
	for (int field = 0; field < 2; field++) {
		size_t n = strspn(p + 1, ALPHABET);

		CHECK(n > 0);
		p += 1 + n;
		CHECK(field == 0 ? *p == ':' : !*p || strcmp(p, "?") == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char who[300], words[1500], module[200], one[SIGNATURE_MAX], again[SIGNATURE_MAX];
	struct crash_info crash = { .known = true, .unwound = true };
	struct signature_cause c = { .class = FAILURE_SEGFAULT,
				     .container = "ray-worker",
				     .who = who,
				     .words = words,
				     .module = module,
				     .crash = &crash };

	if (size == 0)
		return 0;
	c.signal = data[0] % 70;
	c.exit_code = data[0] % 3 - 1;
	c.cause_unknown = data[0] & 1;
	data++;
	size--;
	next(&data, &size, who, sizeof(who));
	next(&data, &size, crash.function, sizeof(crash.function));
	next(&data, &size, crash.module, sizeof(crash.module));
	next(&data, &size, crash.offset, sizeof(crash.offset));
	next(&data, &size, crash.python, sizeof(crash.python));
	next(&data, &size, words, sizeof(words));
	next(&data, &size, module, sizeof(module));
	signature_make(&c, one);
	check(one);
	signature_make(&c, again);
	CHECK(strcmp(one, again) == 0);
	c.crash = NULL;
	signature_make(&c, one);
	check(one);
	CHECK(signature_is_weak(one) == c.cause_unknown);
	return 0;
}
