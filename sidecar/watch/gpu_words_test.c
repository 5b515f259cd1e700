/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading the ends of workers' and drivers' logs, on a directory tree like Ray's. */
#include "sidecar/watch/gpu_words.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "sidecar/watch/observer.h"
#include "sidecar/watch/ray_watch.h"

#define LOGS "tmp/ray/session_latest/logs"
#define START (1000 * NS_PER_SEC)
#define OUT_OF_MEMORY "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.15 GiB\n"
#define CRASH \
	"{\"label\":\"RAY_WORKER_FAILURE\",\"message\":\"A worker died or was killed while executing a task by an unexpected system " \
	"error. Worker ID: 0e5f Node ID: 5ab1 Worker IP address: 10.0.0.1 Worker port: 10002 Worker PID: 458 Worker exit type: " \
	"SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.\"}\n"

static char root[64];
static int root_fd, logs_fd;

static int setup(void **state)
{
	static const char *const directories[] = { "tmp", "tmp/ray", "tmp/ray/session_latest", LOGS,
						   LOGS "/events" };
	char path[128];
	(void)state;

	snprintf(root, sizeof(root), "/tmp/gpu_words_test.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, directories[i]);
		if (mkdir(path, 0755) < 0)
			return -1;
	}
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/" LOGS, root);
	logs_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return logs_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(root_fd);
	close(logs_fd);
	return tree_remove(AT_FDCWD, root) ? 0 : -1;
}

static void put(const char *name, const char *text, int64_t age_s)
{
	const int64_t at = now_realtime_ns() / NS_PER_SEC - age_s;
	const struct timespec times[2] = { { .tv_sec = at }, { .tv_sec = at } };

	assert_int_equal(file_put(logs_fd, name, text, strlen(text), 0644, NULL), 0);
	assert_int_equal(utimensat(logs_fd, name, times, 0), 0);
}

static enum gpu_words look(void)
{
	struct gpu_error error;

	gpu_words_at_end(logs_fd, now_realtime_ns(), &error);
	return error.kind;
}

static void last_words_are_those_that_were_just_written(void **state)
{
	(void)state;
	assert_int_equal(look(), GPU_ERROR_NONE);
	put("worker-0e5f-01000000-458.err", OUT_OF_MEMORY, 3600);
	assert_int_equal(look(), GPU_ERROR_NONE);
	put("worker-0e5f-01000000-458.err", OUT_OF_MEMORY, 5);
	assert_int_equal(look(), GPU_ERROR_OUT_OF_MEMORY);
}

static void drivers_are_read_too_and_the_strongest_word_counts(void **state)
{
	(void)state;
	put("job-driver-x.log", "RuntimeError: CUDA error: device-side assert triggered\n", 1);
	put("worker-1-01000000-1.err", "ncclRemoteError: A call failed\n", 1);
	assert_int_equal(look(), GPU_ERROR_CUDA);
}

static void an_error_far_up_the_log_is_no_last_word(void **state)
{
	static char text[20000];
	(void)state;

	snprintf(text, sizeof(text), "%s", OUT_OF_MEMORY);
	for (size_t n = strlen(text); n < sizeof(text) - 10; n = strlen(text))
		snprintf(text + n, sizeof(text) - n, "step ok\n");
	put("worker-1-01000000-1.err", text, 1);
	assert_int_equal(look(), GPU_ERROR_NONE);
}

static void on_died(const struct ray_finding *finding, void *arg)
{
	*(struct ray_finding *)arg = *finding;
}

#define LATE_NS (3 * NS_PER_SEC)

/*
 * Returns when the child that reads the logs has answered the question of that time. Seen from
 * LATE_NS later, one that has not hangs.
 */
static void poll_at(struct ray_watch *w, const struct observer *o, int64_t now_ns,
		    const struct ray_watch_callbacks *callbacks)
{
	ray_watch_poll(w, &o->last, now_ns, callbacks);
	do {
		usleep(1000);
		ray_watch_poll(w, &o->last, now_ns + LATE_NS, callbacks);
	} while (ray_watch_hangs(w));
}

static void a_dead_workers_own_words_come_with_its_crash(void **state)
{
	struct observer o = { .root_fd = root_fd, .node = RAY_NODE_UNKNOWN };
	struct ray_watch *w = ray_watch_new(root_fd, START);
	struct ray_finding finding = { .at_ns = 0 };
	const struct ray_watch_callbacks callbacks = { .died = on_died, .arg = &finding };
	(void)state;

	poll_at(w, &o, START, &callbacks);
	put("worker-0e5f-01000000-458.err", ":task_name:train\n" OUT_OF_MEMORY, 1);
	put("worker-2222-01000000-459.err",
	    "RuntimeError: CUDA error: unspecified launch failure\n", 1);
	put("events/event_RAYLET.log", CRASH, 0);
	for (int i = 1; i < 4; i++)
		poll_at(w, &o, START + i * 2 * LATE_NS, &callbacks);
	assert_int_equal(finding.event.pid, 458);
	assert_int_equal(finding.gpu.kind, GPU_ERROR_OUT_OF_MEMORY);
	assert_string_equal(finding.gpu.file, "worker-0e5f-01000000-458.err");
	ray_watch_free(w);
}

static void an_oom_kill_explains_a_workers_death_unless_it_may_be_that_of_others(void **state)
{
	static const bool shared[] = { false, true };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
		struct observer o = { .root_fd = root_fd,
				      .node = RAY_NODE_UNKNOWN,
				      .last.memory.oom_kill = 0 };
		struct ray_watch *w = ray_watch_new(root_fd, START);
		struct ray_finding finding = { .at_ns = 0 };
		const struct ray_watch_callbacks callbacks = { .died = on_died,
							       .kills_are_shared = shared[i],
							       .arg = &finding };

		put("events/event_RAYLET.log", "", 0);
		poll_at(w, &o, START, &callbacks);
		o.last.memory.oom_kill = 1;
		poll_at(w, &o, START + 2 * LATE_NS, &callbacks);
		put("events/event_RAYLET.log", CRASH, 0);
		for (int s = 2; s < 5; s++)
			poll_at(w, &o, START + s * 2 * LATE_NS, &callbacks);
		assert_int_equal(finding.event.pid, shared[i] ? 458 : 0);
		ray_watch_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(last_words_are_those_that_were_just_written, setup, teardown),
		cmocka_unit_test_setup_teardown(drivers_are_read_too_and_the_strongest_word_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(an_error_far_up_the_log_is_no_last_word, setup, teardown),
		cmocka_unit_test_setup_teardown(an_oom_kill_explains_a_workers_death_unless_it_may_be_that_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(a_dead_workers_own_words_come_with_its_crash, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
