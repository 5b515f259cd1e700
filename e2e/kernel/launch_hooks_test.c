/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks: commands that the sidecar orders the launcher to run in the container. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "e2e/kernel/launch_testing.h"

static pid_t receive_ran(const struct sidecar *s, int id)
{
	const char *text = receive_text(s);
	int got = -1, pid = 0;

	if (sscanf(text, "ran %d %d", &got, &pid) != 2 || got != id)
		fail_msg("\"%s\" is not that %d ran", text, id);
	return pid;
}

/* Orders "run ID ..." and waits until it runs; returns the reading end of its output. */
static int start_hook(const struct sidecar *s, const char *run)
{
	int out = order_with_pipe(s, run);

	receive_ran(s, (int)strtol(run + strlen("run "), NULL, 10));
	return out;
}

/* Waits for the end of a hook, whose output and result must be these. */
static void expect_hook(const struct sidecar *s, int out, const char *text, const char *finished)
{
	assert_string_equal(read_text(out, NULL), text);
	assert_string_equal(receive_text(s), finished);
	close(out);
}

static void a_hook_runs_in_the_container_with_its_output_to_the_sidecar(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&as_pid1);
	char expected[80];
	pid_t pid;
	int out;

	(void)state;
	sidecar_greet(&s);
	out = order_with_pipe(&s, "run 7 10 0 pwd; echo $$; echo wrong >&2; cat; ulimit -c; "
				  "cat /proc/self/oom_score_adj; exit 3");
	pid = receive_ran(&s, 7);
	snprintf(expected, sizeof(expected), "/\n%d\nwrong\n0\n1000\n", pid);
	expect_hook(&s, out, expected, "finished 7 768 0");
	end_waiting(&s, &p);
}

static void a_hook_gets_no_descriptor_of_the_launcher(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);
	int out;

	(void)state;
	sidecar_greet(&s);
	out = start_hook(&s, "run 1 10 0 exec ls /proc/self/fd");
	expect_hook(&s, out, "0\n1\n2\n3\n", "finished 1 0 0"); /* 3: the directory itself */
	end_waiting(&s, &p);
}

static void a_hook_that_takes_too_long_dies_with_its_whole_group(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&as_pid1);
	int64_t begin = now_ms();
	int out;

	(void)state;
	sidecar_greet(&s);
	out = start_hook(&s, "run 1 3 0 sleep 100 & echo begun; sleep 100; echo never");
	assert_string_equal(receive_text(&s), "finished 1 9 1");
	/* The sleep in the background has closed the pipe, too. */
	assert_string_equal(read_text(out, NULL), "begun\n");
	assert_true(now_ms() - begin >= 3000 && now_ms() - begin < 60000);
	close(out);
	/* What a hook leaves behind ends with it, and not only when its time is over. */
	out = start_hook(&s, "run 2 100 0 sleep 100 & echo left");
	expect_hook(&s, out, "left\n", "finished 2 0 0");
	end_waiting(&s, &p);
}

static void a_hook_whose_reader_goes_away_ends(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);

	(void)state;
	sidecar_greet(&s);
	close(order_with_pipe(&s, "run 1 60 0 exec yes"));
	receive_ran(&s, 1);
	assert_string_equal(receive_text(&s), "finished 1 13 0"); /* SIGPIPE */
	end_waiting(&s, &p);
}

static void a_hook_writes_no_file_beyond_its_limit(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);
	char text[256];
	int out;

	(void)state;
	sidecar_greet(&s);
	snprintf(text, sizeof(text),
		 "run 1 60 65536 f=%s/big; exec 2>/dev/null; head -c 200000 /dev/zero >$f; "
		 "wc -c <$f; rm $f",
		 directory);
	out = start_hook(&s, text);
	expect_hook(&s, out, "65536\n", "finished 1 0 0");
	end_waiting(&s, &p);
}

static void more_hooks_than_allowed_are_refused_and_the_others_run(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&as_pid1);
	int out[LAUNCH_HOOKS_MAX];
	char text[64];

	(void)state;
	sidecar_greet(&s);
	for (int i = 0; i < LAUNCH_HOOKS_MAX; i++) {
		snprintf(text, sizeof(text), "run %d 60 0 sleep 60", i);
		out[i] = start_hook(&s, text);
	}
	close(order_with_pipe(&s, "run 99 60 0 echo x"));
	snprintf(text, sizeof(text), "refused 99 %d", EBUSY);
	assert_string_equal(receive_text(&s), text);
	/*
	 * After the command's end the launcher waits for hooks until their time is over or SIGTERM.
	 */
	close_input(&p);
	assert_int_equal(receive_exit(&s), 0);
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 0);
	for (int i = 0; i < LAUNCH_HOOKS_MAX; i++) {
		assert_string_equal(read_text(out[i], NULL), "");
		close(out[i]);
	}
	sidecar_release(&s);
}

static void hostile_orders_to_run_are_refused(void **state)
{
	static const struct {
		const char *order, *answer;
	} rows[] = {
		{ "run ", "refused -1 22" },
		{ "run x 1 0 true", "refused -1 22" },
		{ "run -1 1 0 true", "refused -1 22" },
		{ "run 99999999999999999999 1 0 true", "refused -1 22" },
		{ "run 4294967296 1 0 true", "refused -1 22" },
		{ "run 1", "refused -1 22" },
		{ "run 1 ", "refused 1 22" },
		{ "run 1 0 0 true", "refused 1 22" },
		{ "run 1 3601 0 true", "refused 1 22" },
		{ "run 1 1 -5 true", "refused 1 22" },
		{ "run 1 1 0", "refused 1 22" },
		{ "run 1 1 0 ", "refused 1 22" },
		{ "run 1 1\t0 true", "refused 1 22" },
		{ "run  1 1 0 true", "refused -1 22" },
	};
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);

	(void)state;
	sidecar_greet(&s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		close(order_with_pipe(&s, rows[i].order));
		assert_string_equal(receive_text(&s), rows[i].answer);
	}
	order(&s, "run 1 1 0 true"); /* without a descriptor */
	assert_string_equal(receive_text(&s), "refused 1 22");
	end_waiting(&s, &p);
}

static void after_the_end_the_container_waits_for_its_hooks(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start(&as_pid1, "--", probe, "exit", "5", NULL);
	int out;

	(void)state;
	sidecar_greet(&s);
	receive_exit(&s);
	out = start_hook(&s, "run 1 10 0 sleep 3; echo late");
	expect_hook(&s, out, "late\n", "finished 1 0 0");
	order(&s, "done");
	assert_int_equal(finish(&p), 5);
	sidecar_release(&s);
}

static void hooks_end_with_a_sidecar_that_vanishes(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&as_pid1);
	int out;

	(void)state;
	sidecar_greet(&s);
	out = start_hook(&s, "run 1 60 0 sleep 60");
	sidecar_hang_up(&s);
	assert_string_equal(read_text(out, NULL), "");
	close(out);
	sidecar_greet(&s);
	end_waiting(&s, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hook_runs_in_the_container_with_its_output_to_the_sidecar),
		cmocka_unit_test(a_hook_gets_no_descriptor_of_the_launcher),
		cmocka_unit_test(a_hook_that_takes_too_long_dies_with_its_whole_group),
		cmocka_unit_test(a_hook_whose_reader_goes_away_ends),
		cmocka_unit_test(a_hook_writes_no_file_beyond_its_limit),
		cmocka_unit_test(more_hooks_than_allowed_are_refused_and_the_others_run),
		cmocka_unit_test(hostile_orders_to_run_are_refused),
		cmocka_unit_test(after_the_end_the_container_waits_for_its_hooks),
		cmocka_unit_test(hooks_end_with_a_sidecar_that_vanishes),
	};

	return RUN_LAUNCH_TESTS(tests);
}
