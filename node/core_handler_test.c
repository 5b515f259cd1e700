/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what the program for cores leaves behind at a hostile listener. What the kernel does:
 * e2e/kernel/node_cores_test.sh.
 */
#include "node/core_handler.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "node/core_pattern.h"
#include "node/core_slots.h"
#include "node/pod_of_process.h"
#include "node/pod_testing.h"
#include "node/sidecar_link.h"

int __wrap_pod_of_process(const char *proc, pid_t pid, struct pod_of_process *ret_pod,
			  struct err *err);
int __wrap_sidecar_link_receive(int fd, int within_ms, char ret_text[static NODE_MESSAGE_MAX + 1],
				struct err *err);

static bool is_of_pod; /* the listener, by its cgroup */
static pid_t crashed;

int __wrap_pod_of_process(const char *, pid_t pid, struct pod_of_process *ret_pod, struct err *)
{
	*ret_pod = (struct pod_of_process){ .pod_uid = POD_UID, .container_id = POD_CONTAINER };
	ret_pod->pod_uid[0] = pid == crashed || is_of_pod ? ret_pod->pod_uid[0] : 'x';
	return 0;
}

/* The time for the answer is over at once. */
int __wrap_sidecar_link_receive(int, int, char[static NODE_MESSAGE_MAX + 1], struct err *err)
{
	return err_set(err, EPIPE, "the time is over");
}

static int set_up(void **state)
{
	char path[128];
	int rc = pod_setup(state);

	is_of_pod = true;
	snprintf(path, sizeof(path), "%s/" CORE_CONFIG, pod_directory);
	assert_int_equal(
		file_put(AT_FDCWD, path, pod_directory, strlen(pod_directory), 0600, NULL), 0);
	assert_int_equal(listen(pod_listener, 4096), 0);
	assert_int_equal(fcntl(pod_listener, F_SETFL, O_NONBLOCK), 0);
	crashed = fork();
	if (crashed == 0) {
		close(pod_listener);
		pause();
		_exit(0);
	}
	return rc;
}

static int tear_down(void **state)
{
	kill(crashed, SIGKILL);
	waitpid(crashed, NULL, 0);
	return pod_teardown(state);
}

/* A process of the pod crashes; the program passes its core on, here to nobody. */
static void crash(void)
{
	char program[128], number[16];
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		close(pod_listener);
		snprintf(program, sizeof(program), "%s/" CORE_PROGRAM, pod_directory);
		snprintf(number, sizeof(number), "%d", (int)crashed);
		_exit(core_handler_run((char *[]){ program, number, "11", "0", "1", NULL }));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_listener_that_accepts_nothing_keeps_a_few_connections(void **state)
{
	int64_t until_ns = now_boottime_ns() + 60 * NS_PER_SEC;
	int fd, n = 0;

	(void)state;
	for (int core = 0; core < 40; core++) {
		/* The program also connects to a listener that has no right to be there. */
		is_of_pod = core % 2;
		crash();
	}
	for (; (fd = accept(pod_listener, NULL, NULL)) >= 0; n++)
		close(fd);
	assert_int_equal(n, CORE_LINKS_OF_POD);
	/*
	 * It has closed them, so the places are free as soon as the processes that hold them run.
	 */
	while ((fd = accept(pod_listener, NULL, NULL)) < 0 && now_boottime_ns() < until_ns)
		crash();
	assert_true(fd >= 0);
	close(fd);
}

static void a_listener_that_closes_nothing_keeps_a_few_connections(void **state)
{
	int held[40], n = 0;

	(void)state;
	for (int core = 0; core < 40; core++) {
		crash();
		held[n] = accept(pod_listener, NULL, NULL);
		n += held[n] >= 0;
	}
	assert_int_equal(n, CORE_LINKS_OF_POD);
	while (n > 0)
		close(held[--n]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_listener_that_accepts_nothing_keeps_a_few_connections, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_listener_that_closes_nothing_keeps_a_few_connections, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
