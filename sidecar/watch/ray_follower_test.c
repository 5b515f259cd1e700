/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the child that reads Ray's files in a container. */
#include "sidecar/watch/ray_follower.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/units.h"

#define START (1000 * NS_PER_SEC)

static void ignore_finding(const struct ray_finding *finding, void *arg)
{
	(void)finding;
	(void)arg;
	fail();
}

static void poll_at(struct ray_follower *f, int64_t now_ns)
{
	ray_follower_poll(f, 0, now_ns);
	for (int i = 0; f->asked && i < 20000; i++, usleep(1000))
		ray_follower_poll(f, 0, now_ns);
}

static void one_that_is_killed_between_two_questions_is_replaced(void **state)
{
	int root_fd = open("/proc/self/fdinfo", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct ray_follower f;
	pid_t first;
	siginfo_t info;
	(void)state;

	ray_follower_init(&f, root_fd, ignore_finding, NULL);
	poll_at(&f, START);
	first = f.child.pid;
	assert_true(first > 0);
	kill(first, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), 0);
	/* It is not started again at once, because it may end again. */
	poll_at(&f, START + NS_PER_SEC);
	assert_int_equal(f.child.pid, 0);
	poll_at(&f, START + 60 * NS_PER_SEC);
	assert_true(f.child.pid > 0);
	assert_int_not_equal(f.child.pid, first);
	assert_int_equal(f.asked_ns, START + 60 * NS_PER_SEC);
	assert_false(f.asked);
	ray_follower_close(&f);
	close(root_fd);
}

/* SIGSTOP makes it one whose filesystem does not answer. */
static void a_child_that_hangs_is_late_until_it_answers_and_then_gets_the_last_question(void **state)
{
	int root_fd = open("/proc/self/fdinfo", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct ray_follower f;
	siginfo_t info;
	(void)state;

	ray_follower_init(&f, root_fd, ignore_finding, NULL);
	kill(f.child.pid, SIGSTOP);
	assert_int_equal(waitid(P_PID, (id_t)f.child.pid, &info, WSTOPPED | WNOWAIT), 0);
	ray_follower_poll(&f, 0, START);
	ray_follower_poll(&f, 0, START + NS_PER_SEC);
	assert_false(f.late);
	ray_follower_poll(&f, 0, START + 3 * NS_PER_SEC);
	assert_true(f.late);
	assert_false(ray_follower_finish(&f, START + 3 * NS_PER_SEC));
	assert_false(f.finishing); /* it has not answered the question before the last */
	kill(f.child.pid, SIGCONT);
	while (!ray_follower_finish(&f, START + 3 * NS_PER_SEC))
		assert_int_equal(
			poll(&(struct pollfd){ .fd = f.child.fd, .events = POLLIN }, 1, 60000), 1);
	assert_true(f.finishing && !f.asked && !f.late);
	ray_follower_close(&f);
	close(root_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_killed_between_two_questions_is_replaced),
		cmocka_unit_test(
			a_child_that_hangs_is_late_until_it_answers_and_then_gets_the_last_question),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
