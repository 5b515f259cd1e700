/* SPDX-License-Identifier: Apache-2.0 */
/* The line of shell, run by a real one, with launchers that know this and that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/macros.h"
#include "lib/strbuf.h"
#include "operator/injection/launch_script.h"

/* Knows the options of yesterday; tells each of its arguments in brackets. */
static const char launcher[] = "#!/bin/sh\n"
			       "for a; do case $a in\n"
			       "--name|--socket|--wait-recorder|--prefix|--version|--) ;;\n"
			       "--*) echo \"unknown $a\"; exit 2;;\n"
			       "esac; done\n"
			       "for a; do [ \"$a\" = --version ] && exit 0; done\n"
			       "for a; do printf '[%s]' \"$a\"; done\n";

/* As Kubernetes hands it to the shell: $ in place of $$. */
static void as_kubernetes_hands_it_over(const char *script, struct strbuf *line)
{
	for (const char *p = script; *p; p++) {
		strbuf_addc(line, *p);
		p += p[0] == '$' && p[1] == '$';
	}
}

static void run(struct launch_script in, const char *shell, char ret_text[static 512])
{
	char path[] = "/tmp/launch_script_test.XXXXXX";
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT(8192), command = STRBUF_INIT(128);
	_cleanup_free_ char *script = NULL;
	int fd = mkstemp(path);
	FILE *out;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, launcher, strlen(launcher)), strlen(launcher));
	fchmod(fd, 0700);
	close(fd);
	if (!in.launcher)
		in.launcher = path;
	in.socket = "/s";
	in.container = "ray";
	script = launch_script(&in);
	assert_non_null(script);
	as_kubernetes_hands_it_over(script, &line);
	setenv("LINE", strbuf_str(&line), 1);
	strbuf_addf(&command, "exec %s -c \"$LINE\" afterglow /usr/bin/printf '%%s-' 'a b' c", shell);
	out = popen(strbuf_str(&command), "r");
	assert_non_null(out);
	ret_text[fread(ret_text, 1, 511, out)] = '\0';
	pclose(out);
	unlink(path);
}

static void the_launcher_gets_the_command_word_by_word(void **state)
{
	static const char *const shells[] = { "/bin/sh", "/bin/bash" };
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		run((struct launch_script){ .simple_shell = i == 0 }, shells[i], text);
		assert_string_equal(text, "[--name][ray][--socket][/s][--wait-recorder][10][--][/usr/bin/printf][%s-][a b][c]");
	}
}

static void a_prefix_reaches_the_launcher_as_it_is_written(void **state)
{
	static const char prefix[] = "env A='x y' \"$(id)\" $$; `id` \\";
	char text[512], want[512];

	(void)state;
	run((struct launch_script){ .prefix = prefix, .simple_shell = true }, "/bin/sh", text);
	snprintf(want, sizeof(want), "[--prefix][%s][--name]", prefix);
	assert_memory_equal(text, want, strlen(want));
}

/* The operator was rolled back, and its launcher with it: pods of the newer one are started again by the older. */
static void a_launcher_that_does_not_know_an_option_is_not_used(void **state)
{
	char text[512];

	(void)state;
	run((struct launch_script){ .cores = true }, "/bin/sh", text);
	assert_string_equal(text, "a b-c-");
	run((struct launch_script){ .termination_log = "/my/log" }, "/bin/sh", text);
	assert_string_equal(text, "a b-c-");
}

static void without_a_launcher_the_command_runs(void **state)
{
	char text[512];

	(void)state;
	run((struct launch_script){ .launcher = "/no/launcher", .prefix = "'\"", .cores = true }, "/bin/sh", text);
	assert_string_equal(text, "a b-c-");
}

/* dash would read it as a script. */
static void on_another_machine_a_simple_shell_does_not_even_try_it(void **state)
{
	char dir[] = "/tmp/launch_script_test.XXXXXX", path[64], text[512];
	char *old = strdup(getenv("PATH"));
	FILE *uname;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/uname", dir);
	uname = fopen(path, "w");
	fputs("#!/bin/sh\necho s390x\n", uname);
	fclose(uname);
	chmod(path, 0700);
	setenv("PATH", dir, 1);
	run((struct launch_script){ .simple_shell = true }, "/bin/sh", text);
	setenv("PATH", old, 1);
	unlink(path);
	rmdir(dir);
	free(old);
	assert_string_equal(text, "a b-c-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_launcher_gets_the_command_word_by_word),
		cmocka_unit_test(a_prefix_reaches_the_launcher_as_it_is_written),
		cmocka_unit_test(a_launcher_that_does_not_know_an_option_is_not_used),
		cmocka_unit_test(without_a_launcher_the_command_runs),
		cmocka_unit_test(on_another_machine_a_simple_shell_does_not_even_try_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
