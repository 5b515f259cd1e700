/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of finding Ray's exception in a driver's log. testdata/driver/ has what drivers of Ray 2.39
 * and 2.60 wrote when a node, a worker, an actor or an owner of theirs died; paths and addresses
 * are replaced, and long dumps left out.
 */
#include "sidecar/ray/ray_error.h"

#include <fcntl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"
#include "lib/strbuf.h"

#define TESTDATA "sidecar/ray/testdata/driver/"
#define NODE "76fd0174d17b9813a8038660878af47ae6fed000ec58d2fc2a5fc1b3"

struct row {
	const char *text; /* the name of a file, or a text */
	const char *name, *node, *worker, *actor, *ip;
	pid_t pid;
};

static void same(const char *what, const char *text, size_t len, const struct row *row)
{
	/* On the heap and of exactly this size, so that ASan sees a read beyond its end. */
	_cleanup_free_ char *copy = malloc(len + !len);
	struct ray_error e;

	memcpy(copy, text, len);
	if (ray_error_parse(copy, len, &e) != (row->name != NULL))
		fail_msg("%s: %s", what, e.name);
	if (strcmp(e.name, row->name ? row->name : "") != 0 || strcmp(e.node_id, row->node) != 0 ||
	    strcmp(e.worker_id, row->worker) != 0 || strcmp(e.actor_id, row->actor) != 0 ||
	    strcmp(e.ip, row->ip) != 0 || e.pid != row->pid)
		fail_msg("%s: %s node %s worker %s actor %s ip %s pid %d", what, e.name, e.node_id,
			 e.worker_id, e.actor_id, e.ip, (int)e.pid);
}

static void the_exceptions_of_real_drivers_name_what_died(void **state)
{
	static const struct row rows[] = {
		{ "2.60-node.log", "NodeDiedError", NODE, "", "", "10.0.0.7", 0 },
		{ "2.60-worker.log", "WorkerCrashedError",
		  "9ee1c08075591d0298bbe98e36cf0c5fd8c7313df107b7be9b1b90cf",
		  "bc2fa1da541a5285118ee35a7bd6bd6711ae7c87496ceefe54e0c218", "", "10.0.0.7",
		  17421 },
		{ "2.60-nested.log", "WorkerCrashedError",
		  "1fae1d6953b1001d3d381b8b7c5c2872496d97fb513c77c7edf3e1e8",
		  "3af09041ae4432af67eea2166e0d64a0bf932ca6dd3e228b44bb45bd", "", "10.0.0.7",
		  18990 },
		{ "2.60-actor.log", "ActorDiedError", "", "", "a22812fc672a210b6b26189101000000",
		  "10.0.0.7", 2945 },
		{ "2.60-actornode.log", "ActorDiedError",
		  "1dddad278dda78766bab3f9ce68490512d6c15b0796d3b71b26daff7", "",
		  "4f78bf51fc054a8b885e397d01000000", "10.0.0.7", 18217 },
		{ "2.60-actorkill.log", "ActorDiedError", "", "", "", "", 0 },
		{ "2.60-cancel.log", "TaskCancelledError", "", "", "", "", 0 },
		{ "2.60-owner.log", "OwnerDiedError",
		  "863a2a3a2c3ae38abe9f2c6181bd923525372b73fb58488a4b1789c5",
		  "e471c6487b4b96bda781e034b3174d16f8b24d36902d0b02e2723635", "", "10.0.0.7", 0 },
		{ "2.60-oom.log", "OutOfMemoryError",
		  "13d054bcd684d4a9cb22d7de54f74265f545a2e6d8b6040a977ea486",
		  "82568ac038c4d238e16976b76b5047f81eb16b32d607bcdea562beea", "", "10.0.0.7",
		  13579 },
		/* tune.run(), whose only trial was killed */
		{ "2.60-tune.log", "ActorDiedError", "", "", "7d4edeec7f3b1b3ad9d4535c01000000", "10.0.0.7", 10548 },
		{ "2.39-worker.log", "WorkerCrashedError",
		  "ee6383b22f92410bdb49b0024dfb55445d54d39d4cc043050abdd663",
		  "0e97ad0029a23d272f9fec5bb15f9456a4493025b396788014f4d21d", "", "10.0.0.7",
		  23599 },
		{ "2.39-actor.log", "ActorDiedError", "", "", "d2888216e90b0ab924408d7401000000",
		  "10.0.0.7", 26038 },
		{ "2.39-actornode.log", "ActorDiedError", "",
		  "01000000ffffffffffffffffffffffffffffffffffffffffffffffff",
		  "5e495c08bb1640b0761ce12201000000", "10.0.0.7", 0 },
		{ "2.39-owner.log", "OwnerDiedError", "",
		  "e6763d10a067fe2331b584b95bf2efc135103e79f46f843b73c515bf", "", "10.0.0.7", 0 },
		{ "2.39-oom.log", "OutOfMemoryError",
		  "7e815cc8cefa602edd52ea96573f37cc8e420b46c5d1cc99e38f1078",
		  "f40979e0f4a862c64538afdc796629fef34eb4e8b4deec9bd0933bc5", "", "10.0.0.7",
		  11192 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64 * 1024);
		struct err err = { 0 };
		char path[128];

		snprintf(path, sizeof(path), TESTDATA "%s", rows[i].text);
		assert_return_code(file_read(AT_FDCWD, path, &text, &err), 0);
		same(path, strbuf_str(&text), text.len, &rows[i]);
	}
}

static void what_a_program_of_the_job_ended_itself_was_meant(void **state)
{
	static const struct {
		const char *file, *meant;
	} rows[] = { { "2.60-actorkill.log", "ray.kill" },
		     { "2.60-cancel.log", "ray.cancel" },
		     { "2.60-actor.log", NULL } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64 * 1024);
		char path[128];
		struct ray_error e;

		snprintf(path, sizeof(path), TESTDATA "%s", rows[i].file);
		assert_int_equal(file_read(AT_FDCWD, path, &text, NULL), 0);
		assert_true(ray_error_parse(strbuf_str(&text), text.len, &e));
		assert_true(!e.meant == !rows[i].meant);
		if (e.meant)
			assert_string_equal(e.meant, rows[i].meant);
	}
}

#define TRACEBACK "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n"
#define DIED "ray.exceptions.NodeDiedError: x. Node IP: 10.0.0.7, node ID: " NODE ".\n"
#define TRIAL(name) "ERROR tune_controller.py:1336 -- Trial task failed for trial " name "\n"
#define TUNE(names) TRACEBACK "ray.tune.error.TuneError: ('Trials did not complete', [" names "])\n"
#define WORKER(pid) \
	"(raylet, ip=10.0.0.7) A worker died or was killed while executing a task. Worker ID: abcdef01234567890" #pid \
	" Node ID: " NODE " Worker IP address: 10.0.0.7 Worker PID: " #pid " x\n"

static void what_a_program_wrote_names_no_more_than_its_last_exception(void **state)
{
	static const struct row rows[] = {
		{ "", NULL, "", "", "", "", 0 },
		{ "ValueError: x\n", NULL, "", "", "", "", 0 },
		{ "ray.exceptions.NodeDiedErrors: x", NULL, "", "", "", "", 0 },
		{ "it caught ray.exceptions.NodeDiedError: x\n", NULL, "", "", "", "", 0 },
		{ "ray.exceptions.NodeDiedError", "NodeDiedError", "", "", "", "", 0 },
		/* Ray 2.3x, as its source writes it */
		{ TRACEBACK
		  "ray.exceptions.NodeDiedError: Task failed due to the node (where this task was running)  was dead or "
		  "unavailable.\n\nThe node IP: 10.0.0.7, node ID: " NODE
		  "\n\nThis can happen if ..",
		  "NodeDiedError", NODE, "", "", "10.0.0.7", 0 },
		/* A program that went on, and failed by itself later. */
		{ TRACEBACK DIED "going on\n" TRACEBACK "ValueError: y\n", NULL, "", "", "", "",
		  0 },
		{ TRACEBACK DIED
		  "\nThe above exception was the direct cause of the following exception:\n\n" TRACEBACK
		  "ray.train.base_trainer.TrainingFailedError: y\n",
		  "NodeDiedError", NODE, "", "", "10.0.0.7", 0 },
		/* Tune goes on after a trial; the trials that it names in the end ended so. */
		{ TRIAL("a") TRACEBACK DIED TUNE("a"), "NodeDiedError", NODE, "", "", "10.0.0.7", 0 },
		{ TRIAL("a") TRACEBACK DIED TUNE("b"), NULL, "", "", "", "", 0 },
		{ TRIAL("a") TRACEBACK DIED TRIAL("b") TRACEBACK "ValueError: y\n" TUNE("a, b"), NULL, "", "", "", "", 0 },
		{ TRIAL("a") TRACEBACK DIED TUNE("c, a"), "NodeDiedError", NODE, "", "", "10.0.0.7", 0 },
		/*
		 * It was tried again and went well, and another failed whose name begins with this
		 * one's.
		 */
		{ TRIAL("a1") TRACEBACK DIED TUNE("a10"), NULL, "", "", "", "", 0 },
		{ TRIAL("a1") TRACEBACK DIED TUNE("ba1"), NULL, "", "", "", "", 0 },
		/* The program would have failed without that death, too. */
		{ TRIAL("a") TRACEBACK "ValueError: y\n" TRIAL("b") TRACEBACK DIED TUNE("a, b"), NULL, "", "", "", "", 0 },
		{ TRIAL("a") TRACEBACK DIED TRIAL("b") TRACEBACK DIED TUNE("a, b"), "NodeDiedError", NODE, "", "", "10.0.0.7", 0 },
		/* What was printed between the trial's exception and Tune's is not the trial's. */
		{ TRIAL("a") TRACEBACK "ValueError: y\n" TRACEBACK DIED TUNE("a"), NULL, "", "", "", "", 0 },
		{ TRIAL("a") TRACEBACK DIED TRACEBACK "ValueError: y\n" TUNE("a"), "NodeDiedError", NODE, "", "", "10.0.0.7", 0 },
		{ TRACEBACK "ValueError: y\n" TRIAL("a") TRACEBACK DIED TUNE("a"), "NodeDiedError", NODE, "", "", "10.0.0.7", 0 },
		{ TRACEBACK DIED TUNE("a"), NULL, "", "", "", "", 0 },
		{ TRIAL("") TRACEBACK DIED TUNE("a"), NULL, "", "", "", "", 0 },
		{ TRACEBACK DIED
		  "\nDuring handling of the above exception, another exception occurred:\n\n" TRACEBACK
		  "KeyError: y\n",
		  "NodeDiedError", NODE, "", "", "10.0.0.7", 0 },
		/* What raylet writes after it is about others. */
		{ TRACEBACK "ray.exceptions.ObjectLostError: x\n" WORKER(5), "ObjectLostError", "",
		  "", "", "", 0 },
		/* Two workers crashed, and the exception may be about each of them. */
		{ WORKER(5) WORKER(6) TRACEBACK "ray.exceptions.WorkerCrashedError: x\n",
		  "WorkerCrashedError", "", "", "", "", 0 },
		{ WORKER(5) WORKER(5) TRACEBACK "ray.exceptions.WorkerCrashedError: x\n",
		  "WorkerCrashedError", NODE, "abcdef012345678905", "", "10.0.0.7", 5 },
		{ "ray.exceptions.NodeDiedError: Node IP: , node ID: zz76fd. pid=99999999",
		  "NodeDiedError", "", "", "", "", 0 },
		{ "ray.exceptions.NodeDiedError: node ID: " NODE NODE "\n", "NodeDiedError", "", "",
		  "", "", 0 },
		{ "ray.exceptions.OwnerDiedError: owner address: [fd00::7]:3, at IP address fd00::7)",
		  "OwnerDiedError", "", "", "", "fd00::7", 0 },
		{ "ray.exceptions.OutOfMemoryError: pid=5000000 , pid=7", "OutOfMemoryError", "",
		  "", "", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		same(rows[i].text, rows[i].text, strlen(rows[i].text), &rows[i]);
}

static void nul_bytes_and_controls_do_not_reach_its_line(void **state)
{
	static const char text[] = "ray.exceptions.NodeDiedError: a\0b\033[31mc node ID: " NODE;
	char about[RAY_ERROR_ABOUT_MAX];
	struct ray_error e;

	(void)state;
	assert_true(ray_error_parse(text, sizeof(text) - 1, &e));
	assert_string_equal(e.line, "ray.exceptions.NodeDiedError: a b?[31mc node ID: " NODE);
	assert_string_equal(e.node_id, NODE);
	assert_string_equal(ray_error_about(&e, about), "node of that ID (76fd0174d17b...)");
}

/* To look for a name of 8,000 letters among 16,000 of the same takes half a second. */
static void no_trial_has_a_name_without_end(void **state)
{
	char name[400], text[2000];
	struct ray_error e;

	(void)state;
	for (int len = 200; len < 400; len += 199) {
		memset(name, 'a', sizeof(name));
		name[len] = '\0';
		snprintf(text, sizeof(text), TRIAL("%s") TRACEBACK DIED TUNE("%s"), name, name);
		assert_int_equal(ray_error_parse(text, strlen(text), &e), len == 200);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_trial_has_a_name_without_end),
		cmocka_unit_test(the_exceptions_of_real_drivers_name_what_died),
		cmocka_unit_test(what_a_program_wrote_names_no_more_than_its_last_exception),
		cmocka_unit_test(what_a_program_of_the_job_ended_itself_was_meant),
		cmocka_unit_test(nul_bytes_and_controls_do_not_reach_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
