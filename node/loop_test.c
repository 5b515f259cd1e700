/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the node agent's event loop. */
#include "node/loop.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/units.h"

static struct loop loop;
static struct source readable, timer, other;
static int n_ready, n_due;

static void on_ready(struct source *s)
{
	char byte;

	assert_int_equal(read(s->fd, &byte, 1), 1);
	n_ready++;
	loop_remove(&loop, &other);
}

static void on_due(struct source *s, int64_t now_ns)
{
	assert_true(now_ns >= s->due_ns);
	s->due_ns = LOOP_NEVER;
	n_due++;
	loop_stop(&loop);
}

static void never(struct source *s)
{
	(void)s;
	fail_msg("a source that was removed became ready");
}

static void what_is_ready_or_due_is_called_and_what_was_removed_is_not(void **state)
{
	int a[2], b[2];

	(void)state;
	assert_int_equal(pipe(a) | pipe(b), 0);
	readable = (struct source){
		.name = "readable", .fd = a[0], .due_ns = LOOP_NEVER, .ready = on_ready
	};
	other = (struct source){
		.name = "other", .fd = b[0], .due_ns = LOOP_NEVER, .ready = never
	};
	timer = (struct source){ .name = "timer",
				 .fd = -1,
				 .due_ns = now_boottime_ns() + 20 * NS_PER_MS,
				 .due = on_due };
	assert_int_equal(loop_add(&loop, &readable, NULL) | loop_add(&loop, &other, NULL) |
				 loop_add(&loop, &timer, NULL),
			 0);
	assert_int_equal(write(a[1], "x", 1) + write(b[1], "x", 1), 2);
	assert_int_equal(loop_run(&loop, NULL), 0);
	assert_int_equal(n_ready, 1);
	assert_int_equal(n_due, 1);
	for (int i = 0; i < 2; i++) {
		close(a[i]);
		close(b[i]);
	}
}

static void there_is_room_for_so_many(void **state)
{
	struct loop full = { .n = LOOP_SOURCES_MAX };

	(void)state;
	assert_int_equal(loop_add(&full, &timer, NULL), -ENOBUFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_ready_or_due_is_called_and_what_was_removed_is_not),
		cmocka_unit_test(there_is_room_for_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
