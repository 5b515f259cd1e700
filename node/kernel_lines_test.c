/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the way from the kernel log to a sidecar, through the real socket: what a sidecar gets
 * that reads late, or that goes away. The log is a socket with a record in each message, as each
 * read(2) of /dev/kmsg gives one.
 */
#include "node/kernel_lines.h"

#include <errno.h>
#include <stdlib.h>

#include "node/oom_report.h"
#include "node/outbox.h"
#include "node/pod_testing.h"
#include "node/process_table.h"
#include "node/sidecar_link.h"

#define CGROUP "/kubepods/burstable/pod" POD_UID
#define LIMIT \
	"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=" POD_CONTAINER \
	",mems_allowed=0-7,oom_memcg=" CGROUP ",task_memcg=" CGROUP "/" POD_CONTAINER \
	",task=victim,pid=12,uid=0"
#define BEGIN "victim invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=1000"
#define KILLED "Memory cgroup out of memory: Killed process 12 (victim) total-vm:1kB, anon-rss:1kB"
#define HEADER \
	"[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name"
/* A name of 15 bytes that are no ASCII characters, as the log writes it */
#define LONG_NAME "\\xe5\\x8d\\x81\\xe4\\xba\\x94\\xe5\\xad\\x97\\xe8\\x8a\\x82\\xe5\\x90\\x8d"

static struct node node;
static struct node_options options;
static int log_end; /* where the kernel writes */
static int64_t now_us;
static unsigned int
	closes_at; /* the number of the message after which the sidecar goes away, 0: it stays */
static unsigned int n_sent;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
off_t __real_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence);
ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

int __real_setsockopt(int fd, int level, int option, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t size);

int __wrap_open(const char *path, int flags, ...)
{
	int pair[2];

	if (strcmp(path, "/dev/kmsg") != 0)
		return __real_open(path, flags, 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	log_end = pair[1];
	return pair[0];
}

off_t __wrap_lseek(int fd, off_t offset, int whence)
{
	off_t at = __real_lseek(fd, offset, whence);

	return at < 0 && errno == ESPIPE ? 0 : at;
}

/* Not more than the kernel gives where nobody has changed net.core.wmem_max. */
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	const int most = 212992;

	return __real_setsockopt(fd, level, option,
				 option == SO_SNDBUF && *(const int *)value > most ? &most : value,
				 size);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (closes_at && ++n_sent == closes_at)
		close(accept(pod_listener, NULL, NULL));
	return __real_sendmsg(fd, message, flags);
}

static int set_up(void **state)
{
	int rc = pod_setup(state);

	options = (struct node_options){
		.root = pod_directory, .kubelet = "", .proc = pod_proc, .kernel_lines = true
	};
	node = (struct node){ .options = &options };
	assert_int_equal(
		process_table_new(pod_proc, 64, (struct process_table **)&node.processes, NULL), 0);
	assert_int_equal(kernel_lines_start(&node, NULL), 0);
	assert_int_equal(node.loop.n, 1);
	now_us = 1000000;
	closes_at = n_sent = 0;
	return rc;
}

static int tear_down(void **state)
{
	kernel_lines_stop();
	process_table_free(node.processes);
	unread_release(&node.unread);
	backlog_release(&node.backlog);
	close(log_end);
	return pod_teardown(state);
}

static void agent_reads(void)
{
	node.loop.sources[0]->ready(node.loop.sources[0]);
}

/* The kernel writes a line; the agent reads when the socket is full. */
static void say(const char *text)
{
	char record[NODE_MESSAGE_MAX];
	int len = snprintf(record, sizeof(record), "6,123,%lld,-;%s\n", (long long)++now_us, text);

	assert_in_range(len, 1, sizeof(record) - 1);
	while (send(log_end, record, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		assert_int_equal(errno, EAGAIN);
		agent_reads();
	}
}

static void say_memory(unsigned int n, size_t len)
{
	for (unsigned int i = 0; i < n; i++) {
		char text[1024];
		int head = snprintf(text, sizeof(text), "Node %u Normal free:", i);

		memset(text + head, '1', len - (size_t)head);
		text[len] = '\0';
		say(text);
	}
}

/* The longest numbers that the columns can have */
static void say_rows(unsigned int n, const char *name)
{
	say(HEADER);
	for (unsigned int i = 0; i < n; i++) {
		char row[512];

		snprintf(
			row, sizeof(row),
			"[%7u] 4294967294 %7u 34359738367 34359738367 34359738367 34359738367 34359738367 140737488355327 "
			"34359738367          -1000 %s",
			4190000 + i, 4190000 + i, name);
		say(row);
	}
}

/* What a sidecar reads of the oldest connection that waits. */
struct seen {
	unsigned int messages, memory, rows, kills;
	bool hello, begin, header, limit, killed; /* killed: the victim's line, behind the limit */
	bool in_order;
};

static void take(struct seen *s, const char *text)
{
	static int64_t last_us;
	int priority, end = 0;
	long long time_us = 0;

	if (s->messages++ == 0) {
		s->hello = strcmp(text, "node 1") == 0;
		last_us = 0;
		return;
	}
	assert_int_equal(sscanf(text, "kernel %d %lld %n", &priority, &time_us, &end), 2);
	s->in_order = s->in_order && time_us > last_us;
	last_us = time_us;
	text += end;
	s->begin = s->begin || strcmp(text, BEGIN) == 0;
	s->header = s->header || strcmp(text, HEADER) == 0;
	s->limit = s->limit || strcmp(text, LIMIT) == 0;
	s->killed = s->killed || (s->limit && strcmp(text, KILLED) == 0);
	s->memory += strncmp(text, "Node ", 5) == 0;
	s->rows += strncmp(text, "[41", 3) == 0;
	s->kills += strstr(text, "Killed process 42") != NULL;
}

static struct seen sidecar_reads(void)
{
	struct seen s = { .in_order = true };
	char text[NODE_MESSAGE_MAX + 1];
	int fd = accept4(pod_listener, NULL, NULL, SOCK_CLOEXEC), rc;

	assert_true(fd >= 0);
	while ((rc = sidecar_link_receive(fd, 0, text, NULL)) == 0)
		take(&s, text);
	/* The agent has closed its end. */
	assert_int_equal(rc, -EPIPE);
	close(fd);
	assert_true(s.hello);
	assert_true(s.in_order);
	return s;
}

static void a_sidecar_that_reads_late_gets_the_whole_of_a_report_that_fits_and_the_verdict_of_any(void **state)
{
	static const struct {
		const char *what;
		unsigned int memory;
		size_t memory_len;
		unsigned int rows;
		const char *name;
		bool has_memory, has_rows;
	} cases[] = {
		{ "the largest table, as a cgroup has it", 45, 40, OOM_REPORT_ROWS_MAX,
		  "ray::IDLE_ABCDEF", true, true },
		{ "a large one of a machine with eight nodes", 60, 500, 250, "ray::IDLE_ABCDEF",
		  true, true },
		{ "the longest rows, more than the socket takes", 45, 40, OOM_REPORT_ROWS_MAX,
		  LONG_NAME, true, false },
		{ "most rows and long lines about memory", 100, 900, OOM_REPORT_ROWS_MAX, LONG_NAME,
		  true, false },
		{ "more about memory than the socket takes", 230, 900, 10, "x", false, false },
		{ "more about memory than the batch takes", 230, 1000, OOM_REPORT_ROWS_MAX,
		  LONG_NAME, false, false },
		{ "more rows than a pod gets", 45, 40, OOM_REPORT_ROWS_MAX + 1, "x", true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seen s;

		print_message("%s\n", cases[i].what);
		say(BEGIN);
		say_memory(cases[i].memory, cases[i].memory_len);
		say_rows(cases[i].rows, cases[i].name);
		say(LIMIT);
		say(KILLED);
		agent_reads();
		s = sidecar_reads();
		assert_true(s.begin && s.limit && s.killed);
		assert_int_equal(s.memory, cases[i].has_memory ? cases[i].memory : 0);
		assert_int_equal(s.rows, cases[i].has_rows ? cases[i].rows : 0);
		/* Nobody takes a part of a table for the whole. */
		assert_int_equal(s.header, cases[i].has_rows);
	}
}

/*
 * The lines of a group that the kernel ended, behind the report. The table of processes does not
 * have them yet.
 */
static void say_group(unsigned int n)
{
	say("Tasks in " CGROUP "/" POD_CONTAINER
	    " are going to be killed due to memory.oom.group set");
	for (unsigned int i = 0; i < n; i++) {
		char text[256], path[256];

		snprintf(path, sizeof(path), "%s/%u", pod_proc, 4200000 + i);
		assert_int_equal(dir_make_all(path, 0755, NULL), 0);
		snprintf(path, sizeof(path), "%s/%u/cgroup", pod_proc, 4200000 + i);
		assert_int_equal(file_put(AT_FDCWD, path, "0::" CGROUP "/" POD_CONTAINER "\n",
					  strlen("0::" CGROUP "/" POD_CONTAINER "\n"), 0600, NULL),
				 0);
		snprintf(
			text, sizeof(text),
			"Memory cgroup out of memory: Killed process %u (x) total-vm:34359738367kB, anon-rss:34359738367kB",
			4200000 + i);
		say(text);
	}
}

static void what_the_kernel_says_of_a_whole_group_takes_no_room_of_the_report(void **state)
{
	struct seen s;

	(void)state;
	say(BEGIN);
	say_memory(45, 40);
	say_rows(300, "x");
	say(LIMIT);
	say(KILLED);
	say_group(300);
	agent_reads();
	s = sidecar_reads();
	assert_true(s.begin && s.limit && s.killed);
	assert_int_equal(s.memory, 45);
	assert_int_equal(s.rows, 300);
	assert_in_range(s.kills, 1, 300);
}

struct kept {
	bool limit, killed, group;
	unsigned int kills;
};

static bool take_kept(const char *message, void *arg)
{
	struct kept *k = arg;

	k->limit = k->limit || strstr(message, LIMIT);
	k->killed = k->killed || strstr(message, KILLED);
	k->group = k->group || strstr(message, "Tasks in " CGROUP "/" POD_CONTAINER);
	k->kills += strstr(message, "Killed process 42") != NULL;
	return true;
}

static void the_processes_of_a_large_group_do_not_push_out_the_proof_that_is_kept(void **state)
{
	struct kept k = { 0 };
	char path[300];

	(void)state;
	snprintf(path, sizeof(path), "%s/" NODE_SOCKET_NAME, pod_volume);
	assert_int_equal(unlink(path), 0);
	say(BEGIN);
	say(LIMIT);
	say(KILLED);
	say_group(300);
	agent_reads();
	backlog_send(&node.backlog, POD_UID, take_kept, &k);
	assert_true(k.limit && k.killed && k.group);
	assert_int_equal(k.kills, 0);
	assert_null(node.backlog.first);
}

static void faults_of_a_gpu_without_end_keep_no_proof_out(void **state)
{
	unsigned int groups = 0;
	char text[NODE_MESSAGE_MAX + 1], fault[512];
	int fd;

	(void)state;
	/* All of it is read at once. */
	assert_int_equal(
		__real_setsockopt(log_end, SOL_SOCKET, SO_SNDBUF, &(int){ 1 << 20 }, sizeof(int)),
		0);
	say_group(1);
	for (unsigned int i = 0; i < 300; i++) {
		snprintf(fault, sizeof(fault),
			 "NVRM: Xid (PCI:0000:3b:00): 31, pid=4200000, name=x, %0*u",
			 i < 280 ? 400 : 1, i);
		say(fault);
	}
	say_group(1);
	agent_reads();
	assert_int_equal(fcntl(pod_listener, F_SETFL, O_NONBLOCK), 0);
	while ((fd = accept(pod_listener, NULL, NULL)) >= 0) {
		while (sidecar_link_receive(fd, 0, text, NULL) == 0)
			groups += strstr(text, "memory.oom.group set") != NULL;
		close(fd);
	}
	assert_int_equal(groups, 2);
}

static void say_small_report(void)
{
	say(BEGIN);
	say_rows(20, "x");
	say(LIMIT);
	say(KILLED);
	agent_reads();
}

static void a_sidecar_that_goes_away_in_the_middle_does_no_harm_to_the_next_one(void **state)
{
	struct seen s;

	(void)state;
	/* SIGPIPE would end this test. */
	for (closes_at = 1; closes_at <= 24; closes_at++) {
		n_sent = 0;
		say_small_report();
		assert_true(n_sent >= closes_at);
	}
	closes_at = 0;
	say_small_report();
	s = sidecar_reads();
	assert_true(s.begin && s.limit && s.killed);
	assert_int_equal(s.rows, 20);
}

static void a_sidecar_that_never_reads_holds_up_nobody_and_what_it_has_is_whole(void **state)
{
	unsigned int n = 0;
	char path[256];

	(void)state;
	/* More than can wait for accept(2) */
	for (unsigned int i = 0; i < 20; i++)
		say_small_report();
	fcntl(pod_listener, F_SETFL, O_NONBLOCK);
	for (;; n++) {
		int fd = accept(pod_listener, NULL, NULL);
		struct seen s = { .in_order = true };
		char text[NODE_MESSAGE_MAX + 1];

		if (fd < 0)
			break;
		while (sidecar_link_receive(fd, 0, text, NULL) == 0)
			take(&s, text);
		assert_true(s.begin && s.limit && s.killed);
		close(fd);
	}
	assert_in_range(n, 4, 19);
	/* And one whose listener is gone */
	close(pod_listener);
	pod_listener = -1;
	say_small_report();
	snprintf(path, sizeof(path), "%s/" NODE_SOCKET_NAME, pod_volume);
	assert_int_equal(unlink(path), 0);
	say_small_report();
	assert_true(node.backlog.bytes > 0); /* the proof is kept for the next one */
}

static void a_listener_that_reads_nothing_holds_a_bounded_part_of_the_agents_memory(void **state)
{
	unsigned int n = 0;
	size_t held = 0;
	int fd;

	(void)state;
	assert_int_equal(listen(pod_listener, 4096), 0);
	for (unsigned int i = 0; i < 60; i++) {
		say(BEGIN);
		say_rows(OOM_REPORT_ROWS_MAX, "x");
		say(LIMIT);
		say(KILLED);
		agent_reads();
	}
	assert_int_equal(fcntl(pod_listener, F_SETFL, O_NONBLOCK), 0);
	for (; (fd = accept(pod_listener, NULL, NULL)) >= 0; n++) {
		char text[NODE_MESSAGE_MAX + 1];

		while (sidecar_link_receive(fd, 0, text, NULL) == 0)
			held += sidecar_link_cost(strlen(text));
		close(fd);
	}
	assert_in_range(n, 1, UNREAD_LINKS_OF_POD);
	assert_in_range(held, UNREAD_BYTES_MIN, UNREAD_BYTES_MAX / 2);
	/* The end of the last container is kept until there is room. */
	assert_true(node.backlog.bytes > 0);
	say_small_report();
	assert_int_equal(node.backlog.bytes, 0);
	assert_true(sidecar_reads().killed);
}

/* Sends messages of one length until the socket takes no more. */
static void a_socket_takes_at_least_what_is_reckoned(void **state)
{
	static const size_t lens[] = { 1,    64,   100,	 190,  192,
				       193,  256,  448,	 700,  704,
				       1000, 1728, 2000, 4000, NODE_MESSAGE_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		char text[NODE_MESSAGE_MAX + 1];
		size_t costs = 0, n = 0, room;
		int fd;

		memset(text, 'x', lens[i]);
		text[lens[i]] = '\0';
		assert_int_equal(sidecar_link_open(pod_pods, pod_proc, POD_UID, 0, &fd, NULL), 0);
		room = sidecar_link_room(fd);
		while (sidecar_link_send(fd, text, -1, NULL) == 0)
			n++;
		costs = n * sidecar_link_cost(lens[i]);
		if (costs + sidecar_link_cost(lens[i]) <= room)
			fail_msg("%zu messages of %zu bytes cost %zu of %zu bytes", n, lens[i],
				 costs, room);
		close(fd);
		close(accept(pod_listener, NULL, NULL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_sidecar_that_reads_late_gets_the_whole_of_a_report_that_fits_and_the_verdict_of_any,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_the_kernel_says_of_a_whole_group_takes_no_room_of_the_report, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			the_processes_of_a_large_group_do_not_push_out_the_proof_that_is_kept,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_sidecar_that_goes_away_in_the_middle_does_no_harm_to_the_next_one, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_sidecar_that_never_reads_holds_up_nobody_and_what_it_has_is_whole, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_listener_that_reads_nothing_holds_a_bounded_part_of_the_agents_memory, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(faults_of_a_gpu_without_end_keep_no_proof_out,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_socket_takes_at_least_what_is_reckoned, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
