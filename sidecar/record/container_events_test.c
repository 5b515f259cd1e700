/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of events between two samples: a container's memory cgroup, and what reads Ray's logs. */
#include "sidecar/record/container.h"

#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/record/gate.h"
#include "sidecar/sample/memcg_testing.h"
#include "sidecar/socket/channel.h"

#define STORM_S 2
#define PATIENCE_NS (60 * NS_PER_SEC)
#define BURST 200 /* the looks that the budget has at first */
#define LOOKS_A_SECOND 80

static struct fake_root root;
static struct event_base *base;

/*
 * These files are not the kernel's, so that a test can write its own counters: the gate, which
 * would turn them away, stands open.
 */
int __wrap_gate_admit(int fd, enum gate_kind kind, struct err *err);
int __wrap_gate_admit(int fd, enum gate_kind kind, struct err *err)
{
	(void)fd;
	(void)kind;
	(void)err;
	return 0;
}

bool __wrap_fd_is_on_cgroupfs(int fd);
bool __wrap_fd_is_on_cgroupfs(int fd)
{
	return fd >= 0;
}

/* Makes a cgroup v2 of regular files, far below its limit. */
static int setup(void **state)
{
	(void)state;
	fake_root_init(&root);
	fake_root_put(&root, "proc/1/cgroup", "0::/\n");
	fake_root_put(&root, "proc/1/mountinfo",
		      "30 20 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	fake_root_put(&root, "sys/fs/cgroup/memory.current", "1000000\n");
	fake_root_put(&root, "sys/fs/cgroup/memory.max", "64000000000\n");
	fake_root_put(&root, "sys/fs/cgroup/memory.events", "high 0\nmax 0\noom 0\noom_kill 0\n");
	base = event_base_new();
	return base ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	event_base_free(base);
	return fake_root_release(&root);
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

static const struct record_options options = { .report_fd = -1, .warn_at = 0.8 };
static const struct container_callbacks callbacks = { .history = no_history,
						      .attached = ignore,
						      .done = ignore };

/* Returns an attached container. *ret_launcher is the launcher's end of its connection. */
static struct container *attached(int *ret_launcher)
{
	int ends[2], fd = open(root.path, O_PATH | O_CLOEXEC);
	struct container *c;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	c = container_new(base, ends[0], &options, NULL, &callbacks, NULL);
	assert_non_null(c);
	assert_true(launch_send_fd(ends[1], "hello", "1 r main 1 7 1", fd, NULL) >= 0);
	close(fd);
	while (!container_observer(c))
		event_base_loop(base, EVLOOP_ONCE);
	*ret_launcher = ends[1];
	return c;
}

static pid_t begin_storm(void)
{
	char path[128];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* so that a failed test leaves no process behind */
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/memory.events", root.path);
	for (int fd = open(path, O_WRONLY | O_CLOEXEC); fd >= 0;)
		if (pwrite(fd, "high 1\n", 7, 0) != 7)
			break;
	_exit(1);
}

/* Returns how often the loop turned in that time. */
static uint64_t turns_within(int64_t ns)
{
	int64_t until = now_boottime_ns() + ns;
	uint64_t turns = 0;

	/* The container's timer ends each turn within a second. */
	for (; now_boottime_ns() < until; turns++)
		event_base_loop(base, EVLOOP_ONCE);
	return turns;
}

static void a_storm_of_memory_events_gets_no_more_looks_than_the_budget_has(void **state)
{
	int64_t began_ns = now_boottime_ns();
	uint64_t turns, allowed;
	int launcher;
	struct container *c = attached(&launcher);
	pid_t storm = begin_storm();
	(void)state;

	turns = turns_within(STORM_S * NS_PER_SEC);
	kill(storm, SIGKILL);
	waitpid(storm, NULL, 0);
	allowed = BURST +
		  LOOKS_A_SECOND * (uint64_t)((now_boottime_ns() - began_ns) / NS_PER_SEC + 1);
	assert_in_range(container_observer(c)->samples, 2, allowed);
	/* A look takes a turn, and so does the event before it. */
	assert_in_range(turns, 2, 2 * allowed);
	container_free(c);
	close(launcher);
}

static void one_memory_event_is_answered(void **state)
{
	int launcher;
	struct container *c = attached(&launcher);
	uint64_t before = container_observer(c)->samples;
	(void)state;

	fake_root_put(&root, "sys/fs/cgroup/memory.events", "high 0\nmax 1\noom 1\noom_kill 1\n");
	for (int i = 0; container_observer(c)->samples == before && i < 10; i++)
		event_base_loop(base, EVLOOP_ONCE);
	assert_true(container_observer(c)->samples > before);
	assert_true(container_observer(c)->oom_seen_ns > 0);
	container_free(c);
	close(launcher);
}

/* With the samples from before, which still have the processes that have died. */
static void what_ray_logs_is_taken_before_the_next_sample(void **state)
{
	int64_t end_ns = now_boottime_ns() + PATIENCE_NS;
	int launcher;
	(void)state;

	fake_root_put(&root, "tmp/ray/session_latest/logs/raylet.out", "");
	struct container *c = attached(&launcher);
	event_del(c->timer);
	while (ray_watch_logs_dir(container_observer(c)->ray) < 0 && now_boottime_ns() < end_ns) {
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		usleep(1000);
	}
	assert_true(ray_watch_logs_dir(container_observer(c)->ray) >= 0);
	assert_int_equal(container_observer(c)->samples, 1);
	container_free(c);
	close(launcher);
}

/* A process could have eight of them, with cores that take half an hour to pack. */
static void a_launcher_that_left_and_lives_makes_room_for_others(void **state)
{
	static const enum container_event events[] = { CONTAINER_HELLO, CONTAINER_HANGUP,
						       CONTAINER_TIMEOUT };
	struct container c = { .state = CONTAINER_CONNECTED };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		c.state = container_step(c.state, events[i]).next;
	assert_int_equal(c.state, CONTAINER_LOST);
	assert_true(container_is_silent(&c));
	assert_false(container_is_over(&c)); /* its history waits for it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_storm_of_memory_events_gets_no_more_looks_than_the_budget_has, setup, teardown),
		cmocka_unit_test_setup_teardown(one_memory_event_is_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(what_ray_logs_is_taken_before_the_next_sample, setup,
						teardown),
		cmocka_unit_test(a_launcher_that_left_and_lives_makes_room_for_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
