/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the table of processes and of finding the sender of a signal, on a /proc that the test
 * makes.
 */
#include "node/process_table.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "node/signal_sender.h"

#define UID_A "11111111-1111-1111-1111-111111111111"
#define UID_B "22222222-2222-2222-2222-222222222222"
#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define IN_A "0::/kubepods/burstable/pod" UID_A "/" ID_A "\n"
#define IN_B "0::/kubepods/burstable/pod" UID_B "/" ID_B "\n"

#define ROWS 1024 /* of the table */

struct fixture {
	char proc[64];
	int fd;
	struct process_table *table;
};

static int set_up(void **state)
{
	static struct fixture f;

	snprintf(f.proc, sizeof(f.proc), "/tmp/afterglow-proc-XXXXXX");
	assert_non_null(mkdtemp(f.proc));
	f.fd = open(f.proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(process_table_new(f.proc, ROWS, &f.table, NULL), 0);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_table_free(f->table);
	close(f->fd);
	tree_remove(AT_FDCWD, f->proc);
	return 0;
}

static void put(const struct fixture *f, const char *path, const char *text)
{
	assert_int_equal(file_put(f->fd, path, text, strlen(text), 0600, NULL), 0);
}

static void make(const struct fixture *f, int pid, int inner, const char *comm, const char *cgroup)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d", pid);
	mkdirat(f->fd, path, 0700);
	snprintf(path, sizeof(path), "%d/cgroup", pid);
	put(f, path, cgroup);
	snprintf(path, sizeof(path), "%d/status", pid);
	snprintf(
		text, sizeof(text),
		"Name:\t%s\nTgid:\t%d\nUid:\t1000\t1000\t0\t1001\nGid:\t0\t0\t0\t0\nGroups:\t\nNSpid:\t%d\t%d\nCapEff:\t0\n",
		comm, pid, pid, inner);
	put(f, path, text);
	snprintf(path, sizeof(path), "%d/stat", pid);
	snprintf(text, sizeof(text), "%d (%s) S 1 1 1 0 -1 4194304 5\n", pid, comm);
	put(f, path, text);
}

static void vanish(const struct fixture *f, int pid)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", pid);
	assert_true(tree_remove(f->fd, name));
}

static void a_process_that_is_gone_is_found_where_the_last_sweep_saw_it(void **state)
{
	struct fixture *f = *state;
	const struct pod_of_process *pod;
	pid_t inner;

	make(f, 7, 7, "kubelet", "0::/system.slice/kubelet.service\n");
	make(f, 1234, 12, "python3", IN_A);
	make(f, 300, 1, "launch", IN_B);
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	vanish(f, 1234);
	assert_int_equal(process_table_find(f->table, 1234, &pod, &inner), PROCESS_OF_POD);
	assert_string_equal(pod->pod_uid, UID_A);
	assert_string_equal(pod->container_id, ID_A);
	assert_int_equal(inner, 12);
	assert_int_equal(process_table_find(f->table, 7, &pod, &inner), PROCESS_OF_NODE);
	assert_int_equal(process_table_find(f->table, 8, &pod, &inner), PROCESS_UNKNOWN);
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_int_equal(process_table_find(f->table, 1234, &pod, &inner), PROCESS_UNKNOWN);
	assert_int_equal(process_table_find(f->table, 300, &pod, &inner), PROCESS_OF_POD);
	assert_string_equal(pod->container_id, ID_B);
}

static void a_process_that_a_runtime_moves_into_its_container_is_found_there(void **state)
{
	struct fixture *f = *state;
	const struct pod_of_process *pod;
	pid_t inner;

	make(f, 50, 50, "runc", "0::/system.slice/containerd.service\n");
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_int_equal(process_table_find(f->table, 50, &pod, &inner), PROCESS_UNKNOWN);
	make(f, 50, 1, "ray", IN_A);
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_int_equal(process_table_find(f->table, 50, &pod, &inner), PROCESS_OF_POD);
	assert_int_equal(inner, 1);
	/* cgroup v1 shows a process that exits at the root. */
	put(f, "50/cgroup", "4:memory:/\n");
	for (int i = 0; i < 40; i++)
		assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_int_equal(process_table_find(f->table, 50, &pod, &inner), PROCESS_OF_POD);
}

/* Another process than before, as the kernel shows it: another directory. */
static void become(const struct fixture *f, int pid, int inner, const char *comm,
		   const char *cgroup)
{
	char from[16], to[16];

	snprintf(from, sizeof(from), "%d", 1000000 + pid);
	snprintf(to, sizeof(to), "%d", pid);
	make(f, 1000000 + pid, inner, comm, cgroup);
	vanish(f, pid);
	assert_int_equal(renameat(f->fd, from, f->fd, to), 0);
}

static void a_pid_that_is_used_again_is_that_of_the_new_process(void **state)
{
	struct fixture *f = *state;
	const struct pod_of_process *pod;
	pid_t inner;

	make(f, 50, 12, "python3", IN_A);
	for (int i = 0; i < 3; i++)
		assert_int_equal(process_table_sweep(f->table, NULL), 0);
	become(f, 50, 7, "other", IN_B);
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_int_equal(process_table_find(f->table, 50, &pod, &inner), PROCESS_OF_POD);
	assert_string_equal(pod->pod_uid, UID_B);
	assert_int_equal(inner, 7);
}

static void a_pid_that_was_used_again_since_the_last_sweep_is_not_the_containers_before(void **state)
{
	struct fixture *f = *state;
	struct pod_of_process pod;
	pid_t inner;

	make(f, 50, 12, "python3", IN_A);
	make(f, 51, 13, "python3", IN_A);
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	become(f, 50, 7, "other", IN_B);
	assert_int_equal(process_table_look(f->table, 50, &pod, &inner), PROCESS_UNKNOWN);
	/* On cgroup v1 it is on its way out. */
	put(f, "51/cgroup", "4:memory:/\n");
	assert_int_equal(process_table_look(f->table, 51, &pod, &inner), PROCESS_OF_POD);
	vanish(f, 51);
	assert_int_equal(process_table_look(f->table, 51, &pod, &inner), PROCESS_OF_POD);
	assert_string_equal(pod.container_id, ID_A);
	assert_int_equal(inner, 13);
}

static unsigned int age_of_a;

static void note_age(const struct pod_of_process *c, unsigned int sweeps, void *arg)
{
	*(unsigned int *)arg += 1;
	if (strcmp(c->pod_uid, UID_A) == 0)
		age_of_a = sweeps;
}

static void containers_are_listed_with_their_age(void **state)
{
	struct fixture *f = *state;
	unsigned int n = 0;

	make(f, 10, 1, "ray", IN_A);
	process_table_sweep(f->table, NULL);
	make(f, 11, 1, "ray", IN_B);
	make(f, 12, 2, "ray", IN_A);
	process_table_sweep(f->table, NULL);
	process_table_containers(f->table, note_age, &n);
	assert_int_equal(n, 2);
	assert_int_equal(age_of_a, 1);
	vanish(f, 11);
	process_table_sweep(f->table, NULL);
	n = 0;
	process_table_containers(f->table, note_age, &n);
	assert_int_equal(n, 1);
	assert_int_equal(age_of_a, 2);
}

/* Its signals would be those of the node. */
static void a_process_whose_container_has_no_room_is_not_taken_for_one_of_the_node(void **state)
{
	struct fixture *f = *state;
	const struct pod_of_process *pod;
	char cgroup[160];
	pid_t inner;
	int n = 0;

	for (int pid = 1; pid <= CONTAINERS_MAX + 1; pid++) {
		snprintf(cgroup, sizeof(cgroup), "0::/kubepods/burstable/pod" UID_A "/%064x\n",
			 pid);
		make(f, pid, 1, "python", cgroup);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(process_table_sweep(f->table, NULL), 0);
	for (int pid = 1; pid <= CONTAINERS_MAX + 1; pid++) {
		enum process_known known = process_table_find(f->table, pid, &pod, &inner);

		assert_int_not_equal(known, PROCESS_OF_NODE);
		n += known == PROCESS_OF_POD;
	}
	assert_int_equal(n, CONTAINERS_MAX);
}

#define FLOOD (3 * ROWS) /* processes of one container */
#define BESIDE 100 /* processes of another one, with higher PIDs */

static int count_of(const struct process_table *table, const char *pod_uid, int first, int n)
{
	const struct pod_of_process *pod;
	pid_t inner;
	int found = 0;

	for (int pid = first; pid < first + n; pid++)
		found += process_table_find(table, pid, &pod, &inner) == PROCESS_OF_POD &&
			 strcmp(pod->pod_uid, pod_uid) == 0;
	return found;
}

static void link_processes(const struct fixture *f, const char *to, int first, int n)
{
	char name[16];

	for (int pid = first; pid < first + n; pid++) {
		snprintf(name, sizeof(name), "%d", pid);
		assert_int_equal(symlinkat(to, f->fd, name), 0);
	}
}

static void a_container_with_endless_processes_leaves_rows_to_others(void **state)
{
	struct fixture *f = *state;
	int known;

	make(f, 1, 1, "fork", IN_A);
	make(f, 2, 1, "ray", IN_B);
	link_processes(f, "2", FLOOD + 100, BESIDE);
	link_processes(f, "1", 100, FLOOD);
	for (int i = 0; i < 2; i++)
		assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_int_equal(count_of(f->table, UID_B, FLOOD + 100, BESIDE), BESIDE);
	known = count_of(f->table, UID_A, 1, FLOOD + 99);
	assert_in_range(known, ROWS / 2 - BESIDE, ROWS / 2);
	assert_int_equal(process_table_left_out(f->table), FLOOD + 1 - known);
	/* One sweep reads a small part of those that have no row. */
	make(f, 1, 1, "fork", IN_B);
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_in_range(count_of(f->table, UID_B, 100, FLOOD), 1, FLOOD / 16);
	/* They get rows when there is room again. */
	for (int pid = 100; pid < FLOOD; pid++)
		vanish(f, pid);
	for (int i = 0; i < 70; i++)
		assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_int_equal(count_of(f->table, UID_B, FLOOD, 100), 100);
	assert_int_equal(process_table_left_out(f->table), 0);
}

static void a_container_has_some_rows_also_beside_many_with_endless_processes(void **state)
{
	struct fixture *f = *state;
	char cgroup[160], name[16];

	make(f, 2, 1, "ray", IN_B);
	link_processes(f, "2", 100, PROCESSES_OF_CONTAINER);
	for (int id = 10; id < 30; id++) {
		snprintf(cgroup, sizeof(cgroup), "0::/kubepods/pod" UID_A "/%064x\n", id);
		make(f, id, 1, "fork", cgroup);
		snprintf(name, sizeof(name), "%d", id);
		link_processes(f, name, 100 * id, 100);
	}
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	assert_in_range(count_of(f->table, UID_B, 2, 100 + PROCESSES_OF_CONTAINER),
			PROCESSES_OF_CONTAINER, PROCESSES_OF_CONTAINER + 1);
}

static void what_is_no_process_is_passed_over(void **state)
{
	struct fixture *f = *state;
	const struct pod_of_process *pod;
	pid_t inner;

	put(f, "12x", "");
	put(f, "0", "");
	put(f, "-5", "");
	put(f, "99999999999999999999", "");
	put(f, "self", "");
	for (int i = 0; i < 2; i++)
		assert_int_equal(process_table_sweep(f->table, NULL), 0);
	for (pid_t pid = -5; pid <= 12; pid++)
		assert_int_equal(process_table_find(f->table, pid, &pod, &inner), PROCESS_UNKNOWN);
}

static void the_flags_of_a_task_stand_behind_its_name(void **state)
{
	(void)state;
	assert_false(task_is_exiting("7 (x) S 1 2 3 4 5 4194304 6"));
	assert_true(task_is_exiting("7 (x) S 1 2 3 4 5 4194308 6"));
	assert_true(task_is_exiting("7 (a) S 1 2 3 4 5 0 (b) Z 1 2 3 4 5 4 6"));
	assert_true(task_is_exiting("7 (x) S 1 2"));
	assert_true(task_is_exiting(""));
}

static const struct pod_of_process pod_a = { .pod_uid = UID_A, .container_id = ID_A };

#define SENT_NS INT64_C(5000000000)

static void a_sender_is_named_with_its_place(void **state)
{
	struct fixture *f = *state;
	struct signal_sender s;

	make(f, 7, 7, "kubelet", "0::/system.slice/kubelet.service\n");
	make(f, 20, 3, "foo)\\nx", IN_A);
	make(f, 30, 4, "other", IN_B);
	assert_int_equal(process_table_sweep(f->table, NULL), 0);
	signal_sender_find(f->proc, f->table, NULL, 7, SENT_NS, &pod_a, &s);
	assert_int_equal(s.place, SENDER_NODE);
	assert_string_equal(s.comm, "kubelet");
	assert_int_equal(s.uid, 1001);
	signal_sender_find(f->proc, f->table, NULL, 20, SENT_NS, &pod_a, &s);
	assert_int_equal(s.place, SENDER_POD);
	assert_string_equal(s.container_id, ID_A);
	assert_int_equal(s.inner, 3);
	assert_string_equal(s.comm, "foo)\\nx");
	signal_sender_find(f->proc, f->table, NULL, 30, SENT_NS, &pod_a, &s);
	assert_int_equal(s.place, SENDER_OTHER_POD);
	assert_string_equal(s.container_id, "");
	vanish(f, 20);
	signal_sender_find(f->proc, f->table, NULL, 20, SENT_NS, &pod_a, &s);
	assert_int_equal(s.place, SENDER_POD);
	assert_int_equal(s.inner, 3);
	assert_int_equal(s.uid, -1);
	signal_sender_find(f->proc, f->table, NULL, 99, SENT_NS, &pod_a, &s);
	assert_int_equal(s.place, SENDER_UNKNOWN);
	assert_int_equal(s.pid, 99);
}

static void a_sender_that_exits_is_not_taken_for_one_of_the_node(void **state)
{
	struct fixture *f = *state;
	struct signal_sender s;

	/* The sender exits, and cgroup v1 shows it in the root. */
	make(f, 40, 4, "kill", "4:memory:/\n");
	put(f, "40/stat", "40 (kill) R 1 1 1 0 -1 4194308 5\n");
	signal_sender_find(f->proc, f->table, NULL, 40, SENT_NS, &pod_a, &s);
	assert_int_equal(s.place, SENDER_UNKNOWN);
	assert_string_equal(s.comm, "kill");
}

static void a_process_that_began_after_the_signal_is_not_its_sender(void **state)
{
	static const char stat[] =
		"70 (a) S) S 1 1 1 0 -1 4194304 5 0 0 0 0 0 0 0 20 0 1 0 %d 2 3\n";
	struct fixture *f = *state;
	struct signal_sender s;
	char text[128];

	make(f, 70, 4, "kubelet", "0::/system.slice/kubelet.service\n");
	snprintf(text, sizeof(text), stat, 500);
	put(f, "70/stat", text);
	for (int i = 0; i < 2; i++)
		assert_int_equal(process_table_sweep(f->table, NULL), 0);
	signal_sender_find(f->proc, f->table, NULL, 70, SENT_NS, &pod_a, &s);
	assert_string_equal(s.comm, "kubelet");
	assert_int_equal(s.place, SENDER_NODE);
	snprintf(text, sizeof(text), stat, 501);
	put(f, "70/stat", text);
	signal_sender_find(f->proc, f->table, NULL, 70, SENT_NS, &pod_a, &s);
	assert_string_equal(s.comm, "");
	assert_int_equal(s.place, SENDER_UNKNOWN);
	assert_int_equal(s.uid, -1);
	assert_int_equal(s.pid, 70);
}

static void the_start_of_a_task_stands_behind_its_name(void **state)
{
	(void)state;
	assert_int_equal(
		task_began_ns("7 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 123 20"),
		1230000000);
	assert_int_equal(task_began_ns("7 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18"), 0);
	assert_true(
		task_began_ns(
			"7 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99999999999999999999 0") >
		0);
	assert_int_equal(task_began_ns(""), 0);
}

static void a_message_is_one_line_whatever_the_name(void **state)
{
	const struct signal_record killed = { .kind = RECORD_SIGNAL,
					      .time_ns = 42005496650123,
					      .signal = 9,
					      .sender = 7,
					      .target = 8 };
	const struct signal_record victim = {
		.kind = RECORD_OOM_VICTIM, .time_ns = 5, .signal = 9, .target = 8
	};
	struct signal_sender s = { .pid = 120,
				   .inner = 3,
				   .uid = 1000,
				   .place = SENDER_POD,
				   .container_id = ID_B,
				   .comm = "a b\nc\x1b" };
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);

	(void)state;
	signal_message(&killed, ID_A, 12, &s, &out);
	assert_string_equal(strbuf_str(&out),
			    "signal " ID_A " 12 9 42005496650123 120 3 1000 " ID_B " a b?c?");
	strbuf_reset(&out);
	s = (struct signal_sender){ .pid = 120, .uid = -1 };
	signal_message(&killed, ID_A, 0, &s, &out);
	assert_string_equal(strbuf_str(&out),
			    "signal " ID_A " 0 9 42005496650123 120 0 -1 unknown ");
	strbuf_reset(&out);
	signal_message(&victim, ID_A, 12, NULL, &out);
	assert_string_equal(strbuf_str(&out), "oom " ID_A " 12 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_process_that_is_gone_is_found_where_the_last_sweep_saw_it, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_process_that_a_runtime_moves_into_its_container_is_found_there, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_pid_that_is_used_again_is_that_of_the_new_process,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_pid_that_was_used_again_since_the_last_sweep_is_not_the_containers_before,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(containers_are_listed_with_their_age, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_process_whose_container_has_no_room_is_not_taken_for_one_of_the_node, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_container_with_endless_processes_leaves_rows_to_others, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_container_has_some_rows_also_beside_many_with_endless_processes, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_process_is_passed_over, set_up,
						tear_down),
		cmocka_unit_test(the_flags_of_a_task_stand_behind_its_name),
		cmocka_unit_test_setup_teardown(a_sender_is_named_with_its_place, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_sender_that_exits_is_not_taken_for_one_of_the_node, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_process_that_began_after_the_signal_is_not_its_sender, set_up, tear_down),
		cmocka_unit_test(the_start_of_a_task_stands_behind_its_name),
		cmocka_unit_test(a_message_is_one_line_whatever_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
