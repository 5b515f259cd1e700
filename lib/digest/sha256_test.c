/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of SHA-256, on the values of FIPS 180-4. */
#include "lib/digest/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static const struct {
	const char *text, *digest;
} known[] = {
	{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

static void known_texts_have_known_digests(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char text[SHA256_TEXT_MAX];

		sha256_text(known[i].text, strlen(known[i].text), text);
		assert_string_equal(text, known[i].digest);
	}
}

static void it_does_not_matter_how_the_text_is_cut(void **state)
{
	char text[SHA256_TEXT_MAX];

	(void)state;
	for (size_t part = 1; part < 60; part += 7) {
		const char *all = known[2].text;
		struct sha256 s;

		sha256_begin(&s);
		for (size_t at = 0; at < strlen(all); at += part)
			sha256_add(&s, all + at, MIN(part, strlen(all) - at));
		sha256_end(&s, text);
		assert_string_equal(text, known[2].digest);
	}
}

static void count(void *arg)
{
	++*(int *)arg;
}

static void a_file_is_read_between_the_given_offsets(void **state)
{
	_cleanup_close_ int fd = memfd_create("file", MFD_CLOEXEC);
	char text[SHA256_TEXT_MAX];
	int64_t len;
	int calls = 0;

	(void)state;
	assert_int_equal(pwrite(fd, "xxabcyy", 7, 0), 7);
	assert_int_equal(sha256_file(fd, 2, 3, count, &calls, &len, text, NULL), 0);
	assert_int_equal(len, 3);
	assert_int_equal(calls, 1);
	assert_string_equal(text, known[1].digest);
	assert_int_equal(sha256_file(fd, 7, INT64_MAX - 7, NULL, NULL, &len, text, NULL), 0);
	assert_int_equal(len, 0);
	assert_string_equal(text, known[0].digest);
	assert_int_equal(sha256_file(-1, 0, 1, NULL, NULL, &len, text, NULL), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts_have_known_digests),
		cmocka_unit_test(it_does_not_matter_how_the_text_is_cut),
		cmocka_unit_test(a_file_is_read_between_the_given_offsets),
	};

	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
