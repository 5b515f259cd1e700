/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the socket at which stacks are asked for. Every process of the network namespace may
 * connect to it.
 */
#include "sidecar/record/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/socket/listener.h"

/* Without processes. */
static void each(stacks_fn *fn, void *fn_arg, void *arg)
{
	(void)fn;
	(void)fn_arg;
	(void)arg;
}

/* Finds the socket of the sidecar that has that PID in its own namespace. */
static socklen_t address_find(pid_t pid, struct sockaddr_un *address)
{
	_cleanup_strbuf_ struct strbuf sockets = STRBUF_INIT((size_t)16 << 20);
	char mark[64];
	const char *at;
	size_t len;

	snprintf(mark, sizeof(mark), "@" STACKS_SOCKET_NAME "/%u/%d/", geteuid(), (int)pid);
	assert_int_equal(file_read(AT_FDCWD, "/proc/net/unix", &sockets, NULL), 0);
	at = strstr(strbuf_str(&sockets), mark);
	assert_non_null(at);
	len = strcspn(at, "\n");
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, at + 1, len - 1);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

/* Returns a connection, or -1 if the kernel's queue is full. */
static int stacks_connect(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (connect(fd, (const struct sockaddr *)address, size) == 0)
		return fd;
	assert_int_equal(errno, EAGAIN);
	close(fd);
	return -1;
}

static void a_flood_of_connections_is_taken_slowly(void **state)
{
	const struct stacks_callbacks callbacks = { .each = each };
	struct event_base *base = event_base_new();
	struct stacks *stacks = NULL;
	struct sockaddr_un address;
	struct err err = { 0 };
	char answer[16] = "";
	unsigned int n = 0;
	socklen_t size;
	(void)state;

	assert_int_equal(stacks_new(base, &callbacks, &stacks, &err), 0);
	size = address_find(getpid(), &address);
	int fd = stacks_connect(&address, size);
	assert_int_equal(write(fd, "stack\n", 6), 6);
	while (read(fd, answer, sizeof(answer) - 1) < 0)
		event_base_loop(base, EVLOOP_ONCE);
	assert_string_equal(answer, "end\n");
	close(fd);
	event_base_loop(base, EVLOOP_NONBLOCK);
	/* For the next two seconds each connection is closed again, whoever opened it. */
	for (int i = 0; i < 2000; i++) {
		fd = stacks_connect(&address, size);
		n += fd >= 0;
		if (fd >= 0)
			close(fd);
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	assert_in_range(n, LISTENER_BURST - 1, 500); /* on a slow machine this may take seconds */
	stacks_free(stacks);
	event_base_free(base);
}

/* Asks, and returns whether there is an answer. */
static bool is_answered(const struct sockaddr_un *address, socklen_t size)
{
	char answer[16];
	int fd = stacks_connect(address, size);
	bool answered = fd >= 0 && send(fd, "stack\n", 6, MSG_NOSIGNAL) == 6 &&
			fcntl(fd, F_SETFL, 0) == 0 && read(fd, answer, sizeof(answer)) > 0;

	close(fd);
	return answered;
}

/*
 * Forks a process into a PID namespace below ours. Returns 0 in it; in ours its PID, or -1 if that
 * is not permitted.
 */
static pid_t fork_below(void)
{
	pid_t pid = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* As a container of the node does, where the pod has the node's. */
static void a_process_of_a_pid_namespace_below_ours_is_refused(void **state)
{
	const struct stacks_callbacks callbacks = { .each = each };
	struct event_base *base = event_base_new();
	struct stacks *stacks = NULL;
	struct sockaddr_un address;
	struct err err = { 0 };
	int status = 0;
	socklen_t size;
	pid_t pid;
	(void)state;

	assert_int_equal(stacks_new(base, &callbacks, &stacks, &err), 0);
	size = address_find(getpid(), &address);
	pid = fork_below();
	if (pid == 0)
		_exit(is_answered(&address, size));
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
	stacks_free(stacks);
	event_base_free(base);
	if (pid < 0)
		skip();
	assert_int_equal(status, 0);
}

/* As another container of the pod does. */
static void a_process_outside_of_our_pid_namespace_is_refused(void **state)
{
	int ready[2];
	struct sockaddr_un address;
	bool answered;
	socklen_t size;
	char byte;
	pid_t pid;
	(void)state;

	assert_int_equal(pipe(ready), 0);
	pid = fork_below();
	if (pid == 0) {
		const struct stacks_callbacks callbacks = { .each = each };
		struct event_base *base = event_base_new();
		struct stacks *stacks = NULL;

		_exit(stacks_new(base, &callbacks, &stacks, &(struct err){ 0 }) < 0 ||
		      write(ready[1], "", 1) < 0 || event_base_dispatch(base));
	}
	if (pid < 0)
		skip();
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	size = address_find(1, &address);
	answered = is_answered(&address, size);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(answered);
}

static struct container containers[2];

/* With two processes of a container, and one of another. */
static void each_of_two(stacks_fn *fn, void *fn_arg, void *arg)
{
	(void)arg;
	fn(&containers[0], &(struct process){ .pid = 5, .name = "small", .rss = 10 }, fn_arg);
	fn(&containers[1], &(struct process){ .pid = 6, .name = "python other.py", .rss = 20 },
	   fn_arg);
	fn(&containers[0], &(struct process){ .pid = 7, .name = "large", .rss = 11 }, fn_arg);
	fn(&containers[0], &(struct process){ .pid = 8, .name = "python a.py", .rss = 9 }, fn_arg);
}

static struct strbuf taken_text;
static bool taken_all;

static void on_taken(struct container *c, const char *text, size_t len, bool all)
{
	assert_ptr_equal(c, containers);
	assert_false(taken_all);
	if (text)
		strbuf_add(&taken_text, text, len);
	else
		taken_all = all;
}

static void a_container_gets_the_stacks_of_its_own_processes_or_drivers_the_largest_first(void **state)
{
	const struct stacks_callbacks callbacks = { .each = each_of_two, .taken = on_taken };
	struct event_base *base = event_base_new();
	struct stacks *stacks = NULL;
	struct err err = { 0 };
	(void)state;

	strbuf_init(&taken_text, 4096);
	taken_all = false;
	containers[0].state = containers[1].state = CONTAINER_ENDED;
	assert_int_equal(stacks_new(base, &callbacks, &stacks, &err), 0);
	assert_true(stacks_take(stacks, containers, false));
	assert_true(taken_all);
	assert_string_equal(strbuf_str(&taken_text),
			    "target 7 large\nfailed its launcher cannot be reached\n"
			    "target 5 small\nfailed its launcher cannot be reached\n"
			    "target 8 python a.py\nfailed its launcher cannot be reached\nend\n");
	strbuf_reset(&taken_text);
	taken_all = false;
	assert_true(stacks_take(stacks, containers, true));
	assert_string_equal(strbuf_str(&taken_text),
			    "target 8 python a.py\nfailed its launcher cannot be reached\nend\n");
	stacks_free(stacks);
	event_base_free(base);
	strbuf_release(&taken_text);
}

static void looks_at_drivers_keep_nobody_waiting(void **state)
{
	const struct stacks_callbacks callbacks = { .each = each, .taken = on_taken };
	struct event_base *base = event_base_new();
	struct stacks *stacks = NULL;
	struct sockaddr_un address;
	struct err err = { 0 };
	char answer[16] = "";
	(void)state;

	strbuf_init(&taken_text, 4096);
	taken_all = false;
	assert_int_equal(stacks_new(base, &callbacks, &stacks, &err), 0);
	assert_true(stacks_take(stacks, containers, true));
	socklen_t size = address_find(getpid(), &address);
	int fd = stacks_connect(&address, size);
	assert_int_equal(write(fd, "stack\n", 6), 6);
	while (read(fd, answer, sizeof(answer) - 1) < 0)
		event_base_loop(base, EVLOOP_ONCE);
	assert_string_equal(answer, "end\n");
	close(fd);
	stacks_free(stacks);
	event_base_free(base);
	strbuf_release(&taken_text);
}

/* With more processes of a container than one answer has room for. */
static void each_of_many(stacks_fn *fn, void *fn_arg, void *arg)
{
	(void)arg;
	for (int i = 1; i < 4 * STACKS_PROCESSES_MAX; i++)
		fn(&containers[0], &(struct process){ .pid = i, .name = "worker", .rss = i },
		   fn_arg);
}

static void of_very_many_processes_the_largest_are_looked_at(void **state)
{
	const struct stacks_callbacks callbacks = { .each = each_of_many, .taken = on_taken };
	struct event_base *base = event_base_new();
	struct stacks *stacks = NULL;
	struct err err = { 0 };
	char line[64];
	(void)state;

	strbuf_init(&taken_text, 4096);
	taken_all = false;
	containers[0].state = CONTAINER_ENDED;
	assert_int_equal(stacks_new(base, &callbacks, &stacks, &err), 0);
	assert_true(stacks_take(stacks, containers, false));
	snprintf(line, sizeof(line), "target %d worker\n", 4 * STACKS_PROCESSES_MAX - 1);
	assert_ptr_equal(strstr(strbuf_str(&taken_text), line), strbuf_str(&taken_text));
	snprintf(line, sizeof(line), "\nnote %d more processes are not looked at\n",
		 4 * STACKS_PROCESSES_MAX - 1 - STACKS_TAKEN_PROCESSES_MAX);
	assert_non_null(strstr(strbuf_str(&taken_text), line));
	stacks_free(stacks);
	event_base_free(base);
	strbuf_release(&taken_text);
}

static void a_file_that_is_opened_after_an_answer_stays_open(void **state)
{
	const struct stacks_callbacks callbacks = { .each = each_of_two, .taken = on_taken };
	struct event_base *base = event_base_new();
	struct stacks *stacks = NULL;
	struct err err = { 0 };
	int fds[8];
	(void)state;

	strbuf_init(&taken_text, 4096);
	containers[0].state = containers[1].state = CONTAINER_ENDED;
	assert_int_equal(stacks_new(base, &callbacks, &stacks, &err), 0);
	for (int round = 0; round < 2; round++) {
		taken_all = false;
		assert_true(stacks_take(stacks, containers, false));
		/* They get the numbers of what was closed. */
		for (size_t i = 0; round == 0 && i < ARRAY_SIZE(fds); i++)
			assert_return_code(fds[i] = dup(STDOUT_FILENO), errno);
	}
	stacks_free(stacks);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		assert_int_equal(close(fds[i]), 0);
	event_base_free(base);
	strbuf_release(&taken_text);
}

static void others_wait_until_its_launcher_has_answered_or_it_has_gone(void **state)
{
	const struct stacks_callbacks callbacks = { .each = each_of_two, .taken = on_taken };
	struct event_base *base = event_base_new();
	struct stacks *stacks = NULL;
	struct err err = { 0 };
	int ends[2];
	(void)state;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	containers[0] = containers[1] =
		(struct container){ .state = CONTAINER_RUNNING, .fd = ends[0] };
	strbuf_init(&taken_text, 4096);
	taken_all = false;
	assert_int_equal(stacks_new(base, &callbacks, &stacks, &err), 0);
	assert_true(stacks_take(stacks, containers, false));
	assert_false(stacks_take(stacks, containers + 1, false));
	assert_false(taken_all);
	stacks_forget(stacks, containers);
	assert_false(taken_all);
	assert_true(stacks_take(stacks, containers, false));
	stacks_free(stacks);
	event_base_free(base);
	strbuf_release(&taken_text);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_of_a_pid_namespace_below_ours_is_refused),
		cmocka_unit_test(a_process_outside_of_our_pid_namespace_is_refused),
		cmocka_unit_test(
			a_container_gets_the_stacks_of_its_own_processes_or_drivers_the_largest_first),
		cmocka_unit_test(looks_at_drivers_keep_nobody_waiting),
		cmocka_unit_test(of_very_many_processes_the_largest_are_looked_at),
		cmocka_unit_test(a_file_that_is_opened_after_an_answer_stays_open),
		cmocka_unit_test(others_wait_until_its_launcher_has_answered_or_it_has_gone),
		cmocka_unit_test(a_flood_of_connections_is_taken_slowly),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
