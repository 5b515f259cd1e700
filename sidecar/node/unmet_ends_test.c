/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what is said about containers that the sidecar never met. */
#include "sidecar/node/unmet_ends.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/units.h"

#define UID "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb"
#define UID_OF_SYSTEMD "94eb36cd_29e1_478b_b365_4cb5dfc7d6fb"
#define ID "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"
#define OTHER_ID "00000000000000000000000000000000000000000000000000000000000000aa"
#define PODS "/kubepods.slice/kubepods-burstable.slice"
#define POD PODS "/kubepods-burstable-pod" UID_OF_SYSTEMD ".slice"
#define OWN POD "/cri-containerd-" ID ".scope"
#define OTHER POD "/cri-containerd-" OTHER_ID ".scope"
#define BELOW OTHER "/cri-containerd-" ID ".scope"
#define CGROUPFS "/kubepods/burstable/pod" UID "/" ID

#define BEGIN "tail invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=996"
#define USAGE "memory: usage 32768kB, limit 32768kB, failcnt 12"
#define VICTIM(task) ",task_memcg=" task ",task=tail,pid=812,uid=0"
#define BY(limit, task) \
	"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=" limit \
	VICTIM(task)
#define BY_NODE(task) \
	"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=x,mems_allowed=0,global_oom" VICTIM( \
		task)
#define KILLED \
	"Memory cgroup out of memory: Killed process 812 (tail) total-vm:34000kB, anon-rss:31000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:100kB oom_score_adj:996"
#define KILLED_BY_NODE \
	"Out of memory: Killed process 812 (tail) total-vm:34000kB, anon-rss:31000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:100kB oom_score_adj:996"
#define GROUP(path) "Tasks in " path " are going to be killed due to memory.oom.group set"

static const struct unmet_clocks now = {
	.boottime_ns = 1000 * NS_PER_SEC,
	.realtime_ns = 1795224546 * NS_PER_SEC,
	.log_us = 1000 * 1000000,
};

static void add_line(struct kmsg_log *log, int priority, int64_t time_us, const char *text)
{
	const struct kmsg_record r = { .priority = priority,
				       .seq = -1,
				       .time_us = time_us,
				       .text = text,
				       .len = strlen(text) };

	assert_int_equal(kmsg_log_add(log, &r), 0);
}

enum says { NOTHING, LIKELY, CERTAIN };
#define MARK_FIRST 1 /* the OOM killer took the container's first process */
#define MARK_OTHER 2
#define SENT_KILL 4 /* a process sent the first process a SIGKILL */
#define MET 8

static const struct {
	const char *what;
	const char *lines[6];
	unsigned int marks;
	enum says says;
	enum failure_class class;
} rows[] = {
	{ "its own limit",
	  { BEGIN, USAGE, BY(OWN, OWN), KILLED, GROUP(OWN) },
	  0,
	  CERTAIN,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "its own limit, and its first process was taken",
	  { BEGIN, USAGE, BY(OWN, OWN), KILLED, GROUP(OWN) },
	  MARK_FIRST | MARK_OTHER,
	  CERTAIN,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "its own limit, with the cgroupfs driver",
	  { BEGIN, USAGE, BY(CGROUPFS, CGROUPFS), KILLED, GROUP(CGROUPFS) },
	  0,
	  CERTAIN,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "its own limit, met by a process in a cgroup below",
	  { BEGIN, USAGE, BY(OWN, OWN "/sub"), KILLED, GROUP(OWN) },
	  0,
	  CERTAIN,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "the pod's limit",
	  { BEGIN, USAGE, BY(POD, OWN), KILLED, GROUP(OWN) },
	  0,
	  CERTAIN,
	  FAILURE_KERNEL_OOM_POD },
	{ "the limit of all pods",
	  { BEGIN, USAGE, BY(PODS, OWN), KILLED, GROUP(OWN) },
	  0,
	  CERTAIN,
	  FAILURE_KERNEL_OOM_NODE },
	{ "the node",
	  { BEGIN, BY_NODE(OWN), KILLED_BY_NODE, GROUP(OWN) },
	  0,
	  CERTAIN,
	  FAILURE_KERNEL_OOM_NODE },
	{ "the node, and the rest of a report that was left out",
	  { BEGIN, BY_NODE(OWN), KILLED, GROUP(OWN) },
	  0,
	  LIKELY,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "a process had sent SIGKILL",
	  { BEGIN, USAGE, BY(OWN, OWN), KILLED, GROUP(OWN) },
	  SENT_KILL | MARK_FIRST,
	  LIKELY,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "the report was left out",
	  { KILLED, GROUP(OWN) },
	  0,
	  LIKELY,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "only the line about the group", { GROUP(OWN) }, 0, NOTHING, 0 },
	{ "a group below the container, which it may have made",
	  { BEGIN, USAGE, BY(OWN "/sub", OWN "/sub"), KILLED, GROUP(OWN "/sub") },
	  0,
	  NOTHING,
	  0 },
	{ "a limit below the container",
	  { BEGIN, USAGE, BY(OWN "/sub", OWN "/sub"), KILLED, GROUP(OWN) },
	  0,
	  LIKELY,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "the report before is of another container",
	  { BEGIN, USAGE, BY(OTHER, OTHER), KILLED, GROUP(OWN) },
	  0,
	  LIKELY,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "a limit that is not around the container",
	  { BEGIN, USAGE, BY(PODS "x", OWN), KILLED, GROUP(OWN) },
	  0,
	  LIKELY,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "cgroup v1: one process",
	  { BEGIN, USAGE, BY(OWN, OWN), KILLED },
	  MARK_OTHER,
	  NOTHING,
	  0 },
	{ "cgroup v1: its first process",
	  { BEGIN, USAGE, BY(OWN, OWN), KILLED },
	  MARK_FIRST,
	  LIKELY,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "only records of the OOM killer",
	  { NULL },
	  MARK_FIRST | MARK_OTHER,
	  LIKELY,
	  FAILURE_KERNEL_OOM_CONTAINER },
	{ "records that leave the first process out", { NULL }, MARK_OTHER, NOTHING, 0 },
	{ "a SIGKILL before the record", { NULL }, SENT_KILL | MARK_FIRST, NOTHING, 0 },
	{ "only a SIGKILL", { NULL }, SENT_KILL, NOTHING, 0 },
	{ "a container that the sidecar met",
	  { BEGIN, USAGE, BY(OWN, OWN), KILLED, GROUP(OWN) },
	  MET | MARK_FIRST,
	  NOTHING,
	  0 },
	{ "a name that looks like an ID",
	  { BEGIN, USAGE, BY(OWN "/x" ID, OWN "/x" ID), KILLED, GROUP(OWN "/x" ID) },
	  0,
	  NOTHING,
	  0 },
	{ "a cgroup below another container, with the ID of this one",
	  { BEGIN, USAGE, BY(BELOW, BELOW), KILLED, GROUP(BELOW) },
	  0,
	  NOTHING,
	  0 },
	{ "a name with the kernel's words",
	  { BEGIN, USAGE, BY(OWN, OWN), KILLED,
	    GROUP(OWN " are going to be killed due to memory.oom.group set/x") },
	  0,
	  NOTHING,
	  0 },
	{ "nothing", { NULL }, 0, NOTHING, 0 },
};

static void mark(struct unmet_ends *u, unsigned int marks)
{
	const struct node_signal first = { .at_ns = 990 * NS_PER_SEC, .oom = true, .target = 1 };
	const struct node_signal other = { .at_ns = 990 * NS_PER_SEC, .oom = true, .target = 7 };
	const struct node_signal killed = { .at_ns = 989 * NS_PER_SEC,
					    .signal = SIGKILL,
					    .target = 1 };
	const struct node_signal term = { .at_ns = 988 * NS_PER_SEC,
					  .signal = SIGTERM,
					  .target = 1 };

	unmet_ends_note(u, ID, &term);
	if (marks & SENT_KILL)
		unmet_ends_note(u, ID, &killed);
	if (marks & MARK_FIRST)
		unmet_ends_note(u, ID, &first);
	if (marks & MARK_OTHER)
		unmet_ends_note(u, ID, &other);
}

static void an_end_is_certain_only_if_the_log_proves_whose_limit_was_met(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
		struct unmet_ends u = { 0 };
		struct unmet_end ends[UNMET_ENDS_MAX];
		size_t n;

		if (rows[i].marks & MET)
			unmet_ends_meet(&u, "/../cri-containerd-" ID ".scope");
		mark(&u, rows[i].marks);
		for (size_t l = 0; l < ARRAY_SIZE(rows[i].lines) && rows[i].lines[l]; l++)
			add_line(&log, 6, 990 * 1000000 + (int64_t)l, rows[i].lines[l]);
		n = unmet_ends_find(&u, &log, UID, &now, ends);
		if (n != (rows[i].says != NOTHING) ||
		    (n && (ends[0].class != rows[i].class ||
			   ends[0].confidence != (rows[i].says == CERTAIN ? CONFIDENCE_CERTAIN :
									    CONFIDENCE_LIKELY) ||
			   strcmp(ends[0].container_id, ID) != 0)))
			fail_msg("%s: %zu ends, class %s, %s", rows[i].what, n,
				 n ? failure_class_name(ends[0].class) : "",
				 n ? confidence_name(ends[0].confidence) : "");
		/* Ten seconds ago, by either clock */
		if (n)
			assert_in_range(now.realtime_ns - ends[0].killed_ns, 9 * NS_PER_SEC,
					11 * NS_PER_SEC);
	}
}

static void what_user_space_wrote_proves_nothing(void **state)
{
	static const char *const lines[] = { BEGIN, USAGE, BY(OWN, OWN), KILLED, GROUP(OWN) };
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	struct unmet_ends u = { 0 };
	struct unmet_end ends[UNMET_ENDS_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		add_line(&log, 1 << 3 | 6, 990 * 1000000, lines[i]);
	assert_int_equal(unmet_ends_find(&u, &log, UID, &now, ends), 0);
}

static void each_container_has_its_own_end(void **state)
{
	static const char *const lines[] = { BEGIN, USAGE, BY(OWN, OWN),   KILLED, GROUP(OWN),
					     BEGIN, USAGE, BY(POD, OTHER), KILLED, GROUP(OTHER) };
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	struct unmet_ends u = { 0 };
	struct unmet_end ends[UNMET_ENDS_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		add_line(&log, 6, 900 * 1000000 + (int64_t)(i / 5) * 1000000, lines[i]);
	assert_int_equal(unmet_ends_find(&u, &log, UID, &now, ends), 2);
	assert_string_equal(ends[0].container_id, ID);
	assert_int_equal(ends[0].class, FAILURE_KERNEL_OOM_CONTAINER);
	assert_string_equal(ends[1].container_id, OTHER_ID);
	assert_int_equal(ends[1].class, FAILURE_KERNEL_OOM_POD);
	assert_int_equal(ends[1].confidence, CONFIDENCE_CERTAIN);
}

static void the_number_of_containers_is_bounded(void **state)
{
	const struct node_signal first = { .at_ns = 990 * NS_PER_SEC, .oom = true, .target = 1 };
	struct kmsg_log log = { 0 };
	struct unmet_ends u = { 0 };
	struct unmet_end ends[UNMET_ENDS_MAX];
	char id[NODE_SIGNALS_ID_LEN + 1], cgroup[256];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(id, sizeof(id), "%064x", i);
		snprintf(cgroup, sizeof(cgroup), "/kubepods/pod" UID "/%s", id);
		unmet_ends_note(&u, id, &first);
		assert_in_range(unmet_ends_find(&u, &log, UID, &now, ends), 1, UNMET_ENDS_MAX);
	}
	/* The newest are kept. */
	assert_string_equal(ends[UNMET_ENDS_MAX - 1].container_id, id);
	for (int i = 0; i < 1000; i++) {
		snprintf(cgroup, sizeof(cgroup), "/kubepods/pod" UID "/%064x", i);
		unmet_ends_meet(&u, cgroup);
	}
	assert_int_equal(unmet_ends_find(&u, &log, UID, &now, ends), 0);
}

static void the_end_is_said_with_its_evidence_and_what_is_missing(void **state)
{
	static const char *const lines[] = { BEGIN, USAGE, BY(OWN, OWN), KILLED, GROUP(OWN) };
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	_cleanup_json_ cJSON *json = NULL, *likely = NULL;
	struct unmet_ends u = { 0 };
	struct unmet_end ends[UNMET_ENDS_MAX];

	(void)state;
	mark(&u, MARK_FIRST | MARK_OTHER);
	assert_int_equal(unmet_ends_find(&u, &log, UID, &now, ends), 1);
	likely = unmet_end_to_json(&ends[0]);
	assert_string_equal(json_str(likely, "cause"), "most likely it reached its memory limit");
	assert_null(json_get(likely, "memory"));
	assert_int_equal(cJSON_GetArraySize(json_get(likely, "missing")), 2);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		add_line(&log, 6, 990 * 1000000, lines[i]);
	assert_int_equal(unmet_ends_find(&u, &log, UID, &now, ends), 1);
	json = unmet_end_to_json(&ends[0]);
	assert_string_equal(json_str(json, "containerID"), ID);
	assert_string_equal(json_str(json, "cause"), "it reached its memory limit of 32.0 MiB");
	assert_int_equal(json_int(json, "memory.limitBytes", 0), 32 << 20);
	assert_string_equal(json_str(cJSON_GetArrayItem(json_get(json, "evidence"), 1), "text"),
			    GROUP(OWN));
	assert_string_equal(json_str(cJSON_GetArrayItem(json_get(json, "evidence"), 2), "text"),
			    "the OOM killer took the container's first process and 1 other");
	assert_int_equal(cJSON_GetArraySize(json_get(json, "missing")), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_is_certain_only_if_the_log_proves_whose_limit_was_met),
		cmocka_unit_test(what_user_space_wrote_proves_nothing),
		cmocka_unit_test(each_container_has_its_own_end),
		cmocka_unit_test(the_number_of_containers_is_bounded),
		cmocka_unit_test(the_end_is_said_with_its_evidence_and_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
