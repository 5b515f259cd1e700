/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the shell command, run by real shells, with launchers of different abilities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/macros.h"
#include "lib/strbuf.h"
#include "operator/injection/launch_script.h"

/* Prints each of its arguments in brackets, and that it runs from the shell's open descriptor. */
static const char launcher[] =
	"#!/bin/sh\n"
	"for a; do [ \"$a\" = --environment ] && echo \"lost=1$LOST\" && exit 0; done\n"
	"for a; do printf '[%s]' \"$a\"; done\n";

/* The programs that are /bin/sh in the images of Debian, Red Hat and Alpine. */
static const char *const shells[] = { "/bin/dash", "/bin/bash", "/bin/busybox ash",
				      "/bin/bash --posix" };

static char dir[] = "/tmp/launch_script_test.XXXXXX";
static struct launchers launchers; /* of this machine and of another one; their files are in dir */

/* Replaces $$ by $, as Kubernetes does before it starts the shell. */
static void as_kubernetes_hands_it_over(const char *script, struct strbuf *line)
{
	for (const char *p = script; *p; p++) {
		strbuf_addc(line, *p);
		p += p[0] == '$' && p[1] == '$';
	}
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
	assert_int_equal(file_write(AT_FDCWD, path, text, strlen(text), mode, NULL), 0);
	chmod(path, mode);
}

/* Appends the output of `SHELL -c SCRIPT afterglow COMMAND` from both streams. */
static void run_command(struct launch_script in, const char *shell, const char *command,
			char ret_text[static 1024])
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT(8192), whole = STRBUF_INIT(512);
	_cleanup_free_ char *script = NULL;
	FILE *out;

	in.launchers = &launchers;
	in.dir = in.dir ? in.dir : dir;
	in.socket = "/s";
	in.container = "ray";
	script = launch_script(&in);
	assert_non_null(script);
	as_kubernetes_hands_it_over(script, &line);
	setenv("LINE", strbuf_str(&line), 1);
	strbuf_addf(&whole, "exec 2>&1; exec %s -c \"$LINE\" afterglow %s", shell, command);
	out = popen(strbuf_str(&whole), "r");
	assert_non_null(out);
	ret_text[fread(ret_text, 1, 1023, out)] = '\0';
	pclose(out);
}

static void run(struct launch_script in, const char *shell, char ret_text[static 1024])
{
	run_command(in, shell, "/usr/bin/printf '%s-' 'a b' c", ret_text);
}

/* Checks that all shells behave in the same way. */
static void assert_runs(struct launch_script in, const char *want)
{
	char text[1024];

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		run(in, shells[i], text);
		if (strcmp(text, want) != 0)
			fail_msg("%s: \"%s\", not \"%s\"", shells[i], text, want);
	}
}

#define BARE "a b-c-"

static void the_launcher_gets_the_command_word_by_word(void **state)
{
	(void)state;
	assert_runs(
		(struct launch_script){ 0 },
		"[--self-fd][3][--name][ray][--socket][/s][--wait-sidecar][10][--][/usr/bin/printf][%s-][a b][c]");
}

static void a_prefix_reaches_the_launcher_as_it_is_written(void **state)
{
	static const char prefix[] = "env A='x y' \"$(id)\" $$; `id` \\";
	char text[1024], want[512];

	(void)state;
	snprintf(want, sizeof(want), "[--self-fd][3][--prefix][%s][--name]", prefix);
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		run((struct launch_script){ .prefix = prefix }, shells[i], text);
		assert_memory_equal(text, want, strlen(want));
	}
}

/* One changed byte is enough, even one after everything that a shell would read. */
static void a_file_that_was_tampered_with_is_never_started(void **state)
{
	char changed[sizeof(launcher) + 2];

	(void)state;
	snprintf(changed, sizeof(changed), "%s\n", launcher);
	write_file("afterglow-launch", changed, 0755);
	assert_runs((struct launch_script){ 0 }, BARE);
	write_file("afterglow-launch", "", 0755);
	assert_runs((struct launch_script){ 0 }, BARE);
	write_file("afterglow-launch", launcher, 0755);
}

/* The kubelet may replace this directory by another one at any moment. */
static void a_file_that_comes_in_its_place_after_the_check_is_not_started(void **state)
{
	char path[PATH_MAX], *old = strdup(getenv("PATH")), tool[1024];

	(void)state;
	snprintf(
		tool, sizeof(tool),
		"#!/bin/sh\n/usr/bin/sha256sum\n/bin/rm -f %s/afterglow-launch\n"
		"printf '#!/bin/sh\\necho swapped\\n' >%s/afterglow-launch\n/bin/chmod 755 %s/afterglow-launch\n",
		dir, dir, dir);
	write_file("sha256sum", tool, 0755);
	snprintf(path, sizeof(path), "%s:%s", dir, old);
	setenv("PATH", path, 1);
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		char text[1024];

		write_file("afterglow-launch", launcher, 0755);
		run((struct launch_script){ 0 }, shells[i], text);
		if (strncmp(text, "[--self-fd][3]", 14) != 0)
			fail_msg("%s: %s", shells[i], text);
	}
	setenv("PATH", old, 1);
	free(old);
	snprintf(path, sizeof(path), "%s/sha256sum", dir);
	unlink(path);
	write_file("afterglow-launch", launcher, 0755);
}

static void a_launcher_that_cannot_be_executed_is_left_out(void **state)
{
	(void)state;
	write_file("afterglow-launch", launcher, 0444);
	assert_runs((struct launch_script){ 0 }, BARE);
	write_file("afterglow-launch", launcher, 0755);
}

/*
 * The checksum is right, but the launcher is made for another machine, or a security module forbids
 * it. Some shells then read it as a script.
 */
static void a_launcher_that_the_kernel_refuses_is_left_out(void **state)
{
	static const char refused[] = "\177ELF\2\1\1 of no machine";
	const struct launcher usual = launchers.of[0];

	(void)state;
	write_file("afterglow-launch", refused, 0755);
	launchers.of[0] = launcher_of(usual.machine, refused, strlen(refused));
	launchers.of[0].file = usual.file;
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		char text[1024];

		run((struct launch_script){ 0 }, shells[i], text);
		if (strlen(text) < strlen(BARE) ||
		    strcmp(text + strlen(text) - strlen(BARE), BARE) != 0)
			fail_msg("%s: \"%s\"", shells[i], text);
	}
	launchers.of[0] = usual;
	write_file("afterglow-launch", launcher, 0755);
}

/* This covers everything that runs before the launcher. */
static void bash_starts_no_process_but_sha256sum(void **state)
{
	char bin[64], path[PATH_MAX], text[1024], *old = strdup(getenv("PATH"));

	(void)state;
	snprintf(bin, sizeof(bin), "%s/one", dir);
	assert_int_equal(mkdir(bin, 0755), 0);
	snprintf(path, sizeof(path), "%s/sha256sum", bin);
	assert_int_equal(symlink("/usr/bin/sha256sum", path), 0);
	setenv("PATH", bin, 1);
	run((struct launch_script){ 0 }, "/bin/bash", text);
	setenv("PATH", old, 1);
	free(old);
	assert_memory_equal(text, "[--self-fd][3]", 14);
	assert_true(tree_remove(AT_FDCWD, bin));
}

static void without_a_launcher_the_command_runs(void **state)
{
	(void)state;
	assert_runs((struct launch_script){ .dir = "/no/launcher", .prefix = "'\"", .cores = true },
		    BARE);
}

static void with_tools(const char *const *tools, size_t n, const char *want)
{
	char bin[64], path[PATH_MAX], *old = strdup(getenv("PATH"));

	snprintf(bin, sizeof(bin), "%s/bin", dir);
	assert_int_equal(mkdir(bin, 0755), 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "bin/%s", tools[i]);
		write_file(path, "#!/bin/sh\necho s390x\n", 0755);
	}
	setenv("PATH", bin, 1);
	/* In busybox they are all built in. */
	for (size_t i = 0; i < 2; i++) {
		char text[1024];

		run((struct launch_script){ 0 }, shells[i], text);
		assert_string_equal(text, want);
	}
	setenv("PATH", old, 1);
	free(old);
	assert_true(tree_remove(AT_FDCWD, bin));
}

static void without_sha256sum_the_command_runs_and_nothing_is_printed(void **state)
{
	char uname[64], *old = strdup(getenv("PATH")), path[PATH_MAX], text[1024];

	(void)state;
	snprintf(uname, sizeof(uname), "%s/only", dir);
	assert_int_equal(mkdir(uname, 0755), 0);
	snprintf(path, sizeof(path), "%s/uname", uname);
	assert_int_equal(symlink("/usr/bin/uname", path), 0);
	setenv("PATH", uname, 1);
	for (size_t i = 0; i < 2; i++) {
		run((struct launch_script){ 0 }, shells[i], text);
		assert_string_equal(text, BARE);
	}
	setenv("PATH", old, 1);
	free(old);
	assert_true(tree_remove(AT_FDCWD, uname));
}

static void on_a_machine_without_a_launcher_none_is_tried(void **state)
{
	static const char *const tools[] = { "uname", "sha256sum" };

	(void)state;
	setenv("HOSTTYPE", "s390x", 1); /* which bash believes, and no other shell has */
	with_tools(tools, ARRAY_SIZE(tools), BARE);
	unsetenv("HOSTTYPE");
}

static void the_command_has_no_variable_and_no_descriptor_of_ours(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		char text[1024];

		/* So that the bare command runs, after everything that comes before it */
		write_file("afterglow-launch", launcher, 0444);
		run_command(
			(struct launch_script){ 0 }, shells[i],
			"/bin/sh -c 'env | grep -i ^afterglow; [ ! -e /proc/self/fd/3 ] || readlink /proc/self/fd/3'",
			text);
		assert_null(strstr(text, "afterglow"));
	}
	write_file("afterglow-launch", launcher, 0755);
}

/*
 * The shell itself was started, but the launcher would have an environment that is longer by what
 * the shell changed in it.
 */
static void the_command_runs_where_the_kernel_takes_no_more_arguments(void **state)
{
	const struct rlimit stack = { 8 << 20, RLIM_INFINITY };
	size_t room = (8 << 20) / 4 - 30000;
	struct rlimit before;
	char name[16];

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
	if (setrlimit(RLIMIT_STACK, &stack) < 0)
		skip();
	for (char **at = environ; *at; at++)
		room -= strlen(*at) + 1 + sizeof(char *);
	_cleanup_free_ char *text = calloc(1, 100001);
	memset(text, 'x', 40000);
	setenv("LOST", text, 1);
	memset(text, 'x', 100000);
	for (room -= 40000; room > 100200; room -= 100020) {
		snprintf(name, sizeof(name), "FILL%zu", room);
		setenv(name, text, 1);
	}
	text[room] = '\0';
	setenv("FILL", text, 1);
	assert_runs((struct launch_script){ 0 }, BARE);
	for (char **at = environ; *at;)
		if (strncmp(*at, "FILL", 4) == 0 || strncmp(*at, "LOST=", 5) == 0) {
			snprintf(name, sizeof(name), "%.*s", (int)strcspn(*at, "="), *at);
			unsetenv(name);
			at = environ;
		} else {
			at++;
		}
	setrlimit(RLIMIT_STACK, &before);
}

static void assert_runs_with(const char *shell, const char *command, const char *want)
{
	char text[1024];

	run_command((struct launch_script){ 0 }, shell, command, text);
	if (strcmp(text, want) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", shell, text, want);
}

/* With a launcher that cannot be executed, so that the shell itself runs the command. */
static void bash_hands_down_its_options_and_runs_bash_env_once(void **state)
{
	char path[PATH_MAX];

	(void)state;
	write_file("afterglow-launch", launcher, 0444);
	write_file("env", "echo \"BASH_ENV of $0\"\n", 0644);
	snprintf(path, sizeof(path), "%s/env", dir);
	setenv("BASH_ENV", path, 1);
	setenv("SHELLOPTS", "pipefail", 1);
	assert_runs_with("/bin/bash --posix",
			 "/bin/bash -c 'echo \"$SHELLOPTS $(env | grep -c ^POSIX)\"' it",
			 "BASH_ENV of it\nbraceexpand:hashall:interactive-comments:pipefail 0\n");
	unsetenv("SHELLOPTS");
	unsetenv("BASH_ENV");
	setenv("POSIXLY_CORRECT", "1", 1);
	assert_runs_with("/bin/bash --posix", "/bin/sh -c 'echo \"$POSIXLY_CORRECT\"'", "1\n");
	unsetenv("POSIXLY_CORRECT");
	snprintf(path, sizeof(path), "%s/env", dir);
	unlink(path);
	write_file("afterglow-launch", launcher, 0755);
}

static void every_shell_runs_the_command_if_the_environment_has_bash_version(void **state)
{
	(void)state;
	setenv("BASH_VERSION", "5", 1);
	the_launcher_gets_the_command_word_by_word(NULL);
	unsetenv("BASH_VERSION");
}

/* The real launcher, which closes the descriptor and restores its name. */
static void the_real_launcher_runs_under_its_name(void **state)
{
	static struct launchers real;
	const char *build = getenv("AFTERGLOW_BUILD");
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s/afterglow-launch", build ? build : "build");
	if (access(path, X_OK) < 0)
		skip();
	assert_int_equal(launchers_load(path, &real, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
		char out[1024];

		write_file("afterglow-launch", "", 0755);
		snprintf(path, sizeof(path), "%s/afterglow-launch", dir);
		unlink(path);
		assert_int_equal(
			file_write(AT_FDCWD, path, real.of[0].data, real.of[0].len, 0755, NULL), 0);
		launchers.of[0] = launcher_of(real.of[0].machine, real.of[0].data, real.of[0].len);
		run_command(
			(struct launch_script){ 0 }, shells[i],
			"/bin/sh -c 'cat /proc/$PPID/comm; head -c 16 /proc/$PPID/cmdline; ls -l /proc/self/fd; exit 7'; echo $?",
			out);
		assert_memory_equal(out, "afterglow-launc\nafterglow-launch", 32);
		assert_null(strstr(out, "/afterglow-launch"));
	}
	launchers_release(&real);
}

static int set_up(void **state)
{
	struct utsname name;
	bool arm;

	(void)state;
	if (!mkdtemp(dir) || uname(&name) < 0)
		return -1;
	arm = strcmp(name.machine, "aarch64") == 0;
	launchers.n = 2;
	launchers.of[0] = launcher_of(name.machine, launcher, strlen(launcher));
	launchers.of[0].file = "afterglow-launch";
	launchers.of[1] = launcher_of(arm ? "x86_64" : "aarch64", "other", 5);
	launchers.of[1].file = "other";
	write_file("afterglow-launch", launcher, 0755);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return tree_remove(AT_FDCWD, dir) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_launcher_gets_the_command_word_by_word),
		cmocka_unit_test(a_prefix_reaches_the_launcher_as_it_is_written),
		cmocka_unit_test(a_file_that_was_tampered_with_is_never_started),
		cmocka_unit_test(a_file_that_comes_in_its_place_after_the_check_is_not_started),
		cmocka_unit_test(a_launcher_that_cannot_be_executed_is_left_out),
		cmocka_unit_test(a_launcher_that_the_kernel_refuses_is_left_out),
		cmocka_unit_test(bash_starts_no_process_but_sha256sum),
		cmocka_unit_test(without_a_launcher_the_command_runs),
		cmocka_unit_test(without_sha256sum_the_command_runs_and_nothing_is_printed),
		cmocka_unit_test(on_a_machine_without_a_launcher_none_is_tried),
		cmocka_unit_test(the_command_has_no_variable_and_no_descriptor_of_ours),
		cmocka_unit_test(bash_hands_down_its_options_and_runs_bash_env_once),
		cmocka_unit_test(every_shell_runs_the_command_if_the_environment_has_bash_version),
		cmocka_unit_test(the_command_runs_where_the_kernel_takes_no_more_arguments),
		cmocka_unit_test(the_real_launcher_runs_under_its_name),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
