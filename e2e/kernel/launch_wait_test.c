/* SPDX-License-Identifier: Apache-2.0 */
/* Sidecars that come late, vanish, hang or never come: how long a container waits for them. */
#include <signal.h>

#include "e2e/kernel/launch_testing.h"

static void a_sidecar_that_comes_late_is_found(void **state)
{
	struct process p = start_waiting(&usual);
	struct sidecar s;

	(void)state;
	read_text(p.out, "ready\n");
	pause_ms(500);
	s = sidecar_listen();
	sidecar_greet(&s);
	end_waiting(&s, &p);
}

/* --wait-sidecar */

static void a_command_that_failed_before_its_sidecar_came_is_reported(void **state)
{
	struct process p = start(&usual, "--wait-sidecar", "60", "--", probe, "exit", "7", NULL);
	struct sidecar s;

	(void)state;
	pause_ms(700);
	s = sidecar_listen();
	sidecar_greet(&s);
	expect_end(&s, &p, 7 << 8);
}

static void the_wait_for_a_sidecar_that_never_comes_ends_in_time(void **state)
{
	int64_t begin = now_ms();
	struct process p = start(&usual, "--wait-sidecar", "2", "--", probe, "exit", "7", NULL);

	(void)state;
	assert_int_equal(finish(&p), 7);
	assert_in_range(now_ms() - begin, 1900, 30000);
}

static void sigterm_ends_the_wait_for_a_sidecar(void **state)
{
	struct process p = start(&usual, "--wait-sidecar", "3600", "--", "/bin/sh", "-c",
				 "echo ready; read line; exit 7", NULL);

	(void)state;
	read_text(p.out, "ready\n");
	close_input(&p);
	/* As long as the command is not reaped, the launcher forwards SIGTERM to it. */
	wait_for_children(p.pid, 0);
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 7);
}

/*
 * The kubelet starts no sidecar for a pod that it ends. It kills the container at the
 * end of the grace period.
 */
static void a_container_that_the_runtime_has_asked_to_stop_waits_for_no_sidecar(void **state)
{
	static const char script[] = "trap 'exit 7' TERM; echo ready; while :; do sleep .05; done";
	struct process p = start(&as_pid1, "--wait-sidecar", "3600", "--wait-after-success", "3600",
				 "--", "/bin/sh", "-c", script, NULL);

	(void)state;
	read_text(p.out, "ready\n");
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 7);
}

static void a_command_that_succeeded_waits_for_no_sidecar(void **state)
{
	struct process p = start(&usual, "--wait-sidecar", "3600", "--", probe, "exit", "0", NULL);

	(void)state;
	assert_int_equal(finish(&p), 0);
}

static void a_command_that_succeeded_is_seen_where_the_pod_ends_with_its_sidecar(void **state)
{
	struct process p =
		start(&usual, "--wait-after-success", "60", "--", probe, "exit", "0", NULL);
	struct sidecar s;

	(void)state;
	pause_ms(300);
	s = sidecar_listen();
	sidecar_greet(&s);
	expect_end(&s, &p, 0);
}

/* blind: the launcher sees the command's end before it sees that the sidecar is gone. */
static void expect_report_after_restart(bool blind)
{
	struct sidecar s = sidecar_listen();
	struct process p = start(&usual, "--wait-sidecar", "3600", "--", "/bin/sh", "-c",
				 "read line; exit 9", NULL);
	int64_t until = now_ms() + PATIENCE_MS;

	sidecar_greet(&s);
	sidecar_stop_listening(&s);
	if (blind)
		kill(p.pid, SIGSTOP);
	else
		sidecar_hang_up(&s);
	close_input(&p);
	while (count_children(p.pid) > count_zombies(p.pid) && now_ms() < until)
		pause_ms(1);
	if (blind)
		sidecar_hang_up(&s);
	kill(p.pid, SIGCONT);
	wait_for_children(p.pid, 0);
	s = sidecar_listen();
	sidecar_greet(&s);
	expect_end(&s, &p, 9 << 8);
}

static void a_command_that_failed_while_its_sidecar_was_restarted_is_reported(void **state)
{
	(void)state;
	expect_report_after_restart(false);
}

static void a_command_that_failed_just_before_its_sidecar_vanished_is_reported(void **state)
{
	(void)state;
	expect_report_after_restart(true);
}

/* Sidecars that vanish */

static void a_sidecar_that_vanishes_is_looked_for_again(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);

	(void)state;
	for (int i = 0; i < 3; i++) {
		sidecar_greet(&s);
		sidecar_hang_up(&s);
	}
	sidecar_stop_listening(&s);
	pause_ms(500);
	s = sidecar_listen();
	sidecar_greet(&s);
	sidecar_release(&s);
	close_input(&p);
	assert_int_equal(finish(&p), 0);
}

static void a_sidecar_that_vanishes_after_the_end_does_not_hold_the_container(void **state)
{
	int64_t took = INT64_MAX;

	(void)state;
	/*
	 * Less than the two seconds that the launcher waits for "done". If the machine was busy for
	 * a moment, another try is quicker.
	 */
	for (int i = 0; i < 10 && took >= 1000; i++) {
		struct sidecar s = sidecar_listen();
		struct process p = start(&usual, "--", probe, "exit", "5", NULL);
		int64_t begin;

		sidecar_greet(&s);
		receive_exit(&s);
		begin = now_ms();
		sidecar_hang_up(&s);
		assert_int_equal(finish(&p), 5);
		took = now_ms() - begin;
		sidecar_release(&s);
	}
	assert_true(took < 1000);
}

/* Sidecars that hang */

static void without_done_the_container_lingers_two_seconds(void **state)
{
	struct sidecar s = sidecar_listen();
	int64_t begin = now_ms(); /* the launcher sends "exit" some time before we receive it */
	struct process p = start(&usual, "--", probe, "exit", "6", NULL);

	(void)state;
	sidecar_greet(&s);
	receive_exit(&s);
	assert_int_equal(finish(&p), 6);
	assert_in_range(now_ms() - begin, 1900, 30000);
	sidecar_release(&s);
}

static void a_full_listen_queue_does_not_hold_the_command(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p[8];

	(void)state;
	/* Nobody accepts: the first few connect and wait in the queue, the others find it full. */
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = start(&usual, "--", probe, "exit", "4", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		assert_int_equal(finish_within(&p[i], 20000), 4);
	sidecar_release(&s);
}

static void a_stopped_sidecar_does_not_hold_the_container(void **state)
{
	/* The kernel connects the launcher, and nobody accepts, as with a sidecar that hangs. */
	struct sidecar s = sidecar_listen();
	struct process p = start(&usual, "--", probe, "exit", "9", NULL);
	int64_t begin = now_ms();

	(void)state;
	assert_int_equal(finish(&p), 9);
	assert_true(now_ms() - begin < 20000);
	sidecar_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sidecar_that_comes_late_is_found),
		cmocka_unit_test(a_command_that_failed_before_its_sidecar_came_is_reported),
		cmocka_unit_test(the_wait_for_a_sidecar_that_never_comes_ends_in_time),
		cmocka_unit_test(sigterm_ends_the_wait_for_a_sidecar),
		cmocka_unit_test(a_container_that_the_runtime_has_asked_to_stop_waits_for_no_sidecar),
		cmocka_unit_test(a_command_that_succeeded_waits_for_no_sidecar),
		cmocka_unit_test(a_command_that_succeeded_is_seen_where_the_pod_ends_with_its_sidecar),
		cmocka_unit_test(a_command_that_failed_while_its_sidecar_was_restarted_is_reported),
		cmocka_unit_test(
			a_command_that_failed_just_before_its_sidecar_vanished_is_reported),
		cmocka_unit_test(a_sidecar_that_vanishes_is_looked_for_again),
		cmocka_unit_test(a_sidecar_that_vanishes_after_the_end_does_not_hold_the_container),
		cmocka_unit_test(without_done_the_container_lingers_two_seconds),
		cmocka_unit_test(a_full_listen_queue_does_not_hold_the_command),
		cmocka_unit_test(a_stopped_sidecar_does_not_hold_the_container),
	};

	return RUN_LAUNCH_TESTS(tests);
}
