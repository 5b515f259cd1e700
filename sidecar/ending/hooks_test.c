/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of hooks. The test itself plays the launcher at the other end of a socket. */
#include "sidecar/ending/hooks.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "lib/units.h"

struct world {
	struct event_base *base;
	struct hook_options options;
	struct hooks *hooks;
	int launcher; /* the launcher's end */
	int sidecar;
	int64_t headroom;
	int done;
};

static int64_t give_headroom(void *arg)
{
	return ((struct world *)arg)->headroom;
}

static void count_done(void *arg)
{
	((struct world *)arg)->done++;
}

static void begin_world(struct world *w, struct hook_options options)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	*w = (struct world){ .base = event_base_new(), .options = options, .sidecar = pair[0], .launcher = pair[1] };
	w->headroom = (int64_t)1 << 30;
	w->hooks = hooks_new(w->base, w->sidecar, &w->options,
			     &(struct hooks_callbacks){
				     .headroom = give_headroom, .done = count_done, .arg = w });
	assert_non_null(w->hooks);
}

static void end_world(struct world *w)
{
	hooks_free(w->hooks);
	event_base_free(w->base);
	close(w->sidecar);
	close(w->launcher);
	libevent_global_shutdown();
}

/* Returns the text of the next order, and its descriptor in *ret_fd; NULL if there is none. */
static const char *take_order(const struct world *w, int *ret_fd)
{
	static char text[LAUNCH_MESSAGE_MAX + 1];
	int fds[LAUNCH_FDS_MAX];
	size_t len, n;

	if (launch_receive(w->launcher, text, &len, fds, &n, NULL) != 1)
		return NULL;
	assert_int_equal(n, 1);
	*ret_fd = fds[0];
	text[len] = '\0';
	return text;
}

/* Returns the order's ID, if its command ends with `command`. */
static int take_run(const struct world *w, const char *command, int *ret_fd)
{
	const char *text = take_order(w, ret_fd);
	int id = -1;

	assert_non_null(text);
	assert_int_equal(sscanf(text, "run %d ", &id), 1);
	assert_true(strlen(text) > strlen(command));
	assert_string_equal(text + strlen(text) - strlen(command), command);
	return id;
}

static void answer_finished(struct world *w, int id, int status, bool timed_out)
{
	const struct launch_message m = { .verb = LAUNCH_FINISHED,
					  .hook_id = id,
					  .wait_status = status,
					  .hook_timed_out = timed_out };

	hooks_message(w->hooks, &m);
}

struct kept {
	struct hook_result last;
	char output[64];
	size_t n;
};

static void look(const struct hook_result *r, void *arg)
{
	struct kept *k = arg;

	k->last = *r;
	snprintf(k->output, sizeof(k->output), "%s", strbuf_str(&r->output));
	k->n++;
}

static struct kept kept(const struct world *w, int64_t after_ns)
{
	struct kept k = { .n = 0 };

	hooks_each(w->hooks, now_boottime_ns() + after_ns, look, &k);
	return k;
}

static const struct hook_options two_at_death = {
	.commands[HOOK_AT_DEATH] = { "first", "second" }, .timeout_s = 7, .headroom = 1 << 20,
};
static const struct hook_options one_each = {
	.commands = { { "at threshold" }, { "at death" } }, .timeout_s = 7, .headroom = 1 << 20,
};

static void the_script_sets_the_environment_and_leaves_the_command_alone(void **state)
{
	char script[128];
	(void)state;

	assert_int_equal(
		hook_script("echo 'it''s' $AFTERGLOW_PID", 12, "Killed", script, sizeof(script)),
		0);
	assert_string_equal(
		script,
		"export AFTERGLOW_PID='12' AFTERGLOW_REASON='Killed'\necho 'it''s' $AFTERGLOW_PID");
	assert_int_equal(hook_script("x", 0, "threshold", script, sizeof(script)), 0);
	assert_string_equal(script, "export AFTERGLOW_PID='' AFTERGLOW_REASON='threshold'\nx");
	assert_int_equal(hook_script("x", 0, "threshold", script, 54), -E2BIG);
}

static void hooks_run_one_after_the_other_and_their_output_is_kept(void **state)
{
	struct world w;
	struct kept k;
	int fd, id;
	(void)state;

	begin_world(&w, two_at_death);
	assert_true(hooks_due(w.hooks, HOOK_AT_DEATH, 42, "Segfault", now_boottime_ns()));
	id = take_run(&w,
		      " 7 67108864 export AFTERGLOW_PID='42' AFTERGLOW_REASON='Segfault'\nfirst",
		      &fd);
	assert_null(take_order(&w, &fd));
	assert_int_equal(write(fd, "words", 5), 5);
	answer_finished(&w, id, 3 << 8, false);
	close(fd);
	assert_int_equal(w.done, 0);
	k = kept(&w, 0);
	assert_int_equal(k.n, 1);
	assert_string_equal(k.output, "words");
	assert_int_equal(k.last.outcome, HOOK_ENDED);
	assert_int_equal(k.last.wait_status, 3 << 8);
	id = take_run(&w, "second", &fd);
	close(fd);
	answer_finished(&w, id, 9, true);
	assert_int_equal(w.done, 1);
	k = kept(&w, 0);
	assert_int_equal(k.n, 2);
	assert_int_equal(k.last.outcome, HOOK_TIMED_OUT);
	assert_int_equal(k.last.number, 2);
	assert_int_equal(kept(&w, HOOK_RESULT_AGE_NS + NS_PER_SEC).n, 0);
	end_world(&w);
}

static void without_headroom_nothing_is_run_and_that_is_kept(void **state)
{
	struct world w;
	struct kept k;
	int fd;
	(void)state;

	begin_world(&w, two_at_death);
	w.headroom = w.options.headroom - 1;
	assert_false(hooks_due(w.hooks, HOOK_AT_DEATH, 42, "Segfault", now_boottime_ns()));
	assert_null(take_order(&w, &fd));
	k = kept(&w, 0);
	assert_int_equal(k.n, 2);
	assert_int_equal(k.last.outcome, HOOK_NO_HEADROOM);
	assert_int_equal(w.done, 0);
	/* Unknown headroom does not prevent the hook. */
	w.headroom = -1;
	assert_true(hooks_due(w.hooks, HOOK_AT_DEATH, 42, "Segfault", now_boottime_ns()));
	take_run(&w, "first", &fd);
	close(fd);
	end_world(&w);
}

static void output_past_the_limit_is_cut_and_its_writer_gets_sigpipe(void **state)
{
	static char block[4096];
	struct world w;
	struct kept k;
	int fd, id;
	size_t written = 0;
	(void)state;

	begin_world(&w, one_each);
	memset(block, 'x', sizeof(block));
	assert_true(hooks_due(w.hooks, HOOK_AT_DEATH, 1, "Abort", now_boottime_ns()));
	id = take_run(&w, "at death", &fd);
	for (int i = 0; i < 1000; i++) {
		ssize_t n = write(fd, block, sizeof(block));

		if (n < 0)
			break;
		written += (size_t)n;
		event_base_loop(w.base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(errno, EPIPE);
	assert_in_range(written, HOOK_OUTPUT_MAX, HOOK_OUTPUT_MAX + 2 * sizeof(block));
	close(fd);
	answer_finished(&w, id, SIGPIPE, false);
	k = kept(&w, 0);
	assert_true(k.last.cut);
	assert_int_equal(k.last.output.len, HOOK_OUTPUT_MAX);
	end_world(&w);
}

static void output_of_just_the_limit_is_not_cut(void **state)
{
	static char block[4096];
	struct world w;
	int fd, id;
	(void)state;

	begin_world(&w, one_each);
	assert_true(hooks_due(w.hooks, HOOK_AT_DEATH, 1, "Abort", now_boottime_ns()));
	id = take_run(&w, "at death", &fd);
	for (size_t n = 0; n < HOOK_OUTPUT_MAX; n += sizeof(block)) {
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
		event_base_loop(w.base, EVLOOP_NONBLOCK);
	}
	close(fd);
	answer_finished(&w, id, 0, false);
	assert_false(kept(&w, 0).last.cut);
	assert_int_equal(kept(&w, 0).last.output.len, HOOK_OUTPUT_MAX);
	end_world(&w);
}

static void a_process_that_keeps_the_pipe_does_not_keep_the_hook(void **state)
{
	struct world w;
	int fd, id;
	(void)state;

	begin_world(&w, one_each);
	hooks_due(w.hooks, HOOK_AT_DEATH, 1, "Abort", now_boottime_ns());
	id = take_run(&w, "at death", &fd);
	answer_finished(&w, id, 0, false); /* fd is still open */
	assert_int_equal(w.done, 1);
	close(fd);
	end_world(&w);
}

static void thresholds_in_a_row_make_one_round_a_minute(void **state)
{
	int64_t now = now_boottime_ns();
	struct world w;
	int fd, id;
	(void)state;

	begin_world(&w, one_each);
	assert_true(hooks_due(w.hooks, HOOK_AT_THRESHOLD, 1, "threshold", now));
	id = take_run(&w, "at threshold", &fd);
	close(fd);
	answer_finished(&w, id, 0, false);
	assert_false(hooks_due(w.hooks, HOOK_AT_THRESHOLD, 1, "threshold",
			       now + HOOK_ROUND_SPACING_NS - 1));
	assert_null(take_order(&w, &fd));
	assert_true(
		hooks_due(w.hooks, HOOK_AT_THRESHOLD, 1, "threshold", now + HOOK_ROUND_SPACING_NS));
	take_run(&w, "at threshold", &fd);
	close(fd);
	end_world(&w);
}

static void a_death_waits_for_the_hook_that_runs_then_runs_its_own(void **state)
{
	struct world w;
	int fd, id;
	(void)state;

	begin_world(&w, one_each);
	hooks_due(w.hooks, HOOK_AT_THRESHOLD, 1, "threshold", now_boottime_ns());
	id = take_run(&w, "at threshold", &fd);
	close(fd);
	assert_true(hooks_due(w.hooks, HOOK_AT_DEATH, 1, "Abort", now_boottime_ns()));
	assert_null(take_order(&w, &fd));
	answer_finished(&w, id, 0, false);
	assert_int_equal(w.done, 0);
	id = take_run(&w, "at death", &fd);
	close(fd);
	answer_finished(&w, id, 0, false);
	assert_int_equal(w.done, 1);
	end_world(&w);
}

static void answers_that_fit_nothing_are_ignored(void **state)
{
	struct launch_message m = { .verb = LAUNCH_FINISHED };
	struct world w;
	int fd, id;
	(void)state;

	begin_world(&w, one_each);
	hooks_message(w.hooks, &m);
	hooks_message(NULL, &m);
	hooks_due(w.hooks, HOOK_AT_DEATH, 1, "Abort", now_boottime_ns());
	id = take_run(&w, "at death", &fd);
	close(fd);
	answer_finished(&w, id + 1, 0, false);
	answer_finished(&w, -1, 0, false);
	m = (struct launch_message){ .verb = LAUNCH_RAN, .hook_id = id };
	hooks_message(w.hooks, &m);
	assert_int_equal(w.done, 0);
	m = (struct launch_message){ .verb = LAUNCH_REFUSED, .hook_id = id, .hook_errno = EPERM };
	hooks_message(w.hooks, &m);
	answer_finished(&w, id, 0, false);
	assert_int_equal(w.done, 1);
	assert_int_equal(kept(&w, 0).n, 1);
	assert_int_equal(kept(&w, 0).last.outcome, HOOK_REFUSED);
	end_world(&w);
}

static void a_launcher_that_never_answers_is_not_waited_for(void **state)
{
	struct hook_options options = two_at_death;
	struct world w;
	int fd;
	(void)state;

	options.timeout_s = 0; /* plus 3 seconds for the answer */
	options.commands[HOOK_AT_DEATH][1] = NULL;
	begin_world(&w, options);
	assert_true(hooks_due(w.hooks, HOOK_AT_DEATH, 1, "Abort", now_boottime_ns()));
	take_run(&w, "first", &fd);
	assert_int_equal(write(fd, "half", 4), 4);
	for (int i = 0; i < 50 && !w.done; i++)
		event_base_loop(w.base, EVLOOP_ONCE);
	close(fd);
	assert_int_equal(w.done, 1);
	assert_int_equal(kept(&w, 0).last.outcome, HOOK_LOST);
	assert_string_equal(kept(&w, 0).output, "half");
	end_world(&w);
}

static void what_ran_when_the_launcher_went_is_kept_as_lost(void **state)
{
	struct world w;
	int fd;
	(void)state;

	begin_world(&w, two_at_death);
	hooks_due(w.hooks, HOOK_AT_DEATH, 1, "Abort", now_boottime_ns());
	take_run(&w, "first", &fd);
	close(fd);
	hooks_abandon(w.hooks);
	hooks_abandon(NULL);
	assert_int_equal(w.done, 0);
	assert_int_equal(kept(&w, 0).n, 1);
	assert_int_equal(kept(&w, 0).last.outcome, HOOK_LOST);
	end_world(&w);
}

static void a_connection_that_is_gone_runs_nothing(void **state)
{
	struct world w;
	(void)state;

	begin_world(&w, two_at_death);
	shutdown(w.launcher, SHUT_RDWR);
	assert_false(hooks_due(w.hooks, HOOK_AT_DEATH, 1, "Abort", now_boottime_ns()));
	assert_int_equal(kept(&w, 0).n, 2);
	assert_int_equal(kept(&w, 0).last.outcome, HOOK_REFUSED);
	assert_int_equal(kept(&w, 0).last.refused_errno, EPIPE);
	end_world(&w);
}

static void of_many_results_the_last_are_kept(void **state)
{
	struct world w;
	struct kept k;
	(void)state;

	begin_world(&w, two_at_death);
	w.headroom = 0;
	for (int i = 0; i < HOOK_RESULTS_MAX; i++)
		hooks_due(w.hooks, HOOK_AT_DEATH, 1, "Abort", now_boottime_ns());
	k = kept(&w, 0);
	assert_int_equal(k.n, HOOK_RESULTS_MAX);
	assert_int_equal(k.last.number, 2 * HOOK_RESULTS_MAX);
	end_world(&w);
}

static void without_commands_there_is_nothing(void **state)
{
	const struct hook_options none = { .timeout_s = 1 };
	(void)state;

	assert_null(hooks_new(NULL, -1, &none, NULL));
	assert_false(hooks_due(NULL, HOOK_AT_DEATH, 1, "Abort", 1));
	hooks_each(NULL, 1, look, NULL);
	hooks_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_script_sets_the_environment_and_leaves_the_command_alone),
		cmocka_unit_test(hooks_run_one_after_the_other_and_their_output_is_kept),
		cmocka_unit_test(without_headroom_nothing_is_run_and_that_is_kept),
		cmocka_unit_test(output_past_the_limit_is_cut_and_its_writer_gets_sigpipe),
		cmocka_unit_test(output_of_just_the_limit_is_not_cut),
		cmocka_unit_test(a_process_that_keeps_the_pipe_does_not_keep_the_hook),
		cmocka_unit_test(thresholds_in_a_row_make_one_round_a_minute),
		cmocka_unit_test(a_death_waits_for_the_hook_that_runs_then_runs_its_own),
		cmocka_unit_test(answers_that_fit_nothing_are_ignored),
		cmocka_unit_test(a_launcher_that_never_answers_is_not_waited_for),
		cmocka_unit_test(what_ran_when_the_launcher_went_is_kept_as_lost),
		cmocka_unit_test(a_connection_that_is_gone_runs_nothing),
		cmocka_unit_test(of_many_results_the_last_are_kept),
		cmocka_unit_test(without_commands_there_is_nothing),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
