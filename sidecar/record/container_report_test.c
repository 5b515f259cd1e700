/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of a container that ends while the bundle of another one is being written, or while its
 * last logs or its files are read.
 */
#include "sidecar/record/container.h"

#include <event2/event.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/core/elf_core.h"
#include "sidecar/crash/core_stats.h"
#include "sidecar/crash/taken.h"
#include "sidecar/launch/protocol.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/sample/memcg_testing.h"
#include "sidecar/socket/channel.h"

#define PATIENCE_NS (60 * NS_PER_SEC)

static struct fake_root root;
static struct event_base *base;
static struct container *container;
static int launcher;
static bool other_is_kept; /* the bundle of another container is being written */
static int64_t held_until_unix_ns;
static unsigned int n_reports;
static struct core_stats stats;
/* a pipe in the place of the process that reads Ray's logs; -1: there is none */
static int late_logs[2];
static bool is_core, logs_are_read;
static unsigned int crashed; /* workers whose deaths got no report */
static int stuck[2]; /* a pipe: who reads a file waits for a byte */
static bool words_are_stuck, limits_are_stuck;
static int logs_dir; /* in the place of Ray's logs; -1: there are none */
static bool line_is_late; /* the kernel writes its line after the first look */
static unsigned int looks; /* into the kernel log */

bool __wrap_keeper_is_keeping(const struct keeper *k);
bool __wrap_keeper_is_keeping(const struct keeper *k)
{
	(void)k;
	return other_is_kept;
}

static struct kept *waiting; /* what is behind the bundle of the other container */

static void finish_kept(struct kept *kept)
{
	kept->done(&(struct err){ 0 }, kept->arg);
}

static void on_kept(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	finish_kept(arg);
}

static struct kept *unmade; /* its report is still being made */

void __wrap_keeper_keep(struct keeper *k, struct kept *kept);
void __wrap_keeper_keep(struct keeper *k, struct kept *kept)
{
	(void)k;
	if (kept->waits)
		unmade = kept;
	else if (other_is_kept)
		waiting = kept;
	else
		event_base_once(base, -1, EV_TIMEOUT, on_kept, kept, &(struct timeval){ 0 });
}

void __wrap_keeper_go_on(struct keeper *k);
void __wrap_keeper_go_on(struct keeper *k)
{
	if (unmade && !unmade->waits)
		__wrap_keeper_keep(k, TAKE_PTR(unmade));
}

/* Called in the process that looks at a core. */
int __wrap_elf_core_open(int fd, struct elf_core *ret_core, struct err *err);
int __wrap_elf_core_open(int fd, struct elf_core *ret_core, struct err *err)
{
	(void)fd;
	if (is_core) {
		*ret_core = (struct elf_core){ .file_size = 0 };
		return 0;
	}
	return err_set(err, ENOEXEC, "no core");
}

bool __wrap_ray_watch_finish(struct ray_watch *w, int64_t now_ns, int *ret_fd);
bool __wrap_ray_watch_finish(struct ray_watch *w, int64_t now_ns, int *ret_fd)
{
	(void)w;
	(void)now_ns;
	*ret_fd = late_logs[0];
	return late_logs[0] < 0 || logs_are_read;
}

bool __wrap_ray_watch_last_summary(struct ray_watch *w, struct ray_summary *ret_summary);
bool __wrap_ray_watch_last_summary(struct ray_watch *w, struct ray_summary *ret_summary)
{
	(void)w;
	*ret_summary = (struct ray_summary){ .crashes = crashed, .span_ns = 8 * NS_PER_SEC };
	return crashed > 0;
}

static struct ray_process_words words;

const struct ray_process_words *__wrap_ray_watch_process_words(const struct ray_watch *w);
const struct ray_process_words *__wrap_ray_watch_process_words(const struct ray_watch *w)
{
	(void)w;
	return &words;
}

int __wrap_ray_watch_logs_dir(const struct ray_watch *w);
int __wrap_ray_watch_logs_dir(const struct ray_watch *w)
{
	(void)w;
	return logs_dir;
}

static void wait_for_byte(void)
{
	char byte;

	while (read(stuck[0], &byte, 1) < 0)
		;
}

void __wrap_gpu_words_at_end(int dir_fd, int64_t at_unix_ns, struct gpu_error *ret_error);
void __wrap_gpu_words_at_end(int dir_fd, int64_t at_unix_ns, struct gpu_error *ret_error)
{
	(void)dir_fd;
	(void)at_unix_ns;
	*ret_error = (struct gpu_error){ .kind = GPU_ERROR_NONE };
	if (words_are_stuck)
		wait_for_byte();
}

void __real_limits_read(int root_fd, pid_t pid, const struct limits *before, struct limits *ret);
void __wrap_limits_read(int root_fd, pid_t pid, const struct limits *before, struct limits *ret);
void __wrap_limits_read(int root_fd, pid_t pid, const struct limits *before, struct limits *ret)
{
	if (limits_are_stuck)
		wait_for_byte();
	__real_limits_read(root_fd, pid, before, ret);
}

void __wrap_kernel_log_look(struct kernel_log *k, int64_t ended_ns, const struct process *top,
			    size_t n_top, struct kernel_evidence *ret_evidence);
void __wrap_kernel_log_look(struct kernel_log *k, int64_t ended_ns, const struct process *top,
			    size_t n_top, struct kernel_evidence *ret_evidence)
{
	(void)k;
	(void)ended_ns;
	(void)top;
	(void)n_top;
	*ret_evidence = KERNEL_EVIDENCE_ABSENT;
	if (line_is_late) {
		ret_evidence->needs = NULL;
		ret_evidence->oom = looks++ > 0;
	}
}

static struct history *no_history(struct container *c, const struct life *life, void *arg)
{
	(void)c;
	(void)life;
	(void)arg;
	return NULL;
}

static void ignore(struct container *c, void *arg)
{
	(void)c;
	(void)arg;
}

static void on_reported(struct container *c, const struct failure *f, const char *text, void *arg)
{
	(void)c;
	(void)text;
	(void)arg;
	held_until_unix_ns = f->held_until_unix_ns;
	n_reports++;
}

static struct container_callbacks callbacks = {
	.history = no_history,
	.attached = ignore,
	.reported = on_reported,
	.done = ignore,
	.core_stats = &stats,
};
static const struct record_options options = {
	.report_fd = -1, .warn_at = 0.8, .hold_s = 60, .cores = CORES_SUMMARY
};

/* Returns NULL on failure. */
static struct container *greet(const char *hello, int *ret_launcher)
{
	_cleanup_close_ int root_fd = open(root.path, O_PATH | O_CLOEXEC);
	struct container *c;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return NULL;
	*ret_launcher = ends[1];
	c = container_new(base, ends[0], &options, NULL, &callbacks, NULL);
	if (!c || launch_send_fd(ends[1], "hello", hello, root_fd, NULL) < 0)
		return NULL;
	while (!container_observer(c))
		event_base_loop(base, EVLOOP_ONCE);
	return c;
}

static int setup(void **state)
{
	(void)state;
	words = (struct ray_process_words){ 0 };

	fake_root_init(&root);
	base = event_base_new();
	callbacks.taken = taken_new(-1);
	words_are_stuck = limits_are_stuck = line_is_late = false;
	looks = 0;
	logs_dir = -1;
	if (!base || !callbacks.taken || pipe2(stuck, O_CLOEXEC) < 0 ||
	    !(container = greet("1 r main 1 7 1", &launcher)))
		return -1;
	other_is_kept = true;
	held_until_unix_ns = 0;
	n_reports = 0;
	stats = (struct core_stats){ 0 };
	late_logs[0] = late_logs[1] = -1;
	is_core = logs_are_read = false;
	crashed = 0;
	waiting = unmade = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	container_free(container);
	taken_free(callbacks.taken);
	event_base_free(base);
	closep(&launcher);
	closep(&late_logs[0]);
	closep(&late_logs[1]);
	closep(&stuck[0]);
	closep(&stuck[1]);
	closep(&logs_dir);
	return fake_root_release(&root);
}

static void send_exit_from(int fd, int wait_status)
{
	char text[64];

	snprintf(text, sizeof(text), "%d %lld", wait_status, (long long)now_boottime_ns());
	assert_int_equal(launch_send(fd, "exit", text, NULL), 0);
}

static void send_exit(int wait_status)
{
	send_exit_from(launcher, wait_status);
}

/* Returns whether that launcher has received that message. */
static bool has_got_at(int fd, const char *message)
{
	char text[LAUNCH_MESSAGE_MAX + 1];
	ssize_t len;

	while ((len = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
		text[len] = '\0';
		if (strcmp(text, message) == 0)
			return true;
	}
	return false;
}

static bool has_got(const char *message)
{
	return has_got_at(launcher, message);
}

static void run_until(bool (*fn)(void))
{
	for (int64_t end_ns = now_boottime_ns() + PATIENCE_NS; !fn() && now_boottime_ns() < end_ns;)
		event_base_loop(base, EVLOOP_ONCE);
	assert_true(fn());
}

static bool is_waiting(void)
{
	return waiting;
}

/* Returns whether it is held while the bundle of another container is being written. */
static bool is_held_meanwhile(void)
{
	run_until(is_waiting);
	assert_int_equal(n_reports, 0);
	bool held = has_got("hold 60");
	other_is_kept = false;
	finish_kept(TAKE_PTR(waiting));
	return held;
}

static void a_container_is_held_before_the_launchers_patience_is_over(void **state)
{
	(void)state;
	send_exit(3 << 8);
	assert_true(is_held_meanwhile());
	assert_int_equal(n_reports, 1);
	assert_true(held_until_unix_ns > now_realtime_ns());
}

static void the_end_says_how_many_workers_died_without_a_report(void **state)
{
	(void)state;
	crashed = 3;
	send_exit(3 << 8);
	run_until(is_waiting);
	assert_true(
		has_got("say [afterglow] 0 Workers (tasks / actors) killed due to memory pressure "
			"(OOM), 3 Workers crashed due to other reasons in the last 8 s\n"));
	finish_kept(TAKE_PTR(waiting));
}

static void a_container_whose_launcher_has_gone_is_not_said_to_be_held(void **state)
{
	(void)state;
	send_exit(3 << 8);
	closep(&launcher);
	launcher = -1;
	run_until(is_waiting);
	finish_kept(TAKE_PTR(waiting));
	assert_int_equal(n_reports, 1);
	assert_int_equal(held_until_unix_ns, 0);
}

static void the_wait_for_a_signals_sender_is_over_in_time(void **state)
{
	(void)state;
	container_node_watches(container, now_boottime_ns() + 2 * PATIENCE_NS);
	send_exit(SIGKILL);
	assert_true(is_held_meanwhile());
	assert_int_equal(n_reports, 1);
}

static bool has_ended(void)
{
	return container_is_over(container);
}

static int asked_signal;

static bool is_asked(void)
{
	return container->asked.signal == asked_signal;
}

static bool is_reported(void)
{
	return n_reports > 0;
}

static bool is_unwound(void)
{
	return stats.captured > 0 && stats.backtraces[BACKTRACE_FAILED] > 0;
}

/* The container ends and its last logs do not come. */
static void end_without_logs(int wait_status)
{
	assert_int_equal(pipe2(late_logs, O_CLOEXEC), 0);
	other_is_kept = false;
	send_exit(wait_status);
	run_until(has_ended);
	assert_int_equal(n_reports, 0);
}

static void logs_that_never_end_do_not_hold_the_report(void **state)
{
	(void)state;
	end_without_logs(3 << 8);
	assert_int_equal(write(late_logs[1], "x", 1), 1);
	/* There is something to read at each look, for longer than the logs may take. */
	for (int i = 0; i < 5; i++) {
		usleep(200000);
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	}
	assert_int_equal(n_reports, 1);
}

static void the_last_logs_are_taken_while_the_bundle_of_another_is_written(void **state)
{
	(void)state;
	assert_int_equal(pipe2(late_logs, O_CLOEXEC), 0);
	send_exit(3 << 8);
	run_until(has_ended);
	logs_are_read = true;
	assert_int_equal(write(late_logs[1], "x", 1), 1);
	assert_true(is_held_meanwhile());
}

/* The sender of the signal may not be known yet. */
static void what_comes_before_the_last_logs_does_not_end_the_other_waits(void **state)
{
	(void)state;
	container_node_watches(container, now_boottime_ns() + 2 * PATIENCE_NS);
	end_without_logs(SIGKILL);
	container_core_came(container);
	assert_int_equal(n_reports, 0);
	run_until(is_reported);
}

static void send_core(void)
{
	int fd;

	is_core = true;
	fake_root_put(&root, "cores/core.7", "x");
	fd = openat(root.fd, "cores/core.7", O_RDONLY | O_CLOEXEC);
	assert_int_equal(launch_send_fd(launcher, "core", "7 7 11 python", fd, NULL), 0);
	close(fd);
	run_until(is_unwound);
}

static void the_core_of_the_end_has_no_own_report_if_the_launcher_goes_before_the_logs(void **state)
{
	(void)state;

	send_core();
	end_without_logs(SIGSEGV);
	closep(&launcher);
	launcher = -1;
	/* The report waits for the logs all the same. */
	assert_false(event_pending(container->readable, EV_READ, NULL));
	run_until(is_reported);
	assert_int_equal(n_reports, 1);
}

static bool both_are_reported(void)
{
	return n_reports == 2;
}

/* The history tells of one report at a time. */
static void an_end_waits_for_the_report_of_a_process_that_ended_before(void **state)
{
	struct ending e = { .ended_ns = now_boottime_ns() };
	(void)state;

	container_report_process(container, &e, NULL, "process-crashed");
	assert_true(container_publishes(container));
	send_exit(3 << 8);
	for (int i = 0; i < 5; i++)
		event_base_loop(base, EVLOOP_ONCE);
	assert_false(has_ended());
	other_is_kept = false;
	finish_kept(TAKE_PTR(waiting));
	assert_int_equal(n_reports, 1);
	run_until(both_are_reported);
	assert_true(has_ended());
	assert_false(container_publishes(container));
}

static void a_launcher_that_dies_meanwhile_is_not_overlooked(void **state)
{
	struct ending e = { .ended_ns = now_boottime_ns() };
	(void)state;

	container_report_process(container, &e, NULL, "process-crashed");
	closep(&launcher);
	launcher = -1;
	for (int i = 0; i < 5; i++)
		event_base_loop(base, EVLOOP_ONCE);
	assert_false(has_ended());
	other_is_kept = false;
	finish_kept(TAKE_PTR(waiting));
	run_until(has_ended);
}

/* Another report of it was being written until then. */
static void a_job_that_failed_before_the_pod_was_stopped_is_reported_nevertheless(void **state)
{
	const int64_t now_ns = now_boottime_ns();
	struct process_watch *w = &container->observer.processes;
	(void)state;

	other_is_kept = false;
	w->ends[w->n_ends++] =
		(struct ray_process_end){ RAY_PROCESS_DRIVER, 12, true, 3 << 8, 0, now_ns };
	container->terminating_ns = now_ns;
	container_ray_due(container, now_ns + 10 * NS_PER_SEC);
	assert_false(container_publishes(container));
	container->terminating_ns = now_ns + NS_PER_SEC;
	container_ray_due(container, now_ns + 10 * NS_PER_SEC);
	run_until(is_reported);
}

static void a_raylet_that_fails_before_ray_is_stopped_in_order_is_reported(void **state)
{
	static const struct {
		int raylet, gcs_server, after_ms;
		bool reported;
		pid_t stopped; /* the raylet that has logged that it was asked to stop */
	} cases[] = {
		{ SIGKILL, 0, 100, true, 0 },
		{ SIGKILL, 0, 100, false, 12 },
		{ SIGKILL, 0, 100, true, 7 }, /* of another session */
		{ SIGSEGV, SIGTERM, 100, true, 0 },
		{ 1 << 8, 0, 0, true, 0 },
		{ 0, 0, 100, false, 0 },
		{ SIGTERM, 0, 100, false, 0 },
		{ SIGKILL, SIGKILL, 0, false, 0 }, /* the driver was killed, and all with it */
		{ SIGKILL, 0, -16000, false, 0 }, /* `ray stop` waits so long for raylet */
	};
	struct process_watch *w = &container->observer.processes;
	const int64_t now_ns = now_boottime_ns();
	(void)state;

	other_is_kept = false;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct ray_process_end raylet = { RAY_PROCESS_RAYLET, 12, true,
							cases[i].raylet,    0,	now_ns },
					     gcs_server = {
						     RAY_PROCESS_GCS_SERVER,
						     13,
						     true,
						     cases[i].gcs_server,
						     0,
						     now_ns + cases[i].after_ms * NS_PER_MS
					     };

		w->ends[cases[i].after_ms < 0] = raylet;
		w->ends[cases[i].after_ms >= 0] = gcs_server;
		w->n_ends = 2;
		w->vital_ns = 0;
		words.stopped = (struct ray_process_word){ .at_ns = 1,
							   .process = RAY_PROCESS_RAYLET,
							   .pid = cases[i].stopped };
		w->reported_ns = 0;
		n_reports = 0;
		container_ray_due(container, now_ns + 10 * NS_PER_SEC);
		assert_int_equal(container_publishes(container), cases[i].reported);
		if (cases[i].reported)
			run_until(is_reported);
	}
	/* Of two raylets that are stopped together, the words of one are known. */
	w->ends[0] = (struct ray_process_end){ RAY_PROCESS_RAYLET, 11, true, SIGKILL, 0, now_ns };
	w->ends[1] =
		(struct ray_process_end){ RAY_PROCESS_RAYLET, 12, true, SIGKILL, 0, now_ns + 1 };
	w->ends[2] = (struct ray_process_end){ RAY_PROCESS_GCS_SERVER, 13, true, 0, 0, now_ns + 2 };
	w->n_ends = 3;
	words.stopped.pid = 12;
	w->reported_ns = 0;
	container_ray_due(container, now_ns + 10 * NS_PER_SEC);
	assert_false(container_publishes(container));
	w->n_ends = 2;
	words.stopped.pid = 0;
	/* Its driver ends with code 0 before it is known whether Ray goes on. */
	w->ends[0] = (struct ray_process_end){ RAY_PROCESS_RAYLET, 12, true, SIGKILL, 0, now_ns };
	w->ends[1] = (struct ray_process_end){ RAY_PROCESS_GCS_SERVER, 13, true, 0, 0, now_ns + 1 };
	w->reported_ns = 0;
	n_reports = 0;
	send_exit(0);
	run_until(is_reported);
}

/* Another report of it is being written when Ray's word about the process comes. */
static void a_core_of_a_container_that_is_given_up_is_reported_nevertheless(void **state)
{
	const struct ray_finding finding = { .event = { .kind = RAY_WORKER_CRASH, .pid = 7 },
					     .at_ns = now_boottime_ns() };
	struct ending e = { .ended_ns = now_boottime_ns() };
	(void)state;

	send_core();
	container_report_process(container, &e, NULL, "process-crashed");
	container_worker_died(&finding, container);
	container->state = CONTAINER_LOST;
	finish_kept(TAKE_PTR(waiting));
	assert_int_equal(n_reports, 1);
	assert_true(is_waiting());
	finish_kept(TAKE_PTR(waiting));
	assert_true(both_are_reported());
}

static void give_cpu_limit(void)
{
	other_is_kept = false;
	container->observer.root_fd = open(root.path, O_PATH | O_CLOEXEC);
	fake_root_put(&root, "proc/1/cgroup", "0::/\n");
	fake_root_put(&root, "proc/1/mountinfo",
		      "30 20 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	fake_root_put(&root, "sys/fs/cgroup/cpu.stat", "nr_periods 1000\nnr_throttled 900\n");
}

static bool limits_are_read(void)
{
	return !container->limits.event;
}

static void ask_to_stop(int signal, int64_t at_ns)
{
	char text[64];

	snprintf(text, sizeof(text), "%d 0 %lld", signal, (long long)at_ns);
	assert_int_equal(launch_send(launcher, "asked", text, NULL), 0);
	asked_signal = signal;
	run_until(is_asked);
	run_until(limits_are_read);
}

/* Ends the container by SIGKILL. Returns whether its CPU limit is evidence. */
static bool is_slow_by_its_report(void)
{
	const struct verdict *v = &container->report->verdict;

	fake_root_put(&root, "sys/fs/cgroup/cpu.stat", "");
	closep(&launcher);
	launcher = -1;
	run_until(is_reported);
	for (unsigned int i = 0; i < v->n_evidence; i++)
		if (strcmp(v->evidence[i].source, "cpu.stat") == 0 &&
		    strstr(v->evidence[i].text, "in 90 % of the periods"))
			return true;
	return false;
}

/* The cgroup of a container that is killed is gone before anybody could look at it. */
static void a_container_that_is_killed_after_a_request_to_stop_has_its_cpu_limit_as_evidence(
	void **state)
{
	(void)state;

	give_cpu_limit();
	ask_to_stop(SIGTERM, now_boottime_ns());
	assert_true(is_slow_by_its_report());
}

static void a_request_to_stop_of_long_ago_says_nothing_of_the_limits_at_the_end(void **state)
{
	(void)state;

	give_cpu_limit();
	ask_to_stop(SIGTERM, now_boottime_ns());
	container->asked.at_ns -= 3600 * NS_PER_SEC;
	assert_false(is_slow_by_its_report());
}

/* Each look costs a process, and it is the container that says when it was asked. */
static void a_container_that_is_asked_without_end_is_not_looked_at_each_time(void **state)
{
	(void)state;

	give_cpu_limit();
	ask_to_stop(SIGTERM, container->hello.started_ns);
	container->limits_at_ns += 3600 * NS_PER_SEC; /* however slow this machine is */
	fake_root_put(&root, "sys/fs/cgroup/cpu.stat", "nr_periods 2000\nnr_throttled 900\n");
	ask_to_stop(SIGINT, container->hello.started_ns);
	assert_int_equal(container->ending.limits.cpu_periods, 1000);
}

static void a_request_to_stop_after_the_end_changes_nothing_of_what_was_seen_then(void **state)
{
	(void)state;

	give_cpu_limit();
	container_node_watches(container, now_boottime_ns() + 2 * PATIENCE_NS);
	send_exit(SIGKILL);
	run_until(has_ended);
	run_until(limits_are_read);
	fake_root_put(&root, "sys/fs/cgroup/cpu.stat", "nr_periods 2000\nnr_throttled 900\n");
	ask_to_stop(SIGTERM, now_boottime_ns());
	assert_int_equal(container->ending.limits.cpu_periods, 1000);
}

/* --- The verdict waits for files of the container --- */

static bool is_judging(void)
{
	return container->state == CONTAINER_JUDGING;
}

static void free_one(void)
{
	assert_int_equal(write(stuck[1], "x", 1), 1);
}

/* The container ends, and the ends of its logs are being read until free_one(). */
static void end_with_stuck_words(void)
{
	other_is_kept = false;
	logs_dir = open("/", O_PATH | O_CLOEXEC);
	words_are_stuck = true;
	send_exit(3 << 8);
	run_until(is_judging);
	background_limit(&container->end->making.child, INT64_MAX);
	words_are_stuck = false;
}

static int other_launcher;
static bool is_answered;

static bool other_is_answered(void)
{
	is_answered = is_answered || has_got_at(other_launcher, "hold 60");
	return is_answered;
}

static void an_end_whose_logs_hang_does_not_hold_another(void **state)
{
	struct container *other = greet("1 r other 1 8 2", &other_launcher);
	(void)state;

	is_answered = false;
	end_with_stuck_words();
	send_exit_from(other_launcher, 4 << 8);
	run_until(other_is_answered);
	run_until(is_reported);
	assert_int_equal(n_reports, 1);
	assert_true(is_judging());
	assert_true(container_is_judging(container) && container_publishes(container));
	assert_false(has_got("hold 60"));
	free_one();
	run_until(both_are_reported);
	assert_true(has_got("hold 60"));
	container_free(other);
	close(other_launcher);
}

static void a_launcher_that_leaves_while_its_logs_hang_is_reported_once(void **state)
{
	(void)state;
	end_with_stuck_words();
	closep(&launcher);
	launcher = -1;
	while (event_pending(container->readable, EV_READ, NULL))
		event_base_loop(base, EVLOOP_ONCE);
	assert_true(is_judging());
	free_one();
	run_until(is_reported);
	assert_int_equal(n_reports, 1);
}

static bool lacks_files(void)
{
	const struct verdict *v = &container->report->verdict;

	for (unsigned int i = 0; i < v->n_missing; i++)
		if (strcmp(v->missing[i].what, "what the container's files show") == 0)
			return true;
	return false;
}

static void logs_that_do_not_answer_are_missing_from_the_report(void **state)
{
	(void)state;
	end_with_stuck_words();
	background_limit(&container->end->making.child, NS_PER_MS);
	run_until(is_reported);
	assert_true(lacks_files());
	assert_int_equal(container->report->verdict.class, FAILURE_APPLICATION_ERROR);
}

static void limits_that_do_not_answer_are_missing_from_the_report(void **state)
{
	(void)state;
	give_cpu_limit();
	limits_are_stuck = true;
	send_exit(3 << 8);
	run_until(is_reported);
	assert_true(lacks_files());
}

static void a_child_that_dies_leaves_the_report_without_what_it_read(void **state)
{
	(void)state;
	end_with_stuck_words();
	kill(container->end->making.child.errand.pid, SIGKILL);
	run_until(is_reported);
	assert_int_equal(container->report->verdict.class, FAILURE_APPLICATION_ERROR);
}

/* Which disks are full by the end is seen by comparing. */
static void the_limits_of_the_end_are_read_after_those_of_the_start(void **state)
{
	(void)state;
	give_cpu_limit();
	limits_are_stuck = true;
	container_read_limits(container, &container->observer.limits);
	background_limit(&container->limits, INT64_MAX);
	limits_are_stuck = false;
	send_exit(3 << 8);
	run_until(is_judging);
	assert_int_equal(container->observer.limits.cpu_periods, 0);
	assert_int_equal(n_reports, 0);
	free_one();
	run_until(is_reported);
	assert_int_equal(container->observer.limits.cpu_periods, 1000);
	assert_int_equal(container->ending.limits.cpu_periods, 1000);
	assert_false(lacks_files());
}

/* They explain failures only. */
static void limits_of_a_request_to_stop_are_not_those_of_a_success(void **state)
{
	(void)state;
	give_cpu_limit();
	limits_are_stuck = true;
	container_read_limits(container, &container->ending.limits);
	background_limit(&container->limits, INT64_MAX);
	send_exit(0);
	run_until(is_judging);
	free_one();
	run_until(limits_are_read);
	assert_int_equal(container->ending.limits.cpu_periods, 0);
}

static void a_process_whose_files_hang_is_reported_when_they_answer(void **state)
{
	struct ending e = { .ended_ns = now_boottime_ns() };
	(void)state;

	give_cpu_limit();
	limits_are_stuck = true;
	container_report_process(container, &e, NULL, "process-crashed");
	struct publication *p = unmade->arg;
	background_limit(&p->making.child, INT64_MAX);
	for (int i = 0; i < 3; i++)
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_true(unmade->waits && container_publishes(container));
	free_one();
	run_until(is_reported);
}

/* The loop turns until then. */
static void the_kernel_log_is_read_again_when_its_line_may_be_late(void **state)
{
	(void)state;
	other_is_kept = false;
	line_is_late = true;
	container->observer.cgroup_unseen = "nothing";
	send_exit(SIGKILL);
	run_until(is_judging);
	assert_int_equal(looks, 1);
	assert_non_null(container->wait);
	run_until(is_reported);
	assert_int_equal(looks, 2);
	assert_true(container->end->making.seen.kernel.oom);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_container_is_held_before_the_launchers_patience_is_over),
		TEST(the_end_says_how_many_workers_died_without_a_report),
		TEST(a_container_whose_launcher_has_gone_is_not_said_to_be_held),
		TEST(the_wait_for_a_signals_sender_is_over_in_time),
		TEST(logs_that_never_end_do_not_hold_the_report),
		TEST(the_last_logs_are_taken_while_the_bundle_of_another_is_written),
		TEST(what_comes_before_the_last_logs_does_not_end_the_other_waits),
		TEST(the_core_of_the_end_has_no_own_report_if_the_launcher_goes_before_the_logs),
		TEST(an_end_waits_for_the_report_of_a_process_that_ended_before),
		TEST(a_launcher_that_dies_meanwhile_is_not_overlooked),
		TEST(a_job_that_failed_before_the_pod_was_stopped_is_reported_nevertheless),
		TEST(a_raylet_that_fails_before_ray_is_stopped_in_order_is_reported),
		TEST(a_core_of_a_container_that_is_given_up_is_reported_nevertheless),
		TEST(a_container_that_is_killed_after_a_request_to_stop_has_its_cpu_limit_as_evidence),
		TEST(a_request_to_stop_of_long_ago_says_nothing_of_the_limits_at_the_end),
		TEST(a_container_that_is_asked_without_end_is_not_looked_at_each_time),
		TEST(a_request_to_stop_after_the_end_changes_nothing_of_what_was_seen_then),
		TEST(an_end_whose_logs_hang_does_not_hold_another),
		TEST(a_launcher_that_leaves_while_its_logs_hang_is_reported_once),
		TEST(logs_that_do_not_answer_are_missing_from_the_report),
		TEST(limits_that_do_not_answer_are_missing_from_the_report),
		TEST(a_child_that_dies_leaves_the_report_without_what_it_read),
		TEST(the_limits_of_the_end_are_read_after_those_of_the_start),
		TEST(limits_of_a_request_to_stop_are_not_those_of_a_success),
		TEST(a_process_whose_files_hang_is_reported_when_they_answer),
		TEST(the_kernel_log_is_read_again_when_its_line_may_be_late),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
