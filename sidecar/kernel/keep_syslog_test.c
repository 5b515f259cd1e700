/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of giving up root. Each runs in a child, because root cannot be regained. */
#include "sidecar/kernel/keep_syslog.h"

#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void in_a_child(void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define CHECK(condition) \
	do { \
		if (!(condition)) \
			_exit(__LINE__ & 0xff ? __LINE__ & 0xff : 1); \
	} while (0)

static void get(struct __user_cap_data_struct data[static 2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	CHECK(syscall(SYS_capget, &header, data) == 0);
}

static void as_root(void)
{
	struct __user_cap_data_struct before[2], data[2];
	uint32_t had;

	get(before);
	had = before[1].permitted & CAP_TO_MASK(CAP_SYSLOG);
	CHECK(keep_syslog_only(65532, NULL) == 0);
	CHECK(getuid() == 65532 && geteuid() == 65532);
	get(data);
	CHECK(data[0].permitted == 0 && data[0].effective == 0 && data[0].inheritable == 0);
	CHECK(data[1].permitted == had && data[1].effective == had && data[1].inheritable == 0);
	/* Root cannot be regained. */
	CHECK(setuid(0) < 0);
	CHECK(keep_syslog_only(1, NULL) == 0);
	CHECK(getuid() == 65532);
}

static void without_setuid(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	struct err err = { 0 };

	CHECK(syscall(SYS_capset, &header, none) == 0);
	CHECK(keep_syslog_only(65532, &err) == -EPERM);
	CHECK(strstr(err.text, "CAP_SETUID") != NULL);
	CHECK(getuid() == 0);
}

static void root_becomes_a_user_with_syslog_at_most(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	in_a_child(as_root);
}

static void without_setuid_it_says_so(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	in_a_child(without_setuid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_becomes_a_user_with_syslog_at_most),
		cmocka_unit_test(without_setuid_it_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
