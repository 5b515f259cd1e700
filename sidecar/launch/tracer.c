/* SPDX-License-Identifier: Apache-2.0 */
/* Stops the threads of a process for a moment and copies their registers and stacks. */
#include "sidecar/launch/tracer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sidecar/launch/clock.h"
#include "sidecar/launch/dump.h"
#include "sidecar/launch/proc_file.h"

#define POLL_NS (50 * 1000) /* between looks at whether all have stopped */
#define LISTS_MAX 3 /* threads may start others while they are being stopped */
#define PATIENCE_MS 200 /* for a system call that waits */
#define PAGE_MIN 4096

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, SP = 19, FS_BASE = 21, RED_ZONE = DUMP_RED_ZONE };
#else
enum { MACHINE = EM_AARCH64, SP = 31, RED_ZONE = 0 };
#endif

enum thread_progress { THREAD_FOUND, THREAD_SEIZED, THREAD_STOPPED, THREAD_GONE };

struct linux_dirent {
	uint64_t inode;
	int64_t next;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* Static, because the launcher allocates nothing. Its pages take no memory before the first dump. */
static struct tracer {
	pid_t pid;
	int dump_fd, memory_fd, maps_fd;
	struct dump_head head;
	struct dump_thread threads[DUMP_THREADS_MAX];
	enum thread_progress progress[DUMP_THREADS_MAX];
	siginfo_t stops[DUMP_THREADS_MAX];
	int64_t stopped_ns; /* when the first was interrupted */
	uint64_t end; /* of the dump */
	char stack[DUMP_STACK_MAX];
} tracer;

/* --- The timer --- */

static sigjmp_buf overdue;
static volatile sig_atomic_t foreign_alarm;

static void on_alarm(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	/* Somebody sends the command a SIGALRM, which is forwarded afterwards. */
	if (info->si_code != SI_KERNEL)
		foreign_alarm = 1;
	else
		siglongjmp(overdue, 1);
}

/* Starts or ends the timer. `old` keeps what is done with its signal otherwise. */
static void timer_switch(bool on, struct sigaction *old)
{
	const struct sigaction action = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO };
	const struct itimerval period = { .it_interval.tv_usec = on ? PATIENCE_MS * 1000 : 0, .it_value.tv_usec = on ? PATIENCE_MS * 1000 : 0 };
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (on)
		sigaction(SIGALRM, &action, old);
	setitimer(ITIMER_REAL, &period, NULL);
	sigprocmask(on ? SIG_UNBLOCK : SIG_BLOCK, &alarm, NULL);
	if (on)
		return;
	sigaction(SIGALRM, old, NULL);
	if (foreign_alarm)
		kill(getpid(), SIGALRM);
	foreign_alarm = 0;
}

/* --- The list of threads --- */

/* Notes name and state of a thread, and in state D where it waits. */
static void note_state(struct dump_thread *t)
{
	char path[64], text[512];
	char *name, *end;

	snprintf(path, sizeof(path), "task/%d/stat", (int)t->tid);
	proc_file_read(tracer.pid, path, text, sizeof(text));
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name || end[1] != ' ')
		return;
	*end = '\0';
	memcpy(t->name, name + 1, strnlen(name + 1, sizeof(t->name)));
	t->state = end[2];
	if (t->state != 'D')
		return;
	snprintf(path, sizeof(path), "task/%d/wchan", (int)t->tid);
	proc_file_read(tracer.pid, path, text, sizeof(text));
	snprintf(t->waits_in, sizeof(t->waits_in), "%.30s", strcmp(text, "0") == 0 ? "" : text);
}

static bool thread_is_known(pid_t tid)
{
	for (uint32_t i = 0; i < tracer.head.n_threads; i++)
		if (tracer.threads[i].tid == tid)
			return true;
	return false;
}

static void take_tid(pid_t tid, uint32_t *seen)
{
	struct dump_thread *t = &tracer.threads[tracer.head.n_threads];

	(*seen)++;
	if (tracer.head.n_threads == DUMP_THREADS_MAX || thread_is_known(tid))
		return;
	*t = (struct dump_thread){ .tid = tid, .error = EBUSY };
	note_state(t);
	tracer.progress[tracer.head.n_threads++] = THREAD_FOUND;
}

/* Adds the threads that are not known yet. Returns whether there are some. */
static bool list_threads(void)
{
	char path[32];
	uint64_t list[512]; /* aligned as struct linux_dirent is */
	uint32_t before = tracer.head.n_threads, seen = 0;
	long len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)tracer.pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && (len = syscall(SYS_getdents64, fd, list, sizeof(list))) > 0)
		for (long at = 0; at < len;) {
			const struct linux_dirent *entry = (const void *)((char *)list + at);

			if (entry->name[0] != '.')
				take_tid((pid_t)strtol(entry->name, NULL, 10), &seen);
			at += entry->len;
		}
	if (fd >= 0)
		close(fd);
	tracer.head.threads_seen = seen;
	return tracer.head.n_threads > before;
}

/* --- Stopping --- */

static bool in_time(void)
{
	return now_ns() - tracer.stopped_ns < TRACER_STOP_MS * NS_PER_MS;
}

/* A thread that no earlier dump could stop is still ours, and may be interrupted. */
static bool thread_seize(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0)
		return true;
	if (errno != EPERM)
		return false;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0)
		return true;
	errno = EPERM;
	return false;
}

/* May wait for a process that is in execve: then the timer leaves this function. */
static void seize_found(void)
{
	for (uint32_t i = 0; i < tracer.head.n_threads; i++)
		if (tracer.progress[i] == THREAD_FOUND) {
			bool seized = thread_seize(tracer.threads[i].tid);

			tracer.progress[i] = seized ? THREAD_SEIZED : THREAD_GONE;
			if (!seized)
				tracer.threads[i].error = errno;
		}
}

static void interrupt_from(uint32_t first)
{
	for (uint32_t i = first; i < tracer.head.n_threads; i++)
		if (tracer.progress[i] == THREAD_SEIZED)
			ptrace(PTRACE_INTERRUPT, tracer.threads[i].tid, NULL, NULL);
}

/* Looks without taking anything: the end of a process stays for reap(). */
static void look_at_thread(uint32_t i)
{
	siginfo_t *info = &tracer.stops[i];

	info->si_pid = 0;
	if (waitid(P_PID, (id_t)tracer.threads[i].tid, info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 ||
	    (info->si_pid && info->si_code != CLD_TRAPPED && info->si_code != CLD_STOPPED)) {
		tracer.progress[i] = THREAD_GONE;
		tracer.threads[i].error = ESRCH;
	} else if (info->si_pid)
		tracer.progress[i] = THREAD_STOPPED;
}

/* Returns whether all that could be seized have stopped or are gone before the time is over. */
static bool await_stops(void)
{
	const struct timespec moment = { .tv_nsec = POLL_NS };

	for (;;) {
		uint32_t running = 0;

		for (uint32_t i = 0; i < tracer.head.n_threads; i++) {
			if (tracer.progress[i] == THREAD_SEIZED)
				look_at_thread(i);
			running += tracer.progress[i] == THREAD_SEIZED;
		}
		if (!running || !in_time())
			return !running;
		nanosleep(&moment, NULL);
	}
}

static bool stop_all(void)
{
	uint32_t first = 0;

	tracer.stopped_ns = now_ns();
	for (int i = 0; i < LISTS_MAX; i++) {
		interrupt_from(first);
		if (!await_stops())
			return false;
		first = tracer.head.n_threads;
		if (!list_threads())
			return tracer.head.threads_seen <= DUMP_THREADS_MAX;
		seize_found();
	}
	return false; /* those that it has just started may run */
}

void tracer_let_go(const siginfo_t *stopped)
{
	/* Above the signal is PTRACE_EVENT_STOP, unless a signal is about to be delivered. */
	int signo = stopped->si_status >> 8 == 0 ? stopped->si_status : 0;

	ptrace(PTRACE_DETACH, stopped->si_pid, NULL, (void *)(intptr_t)signo);
}

/* A thread that runs on cannot be let go: it has to stop for that, and reap() then sees it. */
static void let_all_go(void)
{
	for (uint32_t i = 0; i < tracer.head.n_threads; i++)
		if (tracer.progress[i] == THREAD_STOPPED)
			tracer_let_go(&tracer.stops[i]);
		else
			ptrace(PTRACE_INTERRUPT, tracer.threads[i].tid, NULL, NULL);
	if (tracer.stopped_ns)
		tracer.head.stopped_us = (uint32_t)((now_ns() - tracer.stopped_ns) / 1000);
}

/* --- Copying --- */

static void copy_registers(struct dump_thread *t)
{
	struct iovec part = { t->registers, sizeof(t->registers) };

	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_PRSTATUS, &part) < 0) {
		t->error = errno;
		return;
	}
	t->error = 0;
	t->n_registers = (uint32_t)(part.iov_len / sizeof(uint64_t));
#if defined(__x86_64__)
	t->thread_pointer = t->registers[FS_BASE];
#else
	part = (struct iovec){ &t->thread_pointer, sizeof(t->thread_pointer) };
	ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_ARM_TLS, &part);
#endif
}

/* Copies at most `most` bytes, those from the stack pointer upwards. */
static void copy_stack(struct dump_thread *t, size_t most)
{
	uint64_t from = t->registers[SP] - RED_ZONE;
	ssize_t n = pread(tracer.memory_fd, tracer.stack, most, (off_t)from);

	if (n <= 0 || pwrite(tracer.dump_fd, tracer.stack, (size_t)n, (off_t)tracer.end) != n)
		return;
	t->stack_address = from;
	t->stack_offset = tracer.end;
	t->stack_len = (uint64_t)n;
	tracer.end += (uint64_t)n;
}

static void copy_threads(bool all_stopped)
{
	size_t each = DUMP_STACKS_MAX / (tracer.head.n_threads ? tracer.head.n_threads : 1) / PAGE_MIN * PAGE_MIN;

	if (each > DUMP_STACK_MAX)
		each = DUMP_STACK_MAX;
	for (uint32_t i = 0; i < tracer.head.n_threads; i++)
		if (tracer.progress[i] == THREAD_STOPPED)
			copy_registers(&tracer.threads[i]);
	for (uint32_t i = 0; all_stopped && i < tracer.head.n_threads && in_time(); i++)
		if (tracer.threads[i].error == 0)
			copy_stack(&tracer.threads[i], each);
}

/* --- The dump --- */

/* Opens what is sent. After seizing, because then no thread is in execve, which opening would wait for. */
static int open_memory(void)
{
	int auxv_fd = proc_file_open(tracer.pid, "auxv");
	ssize_t n = auxv_fd < 0 ? -1 : read(auxv_fd, tracer.head.auxv, sizeof(tracer.head.auxv));

	tracer.head.auxv_len = n > 0 ? (uint32_t)n : 0;
	if (auxv_fd >= 0)
		close(auxv_fd);
	tracer.memory_fd = proc_file_open(tracer.pid, "mem");
	if (tracer.memory_fd >= 0)
		tracer.maps_fd = proc_file_open(tracer.pid, "maps");
	return tracer.memory_fd < 0 || tracer.maps_fd < 0 ? -errno : 0;
}

/* Seizes and stops, copies and lets go. */
static int dump_stopped(void)
{
	int r;

	if (!list_threads())
		return -ESRCH;
	memcpy(tracer.head.command, tracer.threads[0].name, sizeof(tracer.head.command));
	seize_found();
	/* Threads may end any time, but not the first one without its process. */
	if (tracer.progress[0] == THREAD_GONE)
		return -tracer.threads[0].error;
	r = open_memory();
	if (r == 0)
		copy_threads(stop_all());
	return r;
}

static bool write_at(const void *data, size_t len, off_t at)
{
	return pwrite(tracer.dump_fd, data, len, at) == (ssize_t)len;
}

static int write_head(void)
{
	if (write_at(&tracer.head, sizeof(tracer.head), 0) &&
	    write_at(tracer.threads, tracer.head.n_threads * sizeof(tracer.threads[0]), sizeof(tracer.head)))
		return 0;
	return -ENOSPC;
}

static void close_all(void)
{
	for (const int *fd = (const int[]){ tracer.dump_fd, tracer.memory_fd, tracer.maps_fd, -2 }; *fd != -2; fd++)
		if (*fd >= 0)
			close(*fd);
}

int tracer_dump(pid_t pid, int ret_fds[static TRACER_FDS])
{
	static struct sigaction old; /* its value survives siglongjmp */
	volatile int r = -ETIMEDOUT;

	if (pid <= 0 || pid == getpid())
		return -EINVAL;
	tracer.pid = pid;
	tracer.memory_fd = tracer.maps_fd = -1;
	tracer.stopped_ns = 0;
	tracer.end = sizeof(tracer.head) + sizeof(tracer.threads);
	tracer.head = (struct dump_head){ .machine = MACHINE, .pid = pid };
	memcpy(tracer.head.magic, DUMP_MAGIC, sizeof(tracer.head.magic));
	tracer.dump_fd = memfd_create("afterglow-dump", MFD_CLOEXEC);
	if (tracer.dump_fd < 0)
		return -errno;
	if (sigsetjmp(overdue, 1) == 0) {
		timer_switch(true, &old);
		r = dump_stopped();
	}
	timer_switch(false, &old);
	let_all_go();
	if (r == 0)
		r = write_head();
	if (r == 0) {
		ret_fds[0] = tracer.dump_fd;
		ret_fds[1] = tracer.memory_fd;
		ret_fds[2] = tracer.maps_fd;
	} else
		close_all();
	return r;
}
