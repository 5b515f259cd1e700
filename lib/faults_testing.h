/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: the Nth allocation of our own code, cJSON's included, fails. The
 * program is linked with --wrap for malloc, calloc, realloc, strdup and strndup
 * (see fuzz.mk); shared libraries keep their own. Include after cmocka.h, once in a program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define NEVER UINT32_MAX

static uint32_t until_failure = NEVER;
static bool failed; /* it has */

static bool fails(void)
{
	if (until_failure == NEVER || until_failure-- > 0)
		return false;
	until_failure = NEVER; /* only one allocation fails; the code after it must cope */
	failed = true;
	return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

/* Each body frees its objects, and checks its results if nothing failed. */
static void for_every_allocation(void (*body)(void))
{
	unsigned int n = 0;

	do {
		failed = false;
		until_failure = n++;
		body();
		until_failure = NEVER;
		assert_true(n < 100000);
	} while (failed);
	print_message("  %u allocations\n", n - 1);
	assert_true(n > 1);
}
