/* SPDX-License-Identifier: Apache-2.0 */
/* afterglow-sidecar watches the containers of a pod and reports why they died. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/loop/errand.h"
#include "lib/memory_needs.h"
#include "lib/outlet.h"
#include "lib/undumpable.h"
#include "lib/units.h"
#include "sidecar/ask_stacks.h"
#include "sidecar/exec.h"
#include "sidecar/http/server.h"
#include "sidecar/kernel/keep_syslog.h"
#include "sidecar/options.h"
#include "sidecar/prune.h"
#include "sidecar/record/heartbeat.h"
#include "sidecar/record/sidecar.h"

/*
 * After this a sidecar ends that no launcher has come to. It cannot tell a container whose launcher
 * could not start from one whose image the kubelet cannot pull yet: of those, four attempts fit
 * into this time.
 */
#define NOBODY_AFTER_S 90
#define NOBODY_AFTER_BACKOFF_S \
	330 /* the same where a failed container starts again, after 300 s at most */
#define TERMINATION_LOG "/dev/termination-log" /* the kubelet's, and so it is there in a pod */
/* After the last container's end; the operator reserves 5 s of the pod's grace period. */
#define SHIP_AT_LEAST_S 4
#define SERVE_AGAIN_S 5 /* how long after a port was taken it is tried again */

struct service {
	const struct record_options *options;
	struct event_base *base;
	struct sidecar *sidecar;
	struct pod_server *http;
	bool stopping;
	int64_t until_ns; /* the time at which shipping ends, CLOCK_BOOTTIME; 0: none is set */
	/* Whether until_ns moves when a container ends shortly before it, or later. */
	bool may_extend;
	struct event *over;
	struct errand needs; /* writes what the containers have needed so far */
};

/* Ships for that many seconds. A bundle that is not in the store by then is lost with the pod. */
static void ship_for(struct service *s, int64_t seconds)
{
	s->until_ns = now_boottime_ns() + seconds * NS_PER_SEC;
	sidecar_ship_until(s->sidecar, s->until_ns - (seconds > 0 ? NS_PER_SEC : 0));
	if (event_add(s->over, &(struct timeval){ .tv_sec = seconds }) < 0)
		event_base_loopbreak(s->base);
}

static void begin_stop(struct service *s)
{
	if (s->stopping)
		return;
	s->stopping = true;
	s->may_extend = sidecar_active(s->sidecar) > 0;
	ship_for(s, s->options->grace_s);
}

/*
 * A container that still runs is watched further: the kubelet knows the pod's time limit and ends
 * all of us then.
 */
static void on_over(evutil_socket_t, short, void *arg)
{
	struct service *s = arg;

	if (sidecar_active(s->sidecar) == 0)
		event_base_loopbreak(s->base);
}

/* The container that was recorded has ended and nobody will start it again. */
static void leave_after_end(struct service *s)
{
	enum sidecar_leave leave = sidecar_leave(s->sidecar);

	if (leave == SIDECAR_STAYS || s->stopping)
		return;
	if (leave == SIDECAR_LEAVES) {
		log_info("the Ray container ended with exit code 0: the sidecar ends as well");
		begin_stop(s);
	} else if (!sidecar_is_shipping(s->sidecar)) {
		log_info(
			"the Ray container ended, and nothing is left to ship: the sidecar ends as well");
		s->stopping = true;
	}
}

static void stop_when_over(void *arg)
{
	struct service *s = arg;

	leave_after_end(s);
	if (!s->stopping || sidecar_active(s->sidecar) > 0)
		return;
	if (s->may_extend && s->until_ns - now_boottime_ns() < SHIP_AT_LEAST_S * NS_PER_SEC)
		ship_for(s, SHIP_AT_LEAST_S);
	s->may_extend = false;
	if (!sidecar_is_shipping(s->sidecar))
		event_base_loopbreak(s->base);
}

static void needs_write(const void *text, void *)
{
	if (access(TERMINATION_LOG, W_OK) == 0)
		file_put(AT_FDCWD, TERMINATION_LOG, text, strlen(text), 0600, NULL);
}

/*
 * The kubelet puts it into the pod's status, where the operator finds it. While the loop turns, a
 * disk that hangs must not hold it.
 */
static void leave_needs(struct service *s, bool loop_turns)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(MEMORY_NEEDS_MESSAGE_MAX + 1);

	sidecar_needs_message(s->sidecar, &text);
	if (!s->options->id.pod_uid || !text.len || strbuf_failed(&text))
		return;
	/* An older message must not be written after this one. */
	errand_cancel(&s->needs);
	if (loop_turns)
		errand_ask(&s->needs, needs_write, strbuf_str(&text), NULL, 0, NULL);
	else
		needs_write(strbuf_str(&text), NULL);
}

/*
 * The kubelet sends SIGTERM to all containers of a pod at once. We stay until the others have ended
 * and their ends are reported. If one of them takes longer than the pod's time limit, we are killed
 * with it: so what they have needed is written now.
 */
static void on_stop(evutil_socket_t, short, void *arg)
{
	struct service *s = arg;

	sidecar_pod_terminating(s->sidecar);
	leave_needs(s, true);
	begin_stop(s);
	stop_when_over(s);
}

/*
 * A launcher that lives tries to connect every 2 s, so there is none: its container ended before
 * this program ran.
 */
static void on_nobody(evutil_socket_t, short, void *arg)
{
	struct service *s = arg;

	if (s->stopping || sidecar_was_greeted(s->sidecar))
		return;
	log_warning(
		"no container has come that runs by the launcher: the sidecar ends, so that the pod can end; a container that begins "
		"after this is not watched");
	begin_stop(s);
	stop_when_over(s);
}

/* A pod that is not restarted for ever may have no container to watch any more. */
static void expect_somebody(struct service *s)
{
	const struct timeval within = { .tv_sec = s->options->leave_after == LEAVE_AFTER_ANY ?
							  NOBODY_AFTER_S :
							  NOBODY_AFTER_BACKOFF_S };

	if (s->options->leave_after != LEAVE_AFTER_NONE)
		event_base_once(s->base, -1, EV_TIMEOUT, on_nobody, s, &within);
}

/*
 * Serves HTTP. As long as another program in the Ray container or on the node has the port, or a
 * child of the sidecar before this one, there are no metrics, but reports are still written.
 */
static void serve_http(evutil_socket_t, short again, void *arg)
{
	const struct timeval later = { .tv_sec = SERVE_AGAIN_S };
	struct service *s = arg;
	struct err err = { 0 };

	if (pod_server_new(s->base, s->options->http, s->sidecar, s->options->spool, &s->http,
			   &err) == 0) {
		if (again)
			log_info("metrics and health are served now");
		return;
	}
	if (!again)
		log_warning("metrics and health are not served: %s", err_text(&err));
	event_base_once(s->base, -1, EV_TIMEOUT, serve_http, s, &later);
}

static int record(const struct record_options *options, struct err *err)
{
	struct service s = { .options = options, .base = pod_server_loop(), .needs = ERRAND_NONE };

	if (!s.base)
		return err_set(err, ENOMEM, "event loop");
	signal(SIGPIPE, SIG_IGN);
	outlet_guard(STDOUT_FILENO);
	outlet_guard(STDERR_FILENO);
	struct event *term = evsignal_new(s.base, SIGTERM, on_stop, &s);
	struct event *interrupt = evsignal_new(s.base, SIGINT, on_stop, &s);
	s.over = evtimer_new(s.base, on_over, &s);
	if (!term || !interrupt || !s.over || event_add(term, NULL) < 0 ||
	    event_add(interrupt, NULL) < 0)
		return err_set(err, ENOMEM, "signals");
	int rc = sidecar_new(s.base, options, &s.sidecar, err);
	if (rc >= 0 && heartbeat_start(&HEARTBEAT_PATIENCE, err) < 0)
		log_warning("%s", err_text(err));
	if (rc >= 0) {
		sidecar_on_idle(s.sidecar, stop_when_over, &s);
		if (options->http)
			serve_http(-1, 0, &s);
		expect_somebody(&s);
		log_info("afterglow-sidecar " AFTERGLOW_VERSION " listens on %s",
			 options->socket_path);
		event_base_dispatch(s.base);
		sidecar_conclude(s.sidecar);
		leave_needs(&s, false);
		pod_server_free(s.http);
		sidecar_free(s.sidecar);
	}
	event_free(term);
	event_free(interrupt);
	event_free(s.over);
	event_base_free(s.base);
	outlet_finish(NS_PER_SEC);
	return rc;
}

/* Each tracked process keeps a descriptor open. */
static void raise_nofile(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	struct sidecar_options options;
	struct err err = { 0 };
	bool is_exec = argc > 1 && strcmp(argv[1], "exec") == 0;
	int rc;

	/*
	 * Beside exec runs a command of the same user with the same files. There is nothing to
	 * hide.
	 */
	if (!is_exec)
		undumpable_become();
	if (argc > 2 && strcmp(argv[1], "prune") == 0 && strcmp(argv[2], "--help") == 0)
		return sidecar_options_print_help(COMMAND_RECORD);
	if (argc > 1 && strcmp(argv[1], "prune") == 0) {
		rc = prune_run(argv + 2, &err);
		if (rc < 0)
			fprintf(stderr, "afterglow-sidecar: %s\n", err_text(&err));
		return rc == -EINVAL ? 2 : rc < 0;
	}
	if (argc > 1 && strcmp(argv[1], "stack") == 0)
		return ask_stacks_run(argv + 2);
	if (sidecar_options_parse(argv, &options, &err) < 0) {
		fprintf(stderr, "%s: %s\n", is_exec ? "afterglow" : "afterglow-sidecar",
			err_text(&err));
		return 2;
	}
	if (options.help)
		return sidecar_options_print_help(options.command);
	if (options.version)
		return puts("afterglow-sidecar " AFTERGLOW_VERSION) == EOF;
	if (options.command == COMMAND_EXEC)
		return exec_run(&options.exec);
	raise_nofile();
	/* If we are still root, we record anyway. Reports say what the kernel log lacks. */
	if (options.run_as > 0 && keep_syslog_only((uid_t)options.run_as, &err) < 0)
		log_warning("%s", err_text(&err));
	rc = record(&options.exec.record, &err);
	if (rc < 0)
		log_error("%s", err_text(&err));
	return rc < 0;
}
