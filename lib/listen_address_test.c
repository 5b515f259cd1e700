/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of addresses to listen on. */
#include "lib/listen_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/macros.h"

static void addresses_are_right_or_wrong(void **state)
{
	static const char *const right[] = {
		":9443", ":0", "0.0.0.0:9443", "127.0.0.1:1", "127.0.0.1:65535",
		"[::]:9443", "[::1]:80", "[fe80::1]:1",
	};
	static const char *const wrong[] = {
		"", ":", "9443", ":x", ":-1", ":+1", ": 1", ":65536", ":18446744073709551617",
		"::9443", "::1", "[::1]", "[::1:9443", "[]:1",
		"localhost:1", "1.2.3:4", "1.2.3.4", "1.2.3.4:", "0.0.0.0:1x",
		"[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd]:1",
	};
	int fd = -1;
	uint16_t port;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		if (!listen_address_is_valid(right[i]))
			fail_msg("%s", right[i]);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (listen_address_is_valid(wrong[i]) ||
		    listen_address_bind(wrong[i], &fd, &port, NULL) != -EINVAL)
			fail_msg("%s", wrong[i]);
	assert_int_equal(fd, -1);
}

static void a_port_that_is_taken_is_named(void **state)
{
	char text[32];
	struct err err = { 0 };
	int fd, second = -1;
	uint16_t port;
	(void)state;

	assert_int_equal(listen_address_bind("127.0.0.1:0", &fd, &port, &err), 0);
	assert_true(port > 0);
	assert_int_equal(listen(fd, 1), 0);
	snprintf(text, sizeof(text), "127.0.0.1:%d", port);
	assert_int_equal(listen_address_bind(text, &second, &port, &err), -EADDRINUSE);
	assert_non_null(strstr(err_text(&err), text));
	assert_int_equal(second, -1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_right_or_wrong),
		cmocka_unit_test(a_port_that_is_taken_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
