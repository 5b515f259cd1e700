/* SPDX-License-Identifier: Apache-2.0 */
/*
 * afterglow-launch: starts the real command of a container and lets the
 * recorder beside it look in.
 *
 * Theory of operation. The launcher is PID 1 of the container (elsewhere a
 * child subreaper). It starts the command, forwards signals, reaps, and exits
 * with the command's own code. Beside that it keeps one connection to the
 * recorder's socket, over which it hands out descriptors once (see protocol.h)
 * and takes a few orders. The recorder is optional at every moment: connecting
 * never blocks, a lost connection is tried again in the background, and without
 * one the command does not notice a difference.
 *
 * All signals are blocked and read from a signalfd, so the one poll() below is
 * the only place where anything happens. Nothing is allocated. Static and libc
 * only, because it runs inside images that we do not know.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sidecar/launch/hooks.h"
#include "sidecar/launch/protocol.h"

#define DEFAULT_NAME "main"
#define DEFAULT_SOCKET "/afterglow/run/afterglow.sock"
#define TERMINATION_LOG "/dev/termination-log"
#define PROGRAM "afterglow-launch: "

#define RETRY_FAST_MS 200 /* between connection attempts in the first 30 s, while a sidecar starts */
#define RETRY_SLOW_MS 2000
#define RETRY_FAST_FOR_NS (30 * NS_PER_SEC)
#define LINGER_NS (2 * NS_PER_SEC) /* wait for "done" after the command ended */
#define HOLD_MAX_S 86400
#define RELEASE_MARK 0x41476c6f /* the value that --release sends along with its SIGTERM */
#define SAY_WAIT_MS 100 /* a full stderr pipe costs the text, never the container */
#define WAIT_TCP_REPORT_S 10
#define NS_PER_SEC ((int64_t)1000000000)

/* Without anonymous and file-backed shared memory: dumping the object store could itself use up the limit. */
#define COREDUMP_FILTER "0x31"

struct options {
	const char *name;
	const char *socket_path;
	const char *wait_tcp;
	char *prefix; /* words before COMMAND, NULL: none */
	rlim_t nofile; /* 0: leave the limit */
	bool cores;
	char **argv;
};

struct launcher {
	const struct options *options;
	int signal_fd;
	int socket_fd; /* -1 while not connected */
	pid_t command;
	int64_t started_ns;
	int64_t retry_at_ns;
	bool ended;
	int wait_status;
	int64_t ended_ns;
	int64_t linger_until_ns;
	bool held; /* the recorder said hold: the wait does not depend on it */
	struct hooks hooks;
	const sigset_t *original_mask;
	bool killing; /* the recorder said kill: whoever is left to us dies too */
	bool released; /* the recorder said done, or there is nobody to wait for */
};

static const char usage[] =
	"usage: afterglow-launch [OPTION...] -- COMMAND [ARG...]\n"
	"Starts COMMAND, forwards signals to it and exits with its exit code (128+N after\n"
	"signal N). Lets the Afterglow recorder at --socket observe this container.\n"
	"\n"
	"  --name NAME       the container's name in reports (default \"" DEFAULT_NAME "\")\n"
	"  --socket PATH     the recorder's socket (default " DEFAULT_SOCKET ");\n"
	"                    without one COMMAND runs all the same\n"
	"  --nofile N        raise the soft limit of open files to N, as ulimit -n N would\n"
	"  --wait-tcp H:P    start COMMAND only when TCP port P of host H accepts connections\n"
	"  --cores           let COMMAND leave core files: soft core limit to the hard one,\n"
	"                    shared memory left out (coredump_filter " COREDUMP_FILTER ")\n"
	"  --prefix WORDS    put WORDS, split at blanks, before COMMAND (\"memray run -o /tmp/m.bin\");\n"
	"                    without it when its first word is no program here\n"
	"  --release [PID]   end the hold of a container whose command has failed; of the launcher\n"
	"                    with that PID (default 1). While its command runs, nothing happens\n"
	"  --help, --version\n";

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

/* Options */

_Noreturn static void usage_error(const char *what, const char *detail)
{
	fprintf(stderr, PROGRAM "%s%s (see --help)\n", what, detail);
	exit(2);
}

static rlim_t parse_nofile(const char *text)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || value == 0 || *text == '-')
		usage_error("--nofile takes a whole number above 0, not ", text);
	return value;
}

static const char *option_value(char **argv, int *i)
{
	if (!argv[*i + 1])
		usage_error(argv[*i], " takes a value");
	return argv[++*i];
}

/* Sent along with SIGTERM, the value tells us apart from whoever wants the command to end. */
_Noreturn static void release(const char *pid_text)
{
	const union sigval mark = { .sival_int = RELEASE_MARK };
	char path[64], name[32] = "", *end = NULL;
	long pid = pid_text ? strtol(pid_text, &end, 10) : 1;
	ssize_t len;
	int fd;

	if (pid < 1 || pid > INT_MAX || (end && *end))
		usage_error("--release takes a PID, not ", pid_text);
	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
	/* The kernel keeps 15 bytes of a program's name. */
	if (len < 0 || strncmp(name, "afterglow-launch", 15) != 0) {
		fprintf(stderr, PROGRAM "process %ld is no afterglow-launch\n", pid);
		exit(1);
	}
	if (sigqueue((pid_t)pid, SIGTERM, mark) < 0) {
		fprintf(stderr, PROGRAM "process %ld: %s\n", pid, strerror(errno));
		exit(1);
	}
	exit(0);
}

static void parse_options(char **argv, struct options *o)
{
	int i;

	*o = (struct options){ .name = DEFAULT_NAME, .socket_path = DEFAULT_SOCKET };
	for (i = 1; argv[i] && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			exit(0);
		} else if (strcmp(argv[i], "--version") == 0) {
			puts("afterglow-launch " AFTERGLOW_VERSION);
			exit(0);
		} else if (strcmp(argv[i], "--release") == 0)
			release(argv[i + 1]);
		else if (strcmp(argv[i], "--name") == 0)
			o->name = option_value(argv, &i);
		else if (strcmp(argv[i], "--socket") == 0)
			o->socket_path = option_value(argv, &i);
		else if (strcmp(argv[i], "--wait-tcp") == 0)
			o->wait_tcp = option_value(argv, &i);
		else if (strcmp(argv[i], "--prefix") == 0)
			o->prefix = (char *)option_value(argv, &i);
		else if (strcmp(argv[i], "--nofile") == 0)
			o->nofile = parse_nofile(option_value(argv, &i));
		else if (strcmp(argv[i], "--cores") == 0)
			o->cores = true;
		else
			usage_error("unknown option ", argv[i]);
	}
	o->argv = argv + i;
	if (!o->argv[0])
		usage_error("no command", "");
	if (!o->name[0] || strlen(o->name) > LAUNCH_NAME_MAX || strpbrk(o->name, " \n/"))
		usage_error("--name takes a container's name, not ", o->name);
	if (o->wait_tcp && !strrchr(o->wait_tcp, ':'))
		usage_error("--wait-tcp takes HOST:PORT, not ", o->wait_tcp);
}

/* In the child, before COMMAND */

static void raise_soft_limit(int resource, rlim_t to)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0 || limit.rlim_cur >= to)
		return;
	limit.rlim_cur = to < limit.rlim_max ? to : limit.rlim_max;
	setrlimit(resource, &limit);
}

static void allow_cores(void)
{
	struct rlimit limit;
	int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);

	if (getrlimit(RLIMIT_CORE, &limit) == 0)
		raise_soft_limit(RLIMIT_CORE, limit.rlim_max);
	if (fd < 0)
		return;
	if (write(fd, COREDUMP_FILTER, sizeof(COREDUMP_FILTER) - 1) < 0)
		fprintf(stderr, PROGRAM "coredump_filter: %s\n", strerror(errno));
	close(fd);
}

static bool tcp_accepts(const char *host, const char *port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	bool accepted = false;

	if (getaddrinfo(host, port, &hints, &list) != 0)
		return false;
	for (struct addrinfo *a = list; a && !accepted; a = a->ai_next) {
		int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		const struct timeval limit = { .tv_sec = 2 };

		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		accepted = connect(fd, a->ai_addr, a->ai_addrlen) == 0;
		close(fd);
	}
	freeaddrinfo(list);
	return accepted;
}

/* Runs in the child, where signals have their default effect, so that a wait can be ended. */
static void wait_for_tcp(const char *address)
{
	const struct timespec pause = { .tv_sec = 1 };
	char host[256];
	const char *colon = strrchr(address, ':');
	int64_t begin = now_ns(), said = begin;

	snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	while (!tcp_accepts(host, colon + 1)) {
		if (now_ns() - said >= WAIT_TCP_REPORT_S * NS_PER_SEC) {
			said = now_ns();
			fprintf(stderr, PROGRAM "waiting for %s since %lld s\n", address,
				(long long)((said - begin) / NS_PER_SEC));
		}
		nanosleep(&pause, NULL);
	}
}

/* Returns if that cannot be: COMMAND is then started without it. In the child, which may allocate. */
static void exec_with_prefix(char *prefix, char **command)
{
	size_t n = 0, words = strlen(prefix) / 2 + 1;
	char **argv, *at = NULL;

	while (command[n])
		n++;
	argv = calloc(words + n + 1, sizeof(*argv));
	if (!argv)
		return;
	words = 0;
	for (char *word = strtok_r(prefix, " \t\n", &at); word; word = strtok_r(NULL, " \t\n", &at))
		argv[words++] = word;
	memcpy(argv + words, command, n * sizeof(*argv));
	if (words > 0) {
		execvp(argv[0], argv);
		fprintf(stderr, PROGRAM "--prefix: %s: %s: starting without it\n", argv[0], strerror(errno));
	}
	free(argv);
}

_Noreturn static void run_command(const struct options *o, const sigset_t *original_mask)
{
	sigprocmask(SIG_SETMASK, original_mask, NULL);
	if (o->nofile)
		raise_soft_limit(RLIMIT_NOFILE, o->nofile);
	if (o->cores)
		allow_cores();
	if (o->wait_tcp)
		wait_for_tcp(o->wait_tcp);
	if (o->prefix)
		exec_with_prefix(o->prefix, o->argv);
	execvp(o->argv[0], o->argv);
	fprintf(stderr, PROGRAM "%s: %s\n", o->argv[0], strerror(errno));
	/* As a shell does. */
	_exit(errno == ENOENT ? 127 : 126);
}

/* The connection */

static void disconnect(struct launcher *l)
{
	if (l->socket_fd >= 0)
		close(l->socket_fd);
	l->socket_fd = -1;
	hooks_kill_all(&l->hooks);
	if (l->ended && !l->held)
		l->released = true;
}

static bool send_message(struct launcher *l, const char *text, size_t len, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(LAUNCH_FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)text, .iov_len = len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n_fds > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
	}
	return sendmsg(l->socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

static bool send_hello(struct launcher *l)
{
	char text[256], letters[LAUNCH_FDS_MAX + 1] = "";
	const struct {
		char letter;
		int fd;
	} offers[] = {
		{ LAUNCH_FD_ROOT, open("/", O_PATH | O_CLOEXEC) },
		{ LAUNCH_FD_TERMINATION_LOG, open(TERMINATION_LOG, O_RDWR | O_CLOEXEC) },
		{ LAUNCH_FD_PIDFD, (int)syscall(SYS_pidfd_open, getpid(), 0) },
	};
	int fds[LAUNCH_FDS_MAX];
	size_t n = 0;
	bool sent;
	int len;

	for (size_t i = 0; i < LAUNCH_FDS_MAX; i++)
		if (offers[i].fd >= 0) {
			letters[n] = offers[i].letter;
			fds[n++] = offers[i].fd;
		}
	len = snprintf(text, sizeof(text), "hello %d %s %s %d %d %lld", LAUNCH_PROTOCOL_VERSION, n ? letters : "-",
		       l->options->name, (int)getpid(), (int)l->command, (long long)l->started_ns);
	sent = send_message(l, text, (size_t)len, fds, n);
	while (n > 0)
		close(fds[--n]);
	return sent;
}

static bool send_exit(struct launcher *l)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "exit %d %lld", l->wait_status, (long long)l->ended_ns);

	return send_message(l, text, (size_t)len, NULL, 0);
}

/* One attempt. A unix socket connects at once or not at all; EAGAIN (its queue is full) counts as not. */
static void try_connect(struct launcher *l)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int64_t now = now_ns();

	l->retry_at_ns = now + (now - l->started_ns < RETRY_FAST_FOR_NS ? RETRY_FAST_MS : RETRY_SLOW_MS) * (NS_PER_SEC / 1000);
	if (strlen(l->options->socket_path) >= sizeof(address.sun_path))
		return;
	strcpy(address.sun_path, l->options->socket_path);
	l->socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->socket_fd < 0)
		return;
	if (connect(l->socket_fd, (struct sockaddr *)&address, sizeof(address)) < 0 || !send_hello(l))
		disconnect(l);
}

static void say(const char *text, size_t len)
{
	struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

	/* At most PIPE_BUF bytes into a pipe that has room: does not block. */
	if (poll(&ready, 1, SAY_WAIT_MS) == 1 && write(STDERR_FILENO, text, len) < 0)
		return;
}

/*
 * As PID 1: all but ourselves. Elsewhere the processes below us are what was
 * left to us as subreaper, so each round kills the children we have, and the
 * next, after their end, those that they leave (see reap).
 */
static void kill_everything(const struct launcher *l)
{
	char path[64], list[4096];
	ssize_t len;
	int fd;

	if (getpid() == 1) {
		kill(-1, SIGKILL);
		return;
	}
	if (!l->ended)
		kill(l->command, SIGKILL);
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, list, sizeof(list) - 1);
	if (fd >= 0)
		close(fd);
	list[len < 0 ? 0 : len] = '\0';
	/* Each number ends in a blank; one cut at the end of the buffer does not, and is another round's. */
	for (char *pid = list, *end; (end = strchr(pid, ' ')); pid = end + 1)
		kill((pid_t)strtol(pid, NULL, 10), SIGKILL);
}

/*
 * Who may have commands run as our user: a recorder outside this container (its
 * PID does not exist in our namespace), root, ourselves. Not another user of the
 * container who put a socket of his own where ours is expected.
 */
static bool recorder_may_run(int socket_fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.pid == 0 || peer.uid == 0 || peer.uid == geteuid());
}

static void run_hook(struct launcher *l, const char *order, int output_fd)
{
	int64_t now = now_ns();
	char text[64];
	int id, len;
	pid_t pid = hooks_run(&l->hooks, order, recorder_may_run(l->socket_fd), output_fd, l->original_mask, now, &id);

	if (pid > 0)
		len = snprintf(text, sizeof(text), "ran %d %d", id, (int)pid);
	else
		len = snprintf(text, sizeof(text), "refused %d %d", id, (int)-pid);
	send_message(l, text, (size_t)len, NULL, 0);
	if (pid > 0 && l->ended && hooks_find(&l->hooks, pid)->kill_at_ns + LINGER_NS > l->linger_until_ns)
		l->linger_until_ns = hooks_find(&l->hooks, pid)->kill_at_ns + LINGER_NS;
}

static void take_order(struct launcher *l, const char *text, size_t len, int fd)
{
	if (len > 4 && memcmp(text, "say ", 4) == 0)
		say(text + 4, len - 4);
	else if (strcmp(text, "kill") == 0 && !l->ended) {
		l->killing = true;
		kill_everything(l);
	} else if (strncmp(text, "run ", 4) == 0)
		run_hook(l, text + 4, fd);
	else if (strncmp(text, "hold ", 5) == 0 && l->ended) {
		long seconds = strtol(text + 5, NULL, 10);

		if (seconds > 0 && seconds <= HOLD_MAX_S) {
			l->linger_until_ns = now_ns() + seconds * NS_PER_SEC;
			l->held = true;
		}
	} else if (strcmp(text, "done") == 0 && l->ended)
		l->released = true;
}

/* One order a round of the loop, so that a flood of them never holds up signals and reaping. */
static void read_order(struct launcher *l)
{
	char text[LAUNCH_MESSAGE_MAX + 1];
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { .iov_base = text, .iov_len = LAUNCH_MESSAGE_MAX };
	/* Room for one descriptor; the kernel closes what is beyond it. CMSG_SPACE would have room for two, by rounding. */
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int)),
	};
	ssize_t len = recvmsg(l->socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *rights;
	int fd = -1;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	rights = len < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (rights && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
	if (len <= 0)
		disconnect(l);
	else {
		text[len] = '\0';
		take_order(l, text, (size_t)len, fd);
	}
	if (fd >= 0)
		close(fd);
}

/* Signals */

static void hook_ended(struct launcher *l, struct hook *hook, int status)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "finished %d %d %d", hook->id, status, hook->timed_out);

	bool unheard = hook->unheard;

	*hook = (struct hook){ 0 };
	if (l->socket_fd >= 0 && !unheard)
		send_message(l, text, (size_t)len, NULL, 0);
}

static void reap(struct launcher *l)
{
	siginfo_t next = { 0 };
	int status;
	pid_t pid = 0;

	/* Looked at before it is reaped: until then a hook's PID still names its group, and no other. */
	while (waitid(P_ALL, 0, &next, WEXITED | WNOHANG | WNOWAIT) == 0 && (pid = next.si_pid) > 0) {
		struct hook *hook = hooks_find(&l->hooks, pid);

		if (hook)
			kill(-pid, SIGKILL);
		next.si_pid = 0;
		if (waitpid(pid, &status, WNOHANG) != pid)
			break;
		if (hook)
			hook_ended(l, hook, status);
		if (pid != l->command)
			continue;
		l->ended = true;
		l->wait_status = status;
		l->ended_ns = now_ns();
		l->linger_until_ns = l->ended_ns + LINGER_NS;
	}
	if (l->killing && pid == 0)
		kill_everything(l);
}

static void forward(const struct launcher *l, const struct signalfd_siginfo *info)
{
	int signo = (int)info->ssi_signo;
	bool from_terminal = info->ssi_code == SI_KERNEL;

	/* The terminal's signals go to the whole process group: the command has them already. */
	if (!from_terminal)
		kill(l->command, signo);
	else if (signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU)
		raise(SIGSTOP);
}

static void read_signals(struct launcher *l)
{
	struct signalfd_siginfo info;

	while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(l);
		else if (info.ssi_code == SI_QUEUE && info.ssi_signo == SIGTERM && info.ssi_int == RELEASE_MARK)
			l->released = l->ended;
		else if (!l->ended)
			forward(l, &info);
		else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			l->released = true; /* whoever asks now wants the container gone */
	}
}

/* The loop */

static int poll_timeout_ms(const struct launcher *l)
{
	int64_t at = l->ended ? l->linger_until_ns : l->socket_fd < 0 ? l->retry_at_ns : INT64_MAX;
	int64_t ms;

	if (hooks_next_ns(&l->hooks) < at)
		at = hooks_next_ns(&l->hooks);
	if (at == INT64_MAX)
		return -1;
	ms = (at - now_ns()) / (NS_PER_SEC / 1000) + 1;
	return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

/* The command has just ended: tell, and wait for the answer if there is anybody to give one. */
static void announce_end(struct launcher *l)
{
	if (l->socket_fd < 0)
		try_connect(l);
	if (l->socket_fd < 0 || !send_exit(l))
		l->released = true;
}

static void run(struct launcher *l)
{
	bool announced = false;

	while (!l->released) {
		struct pollfd fds[] = {
			{ .fd = l->signal_fd, .events = POLLIN },
			{ .fd = l->socket_fd, .events = POLLIN },
		};

		if (poll(fds, 2, poll_timeout_ms(l)) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			read_signals(l);
		hooks_kill_overdue(&l->hooks, now_ns());
		if (l->ended && !announced) {
			announced = true;
			announce_end(l);
		}
		if (fds[1].revents && l->socket_fd >= 0)
			read_order(l);
		if (l->ended && now_ns() >= l->linger_until_ns)
			break;
		if (!l->ended && l->socket_fd < 0 && now_ns() >= l->retry_at_ns)
			try_connect(l);
	}
}

int main(int argc, char **argv)
{
	struct launcher l = { .socket_fd = -1 };
	struct options options;
	sigset_t all, original;

	(void)argc;
	parse_options(argv, &options);
	l.options = &options;
	l.original_mask = &original;

	/* Not sigfillset(): musl leaves out 32 to 34, and 34 is the SIGRTMIN of programs built with glibc. */
	memset(&all, 0xff, sizeof(all));
	sigprocmask(SIG_BLOCK, &all, &original);
	/* An ignored SIGCHLD, which exec hands down, would reap the command before we see its status. */
	signal(SIGCHLD, SIG_DFL);
	l.signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	prctl(PR_SET_CHILD_SUBREAPER, 1);

	l.started_ns = now_ns();
	l.command = l.signal_fd < 0 ? -1 : fork();
	if (l.command == 0)
		run_command(&options, &original);
	if (l.command < 0) {
		/* Whatever we lack, the command goes first. */
		fprintf(stderr, PROGRAM "not recording: %s\n", strerror(errno));
		run_command(&options, &original);
	}
	try_connect(&l);
	run(&l);
	hooks_kill_all(&l.hooks);
	return WIFSIGNALED(l.wait_status) ? 128 + WTERMSIG(l.wait_status) : WEXITSTATUS(l.wait_status);
}
