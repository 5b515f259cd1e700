/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher starts the command: with what, and which exit code comes back. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "e2e/kernel/launch_testing.h"

/* Exit codes */

static void expect_every_exit_code(const struct how *how, int step)
{
	for (int code = 0; code <= 255; code += step) {
		struct process p = start(how, "--", probe, "exit", decimal(code), NULL);

		assert_int_equal(finish(&p), code);
	}
}

static void every_exit_code_from_0_to_255_passes_through(void **state)
{
	(void)state;
	expect_every_exit_code(&usual, 1);
	expect_every_exit_code(&as_pid1, 15);
}

static bool stops_a_process(int signo)
{
	return signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU;
}

static bool is_ignored_by_default(int signo)
{
	return signo == SIGCHLD || signo == SIGCONT || signo == SIGURG || signo == SIGWINCH;
}

static void death_by_any_signal_gives_128_plus_its_number(void **state)
{
	(void)state;
	for (int signo = 1; signo <= 64; signo++) {
		struct process p;

		if (stops_a_process(signo))
			continue;
		p = start(&usual, "--", probe, "signal", decimal(signo), NULL);
		assert_int_equal(finish(&p), is_ignored_by_default(signo) ? 99 : 128 + signo);
	}
}

static void faults_of_the_processor_give_128_plus_their_signal(void **state)
{
	static const struct {
		const char *kind;
		int signo;
	} rows[] = {
		{ "segv", SIGSEGV },
		{ "ill", SIGILL },
		{ "trap", SIGTRAP },
		{ "bus", SIGBUS },
#if !defined(__aarch64__) /* where a division by zero is no fault */
		{ "fpe", SIGFPE },
#endif
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct process p = start(&usual, "--", probe, "fault", rows[i].kind, NULL);

		assert_int_equal(finish(&p), 128 + rows[i].signo);
		p = start(&as_pid1, "--", probe, "fault", rows[i].kind, NULL);
		assert_int_equal(finish(&p), 128 + rows[i].signo);
	}
}

static void close_stderr(void)
{
	close(STDERR_FILENO);
}

static void a_command_that_does_not_exist_gives_127(void **state)
{
	const struct how mute = { .prepare = close_stderr };
	struct process p = start(&usual, "--", "/no/such/command", NULL);

	(void)state;
	assert_non_null(strstr(read_text(p.err, NULL), "/no/such/command: No such file"));
	assert_int_equal(finish(&p), 127);
	p = start(&usual, "--", "no-such-command-on-the-path", NULL);
	assert_int_equal(finish(&p), 127);
	/* Also when the launcher cannot print the reason. */
	p = start(&mute, "--", "/no/such/command", NULL);
	assert_int_equal(finish(&p), 127);
}

static void a_command_that_cannot_be_executed_gives_126(void **state)
{
	char path[sizeof(directory) + 16];
	struct process p;

	(void)state;
	put_file("text", "", 0644);
	snprintf(path, sizeof(path), "%s/text", directory);
	p = start(&usual, "--", path, NULL);
	assert_non_null(strstr(read_text(p.err, NULL), "Permission denied"));
	assert_int_equal(finish(&p), 126);
	p = start(&usual, "--", "/", NULL);
	assert_int_equal(finish(&p), 126);
	remove_file("text");
}

static void a_wrong_option_gives_2_and_says_which(void **state)
{
	static const char *const rows[][3] = {
		{ "--cores-max", "-1", "whole number" },
		{ "--cores-max", "12x", "12x" },
		{ "--cores-max", "99999999999999999999", "whole number" },
		{ "--oom-score-adj", "1001", "-1000 to 1000" },
		{ "--oom-score-adj", "", "takes a value" },
		{ "--wait-tcp", "nocolon", "HOST:PORT" },
		{ "--wait-sidecar", "0", "1 to 3600" },
		{ "--wait-sidecar", "3601", "1 to 3600" },
		{ "--name", "two words", "two words" },
		{ "--name", "", "name" },
		{ "--colour", "red", "unknown option --colour (see --help)\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct process p =
			start(&usual, rows[i][0], rows[i][1], "--", probe, "exit", "0", NULL);

		assert_non_null(strstr(read_text(p.err, NULL), rows[i][2]));
		assert_int_equal(finish(&p), 2);
	}
}

/* What the command is given */

static int64_t time_of_a_start(bool bare)
{
	const struct how how = { .bare = bare };
	int64_t begin = now_ms();
	struct process p = start(&how, "--", probe, "exit", "0", NULL);

	assert_int_equal(finish(&p), 0);
	return now_ms() - begin;
}

/*
 * The fastest start of each kind is compared: what else the machine does slows some of them down,
 * but a wait in the launcher would slow all of them down. The shortest wait for a sidecar that
 * anybody would write is a second. On a machine that is short of processors a start takes several
 * time slices.
 */
static void without_a_sidecar_the_command_starts_and_ends_as_fast_as_a_bare_one(void **state)
{
	int64_t bare = INT64_MAX, with = INT64_MAX;

	(void)state;
	for (int i = 0; i < 50; i++) {
		bare = MIN(bare, time_of_a_start(true));
		with = MIN(with, time_of_a_start(false));
	}
	print_message("           the fastest start: %lld ms bare, %lld ms with the launcher\n",
		      (long long)bare, (long long)with);
	assert_true(with < 2 * bare + 500);
}

static void arguments_pass_unchanged(void **state)
{
	struct process p = start(&usual, "--name", "ray-worker", "--", probe, "args", "", "a b",
				 "--", "--name", "$HOME", "tab\there", "\xff\xfe", "-x", NULL);

	(void)state;
	assert_string_equal(read_text(p.out, NULL),
			    "<>\n<a b>\n<-->\n<--name>\n<$HOME>\n<tab\there>\n<\xff\xfe>\n<-x>\n");
	assert_int_equal(finish(&p), 0);
}

static void strange_environment(void)
{
	clearenv();
	putenv((char *)"EMPTY=");
	putenv((char *)"TWO=lines\nhere");
	putenv((char *)"A=B=C");
	putenv((char *)"A=twice");
}

static void the_environment_passes_unchanged(void **state)
{
	struct how how = { .prepare = strange_environment };
	char with[OUTPUT_MAX];
	struct process p = start(&how, "--", probe, "env", NULL);

	(void)state;
	snprintf(with, sizeof(with), "%s", read_text(p.out, NULL));
	assert_int_equal(finish(&p), 0);
	how.bare = true;
	p = start(&how, "--", probe, "env", NULL);
	assert_string_equal(read_text(p.out, NULL), with);
	assert_int_equal(finish(&p), 0);
	assert_non_null(strstr(with, "<TWO=lines\nhere>"));
}

static void standard_input_passes_unchanged(void **state)
{
	struct process p = start(&usual, "--", probe, "cat", NULL);

	(void)state;
	assert_int_equal(write(p.in, "one\0two\n", 8), 8);
	close_input(&p);
	assert_memory_equal(read_text(p.out, NULL), "one\0two\n", 8);
	assert_int_equal(finish(&p), 0);
}

static void open_7_and_9(void)
{
	dup2(0, 7);
	dup2(1, 9);
}

static void inherited_descriptors_pass_and_no_other_leaks_into_the_command(void **state)
{
	const struct how how = { .prepare = open_7_and_9 };
	struct sidecar s = sidecar_listen();
	struct process p = start(&how, "--", probe, "fds", NULL);

	(void)state;
	sidecar_greet(&s);
	dismiss(&s);
	assert_string_equal(read_text(p.out, NULL), "0 1 2 7 9 ");
	assert_int_equal(finish(&p), 0);
	sidecar_release(&s);
}

static void close_the_standard_descriptors(void)
{
	close(0);
	close(2);
}

static void closed_standard_descriptors_stay_closed_for_the_command(void **state)
{
	const struct how how = { .prepare = close_the_standard_descriptors };
	struct process p = start(&how, "--", probe, "fds", NULL);

	(void)state;
	assert_string_equal(read_text(p.out, NULL), "1 ");
	assert_int_equal(finish(&p), 0);
}

static void three_descriptors(void)
{
	const struct rlimit limit = { 3, 3 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

static void without_a_free_descriptor_the_command_runs_all_the_same(void **state)
{
	const struct how how = { .prepare = three_descriptors };
	struct process p;

	(void)state;
	if (launcher_is_dynamic)
		skip();
	p = start(&how, "--", probe, "exit", "12", NULL);
	assert_int_equal(finish(&p), 12);
}

static void twenty_descriptors(void)
{
	const struct rlimit limit = { 20, 20 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

/* poll(2) takes no more entries than the limit allows descriptors. */
static void with_few_descriptors_the_command_runs_to_its_end(void **state)
{
	const struct how how = { .prepare = twenty_descriptors };
	struct process p = start(&how, "--", "/bin/sh", "-c", "read line; exit 12", NULL);

	(void)state;
	close_input(&p);
	assert_int_equal(finish(&p), 12);
}

/* When and as what the command starts */

static int loopback_socket(struct sockaddr_in *address)
{
	socklen_t len = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_return_code(bind(fd, (struct sockaddr *)address, len), errno);
	assert_return_code(getsockname(fd, (struct sockaddr *)address, &len), errno);
	return fd;
}

static void wait_tcp_starts_the_command_when_the_port_accepts(void **state)
{
	struct sockaddr_in address;
	int fd = loopback_socket(&address);
	char target[32];
	struct process p;

	(void)state;
	snprintf(target, sizeof(target), "127.0.0.1:%d", ntohs(address.sin_port));
	p = start(&usual, "--wait-tcp", target, "--", probe, "args", "here", NULL);
	assert_false(readable_within(p.out, 1300));
	assert_return_code(listen(fd, 4), errno);
	assert_string_equal(read_text(p.out, NULL), "<here>\n");
	assert_int_equal(finish(&p), 0);
	close(fd);
}

static void a_prefix_comes_before_the_command_word_by_word(void **state)
{
	struct process p = start(&usual, "--prefix", "  env  A=1\tB=2 ", "--", "sh", "-c",
				 "echo $A$B \"$0\"", "x y", NULL);

	(void)state;
	assert_string_equal(read_text(p.out, NULL), "12 x y\n");
	assert_int_equal(finish(&p), 0);
	p = start(&usual, "--prefix", " ", "--", probe, "exit", "4", NULL);
	assert_int_equal(finish(&p), 4);
}

static void without_the_prefixs_program_the_command_starts_all_the_same(void **state)
{
	struct process p = start(&usual, "--prefix", "no-such-profiler run -o /x", "--", probe,
				 "exit", "6", NULL);

	(void)state;
	assert_non_null(strstr(read_text(p.err, NULL),
			       "no-such-profiler: No such file or directory: starting without it"));
	assert_int_equal(finish(&p), 6);
}

/* The shell in front of the launcher starts it so, and the command must not get the descriptor. */
static void put_launcher_at_3(void)
{
	int fd = open(launcher, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (fd != 3 && dup2(fd, 3) != 3) || fcntl(3, F_SETFD, 0) < 0)
		_exit(126);
}

static void a_launcher_started_by_a_descriptor_closes_it_and_goes_by_its_own_name(void **state)
{
	static const char script[] =
		"cat /proc/$PPID/comm; head -c 16 /proc/$PPID/cmdline; echo; "
		"[ ! -e /proc/self/fd/3 ] && echo closed; echo ready; read line; exit 5";
	const struct how how = { .prepare = put_launcher_at_3 };
	/* clang-format off */
	const char *const argv[] = { "/proc/self/fd/./3", "--self-fd", "3", "--socket", socket_path,
				     "--", "/bin/sh", "-c", script, NULL };
	/* clang-format on */
	struct process p = start_argv(&how, argv);

	(void)state;
	assert_string_equal(read_text(p.out, "ready\n"),
			    "afterglow-launc\nafterglow-launch\nclosed\nready\n");
	assert_int_equal(run_release(p.pid), 0); /* which knows a launcher by its name */
	close_input(&p);
	assert_int_equal(finish(&p), 5);
}

/* As people read it in a container, where the launcher is process 1. */
static void the_launchers_own_environment_is_the_containers(void **state)
{
	static const char script[] = "tr '\\0' '\\n' </proc/$PPID/environ | "
				     "grep -e '^with[.]dot' -e AFTERGLOW_ENVIRONMENT";
	const struct how how = { .prepare = put_launcher_at_3 };
	/* clang-format off */
	const char *const argv[] = { "/proc/self/fd/./3", "--self-fd", "3", "--socket", socket_path,
				     "--", "/bin/sh", "-c", script, NULL };
	/* clang-format on */
	struct process p;

	(void)state;
	setenv("AFTERGLOW_ENVIRONMENT", "with.dot=1\nAFTERGLOW_ENVIRONMENT=own", 1);
	p = start_argv(&how, argv);
	unsetenv("AFTERGLOW_ENVIRONMENT");
	assert_string_equal(read_text(p.out, NULL), "with.dot=1\nAFTERGLOW_ENVIRONMENT=own\n");
	assert_int_equal(finish(&p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_launchers_own_environment_is_the_containers),
		cmocka_unit_test(every_exit_code_from_0_to_255_passes_through),
		cmocka_unit_test(death_by_any_signal_gives_128_plus_its_number),
		cmocka_unit_test(faults_of_the_processor_give_128_plus_their_signal),
		cmocka_unit_test(a_command_that_does_not_exist_gives_127),
		cmocka_unit_test(a_command_that_cannot_be_executed_gives_126),
		cmocka_unit_test(a_wrong_option_gives_2_and_says_which),
		cmocka_unit_test(
			without_a_sidecar_the_command_starts_and_ends_as_fast_as_a_bare_one),
		cmocka_unit_test(arguments_pass_unchanged),
		cmocka_unit_test(the_environment_passes_unchanged),
		cmocka_unit_test(standard_input_passes_unchanged),
		cmocka_unit_test(inherited_descriptors_pass_and_no_other_leaks_into_the_command),
		cmocka_unit_test(closed_standard_descriptors_stay_closed_for_the_command),
		cmocka_unit_test(without_a_free_descriptor_the_command_runs_all_the_same),
		cmocka_unit_test(with_few_descriptors_the_command_runs_to_its_end),
		cmocka_unit_test(wait_tcp_starts_the_command_when_the_port_accepts),
		cmocka_unit_test(a_prefix_comes_before_the_command_word_by_word),
		cmocka_unit_test(without_the_prefixs_program_the_command_starts_all_the_same),
		cmocka_unit_test(
			a_launcher_started_by_a_descriptor_closes_it_and_goes_by_its_own_name),
	};

	return RUN_LAUNCH_TESTS(tests);
}
