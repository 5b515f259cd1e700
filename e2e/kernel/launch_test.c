/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher as a container sees it: build/afterglow-launch on the kernel we
 * run on, with a fake sidecar at the other end of its socket.
 *
 * AFTERGLOW_BUILD (default "build") names the directory of the programs,
 * AFTERGLOW_LAUNCH a launcher that is not the static one (one with sanitizers,
 * say), AFTERGLOW_TEST a pattern that the tests' names have to match.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/macros.h"
#include "sidecar/launch/protocol.h"

/* Generous: the machine may be slow and busy. What has to be quick is asserted against the clock. */
#define PATIENCE_MS 60000
#define OUTPUT_MAX 32768
#define ARGS_MAX 40
#define TIMED_OUT (-1000)

/* AFTERGLOW_LAUNCH: linked with glibc, which keeps signals 32 and 33 to itself and needs descriptors to load. */
static bool launcher_is_dynamic;
static char launcher[PATH_MAX], probe[PATH_MAX], directory[64], socket_path[128];

/* A process under test: the launcher, or the bare command to compare it with. */
struct process {
	pid_t pid;
	int pidfd;
	int in, out, err; /* our ends of its pipes */
};

/* How a process is started; all zero is the usual way. */
struct how {
	bool pid1; /* in a PID namespace of its own */
	bool termination_log; /* with a /dev that has a termination-log */
	bool bare; /* the command itself, no launcher */
	void (*prepare)(void); /* in the child, before exec */
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* Starting and ending */

/* A mount namespace whose /dev holds null and termination-log, as the kubelet makes it. */
static void private_dev(void)
{
	char dev[sizeof(directory) + 8], path[sizeof(dev) + 32];
	int fd;

	snprintf(dev, sizeof(dev), "%s/dev", directory);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    (mkdir(dev, 0755) < 0 && errno != EEXIST) || mount("tmpfs", dev, "tmpfs", 0, NULL) < 0)
		_exit(120);
	snprintf(path, sizeof(path), "%s/null", dev);
	if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) < 0)
		_exit(121);
	snprintf(path, sizeof(path), "%s/termination-log", dev);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || close(fd) < 0 || mount(dev, "/dev", NULL, MS_BIND, NULL) < 0)
		_exit(122);
}

_Noreturn static void become(const struct how *how, const int fds[3], char **argv)
{
	const struct rlimit no_core = { 0, 0 };
	const uint64_t by_default[4] = { 0 }, none = 0; /* as the kernel lays out its sigaction and sigset */

	/*
	 * Our parents' tastes must not reach the launcher. By raw system call: glibc does not touch 32
	 * and 33, and its posix_spawn (make uses it) leaves them ignored.
	 */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	for (int i = 1; i <= 64; i++)
		syscall(SYS_rt_sigaction, i, by_default, NULL, sizeof(none));
	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
	if (how->termination_log)
		private_dev();
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			_exit(123);
	if (syscall(SYS_close_range, 3, ~0U, 0) < 0)
		_exit(124);
	if (how->prepare)
		how->prepare();
	execv(argv[0], argv);
	_exit(125);
}

static struct process start_argv(const struct how *how, char **argv)
{
	int in[2], out[2], err[2];
	struct process p = { 0 };

	assert_return_code(pipe2(in, O_CLOEXEC), errno);
	assert_return_code(pipe2(out, O_CLOEXEC), errno);
	assert_return_code(pipe2(err, O_CLOEXEC), errno);
	fflush(NULL);
	p.pid = (pid_t)syscall(SYS_clone, SIGCHLD | (how->pid1 ? CLONE_NEWPID : 0), NULL, NULL, NULL, NULL);
	if (p.pid == 0)
		become(how, (const int[]){ in[0], out[1], err[1] }, argv);
	assert_return_code(p.pid, errno);
	p.pidfd = (int)syscall(SYS_pidfd_open, p.pid, 0);
	assert_return_code(p.pidfd, errno);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	p.in = in[1];
	p.out = out[0];
	p.err = err[0];
	return p;
}

/* start(how, OPTION..., "--", COMMAND, ARG..., NULL): the launcher with our socket and those arguments. */
static struct process start(const struct how *how, ...)
{
	char *argv[ARGS_MAX] = { launcher, (char *)"--socket", socket_path };
	size_t n = 3;
	va_list ap;

	va_start(ap, how);
	while ((argv[n] = va_arg(ap, char *)))
		assert_true(++n < ARGS_MAX);
	va_end(ap);
	for (size_t i = 0; how->bare && argv[i]; i++)
		if (strcmp(argv[i], "--") == 0)
			return start_argv(how, argv + i + 1);
	return start_argv(how, argv);
}

static const struct how usual = { 0 }, as_pid1 = { .pid1 = true };

static void release(struct process *p)
{
	close(p->pidfd);
	if (p->in >= 0)
		close(p->in);
	close(p->out);
	close(p->err);
}

/* Its exit code, -N after signal N, TIMED_OUT (and it is gone) when it takes too long. */
static int finish_within(struct process *p, int ms)
{
	struct pollfd ended = { .fd = p->pidfd, .events = POLLIN };
	bool late = poll(&ended, 1, ms) != 1;
	int status;

	if (late)
		kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	release(p);
	if (late)
		return TIMED_OUT;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int finish(struct process *p)
{
	return finish_within(p, PATIENCE_MS);
}

/* What comes through fd until its end, or until it ends in `until`. */
static const char *read_text(int fd, const char *until)
{
	static char text[OUTPUT_MAX];
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t len = 0;

	text[0] = '\0';
	while (len + 1 < sizeof(text)) {
		ssize_t n;

		if (poll(&ready, 1, PATIENCE_MS) != 1)
			fail_msg("no more output after \"%s\"", text);
		n = read(fd, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
		text[len] = '\0';
		if (until && len >= strlen(until) && strcmp(text + len - strlen(until), until) == 0)
			break;
	}
	return text;
}

static void close_input(struct process *p)
{
	close(p->in);
	p->in = -1;
}

/* The fake sidecar */

struct hello {
	char fds[8], name[80];
	int version, launcher_pid, command_pid;
	long long start_ns;
	int fd[LAUNCH_FDS_MAX];
	int n_fds;
};

static int listen_as_sidecar(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	unlink(socket_path);
	assert_return_code(bind(fd, (struct sockaddr *)&address, sizeof(address)), errno);
	assert_return_code(listen(fd, 4), errno);
	return fd;
}

static void stop_listening(int listener)
{
	close(listener);
	unlink(socket_path);
}

static int accept_launcher(int listener)
{
	struct pollfd ready = { .fd = listener, .events = POLLIN };

	assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

/* One message and its descriptors; 0 at the end of the connection. */
static ssize_t receive(int fd, char text[static LAUNCH_MESSAGE_MAX + 1], int *fds, int *ret_n_fds)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = text, .iov_len = LAUNCH_MESSAGE_MAX };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct cmsghdr *rights;
	ssize_t len;

	assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
	len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (len < 0)
		fail_msg("recvmsg: %s", strerror(errno));
	assert_false(message.msg_flags & (MSG_CTRUNC | MSG_TRUNC));
	text[len] = '\0';
	rights = CMSG_FIRSTHDR(&message);
	*ret_n_fds = 0;
	if (rights) {
		*ret_n_fds = (int)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		assert_in_range(*ret_n_fds, 1, LAUNCH_FDS_MAX);
		memcpy(fds, CMSG_DATA(rights), (size_t)*ret_n_fds * sizeof(int));
	}
	return len;
}

static void forget_hello(struct hello *h)
{
	while (h->n_fds > 0)
		close(h->fd[--h->n_fds]);
}

static struct hello receive_hello(int fd)
{
	char text[LAUNCH_MESSAGE_MAX + 1];
	struct hello h = { 0 };
	int end = 0;

	assert_true(receive(fd, text, h.fd, &h.n_fds) > 0);
	/* Where the launcher sees its own cgroup alone. */
	if (strncmp(text, "cgroup ", 7) == 0) {
		forget_hello(&h);
		assert_true(receive(fd, text, h.fd, &h.n_fds) > 0);
	}
	sscanf(text, "hello %d %7s %79s %d %d %lld%n", &h.version, h.fds, h.name, &h.launcher_pid,
	       &h.command_pid, &h.start_ns, &end);
	assert_int_equal(end, strlen(text));
	assert_int_equal(strlen(h.fds), h.n_fds);
	return h;
}

static int accept_and_greet(int listener)
{
	int fd = accept_launcher(listener);
	struct hello h = receive_hello(fd);

	forget_hello(&h);
	return fd;
}

static void order(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The next message; valid until the next call. */
static const char *receive_text(int fd)
{
	static char text[LAUNCH_MESSAGE_MAX + 1];
	int fds[8], n_fds;

	receive(fd, text, fds, &n_fds);
	assert_int_equal(n_fds, 0);
	return text;
}

/* The wait status in the next message, which has to be "exit", but for "asked" before it. */
static int receive_exit(int fd)
{
	char text[LAUNCH_MESSAGE_MAX + 1];
	int fds[LAUNCH_FDS_MAX], n_fds, status = -1, end = 0;
	long long ended_ns = 0;

	do {
		assert_true(receive(fd, text, fds, &n_fds) > 0);
		assert_int_equal(n_fds, 0);
	} while (strncmp(text, "asked ", 6) == 0);
	sscanf(text, "exit %d %lld%n", &status, &ended_ns, &end);
	assert_int_equal(end, strlen(text));
	assert_true(ended_ns > 0);
	return status;
}

/* Results */

static const char *decimal(int n)
{
	static char text[12];

	snprintf(text, sizeof(text), "%d", n);
	return text;
}

static void expect_every_exit_code(const struct how *how, int step)
{
	for (int code = 0; code <= 255; code += step) {
		struct process p = start(how, "--", probe, "exit", decimal(code), NULL);

		assert_int_equal(finish(&p), code);
	}
}

static void every_exit_code_from_0_to_255_passes_through(void **state)
{
	(void)state;
	expect_every_exit_code(&usual, 1);
	expect_every_exit_code(&as_pid1, 15);
}

static bool stops_a_process(int signo)
{
	return signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU;
}

static bool is_ignored_by_default(int signo)
{
	return signo == SIGCHLD || signo == SIGCONT || signo == SIGURG || signo == SIGWINCH;
}

static void death_by_any_signal_gives_128_plus_its_number(void **state)
{
	(void)state;
	for (int signo = 1; signo <= 64; signo++) {
		struct process p;

		if (stops_a_process(signo))
			continue;
		p = start(&usual, "--", probe, "signal", decimal(signo), NULL);
		assert_int_equal(finish(&p), is_ignored_by_default(signo) ? 99 : 128 + signo);
	}
}

static void faults_of_the_processor_give_128_plus_their_signal(void **state)
{
	static const struct {
		const char *kind;
		int signo;
	} rows[] = {
		{ "segv", SIGSEGV },
		{ "ill", SIGILL },
		{ "trap", SIGTRAP },
		{ "bus", SIGBUS },
#if !defined(__aarch64__) /* where a division by zero is no fault */
		{ "fpe", SIGFPE },
#endif
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct process p = start(&usual, "--", probe, "fault", rows[i].kind, NULL);

		assert_int_equal(finish(&p), 128 + rows[i].signo);
		p = start(&as_pid1, "--", probe, "fault", rows[i].kind, NULL);
		assert_int_equal(finish(&p), 128 + rows[i].signo);
	}
}

static void close_stderr(void)
{
	close(STDERR_FILENO);
}

static void a_command_that_does_not_exist_gives_127(void **state)
{
	const struct how mute = { .prepare = close_stderr };
	struct process p = start(&usual, "--", "/no/such/command", NULL);

	(void)state;
	assert_non_null(strstr(read_text(p.err, NULL), "/no/such/command: No such file"));
	assert_int_equal(finish(&p), 127);
	p = start(&usual, "--", "no-such-command-on-the-path", NULL);
	assert_int_equal(finish(&p), 127);
	/* Also when the reason cannot be said. */
	p = start(&mute, "--", "/no/such/command", NULL);
	assert_int_equal(finish(&p), 127);
}

static void a_command_that_cannot_be_executed_gives_126(void **state)
{
	char path[sizeof(directory) + 16];
	struct process p;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/text", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_return_code(fd, errno);
	close(fd);
	p = start(&usual, "--", path, NULL);
	assert_non_null(strstr(read_text(p.err, NULL), "Permission denied"));
	assert_int_equal(finish(&p), 126);
	p = start(&usual, "--", "/", NULL);
	assert_int_equal(finish(&p), 126);
	unlink(path);
}

static void a_wrong_option_gives_2_and_says_which(void **state)
{
	static const char *const rows[][3] = {
		{ "--nofile", "-1", "whole number" },
		{ "--nofile", "12x", "12x" },
		{ "--nofile", "99999999999999999999", "whole number" },
		{ "--oom-score-adj", "1001", "-1000 to 1000" },
		{ "--oom-score-adj", "", "whole number" },
		{ "--wait-tcp", "nocolon", "HOST:PORT" },
		{ "--wait-sidecar", "0", "1 to 3600" },
		{ "--wait-sidecar", "3601", "1 to 3600" },
		{ "--name", "two words", "two words" },
		{ "--name", "", "name" },
		{ "--colour", "red", "--colour" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct process p = start(&usual, rows[i][0], rows[i][1], "--", probe, "exit", "0", NULL);

		assert_non_null(strstr(read_text(p.err, NULL), rows[i][2]));
		assert_int_equal(finish(&p), 2);
	}
}

/* Signals on their way in */

static void expect_all_signals_forwarded(const struct how *how)
{
	struct process p = start(how, "--", probe, "record", "64", NULL);

	read_text(p.out, "ready\n");
	/* One after the other: among pending signals, one that stops takes away SIGCONT. */
	for (int signo = 1; signo <= 64; signo++) {
		char line[8];

		if (signo == SIGKILL || signo == SIGSTOP || signo == SIGCHLD)
			continue;
		if (launcher_is_dynamic && (signo == 32 || signo == 33))
			continue;
		snprintf(line, sizeof(line), "%d\n", signo);
		assert_return_code(syscall(SYS_kill, p.pid, signo), errno);
		assert_string_equal(read_text(p.out, "\n"), line);
	}
	assert_int_equal(finish(&p), 0);
}

static void every_signal_that_can_be_caught_is_forwarded(void **state)
{
	(void)state;
	expect_all_signals_forwarded(&usual);
}

static void every_signal_that_can_be_caught_is_forwarded_by_pid_1(void **state)
{
	(void)state;
	expect_all_signals_forwarded(&as_pid1);
}

static void sigterm_to_pid_1_ends_the_command_with_143(void **state)
{
	struct process p = start(&as_pid1, "--", probe, "orphans", "0", NULL);

	(void)state;
	read_text(p.out, "ready\n");
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 143);
}

/* The sender's PID in the next message, which has to be "asked". */
static int receive_asked(int fd, int signo)
{
	char text[LAUNCH_MESSAGE_MAX + 1];
	int fds[LAUNCH_FDS_MAX], n_fds, reported = 0, sender = -1, end = 0;
	long long at_ns = 0;

	assert_true(receive(fd, text, fds, &n_fds) > 0);
	sscanf(text, "asked %d %d %lld%n", &reported, &sender, &at_ns, &end);
	assert_int_equal(end, strlen(text));
	assert_int_equal(reported, signo);
	assert_true(at_ns > 0);
	return sender;
}

static void a_sidecar_hears_that_the_container_was_asked_to_stop_from_outside(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&as_pid1, "--", "sh", "-c", "trap '' TERM INT; kill $PPID; echo ready; read line; exit 3", NULL);

	(void)state;
	connection = accept_and_greet(listener);
	read_text(p.out, "ready\n");
	/* The shell is the first child of PID 1. */
	assert_int_equal(receive_asked(connection, SIGTERM), 2);
	kill(p.pid, SIGINT);
	assert_int_equal(receive_asked(connection, SIGINT), 0);
	/* A sidecar that comes later hears of it, too. */
	close(connection);
	connection = accept_and_greet(listener);
	assert_int_equal(receive_asked(connection, SIGINT), 0);
	close_input(&p);
	assert_int_equal(receive_exit(connection), 3 << 8);
	order(connection, "done");
	assert_int_equal(finish(&p), 3);
	close(connection);
	stop_listening(listener);
}

/* The value of a line of /proc/PID/status, as text; "" when there is none. */
static const char *status_of(pid_t pid, const char *key)
{
	static char text[4096];
	char path[64], *found;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	closep(&fd);
	text[MAX(len, 0)] = '\0';
	found = strstr(text, key);
	if (!found)
		return "";
	found += strlen(key);
	found[strcspn(found, "\n")] = '\0';
	return found;
}

/* Until it has blocked them, the kernel drops the signals of a PID 1: nothing can be done there. */
static void wait_for_blocked_signals(const struct process *p)
{
	const char *all_blocked = launcher_is_dynamic ? "fffffffe7ffbfeff" : "fffffffffffbfeff";
	int64_t until = now_ms() + PATIENCE_MS;

	while (strcmp(status_of(p->pid, "SigBlk:\t"), all_blocked) != 0 && now_ms() < until)
		sched_yield();
}

static void sigterm_at_any_moment_after_the_first_still_ends_the_command(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		struct process p = start(&as_pid1, "--", probe, "sleep", "15000", NULL);

		wait_for_blocked_signals(&p);
		usleep((useconds_t)(i * 10));
		kill(p.pid, SIGTERM);
		assert_int_equal(finish(&p), 143);
	}
}

/* Blocked and ignored at the start: what a shell's trap '' or a careless parent leaves behind. */
static void ignore_sigchld(void)
{
	signal(SIGCHLD, SIG_IGN);
}

static void ignore_and_block_much(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_IGN);
}

static void block_usr2_and_ignore_pipe(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void ignored_and_blocked_signals_at_the_start_do_not_change_the_result(void **state)
{
	static void (*const rows[])(void) = { ignore_sigchld, ignore_and_block_much };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct how how = { .prepare = rows[i] }, pid1 = { .prepare = rows[i], .pid1 = true };
		struct process p = start(&how, "--", probe, "exit", "3", NULL);

		assert_int_equal(finish(&p), 3);
		p = start(&pid1, "--", probe, "signal", "9", NULL);
		assert_int_equal(finish(&p), 137);
	}
}

static void the_command_inherits_the_signal_mask_and_ignored_signals(void **state)
{
	struct how how = { .prepare = block_usr2_and_ignore_pipe };
	char with[OUTPUT_MAX];
	struct process p = start(&how, "--", probe, "status", NULL);

	(void)state;
	snprintf(with, sizeof(with), "%s", read_text(p.out, NULL));
	assert_int_equal(finish(&p), 0);
	how.bare = true;
	p = start(&how, "--", probe, "status", NULL);
	assert_string_equal(read_text(p.out, NULL), with);
	assert_int_equal(finish(&p), 0);
	assert_non_null(strstr(with, "SigBlk:\t0000000000000800"));
}

/* Reaping */

/* How many children pid has, or how many of them are in state Z, by the host's /proc. */
static int children_of(pid_t pid, bool only_zombies)
{
	char path[64], list[4096] = "";
	int fd, n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_return_code(fd, errno);
	assert_return_code(read(fd, list, sizeof(list) - 1), errno);
	close(fd);
	for (char *s = list, *end; *s; s = end) {
		long child = strtol(s, &end, 10);
		char stat[512] = "";

		if (child <= 0 || end == s)
			break;
		snprintf(path, sizeof(path), "/proc/%ld/stat", child);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, stat, sizeof(stat) - 1) > 0 && (!only_zombies || strstr(stat, ") Z ")))
			n++;
		closep(&fd);
	}
	return n;
}

static void expect_orphans_reaped(const struct how *how)
{
	struct process p = start(how, "--", probe, "orphans", "50", NULL);
	int64_t until = now_ms() + PATIENCE_MS;

	read_text(p.out, "ready\n");
	/* Until the command alone is left. */
	while (children_of(p.pid, false) > 1 && now_ms() < until)
		pause_ms(10);
	assert_int_equal(children_of(p.pid, false), 1);
	assert_int_equal(children_of(p.pid, true), 0);
	close_input(&p);
	assert_int_equal(finish(&p), 0);
}

static void orphans_are_reaped_by_pid_1(void **state)
{
	(void)state;
	expect_orphans_reaped(&as_pid1);
}

static void orphans_are_reaped_by_a_launcher_that_is_not_pid_1(void **state)
{
	(void)state;
	expect_orphans_reaped(&usual);
}

/* What the command is given */

static int64_t time_of_a_start(bool bare)
{
	const struct how how = { .bare = bare };
	int64_t begin = now_ms();
	struct process p = start(&how, "--", probe, "exit", "0", NULL);

	assert_int_equal(finish(&p), 0);
	return now_ms() - begin;
}

/*
 * The fastest of each is compared: whatever else the machine does slows some of them down, a wait of
 * ours would slow down all. The shortest wait for a sidecar that anybody would write is a second; on
 * a machine that is short of processors a start takes several time slices.
 */
static void without_a_sidecar_the_command_starts_and_ends_as_fast_as_without_us(void **state)
{
	int64_t bare = INT64_MAX, with = INT64_MAX;

	(void)state;
	for (int i = 0; i < 50; i++) {
		bare = MIN(bare, time_of_a_start(true));
		with = MIN(with, time_of_a_start(false));
	}
	print_message("           the fastest start: %lld ms bare, %lld ms with the launcher\n", (long long)bare,
		      (long long)with);
	assert_true(with < 2 * bare + 500);
}

static void arguments_pass_unchanged(void **state)
{
	struct process p = start(&usual, "--name", "ray-worker", "--", probe, "args", "", "a b", "--", "--name",
				 "$HOME", "tab\there", "\xff\xfe", "-x", NULL);

	(void)state;
	assert_string_equal(read_text(p.out, NULL),
			    "<>\n<a b>\n<-->\n<--name>\n<$HOME>\n<tab\there>\n<\xff\xfe>\n<-x>\n");
	assert_int_equal(finish(&p), 0);
}

static void strange_environment(void)
{
	clearenv();
	putenv((char *)"EMPTY=");
	putenv((char *)"TWO=lines\nhere");
	putenv((char *)"A=B=C");
	putenv((char *)"A=twice");
}

static void the_environment_passes_unchanged(void **state)
{
	struct how how = { .prepare = strange_environment };
	char with[OUTPUT_MAX];
	struct process p = start(&how, "--", probe, "env", NULL);

	(void)state;
	snprintf(with, sizeof(with), "%s", read_text(p.out, NULL));
	assert_int_equal(finish(&p), 0);
	how.bare = true;
	p = start(&how, "--", probe, "env", NULL);
	assert_string_equal(read_text(p.out, NULL), with);
	assert_int_equal(finish(&p), 0);
	assert_non_null(strstr(with, "<TWO=lines\nhere>"));
}

static void standard_input_passes_unchanged(void **state)
{
	struct process p = start(&usual, "--", probe, "cat", NULL);

	(void)state;
	assert_int_equal(write(p.in, "one\0two\n", 8), 8);
	close_input(&p);
	assert_memory_equal(read_text(p.out, NULL), "one\0two\n", 8);
	assert_int_equal(finish(&p), 0);
}

static void open_7_and_9(void)
{
	dup2(0, 7);
	dup2(1, 9);
}

static void inherited_descriptors_pass_and_no_other_leaks_into_the_command(void **state)
{
	const struct how how = { .prepare = open_7_and_9 };
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&how, "--", probe, "fds", NULL);

	(void)state;
	connection = accept_and_greet(listener);
	receive_exit(connection);
	order(connection, "done");
	assert_string_equal(read_text(p.out, NULL), "0 1 2 7 9 ");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void close_the_standard_descriptors(void)
{
	close(0);
	close(2);
}

static void closed_standard_descriptors_stay_closed_for_the_command(void **state)
{
	struct how how = { .prepare = close_the_standard_descriptors };
	struct process p = start(&how, "--", probe, "fds", NULL);

	(void)state;
	assert_string_equal(read_text(p.out, NULL), "1 ");
	assert_int_equal(finish(&p), 0);
}

static void low_nofile(void)
{
	const struct rlimit limit = { 64, 512 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

static void nofile_raises_the_soft_limit_up_to_the_hard_one(void **state)
{
	static const struct {
		const char *wanted, *limits;
	} rows[] = { { "256", "256 512\n" }, { "65536", "512 512\n" }, { "10", "64 512\n" } };
	const struct how how = { .prepare = low_nofile };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct process p = start(&how, "--nofile", rows[i].wanted, "--", probe, "nofile", NULL);

		assert_string_equal(read_text(p.out, NULL), rows[i].limits);
		assert_int_equal(finish(&p), 0);
	}
}

/* --wait-tcp */

static int loopback_socket(struct sockaddr_in *address)
{
	socklen_t len = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_return_code(bind(fd, (struct sockaddr *)address, len), errno);
	assert_return_code(getsockname(fd, (struct sockaddr *)address, &len), errno);
	return fd;
}

static void wait_tcp_starts_the_command_when_the_port_accepts(void **state)
{
	struct sockaddr_in address;
	int fd = loopback_socket(&address);
	struct pollfd out;
	char target[32];
	struct process p;

	(void)state;
	snprintf(target, sizeof(target), "127.0.0.1:%d", ntohs(address.sin_port));
	p = start(&usual, "--wait-tcp", target, "--", probe, "args", "here", NULL);
	out = (struct pollfd){ .fd = p.out, .events = POLLIN };
	assert_int_equal(poll(&out, 1, 1300), 0);
	assert_return_code(listen(fd, 4), errno);
	assert_string_equal(read_text(p.out, NULL), "<here>\n");
	assert_int_equal(finish(&p), 0);
	close(fd);
}

static void sigterm_ends_a_wait_for_a_port(void **state)
{
	struct process p = start(&as_pid1, "--wait-tcp", "127.0.0.1:1", "--", probe, "exit", "0", NULL);
	int64_t begin;

	(void)state;
	wait_for_blocked_signals(&p);
	pause_ms(300); /* somewhere in its wait */
	begin = now_ms();
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 143);
	assert_true(now_ms() - begin < 30000);
}

/* The sidecar's side */

static void hello_brings_the_root_the_termination_log_and_a_pidfd(void **state)
{
	const struct how how = { .termination_log = true };
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&how, "--name", "ray-worker", "--", probe, "orphans", "0", NULL);
	struct stat root, other;
	struct pollfd ended;
	struct hello h;

	(void)state;
	connection = accept_launcher(listener);
	h = receive_hello(connection);
	assert_int_equal(h.version, LAUNCH_PROTOCOL_VERSION);
	assert_string_equal(h.name, "ray-worker");
	assert_string_equal(h.fds, "rtp");
	assert_int_equal(h.launcher_pid, p.pid);
	assert_true(h.command_pid > 0 && h.command_pid != p.pid);
	assert_true(h.start_ns > 0);

	assert_true(fcntl(h.fd[0], F_GETFL) & O_PATH);
	assert_return_code(fstat(h.fd[0], &root), errno);
	assert_return_code(stat("/", &other), errno);
	assert_int_equal(root.st_ino, other.st_ino);
	assert_int_equal(pwrite(h.fd[1], "text", 4, 0), 4);
	assert_return_code(fstatat(h.fd[0], "dev/termination-log", &other, 0), errno);
	assert_int_equal(other.st_size, 4);

	ended = (struct pollfd){ .fd = h.fd[2], .events = POLLIN };
	assert_int_equal(poll(&ended, 1, 0), 0);
	close_input(&p);
	assert_int_equal(receive_exit(connection), 0);
	order(connection, "done");
	assert_int_equal(poll(&ended, 1, PATIENCE_MS), 1);
	assert_int_equal(finish(&p), 0);
	forget_hello(&h);
	close(connection);
	stop_listening(listener);
}

static void hello_from_pid_1_carries_the_pids_of_its_namespace(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&as_pid1, "--", probe, "sleep", "100", NULL);
	struct hello h;

	(void)state;
	connection = accept_launcher(listener);
	h = receive_hello(connection);
	assert_int_equal(h.launcher_pid, 1);
	assert_int_equal(h.command_pid, 2);
	assert_string_equal(h.name, "main");
	assert_int_equal(receive_exit(connection), 0);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	forget_hello(&h);
	close(connection);
	stop_listening(listener);
}

static void be_traced(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(115);
}

/* Keeps the traced launcher from its first connect(2) for ms, as a busy machine may. */
static void hold_at_connect(pid_t pid, long ms)
{
	struct __ptrace_syscall_info info;
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	do {
		assert_return_code(ptrace(PTRACE_SYSCALL, pid, NULL, 0), errno);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
		ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
	} while (info.op != PTRACE_SYSCALL_INFO_ENTRY || info.entry.nr != SYS_connect);
	pause_ms(ms);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static bool said_hello(int listener)
{
	struct pollfd ready = { .fd = listener, .events = POLLIN };
	char text[LAUNCH_MESSAGE_MAX] = "";
	int fd;

	if (poll(&ready, 1, 0) != 1)
		return false;
	fd = accept(listener, NULL, NULL);
	if (recv(fd, text, sizeof(text), 0) <= 0)
		text[0] = '\0';
	close(fd);
	return strncmp(text, "hello ", 6) == 0;
}

static void hello_is_sent_before_the_command_can_kill_its_launcher(void **state)
{
	const struct how how = { .prepare = be_traced };
	int listener = listen_as_sidecar(), n_hellos = 0;
	(void)state;

	/* Several times, as this machine may be so busy that the command is not kept waiting any longer. */
	for (int i = 0; i < 4; i++) {
		struct process p = start(&how, "--", "/bin/sh", "-c", "kill -9 $PPID", NULL);

		hold_at_connect(p.pid, 20);
		assert_int_equal(finish(&p), -SIGKILL);
		n_hellos += said_hello(listener);
	}
	assert_true(n_hellos > 0);
	stop_listening(listener);
}

/* The child of the launcher that looks for cores; not its command, which has another name by now. */
static pid_t look_for_core_watch(pid_t launcher_pid)
{
	char path[64], list[256] = "", comm[32];
	pid_t found = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", launcher_pid, launcher_pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_return_code(fd, errno);
	assert_return_code(read(fd, list, sizeof(list) - 1), errno);
	close(fd);
	for (char *s = list, *end; !found && *s; s = end) {
		long child = strtol(s, &end, 10);

		if (child <= 0 || end == s)
			break;
		snprintf(path, sizeof(path), "/proc/%ld/comm", child);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, comm, sizeof(comm)) > 0 && strncmp(comm, "afterglow", 9) == 0)
			found = (pid_t)child;
		closep(&fd);
	}
	return found;
}

/* The command may run before it is there. */
static pid_t find_core_watch(pid_t launcher_pid)
{
	int64_t until = now_ms() + PATIENCE_MS;
	pid_t found;

	while ((found = look_for_core_watch(launcher_pid)) == 0 && now_ms() < until)
		pause_ms(10);
	assert_true(found > 0);
	return found;
}

/* The next system call that a traced process begins. */
static struct __ptrace_syscall_info next_call(pid_t pid)
{
	struct __ptrace_syscall_info info;
	int status;

	do {
		assert_return_code(ptrace(PTRACE_SYSCALL, pid, NULL, 0), errno);
		assert_int_equal(waitpid(pid, &status, __WALL), pid);
		assert_true(WIFSTOPPED(status));
		ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
	} while (info.op != PTRACE_SYSCALL_INFO_ENTRY);
	return info;
}

static bool is_any_of(const struct __ptrace_syscall_info *call, const long *list)
{
	while (*list >= 0 && *list != (long)call->entry.nr)
		list++;
	return *list >= 0;
}

static const long opening[] = { SYS_openat,
#ifdef SYS_open
				SYS_open,
#endif
				-1 };
static const long polling[] = { SYS_ppoll,
#ifdef SYS_poll
				SYS_poll,
#endif
				-1 };

/* In a full container each open(2) may cost a process its life. */
static void a_look_for_new_processes_opens_no_file(void **state)
{
	struct process p = start(&as_pid1, "--cores", "--", probe, "orphans", "0", NULL);
	int64_t until = now_ms() + PATIENCE_MS;
	bool opened = true; /* a look that had begun before */
	int n_quiet = 0, status;
	pid_t watch;

	(void)state;
	read_text(p.out, "ready\n");
	watch = find_core_watch(p.pid);
	assert_return_code(ptrace(PTRACE_SEIZE, watch, NULL, PTRACE_O_TRACESYSGOOD), errno);
	assert_return_code(ptrace(PTRACE_INTERRUPT, watch, NULL, NULL), errno);
	assert_int_equal(waitpid(watch, &status, __WALL), watch);
	/* Every two seconds it reads the core pattern anew: so not each of them. */
	while (n_quiet < 3 && now_ms() < until) {
		const struct __ptrace_syscall_info call = next_call(watch);

		if (is_any_of(&call, opening))
			opened = true;
		/* Between two looks it waits for orders and for new files; within one it may wait for less. */
		if (!is_any_of(&call, polling) || call.entry.args[1] != 2)
			continue;
		n_quiet += !opened;
		opened = false;
	}
	ptrace(PTRACE_DETACH, watch, NULL, NULL);
	assert_int_equal(n_quiet, 3);
	close_input(&p);
	assert_int_equal(finish(&p), 0);
}

static void put_socket_at_5(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || dup2(fd, 5) < 0)
		_exit(114);
	if (fd != 5)
		close(fd);
	unlink(socket_path);
}

static void a_connection_that_was_made_for_it_is_used_and_the_command_does_not_get_it(void **state)
{
	const struct how how = { .prepare = put_socket_at_5 };
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&how, "--socket-fd", "5", "--", probe, "fds", NULL);
	(void)state;

	connection = accept_and_greet(listener);
	assert_int_equal(receive_exit(connection), 0);
	order(connection, "done");
	assert_string_equal(read_text(p.out, NULL), "0 1 2 ");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void a_sidecar_that_comes_late_is_found(void **state)
{
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);
	int listener, connection;

	(void)state;
	read_text(p.out, "ready\n");
	pause_ms(500);
	listener = listen_as_sidecar();
	connection = accept_and_greet(listener);
	close_input(&p);
	assert_int_equal(receive_exit(connection), 0);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void a_command_that_failed_before_its_sidecar_came_is_reported(void **state)
{
	struct process p = start(&usual, "--wait-sidecar", "60", "--", probe, "exit", "7", NULL);
	int listener, connection;

	(void)state;
	pause_ms(700);
	listener = listen_as_sidecar();
	connection = accept_and_greet(listener);
	assert_int_equal(receive_exit(connection), 7 << 8);
	order(connection, "done");
	assert_int_equal(finish(&p), 7);
	close(connection);
	stop_listening(listener);
}

static void the_wait_for_a_sidecar_that_never_comes_ends_in_time(void **state)
{
	int64_t begin = now_ms();
	struct process p = start(&usual, "--wait-sidecar", "2", "--", probe, "exit", "7", NULL);

	(void)state;
	assert_int_equal(finish(&p), 7);
	assert_in_range(now_ms() - begin, 1900, 30000);
}

static void sigterm_ends_the_wait_for_a_sidecar(void **state)
{
	struct process p = start(&usual, "--wait-sidecar", "3600", "--", "/bin/sh", "-c", "echo ready; read line; exit 7", NULL);
	int64_t until = now_ms() + PATIENCE_MS;

	(void)state;
	read_text(p.out, "ready\n");
	close_input(&p);
	/* Before it is reaped SIGTERM would be the command's. */
	while (children_of(p.pid, false) > 0 && now_ms() < until)
		pause_ms(1);
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 7);
}

static void success_is_not_waited_for(void **state)
{
	struct process p = start(&usual, "--wait-sidecar", "3600", "--", probe, "exit", "0", NULL);

	(void)state;
	assert_int_equal(finish(&p), 0);
}

/* blind: the launcher sees the command's end before that of the sidecar. */
static void expect_report_after_restart(bool blind)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--wait-sidecar", "3600", "--", "/bin/sh", "-c",
				 "read line; exit 9", NULL);
	int64_t until = now_ms() + PATIENCE_MS;

	connection = accept_and_greet(listener);
	stop_listening(listener);
	if (blind)
		kill(p.pid, SIGSTOP);
	else
		close(connection);
	close_input(&p);
	while (children_of(p.pid, false) > children_of(p.pid, true) && now_ms() < until)
		pause_ms(1);
	if (blind)
		close(connection);
	kill(p.pid, SIGCONT);
	while (children_of(p.pid, false) > 0 && now_ms() < until)
		pause_ms(1);
	listener = listen_as_sidecar();
	connection = accept_and_greet(listener);
	assert_int_equal(receive_exit(connection), 9 << 8);
	order(connection, "done");
	assert_int_equal(finish(&p), 9);
	close(connection);
	stop_listening(listener);
}

static void a_command_that_failed_while_its_sidecar_was_restarted_is_reported(void **state)
{
	(void)state;
	expect_report_after_restart(false);
}

static void so_is_a_command_that_the_launcher_sees_end_before_the_sidecar(void **state)
{
	(void)state;
	expect_report_after_restart(true);
}

static void a_sidecar_that_vanishes_is_looked_for_again(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);

	(void)state;
	for (int i = 0; i < 3; i++) {
		connection = accept_and_greet(listener);
		close(connection);
	}
	stop_listening(listener);
	pause_ms(500);
	listener = listen_as_sidecar();
	connection = accept_and_greet(listener);
	stop_listening(listener);
	close(connection);
	close_input(&p);
	assert_int_equal(finish(&p), 0);
}

static void a_sidecar_that_vanishes_after_the_end_does_not_hold_the_container(void **state)
{
	int64_t took = INT64_MAX;

	(void)state;
	/* Less than the two seconds that it would linger: on a machine that is busy for a moment the next is quicker. */
	for (int i = 0; i < 10 && took >= 1000; i++) {
		int listener = listen_as_sidecar(), connection;
		struct process p = start(&usual, "--", probe, "exit", "5", NULL);
		int64_t begin;

		connection = accept_and_greet(listener);
		receive_exit(connection);
		begin = now_ms();
		close(connection);
		assert_int_equal(finish(&p), 5);
		took = now_ms() - begin;
		stop_listening(listener);
	}
	assert_true(took < 1000);
}

static void the_wait_status_reaches_the_sidecar_raw(void **state)
{
	static const struct {
		const char *deed, *arg;
		int status, code;
	} rows[] = {
		{ "exit", "0", 0, 0 },
		{ "exit", "137", 137 << 8, 137 },
		{ "signal", "9", 9, 137 },
		{ "signal", "15", 15, 143 },
		{ "fault", "segv", 11, 139 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int listener = listen_as_sidecar(), connection;
		struct process p = start(&usual, "--", probe, rows[i].deed, rows[i].arg, NULL);

		connection = accept_and_greet(listener);
		assert_int_equal(receive_exit(connection), rows[i].status);
		order(connection, "done");
		assert_int_equal(finish(&p), rows[i].code);
		close(connection);
		stop_listening(listener);
	}
}

/* Puts a script into the tests' directory, which is on the PATH then. */
static void write_script(const char *name, const char *text, mode_t mode)
{
	char path[sizeof(directory) + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	assert_return_code(fd, errno);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void remove_script(const char *name)
{
	char path[sizeof(directory) + 32];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
}

static void search_the_directory(void)
{
	setenv("PATH", directory, 1);
}

static void why_a_command_was_never_executed_reaches_the_sidecar(void **state)
{
	static const struct {
		const char *command, *message; /* NULL: none but exit */
		int status;
	} rows[] = {
		{ "/no/such/command", "unstarted 2 0 /no/such/command", 127 << 8 },
		{ "no-such-command", "unstarted 2 0 no-such-command", 127 << 8 },
		{ "/", "unstarted 13 1 /", 126 << 8 },
		{ "", "unstarted 2 0 ", 127 << 8 },
		{ "a b\nc", "unstarted 2 0 a b\nc", 127 << 8 },
		/* The file is there, what it names is not. */
		{ "without-interpreter", "unstarted 2 1 without-interpreter", 127 << 8 },
		{ "not-executable", "unstarted 13 1 not-executable", 126 << 8 },
		{ "ends-with-127", NULL, 127 << 8 },
	};
	const struct how on_path = { .prepare = search_the_directory };

	(void)state;
	write_script("without-interpreter", "#!/no/such/interpreter\n", 0755);
	write_script("not-executable", "#!/bin/sh\n", 0644);
	write_script("ends-with-127", "#!/bin/sh\nexec /no/such/command\n", 0755);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int listener = listen_as_sidecar(), connection, fds[LAUNCH_FDS_MAX], n_fds;
		struct process p = start(&on_path, "--", rows[i].command, NULL);
		char text[LAUNCH_MESSAGE_MAX + 1];

		connection = accept_and_greet(listener);
		if (rows[i].message) {
			assert_true(receive(connection, text, fds, &n_fds) > 0);
			assert_string_equal(text, rows[i].message);
		}
		assert_int_equal(receive_exit(connection), rows[i].status);
		order(connection, "done");
		assert_int_equal(finish(&p), WEXITSTATUS(rows[i].status));
		close(connection);
		stop_listening(listener);
	}
	remove_script("without-interpreter");
	remove_script("not-executable");
	remove_script("ends-with-127");
}

static void a_long_command_that_cannot_be_executed_is_cut(void **state)
{
	int listener = listen_as_sidecar(), connection, fds[LAUNCH_FDS_MAX], n_fds;
	char name[LAUNCH_COMMAND_MAX * 2], text[LAUNCH_MESSAGE_MAX + 1];
	struct process p;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	p = start(&usual, "--", name, NULL);
	connection = accept_and_greet(listener);
	assert_int_equal(receive(connection, text, fds, &n_fds), strlen("unstarted 36 0 ") + LAUNCH_COMMAND_MAX);
	assert_int_equal(receive_exit(connection), 126 << 8);
	order(connection, "done");
	assert_int_equal(finish(&p), 126);
	close(connection);
	stop_listening(listener);
}

static void without_done_the_container_lingers_two_seconds(void **state)
{
	int listener = listen_as_sidecar(), connection;
	int64_t begin = now_ms(); /* before it: when it told the end, and we learn of it, is not the same moment */
	struct process p = start(&usual, "--", probe, "exit", "6", NULL);

	(void)state;
	connection = accept_and_greet(listener);
	receive_exit(connection);
	assert_int_equal(finish(&p), 6);
	assert_in_range(now_ms() - begin, 1900, 30000);
	close(connection);
	stop_listening(listener);
}

static void a_full_listen_queue_does_not_hold_the_command(void **state)
{
	int listener = listen_as_sidecar();
	struct process p[8];

	(void)state;
	/* Nobody accepts: the first few connect and wait in the queue, the others find it full. */
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = start(&usual, "--", probe, "exit", "4", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		assert_int_equal(finish_within(&p[i], 20000), 4);
	stop_listening(listener);
}

static void hold_keeps_the_container_and_sigterm_ends_the_hold(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&as_pid1, "--", probe, "exit", "8", NULL);
	struct pollfd ended;
	int64_t begin;

	(void)state;
	connection = accept_and_greet(listener);
	receive_exit(connection);
	order(connection, "hold 60");
	ended = (struct pollfd){ .fd = p.pidfd, .events = POLLIN };
	assert_int_equal(poll(&ended, 1, 3000), 0);
	begin = now_ms();
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 8);
	assert_true(now_ms() - begin < 30000);
	close(connection);
	stop_listening(listener);
}

static void say_prints_its_text_on_the_containers_stderr(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);
	char longest[LAUNCH_MESSAGE_MAX + 1];

	(void)state;
	connection = accept_and_greet(listener);
	order(connection, "say memory is at 95 %\n");
	assert_string_equal(read_text(p.err, "%\n"), "memory is at 95 %\n");
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "say ", 4);
	longest[LAUNCH_MESSAGE_MAX - 1] = '\n';
	longest[LAUNCH_MESSAGE_MAX] = '\0';
	order(connection, longest);
	assert_string_equal(read_text(p.err, "x\n"), longest + 4);
	close_input(&p);
	receive_exit(connection);
	order(connection, "say gone\n");
	order(connection, "done");
	assert_string_equal(read_text(p.err, NULL), "gone\n");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void say_to_a_full_stderr_is_lost_and_the_container_goes_on(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);
	char text[LAUNCH_MESSAGE_MAX + 1] = "say ";

	(void)state;
	connection = accept_and_greet(listener);
	memset(text + 4, 'y', LAUNCH_MESSAGE_MAX - 4);
	for (int i = 0; i < 24; i++) /* a pipe holds 16 */
		order(connection, text);
	close_input(&p);
	assert_int_equal(receive_exit(connection), 0);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void garbage_orders_do_no_harm(void **state)
{
	static const char *const rows[] = { "", "sayx", "say", "kill ", "killall", "hold", "hold ", "hold -5", "done",
					    "hold 99999999999999999999", "DONE", "%s%s%n", "say", " kill" };
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);
	unsigned char noise[LAUNCH_MESSAGE_MAX];
	unsigned seed = 1;

	(void)state;
	connection = accept_and_greet(listener);
	for (int i = 0; i < 200; i++) {
		size_t len = i % 2 ? sizeof(noise) : (size_t)(rand_r(&seed) % 64) + 1;

		for (size_t k = 0; k < len; k++)
			noise[k] = (unsigned char)rand_r(&seed);
		noise[0] |= 0x80; /* no order by chance */
		assert_int_equal(send(connection, noise, len, MSG_NOSIGNAL), len);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* An empty message looks like the end of the connection: it connects anew. */
		if (rows[i][0])
			order(connection, rows[i]);
		else {
			assert_int_equal(send(connection, "", 0, MSG_NOSIGNAL), 0);
			close(connection);
			connection = accept_and_greet(listener);
		}
	}
	/* Longer than a message may be, of any kind. */
	for (int i = 0; i < 4; i++) {
		char big[3 * LAUNCH_MESSAGE_MAX];

		memset(big, "k\0s "[i], sizeof(big));
		assert_true(send(connection, big, sizeof(big), MSG_NOSIGNAL) > 0);
	}
	/* All of it while the command runs: afterwards "done" is no garbage. */
	order(connection, "say still here\n");
	assert_string_equal(read_text(p.err, "\n"), "still here\n");
	close_input(&p);
	assert_int_equal(receive_exit(connection), 0);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void descriptors_sent_to_the_launcher_do_not_stay_open(void **state)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec part = { .iov_base = (char *)"say x", .iov_len = 5 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int listener = listen_as_sidecar(), connection, ends[2];
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);
	struct pollfd hung_up;

	(void)state;
	connection = accept_and_greet(listener);
	assert_return_code(pipe2(ends, O_CLOEXEC), errno);
	memcpy(CMSG_DATA(&control.header), &ends[1], sizeof(int));
	assert_int_equal(sendmsg(connection, &message, MSG_NOSIGNAL), 5);
	close(ends[1]);
	hung_up = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	assert_int_equal(poll(&hung_up, 1, PATIENCE_MS), 1);
	close(ends[0]);
	close_input(&p);
	receive_exit(connection);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void expect_kill_ends_all(const struct how *how)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(how, "--", probe, "family", "5", NULL);
	int64_t begin;

	connection = accept_and_greet(listener);
	read_text(p.out, "ready\n");
	order(connection, "kill");
	assert_int_equal(receive_exit(connection), 9);
	/* So that the launcher does not end, and all with it, while they are waited for. */
	order(connection, "hold 600");
	begin = now_ms();
	while (children_of(p.pid, false) > 0 && now_ms() - begin < PATIENCE_MS)
		pause_ms(5);
	assert_int_equal(children_of(p.pid, false), 0);
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 137);
	close(connection);
	stop_listening(listener);
}

static void kill_ends_every_process_of_the_container_with_137(void **state)
{
	(void)state;
	expect_kill_ends_all(&as_pid1);
}

static void kill_ends_every_process_below_a_launcher_that_is_not_pid_1(void **state)
{
	(void)state;
	expect_kill_ends_all(&usual);
}

/* Keeps the launcher's queue full for as long as it takes, from a process of its own. */
static pid_t start_flood(int connection)
{
	char text[LAUNCH_MESSAGE_MAX] = "say ";
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		memset(text + 4, 'z', sizeof(text) - 4);
		while (send(connection, text, sizeof(text), MSG_NOSIGNAL) > 0)
			;
		_exit(0);
	}
	return pid;
}

static void a_flood_of_texts_and_a_full_stderr_do_not_hold_up_signals(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);
	pid_t floods[2];
	int code;

	(void)state;
	/* Nobody reads the container's stderr, so that each text costs the launcher its patience. */
	connection = accept_and_greet(listener);
	read_text(p.out, "ready\n");
	for (size_t i = 0; i < ARRAY_SIZE(floods); i++)
		floods[i] = start_flood(connection);
	pause_ms(200);
	kill(p.pid, SIGTERM);
	code = finish_within(&p, 20000);
	for (size_t i = 0; i < ARRAY_SIZE(floods); i++) {
		kill(floods[i], SIGKILL);
		waitpid(floods[i], NULL, 0);
	}
	assert_int_equal(code, 143);
	close(connection);
	stop_listening(listener);
}

static void a_stopped_sidecar_does_not_hold_the_container(void **state)
{
	int listener = listen_as_sidecar();
	/* Connected by the kernel, never accepted: as a sidecar that hangs. */
	struct process p = start(&usual, "--", probe, "exit", "9", NULL);
	int64_t begin = now_ms();

	(void)state;
	assert_int_equal(finish(&p), 9);
	assert_true(now_ms() - begin < 20000);
	stop_listening(listener);
}

/* Has the launcher answer until there is no more room for its answers. */
static void fill_with_answers(int connection)
{
	int64_t until = now_ms() + PATIENCE_MS;
	int unread;

	for (int i = 0; i < 2000; i++)
		order(connection, "run 1");
	do {
		pause_ms(1);
		assert_return_code(ioctl(connection, SIOCOUTQ, &unread), errno);
	} while (unread > 0 && now_ms() < until);
	assert_int_equal(unread, 0);
}

static void expect_exit_after_answers(int connection, int status)
{
	static const char answer[] = "refused ", exit_is[] = "exit ";
	const char *text;

	do
		text = receive_text(connection);
	while (strncmp(text, answer, sizeof(answer) - 1) == 0);
	if (strncmp(text, exit_is, sizeof(exit_is) - 1) != 0)
		fail_msg("\"%s\" is no exit", text);
	assert_int_equal(strtol(text + sizeof(exit_is) - 1, NULL, 10), status);
}

static void a_sidecar_that_reads_nothing_is_told_of_the_end_all_the_same(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--wait-sidecar", "1", "--", "/bin/sh", "-c",
				 "read line; exit 7", NULL);
	(void)state;

	connection = accept_and_greet(listener);
	fill_with_answers(connection);
	pause_ms(1100); /* a sidecar that comes is not waited for any more */
	close_input(&p);
	assert_int_equal(finish(&p), 7);
	expect_exit_after_answers(connection, 7 << 8);
	close(connection);
	stop_listening(listener);
}

static void so_is_one_that_made_the_connection(void **state)
{
	const struct how how = { .prepare = put_socket_at_5 };
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&how, "--socket-fd", "5", "--", "/bin/sh", "-c",
				 "read line; exit 7", NULL);
	(void)state;

	connection = accept_and_greet(listener);
	fill_with_answers(connection);
	close_input(&p);
	assert_int_equal(finish(&p), 7);
	expect_exit_after_answers(connection, 7 << 8);
	close(connection);
	stop_listening(listener);
}

static void orders_of_a_sidecar_that_left_messages_unread_are_obeyed(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&as_pid1, "--", probe, "exit", "8", NULL);
	struct pollfd ended, answered;
	(void)state;

	connection = accept_and_greet(listener);
	receive_exit(connection);
	order(connection, "run 1");
	answered = (struct pollfd){ .fd = connection, .events = POLLIN };
	assert_int_equal(poll(&answered, 1, PATIENCE_MS), 1);
	kill(p.pid, SIGSTOP);
	order(connection, "hold 60");
	close(connection);
	stop_listening(listener);
	kill(p.pid, SIGCONT);
	ended = (struct pollfd){ .fd = p.pidfd, .events = POLLIN };
	assert_int_equal(poll(&ended, 1, 3000), 0);
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 8);
}

static void a_socket_path_that_is_no_socket_is_as_good_as_none(void **state)
{
	char long_path[300];
	const char *rows[] = { "/", "/dev/null", "", long_path };

	(void)state;
	memset(long_path, 'p', sizeof(long_path) - 1);
	long_path[0] = '/';
	long_path[sizeof(long_path) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct process p = start(&usual, "--socket", rows[i], "--", probe, "exit", "11", NULL);

		assert_int_equal(finish(&p), 11);
	}
}

static void no_descriptors_left(void)
{
	const struct rlimit limit = { 3, 3 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

static void without_a_free_descriptor_the_command_runs_all_the_same(void **state)
{
	const struct how how = { .prepare = no_descriptors_left };
	struct process p;

	(void)state;
	if (launcher_is_dynamic)
		skip();
	p = start(&how, "--", probe, "exit", "12", NULL);
	assert_int_equal(finish(&p), 12);
}

static void few_descriptors(void)
{
	const struct rlimit limit = { 20, 20 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

/* poll(2) takes no more entries than the limit allows descriptors. */
static void with_few_descriptors_the_command_runs_to_its_end(void **state)
{
	const struct how how = { .prepare = few_descriptors };
	struct process p = start(&how, "--", "/bin/sh", "-c", "read line; exit 12", NULL);

	(void)state;
	close_input(&p);
	assert_int_equal(finish(&p), 12);
}

/* Hooks */

/* Orders a run and returns the reading end of its output. */
static int order_run(int fd, const char *text)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec part = { .iov_base = (char *)text, .iov_len = strlen(text) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int ends[2];

	assert_return_code(pipe2(ends, O_CLOEXEC), errno);
	memcpy(CMSG_DATA(&control.header), &ends[1], sizeof(int));
	assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), strlen(text));
	close(ends[1]);
	return ends[0];
}

static pid_t receive_ran(int fd, int id)
{
	const char *text = receive_text(fd);
	int got = -1, pid = 0;

	if (sscanf(text, "ran %d %d", &got, &pid) != 2 || got != id)
		fail_msg("\"%s\" is not that %d ran", text, id);
	return pid;
}

/* Field 22 of its stat. */
static unsigned long long start_of(pid_t pid)
{
	char path[40], text[1024] = "", *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_return_code(fd, errno);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	at = strrchr(text, ')');
	for (int field = 2; field < 22; field++)
		at = strchr(at + 1, ' ');
	return strtoull(at, NULL, 10);
}

static void order_watch(int fd, pid_t pid, unsigned long long start)
{
	char text[64];

	snprintf(text, sizeof(text), "watch %d %llu", (int)pid, start);
	order(fd, text);
}

static void a_watched_grandchild_is_reported_before_the_exit(void **state)
{
	/* Its parent takes its time to reap it, as `ray start` does: a shell that reads does not reap. */
	static const char script[] = "sleep 300 & echo $!; read x; kill -9 $!; read y; wait; exit 1";
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--", "/bin/sh", "-c", script, NULL);
	char expected[40];
	pid_t pid;

	(void)state;
	connection = accept_and_greet(listener);
	pid = (pid_t)strtol(read_text(p.out, "\n"), NULL, 10);
	order_watch(connection, pid, start_of(pid));
	order_watch(connection, pid, start_of(pid) + 1);
	snprintf(expected, sizeof(expected), "unwatched %d %d", (int)pid, ESRCH);
	assert_string_equal(receive_text(connection), expected);
	assert_int_equal(write(p.in, "x\n", 2), 2);
	snprintf(expected, sizeof(expected), "ended %d 9 ", (int)pid);
	assert_memory_equal(receive_text(connection), expected, strlen(expected));
	close_input(&p);
	assert_int_equal(receive_exit(connection), 1 << 8);
	order(connection, "done");
	assert_int_equal(finish(&p), 1);
	close(connection);
	stop_listening(listener);
}

static int count_descriptors(pid_t pid)
{
	char path[40];
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void a_sidecar_that_orders_a_million_watches_harms_nobody(void **state)
{
	int listener = listen_as_sidecar(), connection, descriptors;
	struct process p = start(&usual, "--", "/bin/sh", "-c", "read x; exit 3", NULL);
	char text[64];

	(void)state;
	connection = accept_and_greet(listener);
	for (int i = 0; i < 1000000; i++) {
		int n = snprintf(text, sizeof(text), i % 2 ? "watch %d 1" : "watch %d", i % 100000);

		/* It reads one order a round; what it answers nobody reads, and it goes on. */
		if (send(connection, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			usleep(10);
	}
	descriptors = count_descriptors(p.pid);
	assert_true(descriptors < 40);
	close_input(&p);
	close(connection);
	assert_int_equal(finish(&p), 3);
	stop_listening(listener);
}

static void a_hook_runs_in_the_container_with_its_output_to_the_sidecar(void **state)
{
	int listener = listen_as_sidecar(), connection, out;
	struct process p = start(&as_pid1, "--", probe, "orphans", "0", NULL);
	char expected[80];
	pid_t pid;

	(void)state;
	connection = accept_and_greet(listener);
	out = order_run(connection, "run 7 10 0 pwd; echo $$; echo wrong >&2; cat; ulimit -c; cat /proc/self/oom_score_adj; exit 3");
	pid = receive_ran(connection, 7);
	snprintf(expected, sizeof(expected), "/\n%d\nwrong\n0\n1000\n", pid);
	assert_string_equal(read_text(out, NULL), expected);
	assert_string_equal(receive_text(connection), "finished 7 768 0");
	close(out);
	close_input(&p);
	assert_int_equal(receive_exit(connection), 0);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void a_hook_gets_no_descriptor_of_the_launcher(void **state)
{
	int listener = listen_as_sidecar(), connection, out;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);

	(void)state;
	connection = accept_and_greet(listener);
	out = order_run(connection, "run 1 10 0 exec ls /proc/self/fd");
	receive_ran(connection, 1);
	assert_string_equal(read_text(out, NULL), "0\n1\n2\n3\n"); /* 3: the directory itself */
	assert_string_equal(receive_text(connection), "finished 1 0 0");
	close(out);
	close_input(&p);
	receive_exit(connection);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void a_hook_that_takes_too_long_dies_with_its_whole_group(void **state)
{
	int listener = listen_as_sidecar(), connection, out;
	struct process p = start(&as_pid1, "--", probe, "orphans", "0", NULL);
	int64_t begin = now_ms();

	(void)state;
	connection = accept_and_greet(listener);
	out = order_run(connection, "run 1 3 0 sleep 100 & echo begun; sleep 100; echo never");
	receive_ran(connection, 1);
	assert_string_equal(receive_text(connection), "finished 1 9 1");
	/* Also the sleeper in the background has let go of the pipe. */
	assert_string_equal(read_text(out, NULL), "begun\n");
	assert_true(now_ms() - begin >= 3000 && now_ms() - begin < 60000);
	close(out);
	/* What a hook leaves behind goes with it, without waiting for its time. */
	out = order_run(connection, "run 2 100 0 sleep 100 & echo left");
	receive_ran(connection, 2);
	assert_string_equal(receive_text(connection), "finished 2 0 0");
	assert_string_equal(read_text(out, NULL), "left\n");
	close(out);
	close_input(&p);
	receive_exit(connection);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void a_hook_whose_reader_goes_away_ends(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);

	(void)state;
	connection = accept_and_greet(listener);
	close(order_run(connection, "run 1 60 0 exec yes"));
	receive_ran(connection, 1);
	assert_string_equal(receive_text(connection), "finished 1 13 0"); /* SIGPIPE */
	close_input(&p);
	receive_exit(connection);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void a_hook_writes_no_file_beyond_its_limit(void **state)
{
	int listener = listen_as_sidecar(), connection, out;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);
	char text[256];

	(void)state;
	connection = accept_and_greet(listener);
	snprintf(text, sizeof(text), "run 1 60 65536 f=%s/big; exec 2>/dev/null; head -c 200000 /dev/zero >$f; wc -c <$f; rm $f",
		 directory);
	out = order_run(connection, text);
	receive_ran(connection, 1);
	assert_string_equal(read_text(out, NULL), "65536\n");
	assert_string_equal(receive_text(connection), "finished 1 0 0");
	close(out);
	close_input(&p);
	receive_exit(connection);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void more_hooks_than_allowed_are_refused_and_the_others_run(void **state)
{
	int listener = listen_as_sidecar(), connection, out[LAUNCH_HOOKS_MAX];
	struct process p = start(&as_pid1, "--", probe, "orphans", "0", NULL);
	char text[64];

	(void)state;
	connection = accept_and_greet(listener);
	for (int i = 0; i < LAUNCH_HOOKS_MAX; i++) {
		snprintf(text, sizeof(text), "run %d 60 0 sleep 60", i);
		out[i] = order_run(connection, text);
		receive_ran(connection, i);
	}
	close(order_run(connection, "run 99 60 0 echo x"));
	snprintf(text, sizeof(text), "refused 99 %d", EBUSY);
	assert_string_equal(receive_text(connection), text);
	/* The end of the command does not wait for them longer than their time, and SIGTERM not at all. */
	close_input(&p);
	assert_int_equal(receive_exit(connection), 0);
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 0);
	for (int i = 0; i < LAUNCH_HOOKS_MAX; i++) {
		assert_string_equal(read_text(out[i], NULL), "");
		close(out[i]);
	}
	close(connection);
	stop_listening(listener);
}

static void hostile_orders_to_run_are_refused(void **state)
{
	static const struct {
		const char *order, *answer;
	} rows[] = {
		{ "run ", "refused -1 22" },
		{ "run x 1 0 true", "refused -1 22" },
		{ "run -1 1 0 true", "refused -1 22" },
		{ "run 99999999999999999999 1 0 true", "refused -1 22" },
		{ "run 4294967296 1 0 true", "refused -1 22" },
		{ "run 1", "refused -1 22" },
		{ "run 1 ", "refused 1 22" },
		{ "run 1 0 0 true", "refused 1 22" },
		{ "run 1 3601 0 true", "refused 1 22" },
		{ "run 1 1 -5 true", "refused 1 22" },
		{ "run 1 1 0", "refused 1 22" },
		{ "run 1 1 0 ", "refused 1 22" },
		{ "run 1 1\t0 true", "refused 1 22" },
		{ "run  1 1 0 true", "refused -1 22" },
	};
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);

	(void)state;
	connection = accept_and_greet(listener);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		close(order_run(connection, rows[i].order));
		assert_string_equal(receive_text(connection), rows[i].answer);
	}
	order(connection, "run 1 1 0 true"); /* no descriptor */
	assert_string_equal(receive_text(connection), "refused 1 22");
	close_input(&p);
	receive_exit(connection);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

static void become_somebody(void)
{
	if (setgid(1234) < 0 || setuid(1234) < 0)
		_exit(119);
}

/* Whoever called listen() is the peer: a child that is neither root nor the launcher's user. */
static int listen_as_another_user(void)
{
	int listener = listen_as_sidecar(), status;
	pid_t pid;

	chmod(directory, 0777);
	chmod(socket_path, 0777);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(setuid(4321) < 0 || listen(listener, 4) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return listener;
}

static void another_user_of_the_same_container_is_not_taken_for_the_sidecar(void **state)
{
	const struct how how = { .prepare = become_somebody };
	int listener = listen_as_another_user(), connection;
	char text[LAUNCH_MESSAGE_MAX];
	struct process p = start(&how, "--", probe, "orphans", "0", NULL);
	(void)state;

	/* No hello, and so no descriptor of the container; orders are not heard. */
	for (int i = 0; i < 2; i++) {
		connection = accept_launcher(listener);
		send(connection, "kill", 4, MSG_NOSIGNAL);
		assert_true(recv(connection, text, sizeof(text), 0) <= 0);
		close(connection);
	}
	close_input(&p);
	assert_non_null(strstr(read_text(p.err, NULL), "without the sidecar"));
	assert_int_equal(finish(&p), 0);
	stop_listening(listener);
	chmod(directory, 0700);
}

/* As PID 1 of the namespace: leaves a child that listens in the sidecar's place, and notes what the launcher sends it first. */
static void let_a_child_listen(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char text[LAUNCH_MESSAGE_MAX];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), probing = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	unlink(socket_path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		_exit(118);
	if (fork() == 0) {
		ssize_t len;

		listen(fd, 4);
		close(accept(fd, NULL, NULL)); /* the one below */
		len = recv(accept(fd, NULL, NULL), text, sizeof(text), 0);
		dprintf(STDOUT_FILENO, "%zd\n", len);
		_exit(0);
	}
	while (connect(probing, (struct sockaddr *)&address, sizeof(address)) < 0)
		pause_ms(1);
}

static void a_process_of_the_containers_own_user_is_not_taken_for_the_sidecar(void **state)
{
	const struct how how = { .pid1 = true, .prepare = let_a_child_listen };
	struct process p = start(&how, "--", probe, "cat", NULL);
	(void)state;

	assert_string_equal(read_text(p.out, "\n"), "0\n");
	assert_non_null(strstr(read_text(p.err, "\n"), "without the sidecar"));
	close_input(&p);
	assert_int_equal(finish(&p), 0);
	unlink(socket_path);
}

/* As the operator mounts the directory of the socket. */
static void become_somebody_with_a_read_only_directory(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(directory, directory, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, directory, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
		_exit(117);
	become_somebody();
}

static void a_read_only_directory_proves_that_the_listener_is_the_sidecar(void **state)
{
	const struct how how = { .prepare = become_somebody_with_a_read_only_directory };
	int listener = listen_as_another_user(), connection;
	struct process p = start(&how, "--", probe, "orphans", "0", NULL);
	(void)state;

	connection = accept_and_greet(listener);
	close(order_run(connection, "run 5 10 0 true"));
	assert_memory_equal(receive_text(connection), "ran 5 ", 6);
	assert_string_equal(receive_text(connection), "finished 5 0 0");
	close_input(&p);
	receive_exit(connection);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
	chmod(directory, 0700);
}

static void say_to_a_stderr_that_nobody_reads_any_more_does_no_harm(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&usual, "--", probe, "orphans", "0", NULL);

	(void)state;
	connection = accept_and_greet(listener);
	read_text(p.out, "ready\n");
	close(p.err);
	p.err = -1;
	/* The SIGPIPE of that write is nobody's business but the writer's. */
	for (int i = 0; i < 3; i++)
		order(connection, "say to nobody\n");
	order(connection, "watch 1 1"); /* answered after those were dealt with */
	receive_text(connection);
	pause_ms(100);
	close_input(&p);
	assert_int_equal(receive_exit(connection), 0);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

/* Ready for a write, says poll(2), but without room for a whole text. */
static void stderr_with_little_room(void)
{
	int ends[2], size = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0 ||
	    write(ends[0], "", 1) != 1 || dup2(ends[0], STDERR_FILENO) < 0)
		_exit(116);
	close(ends[0]);
}

static void say_to_a_stderr_that_blocks_does_not_hold_up_signals(void **state)
{
	const struct how how = { .pid1 = true, .prepare = stderr_with_little_room };
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&how, "--", probe, "orphans", "0", NULL);
	char text[LAUNCH_MESSAGE_MAX + 1] = "say ";

	(void)state;
	connection = accept_and_greet(listener);
	read_text(p.out, "ready\n");
	memset(text + 4, 'z', LAUNCH_MESSAGE_MAX - 4);
	for (int i = 0; i < 3; i++)
		order(connection, text);
	order(connection, "watch 1 1");
	receive_text(connection);
	kill(p.pid, SIGTERM);
	assert_int_equal(receive_exit(connection), SIGTERM);
	order(connection, "done");
	assert_int_equal(finish(&p), 143);
	close(connection);
	stop_listening(listener);
}

static void after_the_end_the_container_waits_for_its_hooks(void **state)
{
	int listener = listen_as_sidecar(), connection, out;
	struct process p = start(&as_pid1, "--", probe, "exit", "5", NULL);

	(void)state;
	connection = accept_and_greet(listener);
	receive_exit(connection);
	out = order_run(connection, "run 1 10 0 sleep 3; echo late");
	receive_ran(connection, 1);
	assert_string_equal(read_text(out, NULL), "late\n");
	assert_string_equal(receive_text(connection), "finished 1 0 0");
	order(connection, "done");
	assert_int_equal(finish(&p), 5);
	close(out);
	close(connection);
	stop_listening(listener);
}

static void hooks_end_with_a_sidecar_that_vanishes(void **state)
{
	int listener = listen_as_sidecar(), connection, out;
	struct process p = start(&as_pid1, "--", probe, "orphans", "0", NULL);

	(void)state;
	connection = accept_and_greet(listener);
	out = order_run(connection, "run 1 60 0 sleep 60");
	receive_ran(connection, 1);
	close(connection);
	assert_string_equal(read_text(out, NULL), "");
	close(out);
	connection = accept_and_greet(listener);
	close_input(&p);
	receive_exit(connection);
	order(connection, "done");
	assert_int_equal(finish(&p), 0);
	close(connection);
	stop_listening(listener);
}

/* Runs `afterglow-launch --release PID`; its exit code. */
static int run_release(pid_t pid)
{
	const struct how how = { 0 };
	struct process p = start_argv(&how, (char *[]){ launcher, (char *)"--release", (char *)decimal(pid), NULL });

	return finish(&p);
}

static void a_hold_outlives_its_sidecar_and_ends_by_release(void **state)
{
	int listener = listen_as_sidecar(), connection;
	struct process p = start(&as_pid1, "--", probe, "exit", "8", NULL);
	struct pollfd ended;
	int64_t asked_ms;

	(void)state;
	connection = accept_and_greet(listener);
	receive_exit(connection);
	order(connection, "hold 60");
	pause_ms(200);
	close(connection);
	stop_listening(listener);
	ended = (struct pollfd){ .fd = p.pidfd, .events = POLLIN };
	assert_int_equal(poll(&ended, 1, 3000), 0);
	asked_ms = now_ms();
	assert_int_equal(run_release(p.pid), 0);
	assert_int_equal(finish_within(&p, 20000), 8);
	/* Whoever asked from within its PID namespace has ended by then, and not with it. */
	assert_true(now_ms() - asked_ms >= 100);
}

static void release_does_nothing_while_the_command_runs(void **state)
{
	struct process p = start(&usual, "--", probe, "record", "64", NULL);

	(void)state;
	read_text(p.out, "ready\n");
	assert_int_equal(run_release(p.pid), 0);
	pause_ms(300);
	kill(p.pid, SIGUSR1);
	assert_string_equal(read_text(p.out, "\n"), "10\n"); /* and no 15 before it */
	kill(p.pid, SIGRTMAX); /* the last one it waits for */
	assert_int_equal(finish(&p), 0);
	assert_int_equal(run_release(getpid()), 1); /* no launcher */
	assert_int_equal(run_release(-1), 2);
}

static void a_prefix_comes_before_the_command_word_by_word(void **state)
{
	struct process p = start(&usual, "--prefix", "  env  A=1\tB=2 ", "--", "sh", "-c", "echo $A$B \"$0\"", "x y", NULL);

	(void)state;
	assert_string_equal(read_text(p.out, NULL), "12 x y\n");
	assert_int_equal(finish(&p), 0);
	p = start(&usual, "--prefix", " ", "--", probe, "exit", "4", NULL);
	assert_int_equal(finish(&p), 4);
}

static void without_the_prefixs_program_the_command_starts_all_the_same(void **state)
{
	struct process p = start(&usual, "--prefix", "no-such-profiler run -o /x", "--", probe, "exit", "6", NULL);

	(void)state;
	assert_non_null(strstr(read_text(p.err, NULL), "no-such-profiler: No such file or directory: starting without it"));
	assert_int_equal(finish(&p), 6);
}

/* As the shell in front of it starts it: by a descriptor, which the command must not get. */
static void put_launcher_at_3(void)
{
	int fd = open(launcher, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (fd != 3 && dup2(fd, 3) != 3) || fcntl(3, F_SETFD, 0) < 0)
		_exit(126);
}

static void started_by_its_descriptor_it_closes_that_and_goes_by_its_name(void **state)
{
	const struct how how = { .prepare = put_launcher_at_3 };
	struct process p = start_argv(&how, (char *[]){ (char *)"/proc/self/fd/./3", (char *)"--self-fd", (char *)"3", (char *)"--socket",
							socket_path, (char *)"--", (char *)"/bin/sh", (char *)"-c",
							(char *)"cat /proc/$PPID/comm; head -c 16 /proc/$PPID/cmdline; echo; "
								"[ ! -e /proc/self/fd/3 ] && echo closed; echo ready; read line; exit 5",
							NULL });

	(void)state;
	assert_string_equal(read_text(p.out, "ready\n"), "afterglow-launc\nafterglow-launch\nclosed\nready\n");
	assert_int_equal(run_release(p.pid), 0); /* it knows it by its name */
	close_input(&p);
	assert_int_equal(finish(&p), 5);
}

static int set_up(void **state)
{
	const char *build = getenv("AFTERGLOW_BUILD"), *other = getenv("AFTERGLOW_LAUNCH");
	char path[PATH_MAX];

	(void)state;
	build = build ? build : "build";
	launcher_is_dynamic = other != NULL;
	snprintf(path, sizeof(path), "%s/afterglow-launch", build);
	if (!realpath(other ? other : path, launcher))
		fail_msg("%s: %s", other ? other : path, strerror(errno));
	snprintf(path, sizeof(path), "%s/test/probe", build);
	if (!realpath(path, probe))
		fail_msg("%s: %s", path, strerror(errno));
	snprintf(directory, sizeof(directory), "/tmp/launch_test.XXXXXX");
	if (!mkdtemp(directory))
		fail_msg("%s: %s", directory, strerror(errno));
	snprintf(socket_path, sizeof(socket_path), "%s/socket", directory);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

static int tear_down(void **state)
{
	char path[sizeof(directory) + 8];

	(void)state;
	unlink(socket_path);
	snprintf(path, sizeof(path), "%s/dev", directory);
	rmdir(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_exit_code_from_0_to_255_passes_through),
		cmocka_unit_test(death_by_any_signal_gives_128_plus_its_number),
		cmocka_unit_test(faults_of_the_processor_give_128_plus_their_signal),
		cmocka_unit_test(a_command_that_does_not_exist_gives_127),
		cmocka_unit_test(a_command_that_cannot_be_executed_gives_126),
		cmocka_unit_test(a_wrong_option_gives_2_and_says_which),
		cmocka_unit_test(every_signal_that_can_be_caught_is_forwarded),
		cmocka_unit_test(every_signal_that_can_be_caught_is_forwarded_by_pid_1),
		cmocka_unit_test(a_sidecar_hears_that_the_container_was_asked_to_stop_from_outside),
		cmocka_unit_test(sigterm_to_pid_1_ends_the_command_with_143),
		cmocka_unit_test(sigterm_at_any_moment_after_the_first_still_ends_the_command),
		cmocka_unit_test(ignored_and_blocked_signals_at_the_start_do_not_change_the_result),
		cmocka_unit_test(the_command_inherits_the_signal_mask_and_ignored_signals),
		cmocka_unit_test(orphans_are_reaped_by_pid_1),
		cmocka_unit_test(orphans_are_reaped_by_a_launcher_that_is_not_pid_1),
		cmocka_unit_test(without_a_sidecar_the_command_starts_and_ends_as_fast_as_without_us),
		cmocka_unit_test(arguments_pass_unchanged),
		cmocka_unit_test(the_environment_passes_unchanged),
		cmocka_unit_test(standard_input_passes_unchanged),
		cmocka_unit_test(inherited_descriptors_pass_and_no_other_leaks_into_the_command),
		cmocka_unit_test(closed_standard_descriptors_stay_closed_for_the_command),
		cmocka_unit_test(nofile_raises_the_soft_limit_up_to_the_hard_one),
		cmocka_unit_test(wait_tcp_starts_the_command_when_the_port_accepts),
		cmocka_unit_test(sigterm_ends_a_wait_for_a_port),
		cmocka_unit_test(hello_brings_the_root_the_termination_log_and_a_pidfd),
		cmocka_unit_test(hello_from_pid_1_carries_the_pids_of_its_namespace),
		cmocka_unit_test(hello_is_sent_before_the_command_can_kill_its_launcher),
		cmocka_unit_test(a_look_for_new_processes_opens_no_file),
		cmocka_unit_test(a_connection_that_was_made_for_it_is_used_and_the_command_does_not_get_it),
		cmocka_unit_test(a_sidecar_that_comes_late_is_found),
		cmocka_unit_test(a_command_that_failed_before_its_sidecar_came_is_reported),
		cmocka_unit_test(the_wait_for_a_sidecar_that_never_comes_ends_in_time),
		cmocka_unit_test(sigterm_ends_the_wait_for_a_sidecar),
		cmocka_unit_test(success_is_not_waited_for),
		cmocka_unit_test(a_command_that_failed_while_its_sidecar_was_restarted_is_reported),
		cmocka_unit_test(so_is_a_command_that_the_launcher_sees_end_before_the_sidecar),
		cmocka_unit_test(a_sidecar_that_vanishes_is_looked_for_again),
		cmocka_unit_test(a_sidecar_that_vanishes_after_the_end_does_not_hold_the_container),
		cmocka_unit_test(the_wait_status_reaches_the_sidecar_raw),
		cmocka_unit_test(why_a_command_was_never_executed_reaches_the_sidecar),
		cmocka_unit_test(a_long_command_that_cannot_be_executed_is_cut),
		cmocka_unit_test(without_done_the_container_lingers_two_seconds),
		cmocka_unit_test(a_full_listen_queue_does_not_hold_the_command),
		cmocka_unit_test(hold_keeps_the_container_and_sigterm_ends_the_hold),
		cmocka_unit_test(say_prints_its_text_on_the_containers_stderr),
		cmocka_unit_test(say_to_a_full_stderr_is_lost_and_the_container_goes_on),
		cmocka_unit_test(say_to_a_stderr_that_nobody_reads_any_more_does_no_harm),
		cmocka_unit_test(say_to_a_stderr_that_blocks_does_not_hold_up_signals),
		cmocka_unit_test(garbage_orders_do_no_harm),
		cmocka_unit_test(descriptors_sent_to_the_launcher_do_not_stay_open),
		cmocka_unit_test(kill_ends_every_process_of_the_container_with_137),
		cmocka_unit_test(kill_ends_every_process_below_a_launcher_that_is_not_pid_1),
		cmocka_unit_test(a_flood_of_texts_and_a_full_stderr_do_not_hold_up_signals),
		cmocka_unit_test(a_stopped_sidecar_does_not_hold_the_container),
		cmocka_unit_test(a_sidecar_that_reads_nothing_is_told_of_the_end_all_the_same),
		cmocka_unit_test(so_is_one_that_made_the_connection),
		cmocka_unit_test(orders_of_a_sidecar_that_left_messages_unread_are_obeyed),
		cmocka_unit_test(a_socket_path_that_is_no_socket_is_as_good_as_none),
		cmocka_unit_test(without_a_free_descriptor_the_command_runs_all_the_same),
		cmocka_unit_test(with_few_descriptors_the_command_runs_to_its_end),
		cmocka_unit_test(a_watched_grandchild_is_reported_before_the_exit),
		cmocka_unit_test(a_sidecar_that_orders_a_million_watches_harms_nobody),
		cmocka_unit_test(a_hook_runs_in_the_container_with_its_output_to_the_sidecar),
		cmocka_unit_test(a_hook_gets_no_descriptor_of_the_launcher),
		cmocka_unit_test(a_hook_that_takes_too_long_dies_with_its_whole_group),
		cmocka_unit_test(a_hook_whose_reader_goes_away_ends),
		cmocka_unit_test(a_hook_writes_no_file_beyond_its_limit),
		cmocka_unit_test(more_hooks_than_allowed_are_refused_and_the_others_run),
		cmocka_unit_test(hostile_orders_to_run_are_refused),
		cmocka_unit_test(another_user_of_the_same_container_is_not_taken_for_the_sidecar),
		cmocka_unit_test(a_process_of_the_containers_own_user_is_not_taken_for_the_sidecar),
		cmocka_unit_test(a_read_only_directory_proves_that_the_listener_is_the_sidecar),
		cmocka_unit_test(after_the_end_the_container_waits_for_its_hooks),
		cmocka_unit_test(hooks_end_with_a_sidecar_that_vanishes),
		cmocka_unit_test(a_hold_outlives_its_sidecar_and_ends_by_release),
		cmocka_unit_test(release_does_nothing_while_the_command_runs),
		cmocka_unit_test(started_by_its_descriptor_it_closes_that_and_goes_by_its_name),
		cmocka_unit_test(a_prefix_comes_before_the_command_word_by_word),
		cmocka_unit_test(without_the_prefixs_program_the_command_starts_all_the_same),
	};

	if (geteuid() != 0) {
		fputs("launch_test: needs root (PID and mount namespaces): skipped\n", stderr);
		return 0;
	}
	if (getenv("AFTERGLOW_TEST"))
		cmocka_set_test_filter(getenv("AFTERGLOW_TEST"));
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
