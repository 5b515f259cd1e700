/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading a mounted Secret. */
#include "sidecar/ship/credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fileio.h"

static char dir[64];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/credentials_test.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[96];
	(void)state;

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void put(const char *name, const char *text, mode_t mode)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
	assert_int_equal(file_write(AT_FDCWD, path, text, strlen(text), 0600, NULL), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* The caller releases them. */
static struct credentials read_all(void)
{
	struct credentials c;
	struct fault fault;

	assert_int_equal(credentials_read(dir, &c, &fault), 0);
	return c;
}

static bool are_open_to_all(void)
{
	struct credentials c = read_all();
	bool open = c.open_to_all;

	credentials_release(&c);
	return open;
}

static void each_is_a_file_and_blanks_around_it_are_dropped(void **state)
{
	struct credentials c;
	(void)state;

	put("access-key-id", "  AK\r\n", 0400);
	put("secret-access-key", "se/cr+et", 0440);
	put("ca.crt", "x", 0444);
	c = read_all();
	assert_string_equal(c.access_key_id, "AK");
	assert_string_equal(c.secret_access_key, "se/cr+et");
	assert_null(c.session_token);
	assert_null(c.delegation_token);
	assert_non_null(strstr(c.ca, "/ca.crt"));
	/* A Secret with fsGroup has mode 0440, and ca.crt is no secret. */
	assert_false(c.open_to_all);
	credentials_release(&c);
	put("secret-access-key", "x", 0444);
	assert_true(are_open_to_all());
}

static void a_keytab_is_a_path_and_a_secret(void **state)
{
	struct credentials c;
	(void)state;

	put("keytab", "\005\002 any bytes", 0400);
	put("krb5.conf", "[libdefaults]\n", 0444);
	put("principal", "ray/failures@EXAMPLE.COM\n", 0444);
	c = read_all();
	assert_non_null(strstr(c.keytab, "/keytab"));
	assert_non_null(strstr(c.krb5_conf, "/krb5.conf"));
	assert_string_equal(c.principal, "ray/failures@EXAMPLE.COM");
	credentials_release(&c);
	put("principal", "ray", 0400);
	assert_false(are_open_to_all());
	put("keytab", "x", 0444);
	assert_true(are_open_to_all());
}

static void what_is_no_credential_is_named_and_not_shown(void **state)
{
	static const char *const bad[] = { "",		 " \n",
					   "se cret",	 "secret\nX-Header: x",
					   "sec\001ret", "sec\xc3\xa4" };
	struct credentials c;
	(void)state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fault fault;

		put("secret-access-key", bad[i], 0400);
		assert_int_equal(credentials_read(dir, &c, &fault), -1);
		assert_int_equal(fault.kind, FAULT_CREDENTIALS);
		assert_non_null(strstr(fault.text, "secret-access-key"));
		assert_null(strstr(fault.text, "cret\n"));
	}
}

static void a_credential_that_is_too_long_or_no_file_is_refused(void **state)
{
	static char big[CREDENTIAL_MAX + 2];
	char path[128];
	struct credentials c;
	struct fault fault;
	(void)state;

	memset(big, 'k', CREDENTIAL_MAX + 1);
	put("session-token", big, 0400);
	assert_int_equal(credentials_read(dir, &c, &fault), -1);
	snprintf(path, sizeof(path), "%s/session-token", dir);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(credentials_read(dir, &c, &fault), -1);
	assert_non_null(strstr(fault.text, "no file"));
}

static void no_directory_is_no_credentials(void **state)
{
	struct credentials c;
	struct fault fault;
	(void)state;

	assert_int_equal(credentials_read(NULL, &c, &fault), 0);
	assert_null(c.access_key_id);
	assert_int_equal(credentials_read("/nowhere/at/all", &c, &fault), 0);
	assert_null(c.access_key_id);
	assert_int_equal(credentials_read("/dev/null", &c, &fault), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_is_a_file_and_blanks_around_it_are_dropped,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_keytab_is_a_path_and_a_secret, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_credential_is_named_and_not_shown, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_credential_that_is_too_long_or_no_file_is_refused,
						setup, teardown),
		cmocka_unit_test(no_directory_is_no_credentials),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
