/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of parsing /proc/PID files that the process itself tries to forge. */
#include "sidecar/sample/proc_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

static void statm_gives_bytes_and_refuses_what_cannot_be(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t rss, shared;
		uint64_t code;
	} rows[] = {
		{ "5000 1000 200 10 0 900 0\n", true, 1000 * 4096, 200 * 4096, 10 },
		{ "5000 1000 200\n", true, 1000 * 4096, 200 * 4096, 0 },
		{ "5000 1000 1000 10 0 900 0\n", true, 1000 * 4096, 1000 * 4096, 10 },
		{ "0 0 0 0 0 0 0\n", false, 0, 0, 0 }, /* a zombie, a kernel thread */
		{ "5000 1000\n", false, 0, 0, 0 },
		{ "5000", false, 0, 0, 0 },
		{ "", false, 0, 0, 0 },
		{ "a b c\n", false, 0, 0, 0 },
		{ "5000 200 1000 10\n", false, 0, 0, 0 }, /* more shared than resident pages */
		{ "1 18446744073709551615 0\n", false, 0, 0, 0 },
		{ "1 99999999999999999999999 0\n", false, 0, 0, 0 },
		{ "1 -5 0\n", false, 0, 0, 0 },
		{ "1 35184372088832 0\n", true, (int64_t)1 << 57, 0, 0 },
		{ "1 35184372088833 0\n", false, 0, 0, 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t rss = -7, shared = -7;
		uint64_t code = 7;

		assert_int_equal(proc_parse_statm(rows[i].text, 4096, &rss, &shared, &code),
				 rows[i].ok);
		assert_int_equal(rss, rows[i].ok ? rows[i].rss : -7);
		assert_int_equal(shared, rows[i].ok ? rows[i].shared : -7);
		assert_int_equal(code, rows[i].ok ? rows[i].code : 7);
	}
}

static void a_name_cannot_hide_the_parent(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		pid_t ppid;
		const char *name;
	} rows[] = {
		{ "7 (raylet) S 1 7 7 0 -1\n", true, 1, "raylet" },
		{ "7 (foo) Z ) R 42 7 7 0\n", true, 42, "foo) Z " },
		{ "7 (a (b) c)) S 3 0\n", true, 3, "a (b) c)" },
		{ "7 () S 3 0\n", true, 3, "" },
		{ "7 (x\n1 (y) S 2\n) S 9 0\n", true, 9, "x?1 (y) S 2?" },
		{ "7 (\033[31mred) S 9 0\n", true, 9, "?[31mred" },
		{ "7 (no end S 3 0\n", false, 0, NULL },
		{ "7 no begin) S 3 0\n", false, 0, NULL },
		{ "7 )( S 3 0\n", false, 0, NULL },
		{ "7 (cut)", false, 0, NULL },
		{ "7 (cut) S", false, 0, NULL },
		{ "7 (cut) S x", false, 0, NULL },
		{ "", false, 0, NULL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = strdup(rows[i].text);
		char name[PROCESS_NAME_MAX] = "untouched";
		pid_t ppid = -7;

		assert_int_equal(proc_parse_stat(text, &ppid, name), rows[i].ok);
		assert_int_equal(ppid, rows[i].ok ? rows[i].ppid : -7);
		assert_string_equal(name, rows[i].ok ? rows[i].name : "untouched");
	}
}

static void the_start_stands_behind_whatever_the_name_is(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		unsigned long long start;
	} rows[] = {
		{ "7 (raylet) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 163821 99 5", true, 163821 },
		{ "7 (a) S 1 2 3 (b) ) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 5 99 5", true, 5 },
		{ "7 (raylet) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0", false, 0 },
		{ "7 (raylet) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 -5 9", false, 0 },
		{ "7 raylet", false, 0 },
		{ "", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned long long start = 0;

		assert_int_equal(proc_parse_start(rows[i].text, &start), rows[i].ok);
		assert_int_equal(start, rows[i].start);
	}
}

static void a_process_is_dying_from_its_signal_on(void **state)
{
	static const struct {
		const char *text;
		bool dying;
	} rows[] = {
		{ "7 (hog) S 1 7 7 0 -1 4194304 9", false },
		{ "7 (hog) D 1 7 7 0 -1 4195328 9", true },  /* ended by a signal */
		{ "7 (hog) R 1 7 7 0 -1 4194308 9", true },  /* on its way out */
		{ "7 (hog) Z 1 7 7 0 -1 4194304 9", true },
		{ "7 (a) Z 1 7 ) S 1 7 7 0 -1 4194304 9", false }, /* this is a part of its name */
		{ "7 (hog) S 1 7", false },
		{ "7 (hog)", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(proc_parse_dying(rows[i].text), rows[i].dying);
}

/* A command line is written as text with NULs; len leaves out the final NUL of the literal. */
#define LINE(text) text, sizeof(text) - 1

static const struct {
	const char *data;
	size_t len;
	bool ok;
	const char *name, *command;
} lines[] = {
	{ LINE("ray::leak\0\0\0\0\0\0\0\0"), true, "ray::leak", "ray::leak" },
	{ LINE("ray::Actor.method"), true, "ray::Actor.method", "ray::Actor.method" },
	{ LINE("ray::a/b.c\0"), true, "ray::a/b.c", "ray::a/b.c" },
	{ LINE("ray::\0"), true, "ray::", "ray::" },
	{ LINE("ray:\0"), true, "ray:", "ray:" },
	{ LINE("ra"), true, "ra", "ra" },
	{ LINE("/usr/bin/python3\0leak.py\0--big\0"), true, "python3 leak.py", "/usr/bin/python3 leak.py --big" },
	{ LINE("python3\0-u\0/srv/app/train.py\0"), true, "python3 train.py", "python3 -u /srv/app/train.py" },
	{ LINE("python3\0-m\0x.y\0"), true, "python3 x.y", "python3 -m x.y" },
	{ LINE("python3\0-m\0"), true, "python3", "python3 -m" },
	{ LINE("python3\0-m"), true, "python3", "python3 -m" },
	{ LINE("python3\0-c\0import os\0"), true, "python3", "python3 -c import os" },
	{ LINE("python3\0-c"), true, "python3", "python3 -c" },
	{ LINE("python3\0\0\0x.py\0"), true, "python3 x.py", "python3   x.py" },
	{ LINE("python3\0dir/\0"), true, "python3", "python3 dir/" },
	{ LINE("python3\0-uc\0import os\0"), true, "python3", "python3 -uc import os" },
	{ LINE("python3\0-Ic\0import os\0x.py\0"), true, "python3", "python3 -Ic import os x.py" },
	{ LINE("python3\0-cimport os\0"), true, "python3", "python3 -cimport os" },
	{ LINE("python3\0-W\0ignore\0t.py\0"), true, "python3 t.py", "python3 -W ignore t.py" },
	{ LINE("python3\0-Wignore\0t.py\0"), true, "python3 t.py", "python3 -Wignore t.py" },
	{ LINE("python3\0-uW\0ignore\0-X\0dev\0-OO\0t.py\0-m\0x\0"), true, "python3 t.py", "python3 -uW ignore -X dev -OO t.py -m x" },
	{ LINE("python3\0-um\0x.y\0"), true, "python3 x.y", "python3 -um x.y" },
	{ LINE("python3\0-mx.y\0"), true, "python3 x.y", "python3 -mx.y" },
	{ LINE("python3\0-X\0faulthandler\0-m\0torch.distributed.run\0--nproc\0004\0t.py\0"), true, "python3 torch.distributed.run",
	  "python3 -X faulthandler -m torch.distributed.run --nproc 4 t.py" },
	{ LINE("python3\0--check-hash-based-pycs\0never\0t.py\0"), true, "python3 t.py", "python3 --check-hash-based-pycs never t.py" },
	{ LINE("python3\0-\0t.py\0"), true, "python3", "python3 - t.py" },
	{ LINE("python3\0--\0-t.py\0"), true, "python3 -t.py", "python3 -- -t.py" },
	{ LINE("python3\0-W\0"), true, "python3", "python3 -W" },
	{ LINE("python3\0-W"), true, "python3", "python3 -W" },
	{ LINE("pypy3\0t.py\0"), true, "pypy3 t.py", "pypy3 t.py" },
	/*
	 * The programs in Ray's containers: KubeRay's command, `ray start` after it, and what that
	 * starts.
	 */
	{ LINE("/bin/bash\0-lc\0--\0ulimit -n 65536; ray start --head --block\0"), true, "bash",
	  "/bin/bash -lc -- ulimit -n 65536; ray start --head --block" },
	{ LINE("/bin/bash\0-c\0--\0ray start\0"), true, "bash", "/bin/bash -c -- ray start" },
	{ LINE("/home/ray/anaconda3/bin/python3.11\0/home/ray/anaconda3/bin/ray\0start\0--head\0"), true, "python3.11 ray",
	  "/home/ray/anaconda3/bin/python3.11 /home/ray/anaconda3/bin/ray start --head" },
	{ LINE("/x/bin/python3\0-u\0/x/ray/dashboard/agent.py\0--node-ip-address=1\0"), true, "python3 agent.py",
	  "/x/bin/python3 -u /x/ray/dashboard/agent.py --node-ip-address=1" },
	{ LINE("/x/bin/python3\0/x/ray/_private/workers/default_worker.py\0--node-ip-address=1\0"), true, "python3 default_worker.py",
	  "/x/bin/python3 /x/ray/_private/workers/default_worker.py --node-ip-address=1" },
	{ LINE("/x/bin/python3\0-m\0ray.util.client.server\0--port=1\0"), true, "python3 ray.util.client.server",
	  "/x/bin/python3 -m ray.util.client.server --port=1" },
	{ LINE("ray::IDLE\0\0\0"), true, "ray::IDLE", "ray::IDLE" },
	{ LINE("ray-dashboard-JobHead-0 (/x/bin/python3 -c \"from multiprocessing\")"), true, "ray-dashboard-JobHead-0",
	  "ray-dashboard-JobHead-0 (/x/bin/python3 -c \"from multiprocessing\")" },
	/* Shells */
	{ LINE("bash\0-ec\0sleep 1\0"), true, "bash", "bash -ec sleep 1" },
	{ LINE("bash\0--login\0-c\0sleep 1\0"), true, "bash", "bash --login -c sleep 1" },
	{ LINE("bash\0-o\0pipefail\0run.sh\0"), true, "bash run.sh", "bash -o pipefail run.sh" },
	{ LINE("bash\0-euxo\0pipefail\0/srv/run.sh\0-c\0"), true, "bash run.sh", "bash -euxo pipefail /srv/run.sh -c" },
	{ LINE("bash\0+O\0extglob\0-e\0run.sh\0"), true, "bash run.sh", "bash +O extglob -e run.sh" },
	{ LINE("bash\0--rcfile\0/etc/rc\0run.sh\0"), true, "bash run.sh", "bash --rcfile /etc/rc run.sh" },
	{ LINE("sh\0-s\0arg\0"), true, "sh", "sh -s arg" },
	{ LINE("dash\0--\0run.sh\0"), true, "dash run.sh", "dash -- run.sh" },
	{ LINE("-bash\0"), true, "-bash", "-bash" },
	/* env is no interpreter: it executes one, which then has its own name. */
	{ LINE("env\0A=b\0python3\0t.py\0"), true, "env", "env A=b python3 t.py" },
	{ LINE("timeout\00010\0python3\0t.py\0"), true, "timeout", "timeout 10 python3 t.py" },
	{ LINE("bash\0-c\0ray start --head\0"), true, "bash", "bash -c ray start --head" },
	{ LINE("/usr/lib/ray/raylet\0--raylet_socket_name=/tmp/x\0"), true, "raylet",
	  "/usr/lib/ray/raylet --raylet_socket_name=/tmp/x" },
	{ LINE("sshd: user@pts/0"), true, "sshd: user@pts/0", "sshd: user@pts/0" },
	{ LINE(""), false, "old", "old" },
	{ LINE("\0\0\0"), false, "old", "old" },
	{ LINE("\0x\0"), true, "old", " x" },
	{ LINE("/\0"), true, "old", "/" },
	{ LINE("a\033]0;title\007b\nc\0"), true, "a?]0;title?b?c", "a?]0;title?b?c" },
	{ LINE("\xc2\x9b" "31m"), true, "??31m", "??31m" }, /* CSI as one C1 control */
	{ LINE("caf\xc3\xa9"), true, "caf\xc3\xa9", "caf\xc3\xa9" },
	{ LINE("\xf0\x9f\x94\xa5"), true, "\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5" },
	{ LINE("cut\xf0\x9f\x94"), true, "cut???", "cut???" },
	{ LINE("\x80\x81\xff\xfe"), true, "????", "????" },
	{ LINE("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"), true, "?????????", "?????????" },
	{ LINE("a\xe2\x80\xae" "b"), true, "a???b", "a???b" }, /* right-to-left override */
};

static void a_command_line_becomes_the_name_that_people_know(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		/*
		 * Of exactly this size and without a final NUL, so that ASan sees a read beyond its
		 * end.
		 */
		_cleanup_free_ char *data = malloc(lines[i].len ? lines[i].len : 1);
		char name[PROCESS_NAME_MAX] = "old", command[PROCESS_COMMAND_MAX] = "old";

		memcpy(data, lines[i].data, lines[i].len);
		assert_int_equal(proc_parse_cmdline(data, lines[i].len, name, command),
				 lines[i].ok);
		assert_string_equal(name, lines[i].name);
		assert_string_equal(command, lines[i].command);
	}
}

static void credentials_on_a_command_line_are_hidden(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		const char *command;
	} rows[] = {
		{ LINE("gcs_server\0--redis_password=ab\0--port=1\0"), "gcs_server --redis_password=** --port=1" },
		{ LINE("x\0--token\0abc\0rest"), "x --token *** rest" },
		{ LINE("x\0--token\0--next\0rest"), "x --token --next rest" },
		{ LINE("x\0-p\0--API-KEY=a b"), "x -p --API-KEY=***" },
		{ LINE("x\0AWS_SECRET_ACCESS_KEY=abc"), "x AWS_SECRET_ACCESS_KEY=***" },
		{ LINE("bash\0-c\0ray start --redis-password=ab --head"), "bash -c ray start --redis-password=*********" },
		{ LINE("x\0--tokenizer=gpt2\0--max-tokens=5"), "x --tokenizer=gpt2 --max-tokens=5" },
		{ LINE("x\0tokenize.py\0password"), "x tokenize.py password" },
		{ LINE("x\0--password="), "x --password=" },
		{ LINE("x\0--password"), "x --password" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[PROCESS_NAME_MAX], command[PROCESS_COMMAND_MAX];

		assert_true(proc_parse_cmdline(rows[i].data, rows[i].len, name, command));
		assert_string_equal(command, rows[i].command);
	}
}

static void credentials_in_a_title_are_hidden_in_the_name_too(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		const char *name;
	} rows[] = {
		{ LINE("server --token=abcd"), "server --token=****" },
		{ LINE("ray::serve token=abcd"), "ray::serve token=****" },
		{ LINE("python\0app?secret=abcd"), "python app?secret=****" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[PROCESS_NAME_MAX], command[PROCESS_COMMAND_MAX];

		assert_true(proc_parse_cmdline(rows[i].data, rows[i].len, name, command));
		assert_string_equal(name, rows[i].name);
	}
}

static void a_long_title_is_cut_between_characters(void **state)
{
	char title[400], name[PROCESS_NAME_MAX], command[PROCESS_COMMAND_MAX];
	(void)state;

	for (size_t shift = 0; shift < 4; shift++) {
		memset(title, 'x', sizeof(title));
		for (size_t i = shift; i + 4 <= sizeof(title); i += 4)
			memcpy(title + i, "\xf0\x9f\x94\xa5", 4);
		assert_true(proc_parse_cmdline(title, sizeof(title), name, command));
		assert_int_equal((strlen(name) - shift) % 4, 0);
		assert_true(strlen(name) > PROCESS_NAME_MAX - 6);
		assert_int_equal((strlen(command) - shift) % 4, 0);
		assert_true(strlen(command) > PROCESS_COMMAND_MAX - 6);
		assert_null(strchr(name, '?'));
		assert_null(strchr(command, '?'));
	}
}

static void an_interpreter_with_a_long_name_leaves_no_room_for_a_script(void **state)
{
	char name[PROCESS_NAME_MAX], command[PROCESS_COMMAND_MAX];
	static const char data[] = "python-with-a-name-of-exactly-forty-seven-bytes\0script.py";
	(void)state;

	assert_true(proc_parse_cmdline(data, sizeof(data), name, command));
	assert_string_equal(name, "python-with-a-name-of-exactly-forty-seven-bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statm_gives_bytes_and_refuses_what_cannot_be),
		cmocka_unit_test(a_name_cannot_hide_the_parent),
		cmocka_unit_test(the_start_stands_behind_whatever_the_name_is),
		cmocka_unit_test(a_process_is_dying_from_its_signal_on),
		cmocka_unit_test(a_command_line_becomes_the_name_that_people_know),
		cmocka_unit_test(credentials_on_a_command_line_are_hidden),
		cmocka_unit_test(credentials_in_a_title_are_hidden_in_the_name_too),
		cmocka_unit_test(a_long_title_is_cut_between_characters),
		cmocka_unit_test(an_interpreter_with_a_long_name_leaves_no_room_for_a_script),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
