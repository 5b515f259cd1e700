/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the digests of a file that is read piece by piece. */
#include "sidecar/ship/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "lib/fileio.h"

#define SIZE ((3 << 20) + 5)
#define CUT ((1 << 20) + 77)

static struct progress progress;
static char data[SIZE], wanted[SHA256_TEXT_MAX];
static struct item item = { .name = "core", .size = SIZE, .sha256 = wanted };
static struct http *http;

static int setup(void **state)
{
	static const struct http_settings settings = { .stall_s = 60 };
	struct fault fault;
	(void)state;

	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)(i * 2654435761u >> 24);
	sha256_text(data, SIZE, wanted);
	progress_init(&progress);
	item.fd = memfd_create("core", MFD_CLOEXEC);
	return item.fd >= 0 && fd_write_all(item.fd, data, SIZE, NULL) == 0 ?
		       http_new(&settings, &http, &fault) :
		       -1;
}

static int teardown(void **state)
{
	(void)state;
	http_free(http);
	return close(item.fd);
}

static void one_read_gives_the_digests_of_the_pieces_and_of_the_file(void **state)
{
	static const unsigned char md5_of_second[16] = {
		0xf2, 0x0c, 0x44, 0x66, 0x7a, 0xfc, 0xe2, 0xb1,
		0xee, 0xe7, 0x70, 0x27, 0x81, 0x2c, 0xb6, 0x1b,
	};
	const struct store_context context = { .progress = &progress };
	struct sha256 file;
	struct object_digest d = { .file = &file, .wants_sha256 = true };
	char text[SHA256_TEXT_MAX];
	struct fault fault;
	(void)state;

	sha256_begin(&file);
	assert_int_equal(object_read(&context, http, &item, 0, CUT, &d, &fault), 0);
	sha256_text(data, CUT, text);
	assert_string_equal(d.sha256, text);
	assert_int_equal(object_read(&context, http, &item, CUT, SIZE - CUT, &d, &fault), 0);
	sha256_text(data + CUT, SIZE - CUT, text);
	assert_string_equal(d.sha256, text);
	assert_memory_equal(d.md5, md5_of_second, sizeof(md5_of_second));
	assert_string_equal(d.md5_text, "8gxEZnr84rHu53AngSy2Gw==");
	assert_int_equal(object_check_sha256(&item, &file, &fault), 0);
}

static void an_openssl_that_is_configured_for_fips_does_not_keep_files_from_their_stores(void **state)
{
	const struct store_context context = { .progress = &progress };
	char md5[MD5_TEXT_MAX], before[MD5_TEXT_MAX];
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct fault fault;
	(void)state;

	assert_int_equal(object_check_file(&context, http, &item, before, &fault), 0);
	assert_true(EVP_set_default_properties(NULL, "fips=yes"));
	assert_false(EVP_Digest("", 0, digest, NULL, EVP_md5(), NULL));
	assert_int_equal(object_check_file(&context, http, &item, md5, &fault), 0);
	assert_string_equal(md5, before);
	assert_true(EVP_set_default_properties(NULL, ""));
}

static void a_file_that_differs_from_the_manifest_or_became_shorter_has_changed(void **state)
{
	const struct store_context context = { .progress = &progress };
	struct item other = item;
	char md5[MD5_TEXT_MAX];
	struct fault fault;
	(void)state;

	assert_int_equal(object_check_file(&context, http, &item, md5, &fault), 0);
	other.sha256 = "00";
	assert_int_equal(object_check_file(&context, http, &other, md5, &fault), -1);
	assert_int_equal(fault.kind, FAULT_BUNDLE_CHANGED);
	assert_string_equal(fault.text, "core is not what MANIFEST.json says of it");
	other.size++;
	assert_int_equal(object_check_file(&context, http, &other, md5, &fault), -1);
	assert_int_equal(fault.kind, FAULT_BUNDLE_CHANGED);
	assert_string_equal(fault.text, "reading core: it became shorter");
}

static void reading_ends_at_the_deadline(void **state)
{
	const struct store_context context = { .progress = &progress, .deadline_ns = 1 };
	char md5[MD5_TEXT_MAX];
	struct fault fault;
	(void)state;

	assert_int_equal(object_check_file(&context, http, &item, md5, &fault), -1);
	assert_int_equal(fault.kind, FAULT_DEADLINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_read_gives_the_digests_of_the_pieces_and_of_the_file),
		cmocka_unit_test(an_openssl_that_is_configured_for_fips_does_not_keep_files_from_their_stores),
		cmocka_unit_test(a_file_that_differs_from_the_manifest_or_became_shorter_has_changed),
		cmocka_unit_test(reading_ends_at_the_deadline),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
