/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what is remembered about the moments before Ray logs something. */
#include "sidecar/watch/ray_watch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/watch/observer.h"

#define START (1000 * NS_PER_SEC)

static int root_fd;
static char directory[64];

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/ray_watch_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	root_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(root_fd);
	return rmdir(directory);
}

static void no_summary(const struct ray_summary *s, void *arg)
{
	(void)s;
	(void)arg;
	fail();
}

/*
 * Adds a sample with that time and memory in MiB, and with these processes, largest first; 0 ends
 * the list.
 */
static void sample(struct ray_watch *w, struct observer *o, int64_t at_ms, int64_t mib,
		   const pid_t pids[static 3])
{
	static const struct ray_watch_callbacks callbacks = { .summary = no_summary };

	o->previous = o->last;
	o->last = (struct snapshot){ .at_ns = START + at_ms * NS_PER_MS, .memory = MEMORY_ABSENT };
	o->last.memory.usage = mib << 20;
	while (o->last.n_top < 3 && pids[o->last.n_top]) {
		o->last.top[o->last.n_top].pid = pids[o->last.n_top];
		o->last.n_top++;
	}
	ray_watch_poll(w, &o->last, o->last.at_ns, &callbacks);
}

static int64_t usage_with(const struct ray_watch *w, const struct observer *o, pid_t pid)
{
	return ray_watch_snapshot(w, &o->last, &o->previous, pid)->memory.usage >> 20;
}

static void the_fullest_moment_with_the_victim_is_found_again(void **state)
{
	struct observer o = { .root_fd = root_fd, .node = RAY_NODE_UNKNOWN };
	struct ray_watch *w = ray_watch_new(root_fd, START);
	(void)state;

	sample(w, &o, 0, 300, (pid_t[]){ 8, 0, 0 });
	sample(w, &o, 100, 1100, (pid_t[]){ 123, 8, 0 });
	sample(w, &o, 120, 900, (pid_t[]){ 123, 8, 0 });
	sample(w, &o, 200, 280, (pid_t[]){ 8, 0, 0 });
	sample(w, &o, 1200, 280, (pid_t[]){ 8, 0, 0 });
	assert_int_equal(usage_with(w, &o, 123), 1100);
	/* No process has this PID, so the present memory is shown. */
	assert_int_equal(usage_with(w, &o, 77), 280);
	assert_int_equal(usage_with(w, &o, 0), 280);
	ray_watch_free(w);
}

static void a_victim_whose_memory_goes_after_it_is_found_too(void **state)
{
	struct observer o = { .root_fd = root_fd, .node = RAY_NODE_UNKNOWN };
	struct ray_watch *w = ray_watch_new(root_fd, START);
	(void)state;

	sample(w, &o, 0, 1100, (pid_t[]){ 123, 8, 0 });
	/* PID 7 is dying: it is not listed any more, but its pages still count. */
	sample(w, &o, 20, 1101, (pid_t[]){ 8, 0, 0 });
	sample(w, &o, 40, 700, (pid_t[]){ 8, 0, 0 });
	sample(w, &o, 1000, 280, (pid_t[]){ 8, 0, 0 });
	assert_int_equal(usage_with(w, &o, 123), 1100);
	ray_watch_free(w);
}

/* Where each of Ray's two autoscalers says it, and how. */
static const struct {
	const char *file, *line;
} autoscalers[] = {
	{ "monitor.log",
	  "2026-11-26 20:05:12,005\tINFO monitor.py:438 -- :event_summary:Error: No available node types can fulfill "
	  "resource request {'CPU': 8.0}. Add suitable node types to this cluster to resolve this issue.\n" },
	{ "events/event_AUTOSCALER.log",
	  "{\"event_id\": \"0c\", \"source_type\": \"AUTOSCALER\", \"severity\": \"WARNING\", \"message\": \"No available "
	  "node types can fulfill placement group requests (detail=81:STRICT_SPREAD|PENDING): {'CPU': 8.0}. Add suitable "
	  "node types to this cluster to resolve this issue.\", \"timestamp\": \"1\", \"custom_fields\": {}}\n" },
};
static size_t autoscaler; /* the one that speaks */

static void log_infeasible(void)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tmp/ray/session_latest/logs/%s", directory,
		 autoscalers[autoscaler].file);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs(autoscalers[autoscaler].line, f);
	fclose(f);
}

/* The logs are read by a child, so a second that is polled may hear of an earlier one. */
static int64_t poll_until(struct ray_watch *w, struct observer *o, int64_t second, bool infeasible,
			  int every)
{
	for (int64_t end = second + 2000;
	     second < end && (ray_watch_infeasible(w) != NULL) != infeasible; second++) {
		if (every && second % every == 0)
			log_infeasible();
		sample(w, o, second * 1000, 300, (pid_t[]){ 8, 0, 0 });
		usleep(5000);
	}
	assert_int_equal(ray_watch_infeasible(w) != NULL, infeasible);
	return second;
}

static void a_request_is_infeasible_when_one_has_said_so_for_a_minute(void)
{
	struct observer o = { .root_fd = root_fd, .node = RAY_NODE_UNKNOWN };
	struct ray_watch *w = ray_watch_new(root_fd, START);
	int64_t second;
	char command[300];

	snprintf(
		command, sizeof(command),
		"mkdir -p %s/tmp/ray/session_1/logs/events && ln -s session_1 %s/tmp/ray/session_latest",
		directory, directory);
	assert_int_equal(system(command), 0);
	second = poll_until(w, &o, 0, true, 30);
	assert_string_equal(ray_watch_infeasible(w), "{'CPU': 8.0}");
	assert_true(second > 60);
	second = poll_until(w, &o, second, false, 0);
	/* Single messages, far from each other, are of nodes that were about to join. */
	for (int i = 0; i < 4; i++) {
		log_infeasible();
		for (int64_t end = second + 100; second < end; second++) {
			sample(w, &o, second * 1000, 300, (pid_t[]){ 8, 0, 0 });
			usleep(2000);
			assert_null(ray_watch_infeasible(w));
		}
	}
	ray_watch_free(w);
	snprintf(command, sizeof(command), "rm -r %s/tmp", directory);
	assert_int_equal(system(command), 0);
}

static void a_request_is_infeasible_when_ray_has_said_so_for_a_minute(void **state)
{
	(void)state;
	for (autoscaler = 0; autoscaler < ARRAY_SIZE(autoscalers); autoscaler++)
		a_request_is_infeasible_when_one_has_said_so_for_a_minute();
}

static void after_a_while_it_is_forgotten(void **state)
{
	struct observer o = { .root_fd = root_fd, .node = RAY_NODE_UNKNOWN };
	struct ray_watch *w = ray_watch_new(root_fd, START);
	(void)state;

	sample(w, &o, 0, 1100, (pid_t[]){ 123, 8, 0 });
	sample(w, &o, 5000, 280, (pid_t[]){ 8, 0, 0 });
	sample(w, &o, 10001, 280, (pid_t[]){ 8, 0, 0 });
	sample(w, &o, 11000, 300, (pid_t[]){ 8, 9, 0 });
	assert_int_equal(usage_with(w, &o, 123), 300);
	ray_watch_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fullest_moment_with_the_victim_is_found_again),
		cmocka_unit_test(a_victim_whose_memory_goes_after_it_is_found_too),
		cmocka_unit_test(after_a_while_it_is_forgotten),
		cmocka_unit_test(a_request_is_infeasible_when_ray_has_said_so_for_a_minute),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
