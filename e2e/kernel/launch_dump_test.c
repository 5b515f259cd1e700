/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher dumps processes that live: it stops them for a moment, and no longer, whatever
 * happens meanwhile.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "e2e/kernel/launch_testing.h"
#include "sidecar/launch/dump.h"

#define FDS 2
#define ROUNDS 20

struct dumped {
	int error, n_fds, fds[FDS];
	struct dump_head head;
	struct dump_thread first;
};

static int dump_file(size_t size, int seals)
{
	int fd = memfd_create("dump", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_return_code(fd, errno);
	assert_return_code(fallocate(fd, 0, 0, (off_t)size), errno);
	assert_return_code(fcntl(fd, F_ADD_SEALS, seals), errno);
	return fd;
}

static void order_dump(const struct sidecar *s, pid_t pid, int dump_fd)
{
	char command[48];

	snprintf(command, sizeof(command), "dump-into 7 %d", (int)pid);
	order_with_fd(s, command, dump_fd);
}

/* Orders a dump of the process into that file and takes the answer. */
static struct dumped dump_into(const struct sidecar *s, pid_t pid, int dump_fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(FDS * sizeof(int))];
	} control;
	char text[64] = "";
	struct iovec part = { text, sizeof(text) - 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct dumped d = { .error = -1 };
	struct cmsghdr *rights;

	order_dump(s, pid, dump_fd);
	assert_true(readable_within(s->connection, PATIENCE_MS));
	assert_true(recvmsg(s->connection, &message, 0) > 0);
	assert_int_equal(sscanf(text, "dumped 7 %d", &d.error), 1);
	rights = CMSG_FIRSTHDR(&message);
	d.n_fds = rights ? (int)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
	if (d.n_fds)
		memcpy(d.fds, CMSG_DATA(rights), (size_t)d.n_fds * sizeof(int));
	if (pread(dump_fd, &d.head, sizeof(d.head), 0) == sizeof(d.head))
		(void)!pread(dump_fd, &d.first, sizeof(d.first), offsetof(struct dump, threads));
	return d;
}

static void dumped_release(const struct dumped *d)
{
	for (int i = 0; i < d->n_fds; i++)
		close(d->fds[i]);
}

/*
 * Dumps the process. On a busy machine the launcher may get no processor within the time that a
 * dump has, so it is asked again.
 */
static struct dumped dump_of(const struct sidecar *s, pid_t pid)
{
	int64_t until = now_ms() + PATIENCE_MS;
	int dump_fd = dump_file(sizeof(struct dump), DUMP_SEALS);
	struct dumped d = dump_into(s, pid, dump_fd);

	while (d.error == ETIMEDOUT && now_ms() < until) {
		dumped_release(&d);
		d = dump_into(s, pid, dump_fd);
	}
	close(dump_fd);
	return d;
}

/*
 * The same of a process that the kernel can stop. That, too, may get no processor in time, and no
 * time may be left for its stack, if it has one that can be read.
 */
static struct dumped dump_of_stoppable(const struct sidecar *s, pid_t pid, bool has_stack)
{
	int64_t until = now_ms() + PATIENCE_MS;
	struct dumped d = dump_of(s, pid);

	while (d.error == 0 && now_ms() < until &&
	       (d.first.error == EBUSY ||
		(d.first.error == 0 && has_stack && d.first.stack_len == 0))) {
		dumped_release(&d);
		d = dump_of(s, pid);
	}
	assert_int_equal(d.error, 0);
	assert_int_equal(d.first.error, 0);
	return d;
}

/* The state in /proc/PID/stat; 't': it is stopped by a tracer. */
static char state_of(pid_t pid)
{
	char text[512];
	const char *end;

	assert_true(read_proc(pid, "stat", text, sizeof(text)));
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

static void await_state(pid_t pid, char state)
{
	int64_t until = now_ms() + PATIENCE_MS;

	while (state_of(pid) != state && now_ms() < until)
		pause_ms(5);
	assert_int_equal(state_of(pid), state);
}

static bool is_traced(pid_t pid)
{
	char text[4096];

	assert_true(read_proc(pid, "status", text, sizeof(text)));
	return !strstr(text, "TracerPid:\t0\n");
}

static void expect_dump(const struct how *how)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(how);
	struct hello h;
	struct dumped d;
	char memory[8];

	sidecar_accept(&s);
	h = receive_hello(&s);
	read_text(p.out, "ready\n");
	d = dump_of_stoppable(&s, h.command_pid, true);
	assert_int_equal(d.n_fds, FDS);
	assert_memory_equal(d.head.magic, DUMP_MAGIC, sizeof(d.head.magic));
	assert_int_equal(d.head.pid, h.command_pid);
	assert_int_equal(d.head.n_threads, 1);
	assert_int_equal(d.first.tid, h.command_pid);
	assert_true(d.first.age_ns > 0 && d.first.used_ns >= 0);
	assert_true(d.first.stack_len > DUMP_RED_ZONE);
	/* It waits, so its memory is still what was copied. */
	assert_int_equal(pread(d.fds[0], memory, sizeof(memory),
			       (off_t)d.first.stack_address + DUMP_RED_ZONE), sizeof(memory));
	dumped_release(&d);
	forget_hello(&h);
	end_waiting(&s, &p);
}

static void registers_and_stack_are_copied_and_the_process_goes_on(void **state)
{
	(void)state;
	expect_dump(&usual);
}

static void a_launcher_that_is_pid_1_dumps_as_well(void **state)
{
	(void)state;
	expect_dump(&as_pid1);
}

static void a_process_that_is_not_there_is_refused(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);
	struct dumped d;

	(void)state;
	sidecar_greet(&s);
	d = dump_of(&s, 1 << 22);
	assert_int_equal(d.error, ESRCH);
	assert_int_equal(d.n_fds, 0);
	d = dump_of(&s, p.pid);
	assert_int_equal(d.error, EINVAL); /* the launcher itself */
	end_waiting(&s, &p);
}

/* Memory that is not the sidecar's, or may become shorter while the launcher writes to it. */
static void a_file_that_is_no_dump_is_refused(void **state)
{
	const int files[] = { dump_file(sizeof(struct dump) - 1, DUMP_SEALS),
			      dump_file(sizeof(struct dump), 0), open("/dev/null", O_RDWR), -1 };
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);
	struct hello h;

	(void)state;
	sidecar_accept(&s);
	h = receive_hello(&s);
	for (size_t i = 0; files[i] >= 0; i++) {
		assert_int_equal(dump_into(&s, h.command_pid, files[i]).error, EINVAL);
		close(files[i]);
	}
	order(&s, "dump-into 7 1");
	assert_string_equal(receive_text(&s), "dumped 7 22"); /* there is no file at all */
	forget_hello(&h);
	end_waiting(&s, &p);
}

static void a_process_that_is_stopped_stays_stopped(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start_waiting(&usual);
	struct hello h;
	struct dumped d;

	(void)state;
	sidecar_accept(&s);
	h = receive_hello(&s);
	read_text(p.out, "ready\n");
	kill(h.command_pid, SIGSTOP);
	await_state(h.command_pid, 'T');
	d = dump_of_stoppable(&s, h.command_pid, true);
	assert_int_equal(d.first.state, 'T');
	await_state(h.command_pid, 'T');
	assert_false(is_traced(h.command_pid));
	kill(h.command_pid, SIGCONT);
	dumped_release(&d);
	forget_hello(&h);
	end_waiting(&s, &p);
}

/* The answer to the order to dump comes before or not at all. Its descriptors are not taken. */
static void expect_exit_of_sigterm(const struct sidecar *s)
{
	char text[64] = "";

	while (strncmp(text, "exit ", 5) != 0) {
		assert_true(readable_within(s->connection, PATIENCE_MS));
		memset(text, 0, sizeof(text));
		assert_true(recv(s->connection, text, sizeof(text) - 1, 0) > 0);
	}
	assert_memory_equal(text, "exit 15 ", 8);
}

static void a_signal_that_comes_meanwhile_arrives(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct sidecar s = sidecar_listen();
		struct process p = start(&usual, "--", "/bin/sleep", "600", NULL);
		struct hello h;
		int dump_fd = dump_file(sizeof(struct dump), DUMP_SEALS);

		sidecar_accept(&s);
		h = receive_hello(&s);
		for (int k = 0; k < i % 4; k++) {
			struct dumped d = dump_of(&s, h.command_pid);

			assert_int_equal(d.error, 0);
			dumped_release(&d);
		}
		order_dump(&s, h.command_pid, dump_fd);
		close(dump_fd);
		kill(h.command_pid, SIGTERM);
		expect_exit_of_sigterm(&s);
		order(&s, "done");
		assert_int_equal(finish(&p), 128 + SIGTERM);
		forget_hello(&h);
		sidecar_release(&s);
	}
}

static void a_launcher_that_is_killed_meanwhile_leaves_nothing_stopped(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct sidecar s = sidecar_listen();
		struct process p = start(&usual, "--", "/bin/sleep", "600", NULL);
		struct hello h;
		int dump_fd = dump_file(sizeof(struct dump), DUMP_SEALS);

		sidecar_accept(&s);
		h = receive_hello(&s);
		for (int k = 0; k < 5; k++)
			order_dump(&s, h.command_pid, dump_fd);
		close(dump_fd);
		usleep((useconds_t)i * 100);
		kill(p.pid, SIGKILL);
		finish(&p);
		assert_false(is_traced(h.command_pid));
		await_state(h.command_pid, 'S');
		kill(h.command_pid, SIGKILL);
		forget_hello(&h);
		sidecar_release(&s);
	}
}

/* The parent of a vfork waits in state D for its child, which here waits for its input. */
static int wait_in_vfork(void)
{
	char byte;

	if (vfork() == 0) {
		(void)!write(STDOUT_FILENO, "ready\n", 6);
		(void)!read(STDIN_FILENO, &byte, 1);
		_exit(0);
	}
	return 0;
}

/*
 * Starts this program again. Its argument is the word, by which its main() chooses a function.
 * Waits until that function is ready.
 */
static struct hello start_self(struct sidecar *s, struct process *p, const char *word)
{
	char self[PATH_MAX] = "";
	struct hello h;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	*p = start(&usual, "--", self, word, NULL);
	sidecar_accept(s);
	h = receive_hello(s);
	read_text(p->out, "ready\n");
	return h;
}

static void a_thread_that_the_kernel_does_not_stop_goes_on_later(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p;
	struct hello h = start_self(&s, &p, "wait-in-vfork");
	struct dumped d;

	(void)state;
	await_state(h.command_pid, 'D');
	for (int i = 0; i < 2; i++) {
		d = dump_of(&s, h.command_pid);
		assert_int_equal(d.error, 0);
		assert_int_equal(d.first.error, EBUSY);
		assert_int_equal(d.first.state, 'D');
		assert_int_equal(d.first.stack_len, 0);
		dumped_release(&d);
	}
	forget_hello(&h);
	end_waiting(&s, &p);
}

/* Spins with a stack pointer into a file of which no page was ever touched. */
static int spin_in_file(void)
{
	enum { SIZE = 256 << 10 };
	FILE *file = tmpfile();
	char *stack;

	if (!file || ftruncate(fileno(file), SIZE) < 0)
		return 1;
	stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	if (stack == MAP_FAILED || write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n1: pause\njmp 1b" ::"r"(stack + SIZE / 2));
#else
	__asm__ volatile("mov sp, %0\n1: yield\nb 1b" ::"r"(stack + SIZE / 2));
#endif
	return 0;
}

/* A FUSE server that does not answer would hold process 1 of the container. */
static void a_stack_in_a_file_that_is_not_in_memory_is_not_read(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p;
	struct hello h = start_self(&s, &p, "spin-in-file");
	struct dumped d;

	(void)state;
	pause_ms(20);
	d = dump_of_stoppable(&s, h.command_pid, false);
	assert_int_equal(d.first.stack_len, 0);
	dumped_release(&d);
	kill(h.command_pid, SIGTERM);
	expect_exit_of_sigterm(&s);
	order(&s, "done");
	assert_int_equal(finish(&p), 128 + SIGTERM);
	forget_hello(&h);
	sidecar_release(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_and_stack_are_copied_and_the_process_goes_on),
		cmocka_unit_test(a_launcher_that_is_pid_1_dumps_as_well),
		cmocka_unit_test(a_process_that_is_not_there_is_refused),
		cmocka_unit_test(a_file_that_is_no_dump_is_refused),
		cmocka_unit_test(a_process_that_is_stopped_stays_stopped),
		cmocka_unit_test(a_signal_that_comes_meanwhile_arrives),
		cmocka_unit_test(a_launcher_that_is_killed_meanwhile_leaves_nothing_stopped),
		cmocka_unit_test(a_thread_that_the_kernel_does_not_stop_goes_on_later),
		cmocka_unit_test(a_stack_in_a_file_that_is_not_in_memory_is_not_read),
	};

	if (argc > 1 && strcmp(argv[1], "wait-in-vfork") == 0)
		return wait_in_vfork();
	if (argc > 1 && strcmp(argv[1], "spin-in-file") == 0)
		return spin_in_file();
	return RUN_LAUNCH_TESTS(tests);
}
