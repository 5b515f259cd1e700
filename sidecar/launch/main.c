/* SPDX-License-Identifier: Apache-2.0 */
/*
 * afterglow-launch: starts the real command of a container and lets the
 * sidecar beside it look in.
 *
 * Theory of operation. The launcher is PID 1 of the container (elsewhere a child subreaper). It
 * starts the command, forwards the signals that the command would get in its place, reaps, and
 * exits with the command's own code. Beside that it keeps one connection to the sidecar's socket,
 * over which it sends descriptors once (see protocol.h) and takes a few orders. The sidecar is
 * optional at every moment: connecting never blocks, a lost connection is tried again in the
 * background, and the command runs in the same way without a sidecar.
 *
 * All signals are blocked and read from a signalfd, so the one poll() below is
 * the only place where anything happens. Nothing is allocated there. Static and libc
 * only, because it runs inside images that we do not know.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/macros.h"
#include "sidecar/launch/command.h"
#include "sidecar/launch/connection.h"
#include "sidecar/launch/environment.h"
#include "sidecar/launch/launcher.h"
#include "sidecar/launch/own_cgroup.h"
#include "sidecar/launch/tracer.h"

/* between connection attempts in the first 30 s, while a sidecar starts */
#define RETRY_FAST_MS 200
#define RETRY_SLOW_MS 2000
#define RETRY_FAST_FOR_NS (30 * NS_PER_SEC)
#define GO_WITHIN_MS 200 /* the longest time for which connecting delays the start of the command */
#define RETRY_POLL_MS 10 /* before another poll(2), if there was no memory for one */
/* at most, counted from our start, for a sidecar that was there and is gone */
#define WAIT_MET_S 10
#define OWN_FDS 3 /* the loop's own descriptors: signals, the sidecar, the search for cores */
/*
 * `kubectl exec ... --release` runs in our PID namespace and would be killed with it, so it gets
 * this time to exit with code 0.
 */
#define RELEASE_AFTER_NS (100 * NS_PER_MS)

/* --- The connection --- */

static void refuse_stranger(struct launcher *l)
{
	static const char text[] = PROGRAM
		"a process of this container listens on the sidecar's socket: running without the sidecar\n";

	if (!l->refused)
		speaker_say(&l->speaker, text, sizeof(text) - 1);
	l->refused = true;
}

/* A sidecar that does not know the verb ignores it. */
static void send_cgroup(const struct launcher *l)
{
	if (l->cgroup_fd >= 0)
		connection_sendf(l->socket_fd, &l->cgroup_fd, 1, "cgroup %d", l->cgroup_version);
}

static void drop_connection(struct launcher *l)
{
	close(l->socket_fd);
	l->socket_fd = -1;
}

void launcher_greet(struct launcher *l)
{
	if (l->socket_fd >= 0)
		send_cgroup(l);
	if (l->socket_fd >= 0 &&
	    !connection_send_hello(l->socket_fd, l->options, l->command, l->started_ns))
		drop_connection(l);
	if (l->socket_fd >= 0) {
		l->met = true;
		stop_signal_send(&l->stop, l->socket_fd);
		watched_again(&l->watched, l->socket_fd);
		cores_again(&l->cores);
	}
}

static void try_connect(struct launcher *l)
{
	int64_t now = now_ns();

	l->retry_at_ns =
		now + (now - l->started_ns < RETRY_FAST_FOR_NS ? RETRY_FAST_MS : RETRY_SLOW_MS) *
			      NS_PER_MS;
	l->socket_fd = connection_open(l->options->socket_path);
	l->queue_full = l->socket_fd == -EAGAIN;
	if (l->socket_fd == -EACCES)
		refuse_stranger(l);
	l->socket_fd = l->socket_fd < 0 ? -1 : l->socket_fd;
	launcher_greet(l);
}

/*
 * Sends hello before the command runs. The command may kill us as soon as it runs, or fill the
 * memory that we share with it. By then the sidecar has what it needs to notice that. Sending never
 * waits, but we might have to wait for a processor.
 */
static void connect_first(struct launcher *l)
{
	if (l->options->socket_fd)
		launcher_greet(l);
	else
		try_connect(l);
}

/* A sidecar that does not know the verb ignores it. */
static void send_unstarted(const struct launcher *l)
{
	const struct command_report *f = l->report;

	if (f && f->error)
		connection_sendf(l->socket_fd, NULL, 0, "unstarted %d %d %.*s", f->error, f->there,
				 LAUNCH_COMMAND_MAX, l->options->argv[0]);
}

static bool send_exit(struct launcher *l)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "exit %d %lld", l->wait_status,
			   (long long)l->ended_ns);

	return connection_send_last(l->socket_fd, text, (size_t)len);
}

/*
 * Sends all that the sidecar needs when the command has ended. Returns false if no sidecar has
 * received it: if a sidecar was killed, the launcher may see the command's end before the end of
 * the connection. If there is no room or no memory for the message, the connection stays.
 */
static bool send_end(struct launcher *l)
{
	watched_flush(&l->watched, l->socket_fd);
	if (l->socket_fd < 0)
		return false;
	cores_flush(&l->cores, l->socket_fd);
	send_unstarted(l);
	if (send_exit(l))
		return true;
	if (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM)
		drop_connection(l);
	return false;
}

/* --- Signals --- */

static void hook_ended(struct launcher *l, struct hook *hook, int status)
{
	if (l->socket_fd >= 0 && !hook->unheard)
		connection_sendf(l->socket_fd, NULL, 0, "finished %d %d %d", hook->id, status,
				 hook->timed_out);
	*hook = (struct hook){ 0 };
}

static void reap(struct launcher *l)
{
	siginfo_t next = { 0 };
	int status;
	pid_t pid = 0;

	/*
	 * We look at a child before we reap it: until then the PID of a hook names its process
	 * group and no other.
	 */
	while (waitid(P_ALL, 0, &next, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       (pid = next.si_pid) > 0) {
		struct hook *hook = hooks_find(&l->hooks, pid);

		/* A thread that had not stopped in time for its dump has done so now. */
		if (next.si_code == CLD_TRAPPED || next.si_code == CLD_STOPPED) {
			tracer_let_go(next.si_pid, next.si_status);
			next.si_pid = 0;
			continue;
		}
		if (hook)
			kill(-pid, SIGKILL);
		next.si_pid = 0;
		if (waitpid(pid, &status, WNOHANG) != pid)
			break;
		if (hook)
			hook_ended(l, hook, status);
		cores_reaped(&l->cores, pid);
		watched_reaped(&l->watched, pid, status);
		speaker_reaped(&l->speaker, pid);
		if (pid != l->command)
			continue;
		watched_parent_ended(&l->watched, pid, l->socket_fd);
		l->ended = true;
		l->wait_status = status;
		l->ended_ns = now_ns();
	}
	if (l->killing && pid == 0)
		launcher_kill_children(l);
}

static void launcher_forward(struct launcher *l, struct signalfd_siginfo *info)
{
	bool asked = l->forwarding.run && (pid_t)info->ssi_pid == l->forwarding.run;

	if (asked && info->ssi_signo == FORWARDING_ASKED && info->ssi_code == SI_QUEUE) {
		info->ssi_pid = (uint32_t)info->ssi_int >> 7;
		info->ssi_signo = info->ssi_int & 127;
		info->ssi_code = SI_USER;
	}
	int signo = (int)info->ssi_signo;
	/* A terminal that hangs up signals only the leader of its session. */
	bool from_terminal =
		info->ssi_code == SI_KERNEL && (signo != SIGHUP || getsid(0) != getpid());
	int64_t now = now_ns();
	/*
	 * Its other signals go to the whole process group, so the command has them already. Without
	 * us it could not leave the group that a shell has made for `afterglow run`.
	 */
	bool has_it = from_terminal &&
		      (getpgrp() != l->forwarding.run || getpgid(l->command) == getpgrp());
	bool gets_it = has_it || forwarding_take(&l->forwarding, signo, asked, now);

	/*
	 * A signal from inside that the command never gets asks for nothing. A runtime that sent it
	 * kills later.
	 */
	if ((gets_it || info->ssi_pid == 0) && stop_signal_note(&l->stop, info, now))
		stop_signal_send(&l->stop, l->socket_fd);
	if (from_terminal && (signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU))
		forwarding_stop_self(signo);
}

static void read_signals(struct launcher *l)
{
	struct signalfd_siginfo info;

	while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(l);
		else if (info.ssi_code == SI_QUEUE && info.ssi_signo == SIGTERM &&
			 info.ssi_int == RELEASE_MARK)
			l->release_ns = l->ended && !l->release_ns ? now_ns() + RELEASE_AFTER_NS :
								     l->release_ns;
		else if (!l->ended)
			launcher_forward(l, &info);
		else if (IS_ONE_OF(info.ssi_signo == FORWARDING_ASKED ? info.ssi_int & 127 :
									(int)info.ssi_signo,
				   SIGTERM, SIGINT))
			/* after the command's end, this signal asks the launcher itself to end */
			l->released = true;
	}
}

/* --- The loop --- */

static bool seeks_sidecar(const struct launcher *l)
{
	return l->awaiting || (l->socket_fd < 0 && !l->options->socket_fd && !l->ended);
}

/* Returns when to exit, counted from the command's end. */
static int64_t leave_at_ns(const struct launcher *l)
{
	return l->release_ns && l->release_ns < l->linger_until_ns ? l->release_ns :
								     l->linger_until_ns;
}

static int poll_timeout_ms(const struct launcher *l)
{
	int64_t at = l->ended ? leave_at_ns(l) : INT64_MAX;

	if (seeks_sidecar(l) && l->retry_at_ns < at)
		at = l->retry_at_ns;
	at = MIN(at, hooks_next_ns(&l->hooks));
	if (!l->ended && forwarding_next_ns(&l->forwarding) < at)
		at = forwarding_next_ns(&l->forwarding);
	if (at == INT64_MAX)
		return -1;
	int64_t ms = (at - now_ns()) / NS_PER_MS + 1;
	return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

/*
 * Returns until when to wait for a sidecar. The kubelet starts the sidecar after us, so it may
 * begin to listen only after a command that failed at once has ended; or it was killed and is being
 * restarted. Its report is worth waiting for some seconds. After a success there is no report; but
 * where the pod ends with the sidecar, one that never saw us would keep it for longer. A container
 * that the runtime has asked to stop waits for nobody: the kubelet starts no sidecar then.
 */
static int64_t sidecar_comes_until_ns(const struct launcher *l)
{
	int64_t seconds =
		l->wait_status == 0 ? l->options->wait_after_success_s : l->options->wait_sidecar_s;

	return l->started_ns + (l->met ? MIN(seconds, WAIT_MET_S) : seconds) * NS_PER_SEC;
}

static bool sidecar_may_come(const struct launcher *l)
{
	const bool is_stopped = l->stop.signo && !l->stop.sender;

	return !l->options->socket_fd && !is_stopped && !l->refused &&
	       l->ended_ns < sidecar_comes_until_ns(l);
}

/*
 * To be called when it could not be told of the command's end. It hardly gets a processor then, or
 * the container's memory is full.
 */
static bool sidecar_lives(const struct launcher *l)
{
	return l->socket_fd >= 0 || l->queue_full;
}

/* Returns until when to try again to tell a sidecar of the command's end; 0: not at all. */
static int64_t try_until_ns(const struct launcher *l)
{
	int64_t until = sidecar_may_come(l) ? sidecar_comes_until_ns(l) : 0;

	/* A sidecar that is not told takes our end for a kill. */
	if (sidecar_lives(l) && until < l->tell_until_ns)
		until = l->tell_until_ns;
	return until;
}

/*
 * Reports that the command has ended, and waits for the answer if a sidecar is connected or may
 * still connect.
 */
static void announce_end(struct launcher *l)
{
	if (!l->tell_until_ns)
		l->tell_until_ns = now_ns() + LINGER_NS;
	if (l->socket_fd < 0 && !l->options->socket_fd)
		try_connect(l);
	bool sent = send_end(l);
	if (!sent && sidecar_lives(l))
		l->retry_at_ns = now_ns() + RETRY_FAST_MS * NS_PER_MS;
	/* The time counts from the message, so that the sidecar has all of it. */
	l->linger_until_ns = sent ? now_ns() + LINGER_NS : try_until_ns(l);
	l->awaiting = !sent && l->linger_until_ns;
	if (!sent && !l->awaiting)
		l->released = true;
}

/* There was no memory for it. The command must not end for that, so we look again soon. */
static void after_failed_poll(struct pollfd *fds)
{
	poll(NULL, 0, RETRY_POLL_MS);
	for (int i = 0; i < OWN_FDS; i++)
		fds[i].revents = fds[i].fd < 0 ? 0 : POLLIN;
}

static void run(struct launcher *l)
{
	bool announced = false;
	nfds_t n;

	while (!l->released) {
		struct pollfd fds[OWN_FDS + LAUNCH_WATCHED_MAX] = {
			{ .fd = l->signal_fd, .events = POLLIN },
			{ .fd = l->socket_fd, .events = POLLIN },
			{ .fd = l->cores.fd, .events = POLLIN },
		};

		n = OWN_FDS + watched_poll(&l->watched, fds + OWN_FDS);
		if (poll(fds, n, poll_timeout_ms(l)) < 0 && errno != EINTR)
			after_failed_poll(fds);
		if (fds[0].revents)
			read_signals(l);
		if (!l->ended)
			forwarding_look(&l->forwarding, now_ns());
		watched_tell(&l->watched, fds + OWN_FDS, l->socket_fd);
		hooks_kill_overdue(&l->hooks, now_ns());
		if (fds[2].revents)
			cores_relay(&l->cores, l->socket_fd);
		if (l->ended && !announced) {
			announced = true;
			announce_end(l);
		}
		if (fds[1].revents && l->socket_fd >= 0)
			launcher_read_order(l);
		if (l->ended && now_ns() >= leave_at_ns(l))
			break;
		if (!seeks_sidecar(l) || now_ns() < l->retry_at_ns)
			continue;
		if (l->awaiting)
			announce_end(l);
		else
			try_connect(l);
	}
}

/*
 * Changes our name from a number to "afterglow-launch". The shell that starts us opens our file,
 * verifies it, and executes what it has open. The kernel then names the process after the last part
 * of the path, which is the number of the descriptor; but ps, the sidecar and --release know us by
 * our name.
 */
static void leave_self_fd(int fd, char *argv0)
{
	static const char name[] = "afterglow-launch";

	close(fd);
	prctl(PR_SET_NAME, name);
	if (strlen(argv0) < strlen(name))
		return;
	memset(argv0, 0, strlen(argv0));
	memcpy(argv0, name, strlen(name));
}

static void close_both(const int ends[2])
{
	closep(&ends[0]);
	closep(&ends[1]);
}

/*
 * Called in the child: waits until the launcher has sent hello, or for a short time if it cannot.
 */
static void wait_for_go(const int go[2])
{
	struct pollfd ready = { .fd = go[0] };

	if (go[0] < 0)
		return;
	close(go[1]);
	poll(&ready, 1, GO_WITHIN_MS);
	close(go[0]);
}

/* In a PID namespace without a /proc of its own, we would read what belongs to other processes. */
static bool is_process_1(void)
{
	char own[2];

	return getpid() == 1 && readlink("/proc/self", own, sizeof(own)) == 1 && own[0] == '1';
}

/*
 * Container runtimes make process 1 the leader of a session, so the command becomes the leader of
 * one, too: `kill 0` and setsid(2) do there what they would do without us. A terminal belongs to
 * our session and would be out of the command's reach in another one.
 */
static bool command_leads_session(void)
{
	return getsid(0) == getpid() && !isatty(STDIN_FILENO) && !isatty(STDOUT_FILENO) &&
	       !isatty(STDERR_FILENO);
}

int main(int, char **argv)
{
	struct launcher l = {
		.socket_fd = -1, .cgroup_fd = -1, .cores.fd = -1, .speaker = { .fd = -1 }
	};
	struct command_report *report;
	struct options options;
	sigset_t all, original;
	int go[2];

	options_parse(argv, &options);
	environment_restore(argv, options.self_fd);
	if (options.self_fd)
		leave_self_fd(options.self_fd, argv[0]);
	l.options = &options;
	if (options.socket_fd)
		l.socket_fd = connection_adopt(options.socket_fd);
	l.original_mask = &original;

	/*
	 * Not sigfillset(): musl leaves out 32 to 34, and 34 is the SIGRTMIN of programs built with
	 * glibc.
	 */
	memset(&all, 0xff, sizeof(all));
	sigprocmask(SIG_BLOCK, &all, &original);
	/*
	 * exec hands down an ignored SIGCHLD, which would make the kernel reap the command before
	 * we see its status.
	 */
	signal(SIGCHLD, SIG_DFL);
	l.signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	prctl(PR_SET_CHILD_SUBREAPER, 1);

	/*
	 * `afterglow-sidecar exec`, which passes a socket, knows more about our cgroup than we can
	 * see.
	 */
	if (!options.socket_fd)
		l.cgroup_fd = own_cgroup_open(&l.cgroup_version);
	l.report = report = command_report_new();
	l.started_ns = now_ns();
	if (pipe2(go, O_CLOEXEC) < 0)
		go[0] = go[1] = -1;
	bool leads = command_leads_session();
	l.command = l.signal_fd < 0 ? -1 : fork();
	if (l.command == 0) {
		wait_for_go(go);
		if (leads)
			setsid();
		command_run(&options, &original, report);
	}
	if (l.command < 0) {
		/* Even if our own setup fails, the command has to run. */
		fprintf(stderr, PROGRAM "running without the sidecar: %s\n", strerror(errno));
		command_run(&options, &original, NULL);
	}
	l.forwarding = (struct forwarding){ .command = l.command,
					    .as_process_1 = is_process_1(),
					    .run = options.socket_fd ? getppid() : 0 };
	connect_first(&l);
	close_both(go);
	if (options.cores) {
		cores_start(&l.cores, report ? &report->core_limit : NULL, l.socket_fd);
		if (l.socket_fd >= 0)
			cores_again(&l.cores);
	}
	run(&l);
	cores_finish(&l.cores);
	hooks_kill_all(&l.hooks);
	speaker_finish(&l.speaker);
	return WIFSIGNALED(l.wait_status) ? 128 + WTERMSIG(l.wait_status) :
					    WEXITSTATUS(l.wait_status);
}
