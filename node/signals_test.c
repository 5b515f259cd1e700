/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading the records of signals while pods flood them, in a tracefs that the test makes:
 * the buffer of each CPU is a FIFO of whole pages.
 */
#include "node/signals.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "lib/units.h"
#include "node/pod_testing.h"
#include "node/process_table.h"
#include "node/sidecar_link.h"

#define HOSTILE_UID "01234567-89ab-cdef-0123-456789abcdef"
#define HOSTILE 4711
#define VICTIM 4712 /* of the pod that has a sidecar */
#define CPUS 16
#define PAGES 16 /* as many as a FIFO takes */
#define RECORD 48 /* bytes, as testdata/signal_generate.format has it */
#define RECORDS 78 /* of a page */

static struct node node;
static struct node_options options;
static char tracefs[96];
static int buffers[CPUS];

static void put(const char *path, const char *text)
{
	char whole[256], *slash;

	snprintf(whole, sizeof(whole), "%s/%s", pod_directory, path);
	slash = strrchr(whole, '/');
	*slash = '\0';
	assert_int_equal(dir_make_all(whole, 0755, NULL), 0);
	*slash = '/';
	assert_int_equal(file_put(AT_FDCWD, whole, text, strlen(text), 0600, NULL), 0);
}

static void make_tracefs(void)
{
#define INSTANCE "tracefs/instances/afterglow/"
	static const char *const files[] = { "buffer_size_kb", "trace_clock", "tracing_on",
					     "events/signal/signal_generate/filter",
					     "events/signal/signal_generate/enable" };
	_cleanup_strbuf_ struct strbuf format = STRBUF_INIT(8192);
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), INSTANCE "%s", files[i]);
		put(path, "");
	}
	assert_int_equal(file_read(AT_FDCWD, "node/testdata/signal_generate.format", &format, NULL),
			 0);
	put(INSTANCE "events/signal/signal_generate/format", strbuf_str(&format));
	for (int cpu = 0; cpu < CPUS; cpu++) {
		snprintf(path, sizeof(path), "%s/" INSTANCE "per_cpu/cpu%d", pod_directory, cpu);
		assert_int_equal(dir_make_all(path, 0755, NULL), 0);
		snprintf(path, sizeof(path), "%s/" INSTANCE "per_cpu/cpu%d/trace_pipe_raw",
			 pod_directory, cpu);
		assert_int_equal(mkfifo(path, 0600), 0);
		buffers[cpu] = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		assert_true(buffers[cpu] >= 0);
	}
}

static int set_up(void **state)
{
	pod_setup(state);
	/* The sidecar accepts between the rounds. */
	assert_int_equal(listen(pod_listener, 256), 0);
	assert_int_equal(fcntl(pod_listener, F_SETFL, O_NONBLOCK), 0);
	make_tracefs();
	put("proc/4711/cgroup", "0::/kubepods/pod" HOSTILE_UID "/" POD_CONTAINER "\n");
	put("proc/4712/cgroup", "0::/kubepods/pod" POD_UID "/" POD_CONTAINER "\n");
	put("proc/4711/status", "Name:\tflood\nTgid:\t4711\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
				"Groups:\t\nNSpid:\t4711\t7\nCapEff:\t0\n");
	snprintf(tracefs, sizeof(tracefs), "%s/tracefs", pod_directory);
	options = (struct node_options){ .root = pod_directory,
					 .kubelet = "",
					 .proc = pod_proc,
					 .tracefs = tracefs,
					 .instance = "afterglow",
					 .signals = true };
	node = (struct node){ .options = &options };
	assert_int_equal(
		process_table_new(pod_proc, 64, (struct process_table **)&node.processes, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(process_table_sweep(node.processes, NULL), 0);
	return signals_start(&node, NULL);
}

static int tear_down(void **state)
{
	signals_stop();
	process_table_free(node.processes);
	unread_release(&node.unread);
	backlog_release(&node.backlog);
	for (int cpu = 0; cpu < CPUS; cpu++)
		close(buffers[cpu]);
	return pod_teardown(state);
}

static void put_number(unsigned char *at, uint64_t value, size_t size)
{
	memcpy(at, &value, size);
}

/* The kernel writes a page of records to the buffer of a CPU; the last one is to that process. */
static void kernel_writes(int cpu, unsigned int records, int signal, pid_t last)
{
	unsigned char page[65536] = { 0 }, *at = page + 16;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	assert_true(size <= sizeof(page));
	put_number(page, (uint64_t)now_boottime_ns(), 8);
	put_number(page + 8, (uint64_t)records * (4 + RECORD), 8);
	for (unsigned int i = 1; i <= records; i++, at += 4 + RECORD) {
		put_number(at, RECORD / 4, 4);
		put_number(at + 4, 261, 2);
		put_number(at + 8, HOSTILE, 4);
		put_number(at + 12, (uint64_t)signal, 4);
		put_number(at + 40, (uint64_t)(i < records ? HOSTILE : last), 4);
	}
	assert_int_equal(write(buffers[cpu], page, size), size);
}

static int pages_left(void)
{
	int left = 0;

	for (int cpu = 0; cpu < CPUS; cpu++) {
		int bytes;

		assert_int_equal(ioctl(buffers[cpu], FIONREAD, &bytes), 0);
		left += bytes / (int)sysconf(_SC_PAGESIZE);
	}
	return left;
}

static struct {
	unsigned int messages; /* that the pod's sidecar got */
	int first; /* the signal of the first of them */
	unsigned int turns; /* of the other source while the flood goes on */
	int64_t until_ns;
} seen;

static void sidecar_reads(void)
{
	char text[NODE_MESSAGE_MAX + 1];
	int fd, signal;

	while ((fd = accept4(pod_listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		while (sidecar_link_receive(fd, 0, text, NULL) == 0)
			if (sscanf(text, "signal %*s %*d %d", &signal) == 1 && seen.messages++ == 0)
				seen.first = signal;
		close(fd);
	}
}

static void other_on_ready(struct source *s)
{
	seen.turns += pages_left() > 0;
	sidecar_reads();
	if (seen.messages == CPUS || now_boottime_ns() > seen.until_ns)
		loop_stop(s->arg);
}

static void a_flood_of_signals_leaves_other_sources_and_other_cpus_their_turn(void **state)
{
	struct source other = { .name = "always readable",
				.due_ns = LOOP_NEVER,
				.ready = other_on_ready,
				.arg = &node.loop };

	(void)state;
	for (int page = 1; page <= PAGES; page++)
		for (int cpu = 0; cpu < CPUS - 1; cpu++)
			kernel_writes(cpu, RECORDS, SIGTERM, page < PAGES ? HOSTILE : VICTIM);
	kernel_writes(CPUS - 1, 1, SIGKILL, VICTIM);
	seen.until_ns = now_boottime_ns() + 60 * NS_PER_SEC;
	other.fd = eventfd(1, EFD_CLOEXEC);
	assert_int_equal(loop_add(&node.loop, &other, NULL), 0);
	assert_int_equal(loop_run(&node.loop, NULL), 0);
	close(other.fd);
	assert_true(seen.turns > 0);
	assert_int_equal(seen.first, SIGKILL);
	assert_int_equal(seen.messages, CPUS);
}

/* The process that began to listen has ended, or is of another pod. */
static void a_listener_that_the_agent_refuses_keeps_a_few_connections(void **state)
{
	int n = 0;

	(void)state;
	pod_has_this_process(HOSTILE_UID);
	for (int i = 0; i < 40; i++) {
		kernel_writes(0, 1, SIGTERM, VICTIM);
		node.loop.sources[0]->ready(node.loop.sources[0]);
	}
	for (int fd; (fd = accept(pod_listener, NULL, NULL)) >= 0; n++)
		close(fd);
	assert_int_equal(n, UNREAD_LINKS_OF_POD);
	assert_true(unread_room(&node.unread, POD_UID) > 0);
}

/* No sweep has seen them: the agent looks each of them up when it reads the record. */
static void a_flood_of_signals_to_young_processes_hides_no_signal_of_another_pod(void **state)
{
	(void)state;
	put("proc/4712/status", "Name:\tray\nTgid:\t4712\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
				"Groups:\t\nNSpid:\t4712\t9\nCapEff:\t0\n");
	process_table_free(node.processes);
	assert_int_equal(
		process_table_new(pod_proc, 64, (struct process_table **)&node.processes, NULL), 0);
	for (int cpu = 0; cpu < 4; cpu++)
		kernel_writes(cpu, RECORDS, SIGTERM, HOSTILE);
	kernel_writes(4, 1, SIGKILL, VICTIM);
	while (pages_left() > 0)
		node.loop.sources[0]->due(node.loop.sources[0], now_boottime_ns());
	memset(&seen, 0, sizeof(seen));
	sidecar_reads();
	assert_int_equal(seen.messages, 1);
	assert_int_equal(seen.first, SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_flood_of_signals_leaves_other_sources_and_other_cpus_their_turn, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_listener_that_the_agent_refuses_keeps_a_few_connections, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_flood_of_signals_to_young_processes_hides_no_signal_of_another_pod,
			set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
