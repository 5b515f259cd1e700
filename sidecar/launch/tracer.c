/* SPDX-License-Identifier: Apache-2.0 */
/* Stops the threads of a process for a moment and copies their registers and stacks. */
#include "sidecar/launch/tracer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/macros.h"
#include "sidecar/launch/clock.h"
#include "sidecar/launch/dump.h"
#include "sidecar/launch/proc_file.h"

#define POLL_NS (50 * 1000) /* between looks at whether all have stopped */
#define LISTS_MAX 3 /* threads may start others while they are being stopped */
#define PATIENCE_MS 200 /* for a system call that waits */
#define PAGE_MIN 4096
#define FILES_NOTED 16 /* threads in state D whose file is looked for */
/* Bits of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst) */
#define PAGE_OF_FILE ((uint64_t)1 << 61)
#define PAGE_SWAPPED ((uint64_t)1 << 62)
#define PAGE_PRESENT ((uint64_t)1 << 63)

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

/* Static, because the launcher allocates nothing, and small, because the container pays for it. */
static struct tracer {
	pid_t pid;
	int memory_fd, maps_fd, pages_fd;
	struct dump *dump; /* the sidecar's memory */
	uint8_t progress[DUMP_THREADS_MAX]; /* enum thread_progress */
	int stop_status[DUMP_THREADS_MAX]; /* si_status of those that have stopped */
	int64_t stopped_ns; /* when the first was interrupted */
	uint64_t end; /* of what is written of dump->stacks */
} tracer;

/* --- The timer --- */

static sigjmp_buf overdue;
static volatile sig_atomic_t foreign_alarm;

static void on_alarm(int, siginfo_t *info, void *)
{
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
	const struct itimerval period = { .it_interval.tv_usec = on ? PATIENCE_MS * 1000 : 0,
					  .it_value.tv_usec = on ? PATIENCE_MS * 1000 : 0 };
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

/* Notes name, state and processor time of a thread, and in state D where it waits. */
static void note_state(struct dump_thread *t)
{
	int64_t tick_ns = NS_PER_SEC / sysconf(_SC_CLK_TCK);
	unsigned long long user, system, start;
	char path[64], text[512];

	snprintf(path, sizeof(path), "task/%d/stat", (int)t->tid);
	proc_file_read(tracer.pid, path, text, sizeof(text));
	char *name = strchr(text, '(');
	char *end = strrchr(text, ')');
	if (!name || !end || end < name || end[1] != ' ')
		return;
	*end = '\0';
	memcpy(t->name, name + 1, strnlen(name + 1, sizeof(t->name)));
	t->state = end[2];
	/* Fields 14, 15 and 22; the state is the third (man 5 proc). */
	if (sscanf(end + 2, "%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%*s%llu%llu%*s%*s%*s%*s%*s%*s%llu",
		   &user, &system, &start) == 3) {
		t->used_ns = (int64_t)(user + system) * tick_ns;
		t->age_ns = now_ns() - (int64_t)start * tick_ns;
	}
	if (t->state != 'D')
		return;
	snprintf(path, sizeof(path), "task/%d/wchan", (int)t->tid);
	proc_file_read(tracer.pid, path, text, sizeof(text));
	snprintf(t->waits_in, sizeof(t->waits_in), "%.30s", strcmp(text, "0") == 0 ? "" : text);
}

/*
 * Whether the first argument of this system call is the number of a descriptor, and it may wait for
 * its file.
 */
static bool is_about_file(long number)
{
	static const long calls[] = {
		SYS_read,	SYS_write, SYS_readv,	  SYS_writev,	 SYS_pread64,
		SYS_pwrite64,	SYS_fsync, SYS_fdatasync, SYS_ftruncate, SYS_fallocate,
		SYS_getdents64, SYS_fstat, SYS_close,	  SYS_flock,	 SYS_fcntl,
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i] == number)
			return true;
	return false;
}

/*
 * Notes what a thread in state D works on, as far as the kernel says so: the path is not looked up,
 * so no file server is asked.
 */
static void note_file(struct dump_thread *t)
{
	char path[64], text[128], *end;

	snprintf(path, sizeof(path), "task/%d/syscall", (int)t->tid);
	proc_file_read(tracer.pid, path, text, sizeof(text));
	long number = strtol(text, &end, 10);
	unsigned long fd = strtoul(end, NULL, 16);
	if (end == text || !is_about_file(number) || fd > INT_MAX)
		return;
	snprintf(path, sizeof(path), "/proc/%d/fd/%lu", (int)tracer.pid, fd);
	ssize_t len = readlink(path, t->file, sizeof(t->file) - 1);
	t->file[len > 0 ? len : 0] = '\0';
}

static bool thread_is_known(pid_t tid)
{
	for (uint32_t i = 0; i < tracer.dump->head.n_threads; i++)
		if (tracer.dump->threads[i].tid == tid)
			return true;
	return false;
}

static void take_tid(pid_t tid, uint32_t *seen)
{
	struct dump_thread *t = &tracer.dump->threads[tracer.dump->head.n_threads];

	(*seen)++;
	if (tracer.dump->head.n_threads == DUMP_THREADS_MAX || thread_is_known(tid))
		return;
	*t = (struct dump_thread){ .tid = tid, .error = EBUSY };
	note_state(t);
	tracer.progress[tracer.dump->head.n_threads++] = THREAD_FOUND;
}

/* Adds the threads that are not known yet. Returns whether there are some. */
static bool list_threads(void)
{
	char path[32];
	uint64_t list[512]; /* aligned as struct linux_dirent is */
	uint32_t before = tracer.dump->head.n_threads, seen = 0;
	long len;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)tracer.pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && (len = syscall(SYS_getdents64, fd, list, sizeof(list))) > 0)
		for (long at = 0; at < len;) {
			const struct linux_dirent *entry = (const void *)((char *)list + at);

			if (entry->name[0] != '.')
				take_tid((pid_t)strtol(entry->name, NULL, 10), &seen);
			at += entry->len;
		}
	tracer.dump->head.threads_seen = seen;
	return tracer.dump->head.n_threads > before;
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
	for (uint32_t i = 0; i < tracer.dump->head.n_threads; i++)
		if (tracer.progress[i] == THREAD_FOUND) {
			bool seized = thread_seize(tracer.dump->threads[i].tid);

			tracer.progress[i] = seized ? THREAD_SEIZED : THREAD_GONE;
			if (!seized)
				tracer.dump->threads[i].error = errno;
		}
}

static void interrupt_from(uint32_t first)
{
	for (uint32_t i = first; i < tracer.dump->head.n_threads; i++)
		if (tracer.progress[i] == THREAD_SEIZED)
			ptrace(PTRACE_INTERRUPT, tracer.dump->threads[i].tid, NULL, NULL);
}

/* Looks without taking anything: the end of a process stays for reap(). */
static void look_at_thread(uint32_t i)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)tracer.dump->threads[i].tid, &info,
		   WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 ||
	    (info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)) {
		tracer.progress[i] = THREAD_GONE;
		tracer.dump->threads[i].error = ESRCH;
	} else if (info.si_pid) {
		tracer.progress[i] = THREAD_STOPPED;
		tracer.stop_status[i] = info.si_status;
	}
}

/* Returns whether all that could be seized have stopped or are gone before the time is over. */
static bool await_stops(void)
{
	const struct timespec moment = { .tv_nsec = POLL_NS };

	for (;;) {
		uint32_t running = 0;

		for (uint32_t i = 0; i < tracer.dump->head.n_threads; i++) {
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
		first = tracer.dump->head.n_threads;
		if (!list_threads())
			return tracer.dump->head.threads_seen <= DUMP_THREADS_MAX;
		seize_found();
	}
	return false; /* those that it has just started may run */
}

void tracer_let_go(pid_t tid, int stop_status)
{
	/* Above the signal is PTRACE_EVENT_STOP, unless a signal is about to be delivered. */
	int signo = stop_status >> 8 == 0 ? stop_status : 0;

	ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signo);
}

/* A thread that runs on cannot be let go: it has to stop for that, and reap() then sees it. */
static void let_all_go(void)
{
	for (uint32_t i = 0; i < tracer.dump->head.n_threads; i++)
		if (tracer.progress[i] == THREAD_STOPPED)
			tracer_let_go(tracer.dump->threads[i].tid, tracer.stop_status[i]);
		else
			ptrace(PTRACE_INTERRUPT, tracer.dump->threads[i].tid, NULL, NULL);
	if (tracer.stopped_ns)
		tracer.dump->head.stopped_us = (uint32_t)((now_ns() - tracer.stopped_ns) / 1000);
}

/* --- Copying --- */

static void copy_registers(struct dump_thread *t)
{
	struct iovec part = { t->registers, sizeof(t->registers) };

	memset(t->registers, 0, sizeof(t->registers)); /* a file was noted there */
	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_PRSTATUS, &part) < 0) {
		t->error = errno;
		return;
	}
	t->error = 0;
#if defined(__x86_64__)
	t->thread_pointer = t->registers[FS_BASE];
#else
	part = (struct iovec){ &t->thread_pointer, sizeof(t->thread_pointer) };
	ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_ARM_TLS, &part);
#endif
}

static bool page_is_held(uint64_t page)
{
	return page & PAGE_PRESENT || (page & (PAGE_SWAPPED | PAGE_OF_FILE)) == PAGE_SWAPPED;
}

/*
 * Copies what the kernel holds of these bytes, and leaves the other pages zero, as untouched pages
 * of a stack are: the page of a file may be on a server that does not answer, for whom we would
 * wait. Returns the bytes up to the last page that was copied.
 */
static size_t copy_pages(char *to, uint64_t from, size_t len)
{
	uint64_t pages[DUMP_STACK_MAX / PAGE_MIN + 2] = { 0 },
						   size = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t n = (from % size + len - 1) / size + 1, copied = 0, step;

	/* Without pagemap (gVisor) all is read. */
	if (pread(tracer.pages_fd, pages, n * sizeof(*pages),
		  (off_t)(from / size * sizeof(*pages))) <= 0)
		memset(pages, 0xff, sizeof(pages));
	for (size_t at = 0; at < len; at += step) {
		step = MIN(size - (from + at) % size, len - at);
		if (page_is_held(pages[(from % size + at) / size]) &&
		    pread(tracer.memory_fd, to + at, step, (off_t)(from + at)) == (ssize_t)step)
			copied = at + step;
	}
	return copied;
}

/* Copies at most `most` bytes, those from the stack pointer upwards. */
static void copy_stack(struct dump_thread *t, size_t most)
{
	uint64_t from = t->registers[SP] - RED_ZONE;
	size_t n = copy_pages(tracer.dump->stacks + tracer.end, from, most);

	if (n == 0)
		return;
	t->stack_address = from;
	t->stack_offset = offsetof(struct dump, stacks) + tracer.end;
	t->stack_len = n;
	tracer.end += n;
}

static void copy_threads(bool all_stopped)
{
	size_t each = DUMP_STACKS_MAX /
		      (tracer.dump->head.n_threads ? tracer.dump->head.n_threads : 1) / PAGE_MIN *
		      PAGE_MIN;

	if (each > DUMP_STACK_MAX)
		each = DUMP_STACK_MAX;
	for (uint32_t i = 0; i < tracer.dump->head.n_threads; i++)
		if (tracer.progress[i] == THREAD_STOPPED)
			copy_registers(&tracer.dump->threads[i]);
	for (uint32_t i = 0; all_stopped && i < tracer.dump->head.n_threads && in_time(); i++)
		if (tracer.dump->threads[i].error == 0)
			copy_stack(&tracer.dump->threads[i], each);
}

/* --- The dump --- */

/*
 * Opens what is sent. After seizing, because then no thread is in execve, which opening would wait
 * for.
 */
static int open_memory(void)
{
	_cleanup_close_ int auxv_fd = proc_file_open(tracer.pid, "auxv");
	ssize_t n = auxv_fd < 0 ?
			    -1 :
			    read(auxv_fd, tracer.dump->head.auxv, sizeof(tracer.dump->head.auxv));

	tracer.dump->head.auxv_len = n > 0 ? (uint32_t)n : 0;
	tracer.pages_fd = proc_file_open(tracer.pid, "pagemap");
	tracer.memory_fd = proc_file_open(tracer.pid, "mem");
	if (tracer.memory_fd >= 0)
		tracer.maps_fd = proc_file_open(tracer.pid, "maps");
	return tracer.memory_fd < 0 || tracer.maps_fd < 0 ? -errno : 0;
}

/* Seizes and stops, copies and lets go. */
static int dump_stopped(void)
{
	if (!list_threads())
		return -ESRCH;
	memcpy(tracer.dump->head.command, tracer.dump->threads[0].name,
	       sizeof(tracer.dump->head.command));
	seize_found();
	/* Threads may end any time, but not the first one without its process. */
	if (tracer.progress[0] == THREAD_GONE)
		return -tracer.dump->threads[0].error;
	int r = open_memory();
	/* Those of one process mostly wait for the same. */
	for (uint32_t i = 0, n = 0; r == 0 && i < tracer.dump->head.n_threads && n < FILES_NOTED;
	     i++)
		if (tracer.dump->threads[i].state == 'D') {
			note_file(&tracer.dump->threads[i]);
			n++;
		}
	if (r == 0)
		copy_threads(stop_all());
	return r;
}

static int dump_map(int dump_fd)
{
	int seals = fcntl(dump_fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & DUMP_SEALS) != DUMP_SEALS || fstat(dump_fd, &st) < 0 ||
	    st.st_size != sizeof(struct dump))
		return -EINVAL;
	tracer.dump = mmap(NULL, sizeof(struct dump), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, dump_fd, 0);
	return tracer.dump == MAP_FAILED ? -errno : 0;
}

int tracer_dump(pid_t pid, int dump_fd, int ret_fds[static TRACER_FDS])
{
	static struct sigaction old; /* its value survives siglongjmp */
	volatile int r = pid <= 0 || pid == getpid() ? -EINVAL : dump_map(dump_fd);

	if (r < 0)
		return r;
	r = -ETIMEDOUT;
	tracer.pid = pid;
	tracer.memory_fd = tracer.maps_fd = tracer.pages_fd = -1;
	tracer.stopped_ns = 0;
	tracer.end = 0;
	tracer.dump->head = (struct dump_head){ .machine = MACHINE, .pid = pid };
	memcpy(tracer.dump->head.magic, DUMP_MAGIC, sizeof(tracer.dump->head.magic));
	if (sigsetjmp(overdue, 1) == 0) {
		timer_switch(true, &old);
		r = dump_stopped();
	}
	timer_switch(false, &old);
	let_all_go();
	munmap(tracer.dump, sizeof(*tracer.dump));
	closep(&tracer.pages_fd);
	if (r == 0) {
		ret_fds[0] = tracer.memory_fd;
		ret_fds[1] = tracer.maps_fd;
	} else {
		closep(&tracer.memory_fd);
		closep(&tracer.maps_fd);
	}
	return r;
}
