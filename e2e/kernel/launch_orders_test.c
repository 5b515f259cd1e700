/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of the sidecar: texts on stderr, a hold of the container; and garbage. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "e2e/kernel/launch_testing.h"

/* An order to print as much as a message holds. */
struct longest_say {
	char text[LAUNCH_MESSAGE_MAX + 1];
};

static struct longest_say longest_say(char c)
{
	struct longest_say say = { "say " };

	memset(say.text + 4, c, LAUNCH_MESSAGE_MAX - 4);
	return say;
}

/* Waits until the launcher has obeyed all orders before this one, which it refuses. */
static void wait_until_obeyed(const struct sidecar *s)
{
	order(s, "watch 1 1");
	receive_text(s);
}

static void say_prints_its_text_on_the_containers_stderr(void **state)
{
	struct longest_say longest = longest_say('x');
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);

	(void)state;
	sidecar_greet(&s);
	order(&s, "say memory is at 95 %\n");
	assert_string_equal(read_text(p.err, "%\n"), "memory is at 95 %\n");
	longest.text[LAUNCH_MESSAGE_MAX - 1] = '\n';
	order(&s, longest.text);
	assert_string_equal(read_text(p.err, "x\n"), longest.text + 4);
	close_input(&p);
	assert_int_equal(receive_exit(&s), 0);
	order(&s, "say gone\n");
	order(&s, "done");
	assert_string_equal(read_text(p.err, NULL), "gone\n");
	assert_int_equal(finish(&p), 0);
	sidecar_release(&s);
}

static void say_to_a_full_stderr_is_lost_and_the_container_goes_on(void **state)
{
	const struct longest_say longest = longest_say('y');
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);

	(void)state;
	sidecar_greet(&s);
	for (int i = 0; i < 24; i++) /* a pipe holds 16 of them */
		order(&s, longest.text);
	end_waiting(&s, &p);
}

static void say_to_a_stderr_that_nobody_reads_any_more_does_no_harm(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);

	(void)state;
	sidecar_greet(&s);
	read_text(p.out, "ready\n");
	close(p.err);
	p.err = -1;
	/* The SIGPIPE of that write must reach neither the launcher nor the command. */
	for (int i = 0; i < 3; i++)
		order(&s, "say to nobody\n");
	wait_until_obeyed(&s);
	pause_ms(100);
	end_waiting(&s, &p);
}

/* poll(2) says that it is ready for a write, but it has no room for a whole text. */
static void stderr_with_little_room(void)
{
	int ends[2], size = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ||
	    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0 ||
	    write(ends[0], "", 1) != 1 || dup2(ends[0], STDERR_FILENO) < 0)
		_exit(116);
	close(ends[0]);
}

static void say_to_a_stderr_that_blocks_does_not_hold_up_signals(void **state)
{
	const struct how how = { .pid1 = true, .prepare = stderr_with_little_room };
	const struct longest_say longest = longest_say('z');
	struct sidecar s = sidecar_listen();
	struct process p = start(&how, "--", probe, "take", "handler", NULL);

	(void)state;
	sidecar_greet(&s);
	read_text(p.out, "ready\n");
	for (int i = 0; i < 3; i++)
		order(&s, longest.text);
	wait_until_obeyed(&s);
	kill(p.pid, SIGTERM);
	expect_end(&s, &p, TAKEN << 8);
}

/* Starts a process that keeps the queue of the launcher's orders full. */
static pid_t start_flood(const struct sidecar *s)
{
	const struct longest_say longest = longest_say('z');
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (send(s->connection, longest.text, LAUNCH_MESSAGE_MAX, MSG_NOSIGNAL) > 0)
			;
		_exit(0);
	}
	return pid;
}

static void a_flood_of_texts_and_a_full_stderr_do_not_hold_up_signals(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);
	pid_t floods[2];
	int code;

	(void)state;
	/* Nobody reads the container's stderr, so the launcher waits a little for each text. */
	sidecar_greet(&s);
	read_text(p.out, "ready\n");
	for (size_t i = 0; i < ARRAY_SIZE(floods); i++)
		floods[i] = start_flood(&s);
	pause_ms(200);
	kill(p.pid, SIGTERM);
	code = finish_within(&p, 20000);
	for (size_t i = 0; i < ARRAY_SIZE(floods); i++) {
		kill(floods[i], SIGKILL);
		waitpid(floods[i], NULL, 0);
	}
	assert_int_equal(code, 143);
	sidecar_release(&s);
}

/* Garbage */

static void garbage_orders_do_no_harm(void **state)
{
	static const char *const rows[] = {
		/* clang-format off */
		"", "sayx", "say", "kill ", "killall", "hold", "hold ", "hold -5", "done",
		"hold 99999999999999999999", "DONE", "%s%s%n", "say", " kill",
		/* clang-format on */
	};
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);
	unsigned char noise[LAUNCH_MESSAGE_MAX];
	unsigned seed = 1;

	(void)state;
	sidecar_greet(&s);
	for (int i = 0; i < 200; i++) {
		size_t len = i % 2 ? sizeof(noise) : (size_t)(rand_r(&seed) % 64) + 1;

		for (size_t k = 0; k < len; k++)
			noise[k] = (unsigned char)rand_r(&seed);
		noise[0] |= 0x80; /* no order by chance */
		assert_int_equal(send(s.connection, noise, len, MSG_NOSIGNAL), len);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		order(&s, rows[i]);
		if (rows[i][0])
			continue;
		/* An empty message looks like the end of the connection, so it connects anew. */
		sidecar_hang_up(&s);
		sidecar_greet(&s);
	}
	/* Longer than a message may be, of any kind. */
	for (int i = 0; i < 4; i++) {
		char big[3 * LAUNCH_MESSAGE_MAX];

		memset(big, "k\0s "[i], sizeof(big));
		assert_true(send(s.connection, big, sizeof(big), MSG_NOSIGNAL) > 0);
	}
	/* All of it is read while the command runs: afterwards "done" is no garbage. */
	order(&s, "say still here\n");
	assert_string_equal(read_text(p.err, "\n"), "still here\n");
	end_waiting(&s, &p);
}

static void descriptors_sent_to_the_launcher_do_not_stay_open(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);
	int out;

	(void)state;
	sidecar_greet(&s);
	out = order_with_pipe(&s, "say x");
	assert_true(readable_within(out, PATIENCE_MS)); /* its end */
	close(out);
	end_waiting(&s, &p);
}

/* Hold */

/* Starts a container. Its command fails with exit code 8, and the sidecar hears of that. */
static struct process start_failed(struct sidecar *s)
{
	struct process p = start(&as_pid1, "--", probe, "exit", "8", NULL);

	sidecar_greet(s);
	receive_exit(s);
	return p;
}

static void hold_keeps_the_container_and_sigterm_ends_the_hold(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_failed(&s);
	int64_t begin;

	(void)state;
	order(&s, "hold 60");
	assert_false(ends_within(&p, 3000));
	begin = now_ms();
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 8);
	assert_true(now_ms() - begin < 30000);
	sidecar_release(&s);
}

static void orders_of_a_sidecar_that_left_messages_unread_are_obeyed(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_failed(&s);

	(void)state;
	order(&s, "run 1");
	assert_true(readable_within(s.connection, PATIENCE_MS)); /* the answer, left unread */
	kill(p.pid, SIGSTOP);
	order(&s, "hold 60");
	sidecar_hang_up(&s);
	sidecar_stop_listening(&s);
	kill(p.pid, SIGCONT);
	assert_false(ends_within(&p, 3000));
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 8);
}

static void a_hold_outlives_its_sidecar_and_ends_by_release(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_failed(&s);
	int64_t asked_ms;

	(void)state;
	order(&s, "hold 60");
	pause_ms(200);
	sidecar_hang_up(&s);
	sidecar_stop_listening(&s);
	assert_false(ends_within(&p, 3000));
	asked_ms = now_ms();
	assert_int_equal(run_release(p.pid), 0);
	assert_int_equal(finish_within(&p, 20000), 8);
	/* A --release that runs in its PID namespace needs that time to end before it. */
	assert_true(now_ms() - asked_ms >= 100);
}

static void release_does_nothing_while_the_command_runs(void **state)
{
	struct process p = start(&usual, "--", probe, "record", "64", NULL);

	(void)state;
	read_text(p.out, "ready\n");
	assert_int_equal(run_release(p.pid), 0);
	pause_ms(300);
	kill(p.pid, SIGUSR1);
	assert_string_equal(read_text(p.out, "\n"), "10\n"); /* and no 15 before it */
	kill(p.pid, SIGRTMAX); /* the last signal that the command waits for */
	assert_int_equal(finish(&p), 0);
	assert_int_equal(run_release(getpid()), 1); /* no launcher */
	assert_int_equal(run_release(-1), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(say_prints_its_text_on_the_containers_stderr),
		cmocka_unit_test(say_to_a_full_stderr_is_lost_and_the_container_goes_on),
		cmocka_unit_test(say_to_a_stderr_that_nobody_reads_any_more_does_no_harm),
		cmocka_unit_test(say_to_a_stderr_that_blocks_does_not_hold_up_signals),
		cmocka_unit_test(a_flood_of_texts_and_a_full_stderr_do_not_hold_up_signals),
		cmocka_unit_test(garbage_orders_do_no_harm),
		cmocka_unit_test(descriptors_sent_to_the_launcher_do_not_stay_open),
		cmocka_unit_test(hold_keeps_the_container_and_sigterm_ends_the_hold),
		cmocka_unit_test(orders_of_a_sidecar_that_left_messages_unread_are_obeyed),
		cmocka_unit_test(a_hold_outlives_its_sidecar_and_ends_by_release),
		cmocka_unit_test(release_does_nothing_while_the_command_runs),
	};

	return RUN_LAUNCH_TESTS(tests);
}
