/* SPDX-License-Identifier: Apache-2.0 */
/* Runs commands in the container at a threshold and at its death. */
#include "sidecar/ending/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"

/* How much longer than the hook itself the launcher's answer about it may take */
#define ANSWER_GRACE_S 3
#define DUE_MAX (2 * HOOK_COMMANDS_MAX)

struct due {
	enum hook_moment moment;
	const char *command;
	pid_t pid;
	char reason[32];
};

struct hooks {
	struct event_base *base;
	const struct hook_options *options;
	struct hooks_callbacks callbacks;
	int socket_fd;
	struct due due[DUE_MAX];
	size_t n_due;
	int64_t round_ns; /* when the last round for a threshold was; 0: never */
	unsigned int count;
	/* the hook that runs */
	bool running;
	int id; /* number of the order */
	struct hook_result now;
	int output_fd;
	struct event *readable, *overdue;
	struct hook_result results[HOOK_RESULTS_MAX]; /* oldest first */
	size_t n_results;
};

int hook_script(const char *command, pid_t pid, const char *reason, char *script, size_t size)
{
	char pid_text[16] = "";
	int n;

	if (pid > 0)
		snprintf(pid_text, sizeof(pid_text), "%d", (int)pid);
	n = snprintf(script, size, "export AFTERGLOW_PID='%s' AFTERGLOW_REASON='%s'\n%s", pid_text,
		     reason, command);
	return n < 0 || (size_t)n >= size ? -E2BIG : 0;
}

/* --- The results --- */

static void keep_result(struct hooks *h)
{
	if (h->n_results == HOOK_RESULTS_MAX) {
		strbuf_release(&h->results[0].output);
		memmove(h->results, h->results + 1, (--h->n_results) * sizeof(h->results[0]));
	}
	h->now.ended_ns = now_boottime_ns();
	h->results[h->n_results++] = h->now;
	h->now = (struct hook_result){ 0 };
}

void hooks_each(const struct hooks *h, int64_t now_ns,
		void (*fn)(const struct hook_result *r, void *arg), void *arg)
{
	for (size_t i = 0; h && i < h->n_results; i++)
		if (now_ns - h->results[i].ended_ns <= HOOK_RESULT_AGE_NS)
			fn(&h->results[i], arg);
}

/* --- The hook that runs --- */

static void close_output(struct hooks *h)
{
	event_drop(TAKE_PTR(h->readable));
	closep(&h->output_fd);
	h->output_fd = -1;
}

/*
 * Reads the output that has arrived. At the ceiling it closes the pipe, and a hook that goes on
 * writing gets SIGPIPE.
 */
static void read_output(struct hooks *h)
{
	char part[4096];

	while (h->output_fd >= 0) {
		ssize_t n = read(h->output_fd, part, sizeof(part));
		size_t room = HOOK_OUTPUT_MAX - h->now.output.len;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n > 0)
			strbuf_add(&h->now.output, part, MIN((size_t)n, room));
		h->now.cut = n > 0 && ((size_t)n > room || strbuf_failed(&h->now.output));
		if (n <= 0 || h->now.cut)
			close_output(h);
	}
}

static void on_output(evutil_socket_t, short, void *arg)
{
	read_output(arg);
}

static int send_order(struct hooks *h, int write_fd, struct err *err)
{
	char script[LAUNCH_MESSAGE_MAX - 128], order[LAUNCH_MESSAGE_MAX - 16];
	int rc = hook_script(h->now.command, h->now.pid, h->now.reason, script, sizeof(script));

	if (rc < 0)
		return err_set(err, -rc, "hook");
	snprintf(order, sizeof(order), "%d %d %lld %s", h->id, h->options->timeout_s,
		 (long long)HOOK_FILE_MAX, script);
	return launch_send_fd(h->socket_fd, "run", order, write_fd, err);
}

static int begin(struct hooks *h, struct err *err)
{
	const struct timeval within = { .tv_sec = h->options->timeout_s + ANSWER_GRACE_S };
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	/* Only our end does not block: a command expects an output that blocks. */
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	h->output_fd = ends[0];
	h->id = (h->id + 1) & 0x7fffffff;
	rc = send_order(h, ends[1], err);
	close(ends[1]);
	if (rc < 0)
		return rc;
	h->readable = event_new(h->base, h->output_fd, EV_READ | EV_PERSIST, on_output, h);
	if (!h->readable || event_add(h->readable, NULL) < 0 || event_add(h->overdue, &within) < 0)
		return err_set(err, ENOMEM, "hook");
	return 0;
}

/* Takes the first hook that is due and starts it. If it cannot be started, that is its result. */
static void take_next(struct hooks *h)
{
	struct due next = h->due[0];
	struct err err = { 0 };

	memmove(h->due, h->due + 1, (--h->n_due) * sizeof(h->due[0]));
	h->now = (struct hook_result){
		.number = ++h->count,
		.moment = next.moment,
		.command = next.command,
		.pid = next.pid,
		.at_ns = now_boottime_ns(),
		.headroom = h->callbacks.headroom(h->callbacks.arg),
		.output = STRBUF_INIT(HOOK_OUTPUT_MAX),
	};
	memcpy(h->now.reason, next.reason, sizeof(h->now.reason));
	if (h->now.headroom >= 0 && h->now.headroom < h->options->headroom) {
		h->now.outcome = HOOK_NO_HEADROOM;
		keep_result(h);
		return;
	}
	h->running = begin(h, &err) >= 0;
	if (!h->running) {
		log_warning_limited("a hook was not run: %s", err_text(&err));
		close_output(h);
		h->now.outcome = HOOK_REFUSED;
		h->now.refused_errno = err.code;
		keep_result(h);
	}
}

static void go_on(struct hooks *h)
{
	while (!h->running && h->n_due > 0)
		take_next(h);
}

static void end_running(struct hooks *h, enum hook_outcome outcome)
{
	if (!h->running)
		return;
	read_output(h);
	close_output(h);
	event_del(h->overdue);
	h->running = false;
	h->now.outcome = outcome;
	keep_result(h);
}

static void ended(struct hooks *h, enum hook_outcome outcome)
{
	end_running(h, outcome);
	go_on(h);
	if (!h->running)
		h->callbacks.done(h->callbacks.arg);
}

static void on_overdue(evutil_socket_t, short, void *arg)
{
	ended(arg, HOOK_LOST);
}

void hooks_message(struct hooks *h, const struct launch_message *m)
{
	if (!h || !h->running || m->hook_id != h->id)
		return;
	if (m->verb == LAUNCH_FINISHED) {
		h->now.wait_status = m->wait_status;
		ended(h, m->hook_timed_out ? HOOK_TIMED_OUT : HOOK_ENDED);
	} else if (m->verb == LAUNCH_REFUSED) {
		h->now.refused_errno = m->hook_errno;
		ended(h, HOOK_REFUSED);
	}
}

void hooks_abandon(struct hooks *h)
{
	if (!h)
		return;
	h->n_due = 0;
	end_running(h, HOOK_LOST);
}

bool hooks_due(struct hooks *h, enum hook_moment moment, pid_t pid, const char *reason,
	       int64_t now_ns)
{
	if (!h)
		return false;
	if (moment == HOOK_AT_THRESHOLD) {
		if (h->round_ns && now_ns - h->round_ns < HOOK_ROUND_SPACING_NS)
			return h->running;
		h->round_ns = now_ns;
	} else
		h->n_due = 0; /* hooks that are due for a threshold make no sense any more */
	for (const char *const *command = h->options->commands[moment];
	     *command && h->n_due < DUE_MAX; command++) {
		struct due *due = &h->due[h->n_due++];

		*due = (struct due){ .moment = moment, .command = *command, .pid = pid };
		snprintf(due->reason, sizeof(due->reason), "%s", reason);
	}
	go_on(h);
	return h->running;
}

struct hooks *hooks_new(struct event_base *base, int socket_fd, const struct hook_options *options,
			const struct hooks_callbacks *callbacks)
{
	struct hooks *h;

	if (!options->commands[HOOK_AT_THRESHOLD][0] && !options->commands[HOOK_AT_DEATH][0])
		return NULL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->base = base;
	h->socket_fd = socket_fd;
	h->options = options;
	h->callbacks = *callbacks;
	h->output_fd = -1;
	h->overdue = evtimer_new(base, on_overdue, h);
	if (!h->overdue) {
		free(h);
		return NULL;
	}
	return h;
}

void hooks_free(struct hooks *h)
{
	if (!h)
		return;
	close_output(h);
	event_free(h->overdue);
	strbuf_release(&h->now.output);
	for (size_t i = 0; i < h->n_results; i++)
		strbuf_release(&h->results[i].output);
	free(h);
}
