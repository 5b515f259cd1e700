/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/kernel/launch_testing.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX 40

bool launcher_is_dynamic;
char launcher[PATH_MAX], probe[PATH_MAX], directory[64], socket_path[128];
const struct how usual = { 0 }, as_pid1 = { .pid1 = true };

bool launch_tests_prepare(void)
{
	if (geteuid() != 0) {
		fputs("the launcher's tests need root: they make PID and mount namespaces\n",
		      stderr);
		return false;
	}
	if (getenv("AFTERGLOW_TEST"))
		cmocka_set_test_filter(getenv("AFTERGLOW_TEST"));
	return true;
}

static void find_program(const char *path, char ret_path[static PATH_MAX])
{
	if (!realpath(path, ret_path))
		fail_msg("%s: %s", path, strerror(errno));
}

int launch_tests_set_up(void **state)
{
	const char *build = getenv("AFTERGLOW_BUILD"), *other = getenv("AFTERGLOW_LAUNCH");
	char path[PATH_MAX];

	(void)state;
	build = build ? build : "build";
	launcher_is_dynamic = other != NULL;
	snprintf(path, sizeof(path), "%s/afterglow-launch", build);
	find_program(other ? other : path, launcher);
	snprintf(path, sizeof(path), "%s/test/probe", build);
	find_program(path, probe);
	snprintf(directory, sizeof(directory), "/tmp/launch_test.XXXXXX");
	if (!mkdtemp(directory))
		fail_msg("%s: %s", directory, strerror(errno));
	snprintf(socket_path, sizeof(socket_path), "%s/socket", directory);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

int launch_tests_tear_down(void **state)
{
	char path[sizeof(directory) + 8];

	(void)state;
	unlink(socket_path);
	snprintf(path, sizeof(path), "%s/dev", directory);
	rmdir(path);
	return rmdir(directory);
}

int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void pause_ms(long ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

const char *decimal(int n)
{
	static char text[12];

	snprintf(text, sizeof(text), "%d", n);
	return text;
}

void put_file(const char *name, const char *text, mode_t mode)
{
	char path[sizeof(directory) + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	assert_return_code(fd, errno);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

void remove_file(const char *name)
{
	char path[sizeof(directory) + 32];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_return_code(unlink(path), errno);
}

static void close_and_clear(int *fd)
{
	closep(fd);
	*fd = -1;
}

/* --- Processes --- */

/* Makes a mount namespace whose /dev holds null and termination-log, as the kubelet makes it. */
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

/* Mounts what a container runtime mounts: a /proc that shows this PID namespace. */
static void private_proc(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0)
		_exit(119);
}

_Noreturn static void become(const struct how *how, const int fds[3], const char *const *argv)
{
	const struct rlimit no_core = { 0, 0 };
	const uint64_t by_default[4] = { 0 }, none = 0; /* the kernel's sigaction and sigset */

	/*
	 * What our parents ignore or block must not reach the launcher. We call the kernel
	 * directly, because glibc does not touch signals 32 and 33, and its posix_spawn (make uses
	 * it) leaves them ignored.
	 */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	for (int i = 1; i <= 64; i++)
		syscall(SYS_rt_sigaction, i, by_default, NULL, sizeof(none));
	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
	if (how->pid1) {
		private_proc();
		setsid();
	}
	if (how->termination_log)
		private_dev();
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			_exit(123);
	if (syscall(SYS_close_range, 3, ~0U, 0) < 0)
		_exit(124);
	if (how->prepare)
		how->prepare();
	execv(argv[0], (char *const *)argv);
	_exit(125);
}

struct process start_argv(const struct how *how, const char *const *argv)
{
	int in[2], out[2], err[2];
	struct process p = { 0 };

	assert_return_code(pipe2(in, O_CLOEXEC), errno);
	assert_return_code(pipe2(out, O_CLOEXEC), errno);
	assert_return_code(pipe2(err, O_CLOEXEC), errno);
	fflush(NULL);
	p.pid = (pid_t)syscall(SYS_clone, SIGCHLD | (how->pid1 ? CLONE_NEWPID : 0), NULL, NULL,
			       NULL, NULL);
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

struct process start(const struct how *how, ...)
{
	const char *argv[ARGS_MAX] = { launcher, "--socket", socket_path };
	size_t n = 3;
	va_list ap;

	va_start(ap, how);
	while ((argv[n] = va_arg(ap, const char *)))
		assert_true(++n < ARGS_MAX);
	va_end(ap);
	for (size_t i = 0; how->bare && argv[i]; i++)
		if (strcmp(argv[i], "--") == 0)
			return start_argv(how, argv + i + 1);
	return start_argv(how, argv);
}

struct process start_waiting(const struct how *how)
{
	return start(how, "--", probe, "orphans", "0", NULL);
}

void close_input(struct process *p)
{
	close_and_clear(&p->in);
}

bool readable_within(int fd, int ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, ms) == 1;
}

bool ends_within(const struct process *p, int ms)
{
	return readable_within(p->pidfd, ms);
}

int finish_within(struct process *p, int ms)
{
	bool late = !ends_within(p, ms);
	int status;

	if (late)
		kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	closep(&p->pidfd);
	closep(&p->in);
	closep(&p->out);
	closep(&p->err);
	if (late)
		return TIMED_OUT;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int finish(struct process *p)
{
	return finish_within(p, PATIENCE_MS);
}

int run_release(pid_t pid)
{
	struct process p = start_argv(
		&usual, (const char *const[]){ launcher, "--release", decimal(pid), NULL });

	return finish(&p);
}

static bool ends_in(const char *text, size_t len, const char *end)
{
	return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

const char *read_text(int fd, const char *until)
{
	static char text[OUTPUT_MAX];
	size_t len = 0;

	text[0] = '\0';
	while (len + 1 < sizeof(text)) {
		ssize_t n;

		if (!readable_within(fd, PATIENCE_MS))
			fail_msg("no more output after \"%s\"", text);
		n = read(fd, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
		text[len] = '\0';
		if (until && ends_in(text, len, until))
			break;
	}
	return text;
}

bool read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, size - 1);
	text[MAX(len, 0)] = '\0';
	return len >= 0;
}

int children_of(pid_t pid, pid_t children[static CHILDREN_MAX])
{
	char name[32], list[4096];
	int n = 0;

	snprintf(name, sizeof(name), "task/%d/children", (int)pid);
	assert_true(read_proc(pid, name, list, sizeof(list)));
	for (char *s = list, *end; n < CHILDREN_MAX; s = end) {
		long child = strtol(s, &end, 10);

		if (end == s)
			break;
		children[n++] = (pid_t)child;
	}
	return n;
}

/* How many children have the mark in their stat; a child that was reaped meanwhile has none. */
static int count_marked(pid_t pid, const char *mark)
{
	pid_t children[CHILDREN_MAX];
	int n = children_of(pid, children), n_marked = 0;

	for (int i = 0; i < n; i++) {
		char stat[512];

		read_proc(children[i], "stat", stat, sizeof(stat));
		n_marked += strstr(stat, mark) != NULL;
	}
	return n_marked;
}

int count_children(pid_t pid)
{
	return count_marked(pid, ") ");
}

int count_zombies(pid_t pid)
{
	return count_marked(pid, ") Z ");
}

void wait_for_children(pid_t pid, int n)
{
	int64_t until = now_ms() + PATIENCE_MS;

	while (count_children(pid) != n && now_ms() < until)
		pause_ms(1);
	assert_int_equal(count_children(pid), n);
}

/* --- The fake sidecar --- */

struct sockaddr_un socket_address(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	return address;
}

struct sidecar sidecar_listen(void)
{
	const struct sockaddr_un address = socket_address();
	struct sidecar s = { .connection = -1 };

	s.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	unlink(socket_path);
	assert_return_code(bind(s.listener, (const struct sockaddr *)&address, sizeof(address)),
			   errno);
	assert_return_code(listen(s.listener, 4), errno);
	return s;
}

void sidecar_accept(struct sidecar *s)
{
	assert_true(readable_within(s->listener, PATIENCE_MS));
	s->connection = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_return_code(s->connection, errno);
}

void sidecar_greet(struct sidecar *s)
{
	struct hello h;

	sidecar_accept(s);
	h = receive_hello(s);
	forget_hello(&h);
}

void sidecar_hang_up(struct sidecar *s)
{
	close_and_clear(&s->connection);
}

void sidecar_stop_listening(struct sidecar *s)
{
	close_and_clear(&s->listener);
	unlink(socket_path);
}

void sidecar_release(struct sidecar *s)
{
	sidecar_stop_listening(s);
	sidecar_hang_up(s);
}

/* Receives one message and its descriptors; returns its length, 0 at the end of the connection. */
static ssize_t receive(int fd, char text[static LAUNCH_MESSAGE_MAX + 1],
		       int fds[static LAUNCH_FDS_MAX], int *ret_n_fds)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = text, .iov_len = LAUNCH_MESSAGE_MAX };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *rights;
	ssize_t len;

	assert_true(readable_within(fd, PATIENCE_MS));
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

void forget_hello(struct hello *h)
{
	while (h->n_fds > 0)
		close(h->fd[--h->n_fds]);
}

struct hello receive_hello(const struct sidecar *s)
{
	char text[LAUNCH_MESSAGE_MAX + 1];
	struct hello h = { 0 };
	int end = 0;

	assert_true(receive(s->connection, text, h.fd, &h.n_fds) > 0);
	/* Where the launcher sees no cgroup but its own. */
	if (strncmp(text, "cgroup ", 7) == 0) {
		forget_hello(&h);
		assert_true(receive(s->connection, text, h.fd, &h.n_fds) > 0);
	}
	sscanf(text, "hello %d %7s %79s %d %d %lld%n", &h.version, h.fds, h.name, &h.launcher_pid,
	       &h.command_pid, &h.start_ns, &end);
	assert_int_equal(end, strlen(text));
	assert_int_equal(strlen(h.fds), h.n_fds);
	return h;
}

const char *receive_text(const struct sidecar *s)
{
	static char text[LAUNCH_MESSAGE_MAX + 1];
	int fds[LAUNCH_FDS_MAX], n_fds;

	receive(s->connection, text, fds, &n_fds);
	assert_int_equal(n_fds, 0);
	return text;
}

int receive_exit(const struct sidecar *s)
{
	const char *text;
	int status = -1, end = 0;
	long long ended_ns = 0;

	do
		text = receive_text(s);
	while (strncmp(text, "asked ", 6) == 0);
	sscanf(text, "exit %d %lld%n", &status, &ended_ns, &end);
	assert_int_equal(end, strlen(text));
	assert_true(ended_ns > 0);
	return status;
}

void order(const struct sidecar *s, const char *text)
{
	assert_int_equal(send(s->connection, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

void order_with_fd(const struct sidecar *s, const char *text, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec part = { .iov_base = (char *)text, .iov_len = strlen(text) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	assert_int_equal(sendmsg(s->connection, &message, MSG_NOSIGNAL), strlen(text));
}

int order_with_pipe(const struct sidecar *s, const char *text)
{
	int ends[2];

	assert_return_code(pipe2(ends, O_CLOEXEC), errno);
	order_with_fd(s, text, ends[1]);
	close(ends[1]);
	return ends[0];
}

int dismiss(const struct sidecar *s)
{
	int wait_status = receive_exit(s);

	order(s, "done");
	return wait_status;
}

void expect_end(struct sidecar *s, struct process *p, int wait_status)
{
	int code =
		WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);

	assert_int_equal(dismiss(s), wait_status);
	assert_int_equal(finish(p), code);
	sidecar_release(s);
}

void end_waiting(struct sidecar *s, struct process *p)
{
	close_input(p);
	expect_end(s, p, 0);
}
