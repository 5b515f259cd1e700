/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements `afterglow-sidecar exec`: launcher and sidecar around one command.
 *
 * If the command ends and leaves Ray behind, as `ray start` does, its exit code must reach the
 * shell at once. The launcher has Ray's processes as its children by then, so it stays, and goes
 * over to the sidecar of a fork of ours. Both leave the session and all descriptors that they were
 * started with, and end when Ray does.
 */
#include "sidecar/exec.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/exit_code.h"
#include "lib/failure_class.h"
#include "lib/fileio.h"
#include "lib/leave_session.h"
#include "lib/loop/child.h"
#include "lib/loop/errand.h"
#include "lib/loop/timer.h"
#include "lib/oom_score.h"
#include "lib/units.h"
#include "sidecar/launch/forwarding.h"
#include "sidecar/memcg_make.h"
#include "sidecar/record/sidecar.h"
#include "sidecar/socket/channel.h"

#define LAUNCHER "afterglow-launch"
/*
 * A run needs so many open files at once. libevent ends a program that has too few for its loop,
 * and a report that could not open what it needs is of little use.
 */
#define FILES_MIN 32
#define REPORT_WITHIN_S 5 /* after the launcher has ended */
/* the launcher takes orders for two seconds after the command's end */
#define FOLLOW_WITHIN_MS 1500
#define SHIP_WITHIN_S 120 /* for a store that is not a directory */
static const char unwatched[] = { SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE, SIGSEGV,
				  SIGPIPE, SIGSYS,  SIGTTIN, SIGTTOU, 0 };

struct run {
	const struct exec_options *options;
	struct record_options record_options;
	char directory[64], socket_path[96], launcher[PATH_MAX];
	/* The score that the command gets; "": the score that we have. */
	char oom_score[OOM_SCORE_LEN];
	struct made_memcg memcg;
	struct event_base *base;
	struct sidecar *sidecar;
	struct event *signals, *deadline;
	int signal_fd;
	sigset_t original_mask;
	pid_t child; /* the PID of the launcher */
	bool ended;
	int status;
};

/* Finds the launcher beside this program: they are installed together. */
static int find_launcher(struct run *r, struct err *err)
{
	if (child_beside(LAUNCHER, r->launcher, err) < 0)
		return -err->code;
	if (access(r->launcher, X_OK) < 0)
		return err_set(err, errno, "%s, which belongs beside afterglow-sidecar",
			       r->launcher);
	return 0;
}

static int files_suffice(struct err *err)
{
	int fds[FILES_MIN], n = 0;

	while (n < FILES_MIN && (fds[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	if (n < FILES_MIN)
		err_set(err, errno, "it takes %d more open files", FILES_MIN);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	return n < FILES_MIN ? -err->code : 0;
}

static int make_directory(struct run *r, struct err *err)
{
	const char *own = getenv("TMPDIR");

	for (const char *const *parent =
		     (const char *const[]){ own ? own : "/tmp", "/tmp", "/dev/shm", NULL };
	     *parent; parent++) {
		/* The path of a socket has to be short. */
		if (strlen(*parent) > 32)
			continue;
		snprintf(r->directory, sizeof(r->directory), "%s/afterglow-XXXXXX", *parent);
		if (mkdtemp(r->directory)) {
			snprintf(r->socket_path, sizeof(r->socket_path), "%s/socket", r->directory);
			return 0;
		}
		err_set(err, errno, "mkdtemp in %s", *parent);
		r->directory[0] = '\0';
	}
	return -err->code;
}

/* The loop goes on for at most so long: for reports that are being written, and for the store. */
static void loop_end_within(struct run *r, int seconds)
{
	r->ended = true;
	sidecar_ship_until(r->sidecar, now_boottime_ns() + seconds * NS_PER_SEC);
	if (event_add(r->deadline, &(struct timeval){ .tv_sec = seconds }) < 0)
		event_base_loopbreak(r->base);
}

static void stop_when_over(void *arg)
{
	struct run *r = arg;
	const struct shipper_stats *stats = keeper_ship_stats(sidecar_keeper(r->sidecar));

	bool awaits_launcher = r->record_options.left_behind && !sidecar_was_greeted(r->sidecar);

	if (!r->ended || awaits_launcher || sidecar_active(r->sidecar) > 0)
		return;
	/*
	 * The user waits for the command, and not for a store that is down. The next run ships the
	 * bundle.
	 */
	if (!sidecar_is_shipping(r->sidecar) || (stats && stats->failing))
		event_base_loopbreak(r->base);
	else if (!event_pending(r->deadline, EV_TIMEOUT, NULL))
		loop_end_within(r, SHIP_WITHIN_S);
}

/*
 * If a core is being kept, that goes on: it has a limit of its own, and the user can press Ctrl-C.
 */
static void on_deadline(evutil_socket_t, short, void *arg)
{
	struct run *r = arg;
	/* A launcher has come to the process that stays. */
	bool goes_on = r->record_options.left_behind && sidecar_active(r->sidecar) > 0;

	if (!goes_on && (!sidecar_keeps_core(r->sidecar) ||
			 event_add(r->deadline, &(struct timeval){ .tv_sec = 1 }) < 0))
		event_base_loopbreak(r->base);
}

static void on_child(struct run *r)
{
	bool ships = record_options_ships(&r->record_options);

	if (r->ended || waitpid(r->child, &r->status, WNOHANG) != r->child)
		return;
	loop_end_within(r, ships ? SHIP_WITHIN_S : REPORT_WITHIN_S);
	stop_when_over(r);
}

/*
 * A signal from the terminal reaches the whole process group without us, but for SIGHUP, which the
 * leader of the session gets alone. An alarm that was set before this program was executed is meant
 * for the command. SIGXFSZ of a file of ours is ours.
 */
static bool signal_is_of_command(const struct signalfd_siginfo *info)
{
	bool is_alone =
		info->ssi_signo == SIGALRM || (info->ssi_signo == SIGHUP && getsid(0) == getpid());

	return info->ssi_code == SI_KERNEL ? is_alone : (pid_t)info->ssi_pid != getpid();
}

static void on_signal(evutil_socket_t fd, short, void *arg)
{
	struct run *r = arg;
	struct signalfd_siginfo info;

	while (read((int)fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			on_child(r);
		else if (r->ended && (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM))
			event_base_loopbreak(r->base);
		else if (!r->ended && signal_is_of_command(&info)) {
			int sender = info.ssi_code == SI_USER ? (int)info.ssi_pid : 0;
			union sigval what = { .sival_int = FORWARDING_VALUE((int)info.ssi_signo,
									    sender) };

			/*
			 * Before its hello, the launcher may die of it, and its place may be the
			 * command's.
			 */
			if (!sidecar_was_greeted(r->sidecar) ||
			    sigqueue(r->child, FORWARDING_ASKED, what) < 0)
				kill(r->child, (int)info.ssi_signo);
		}
		if (info.ssi_signo == SIGTSTP)
			forwarding_stop_self(SIGTSTP);
	}
}

static int start_loop(struct run *r, struct err *err)
{
	sigset_t watched;

	sigemptyset(&watched);
	/*
	 * The command gets whatever the user may send it. What this program brings upon itself, and
	 * what stops it, is its own.
	 */
	for (int signo = 1; signo <= SIGRTMAX; signo++)
		if (!strchr(unwatched, signo))
			sigaddset(&watched, signo);
	sigprocmask(SIG_BLOCK, &watched, NULL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	r->signal_fd = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
	if (r->signal_fd < 0)
		return err_set(err, errno, "signalfd");
	r->base = event_base_new();
	r->signals = r->base ?
			     event_new(r->base, r->signal_fd, EV_READ | EV_PERSIST, on_signal, r) :
			     NULL;
	r->deadline = r->base ? evtimer_new(r->base, on_deadline, r) : NULL;
	if (!r->signals || !r->deadline || event_add(r->signals, NULL) < 0)
		return err_set(err, ENOMEM, "event loop");
	r->record_options.socket_path = r->socket_path;
	r->record_options.own_launcher = true;
	r->record_options.own_memcg = r->memcg.path[0] ? r->memcg.path : NULL;
	return sidecar_new(r->base, &r->record_options, &r->sidecar, err);
}

/*
 * Connects in the child for the launcher, which gets the same PID by exec, and removes the socket.
 * So no process of ours is left behind when the command kills its whole process group (kill -9 0),
 * and the command cannot reach the socket.
 */
static int connect_to_sidecar(const struct run *r, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", r->socket_path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, errno, "connect to %s", r->socket_path);
	unlink(r->socket_path);
	rmdir(r->directory);
	return fd;
}

/*
 * Runs the command in the place of this process, without a report: what we lack is no reason not to
 * run it. Returns the exit code that a shell gives if it cannot be executed.
 */
static int command_become(const struct run *r, const struct err *err)
{
	fprintf(stderr, "afterglow: the command runs without a report: %s\n", err_text(err));
	if (r->oom_score[0])
		oom_score_write(r->oom_score);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &r->original_mask, NULL);
	execvp(r->options->argv[0], r->options->argv);
	int error = errno;
	fprintf(stderr, "afterglow: %s: %s\n", r->options->argv[0], strerror(error));
	return error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE;
}

/* Runs in the child. Returns only if there is no launcher: then the error says why. */
static int launcher_become(struct run *r, struct err *err)
{
	char socket_fd[16];
	const char *cores = r->options->record.cores == CORES_OFF ? NULL : "--cores";
	const char *head[11] = { LAUNCHER, "--name", r->options->name, "--socket-fd", socket_fd };
	_cleanup_close_ int fd = connect_to_sidecar(r, err);
	size_t n_head = 5, n = 0;
	_cleanup_free_ char **argv = NULL;

	if (fd < 0)
		return fd;
	snprintf(socket_fd, sizeof(socket_fd), "%d", fd);
	if (cores)
		head[n_head++] = cores;
	if (cores && r->options->cores_asked_for)
		head[n_head++] = "--cores-in-memory";
	if (r->oom_score[0]) {
		head[n_head++] = "--oom-score-adj";
		head[n_head++] = r->oom_score;
	}
	head[n_head++] = "--";
	while (r->options->argv[n])
		n++;
	argv = calloc(n_head + n + 1, sizeof(*argv));
	if (!argv)
		return err_set(err, ENOMEM, "arguments");
	memcpy(argv, head, n_head * sizeof(*head));
	memcpy(argv + n_head, r->options->argv, n * sizeof(*argv));
	if (r->memcg.path[0] && made_memcg_join(&r->memcg, err) < 0)
		fprintf(stderr, "afterglow: --memory-max is not enforced: %s\n", err_text(err));
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &r->original_mask, NULL);
	execv(r->launcher, argv);
	err_set(err, errno, "%s", r->launcher);
	return -err->code;
}

/*
 * Makes the memory cgroup that was asked for. Where none can be made the command runs without that
 * limit.
 */
static void limit_memory(struct run *r)
{
	struct err err = { 0 };

	if (r->options->memory_max && made_memcg_new(&r->memcg, r->options->memory_max,
						     r->options->record.oom_group, &err) < 0)
		fprintf(stderr, "afterglow: --memory-max is not enforced: %s\n", err_text(&err));
}

/*
 * Checks the store before the command runs for hours. A store that does not answer is reported, but
 * the command runs, because the report also goes to stderr.
 */
static void check_store(const struct run *r)
{
	const char *bundles = record_options_bundles(&r->record_options);
	struct err err = { 0 };

	if (bundles && dir_make_all(bundles, 0750, &err) == 0 && access(bundles, W_OK | X_OK) < 0)
		err_set(&err, errno, "%s", bundles);
	if (err.code)
		fprintf(stderr, "afterglow: --store: no bundle can be kept: %s\n", err_text(&err));
}

/*
 * Makes the OOM killer choose the command before us. Without a memory cgroup of its own the command
 * shares its limit with us. After the kernel has killed a large process, its memory is freed only
 * gradually; meanwhile the OOM killer would choose us, who have to report that end. Lowering our
 * score takes a privilege that we may not have.
 */
static void leave_the_choice_of_the_oom_killer(struct run *r)
{
	if (r->memcg.path[0] || !oom_score_read(r->oom_score) || !oom_score_write(OOM_SCORE_NEVER))
		r->oom_score[0] = '\0';
}

/* Runs in a child, which forgets the loop of its parent. */
_Noreturn static void survivors_watch(const struct run *parent, int launcher_fd,
				      const struct process_watch *left)
{
	struct run r = { .options = parent->options, .memcg = parent->memcg, .ended = true };
	struct err err;

	leave_session(launcher_fd);
	errand_loop_runs(false);
	r.record_options = parent->record_options;
	r.record_options.left_behind = left;
	r.record_options.record_success = false; /* it has no exit code */
	if (make_directory(&r, &err) == 0 && start_loop(&r, &err) == 0 &&
	    event_add(r.deadline, &(struct timeval){ .tv_sec = REPORT_WITHIN_S }) == 0) {
		sidecar_on_idle(r.sidecar, stop_when_over, &r);
		launch_send(launcher_fd, "stay", r.socket_path, NULL);
		close(launcher_fd);
		event_base_dispatch(r.base);
	}
	sidecar_free(r.sidecar);
	rmdir(r.directory);
	made_memcg_remove(&r.memcg, false);
	_exit(0);
}

/*
 * A launcher hangs up here when it has greeted the process that stays, and leads a session then. It
 * also hangs up when it ends, because it was killed or has waited long enough. If it is late, it
 * ends with that process, which is asked to end and removes its socket.
 */
static bool survivors_hand_over(int launcher_fd, const struct process_watch *left, void *arg)
{
	struct run *r = arg;
	struct pollfd hung_up = { .fd = launcher_fd };
	pid_t pid = r->ended ? -1 : fork();

	if (pid == 0)
		survivors_watch(r, launcher_fd, left);
	if (pid > 0 && poll(&hung_up, 1, FOLLOW_WITHIN_MS) > 0 && getsid(r->child) == r->child) {
		r->memcg.path[0] = '\0'; /* the process that stays removes it when Ray has ended */
		loop_end_within(r, REPORT_WITHIN_S);
		return true;
	}
	if (pid > 0)
		kill(pid, SIGTERM);
	return false;
}

static int run(struct run *r, struct err *err)
{
	check_store(r);
	limit_memory(r);
	leave_the_choice_of_the_oom_killer(r);
	if (files_suffice(err) < 0 || find_launcher(r, err) < 0 || make_directory(r, err) < 0 ||
	    start_loop(r, err) < 0)
		return -err->code;
	r->record_options.hand_over = survivors_hand_over;
	r->record_options.hand_over_arg = r;
	sidecar_on_idle(r->sidecar, stop_when_over, r);
	r->child = fork();
	if (r->child == 0) {
		launcher_become(r, err);
		_exit(command_become(r, err));
	}
	if (r->child < 0)
		return err_set(err, errno, "fork");
	event_base_dispatch(r->base);
	return WIFSIGNALED(r->status) ? EXIT_CODE_OF_SIGNAL(WTERMSIG(r->status)) :
					WEXITSTATUS(r->status);
}

/*
 * Reports a launcher that was killed before its hello, or the command that ran in its place, so
 * that there is no report.
 */
static void say_unstarted(const struct run *r)
{
	const char *signal = WIFSIGNALED(r->status) ? signal_name(WTERMSIG(r->status)) : NULL;

	if (!r->ended || !signal || !r->sidecar || sidecar_was_greeted(r->sidecar))
		return;
	fprintf(stderr,
		"afterglow: there is no report: what was started was ended by %s before it was watched\n",
		signal);
}

static void say_what_is_not_shipped(const struct run *r)
{
	const struct shipper_stats *stats = keeper_ship_stats(sidecar_keeper(r->sidecar));

	if (stats && stats->failing)
		fprintf(stderr,
			"afterglow: not shipped: %s\nafterglow: kept in %s; the next run tries again\n",
			stats->last.error, record_options_bundles(&r->record_options));
}

/*
 * Whatever outlives a launcher that was killed ends with it, as in a container: it has nobody left
 * who watches it. Processes that the command left behind at its own end go on in its cgroup,
 * because their limit holds only there.
 */
static void remove_memcg(struct run *r)
{
	unsigned int n_left = made_memcg_remove(&r->memcg, r->ended && WIFSIGNALED(r->status));

	if (n_left)
		fprintf(stderr,
			"afterglow: processes outlive the command and stay in its memory cgroup %s: %u\n",
			r->memcg.path, n_left);
}

int exec_run(const struct exec_options *options)
{
	struct run r = { .options = options, .record_options = options->record, .signal_fd = -1 };
	struct err err = { 0 };

	sigprocmask(SIG_SETMASK, NULL, &r.original_mask);
	int rc = run(&r, &err);
	if (r.sidecar)
		sidecar_finish_reports(r.sidecar);
	say_unstarted(&r);
	if (r.sidecar && sidecar_last_bundle(r.sidecar)[0])
		fprintf(stderr, "afterglow: bundle %s\n", sidecar_last_bundle(r.sidecar));
	if (r.sidecar)
		say_what_is_not_shipped(&r);
	sidecar_free(r.sidecar);
	event_drop(r.signals);
	event_drop(r.deadline);
	if (r.base)
		event_base_free(r.base);
	closep(&r.signal_fd);
	remove_memcg(&r);
	rmdir(r.directory);
	return rc < 0 ? command_become(&r, &err) : rc;
}
