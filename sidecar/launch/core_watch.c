/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the process that looks for cores. */
#include "sidecar/launch/core_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/leave_session.h"
#include "sidecar/launch/clock.h"
#include "sidecar/launch/connection.h"
#include "sidecar/launch/core_dirs.h"
#include "sidecar/launch/core_file.h"
#include "sidecar/launch/core_pattern.h"

#define LOOK_MS 250 /* between looks for new processes */
/*
 * The same while there are new processes: they often change their directory at the start, and may
 * end soon.
 */
#define LOOK_SOON_MS 50
#define SOON_NS (5 * NS_PER_SEC)
/* The longest time between two scans, even if there are no new processes. */
#define SCAN_NS (2 * NS_PER_SEC)
#define SCAN_SHARE 100 /* scans take at most 1/SCAN_SHARE of the time */
#define EVENTS_SPACING_MS 50 /* a directory may be busy, so its events are read in batches */
/* a directory with a core is watched so long, because the core may have to be removed */
#define KEEP_NS (3600 * NS_PER_SEC)
#define RETRY_NS NS_PER_SEC /* before another try at a core that was still being written */

struct watch {
	int socket_fd;
	/* An order has arrived; before the first order the launcher does not read what is sent. */
	bool listening;
	struct core_pattern pattern;
	int64_t pattern_ns; /* when it was read; 0: it is to be read again */
	struct core_dirs dirs;
	struct core_sent sent;
	int loadavg_fd;
	long last_pid;
	int64_t newcomer_ns; /* when the last new process was seen */
	int64_t scanned_ns, scan_cost_ns;
	int64_t retry_ns; /* 0: there is nothing to try again */
};

static void core_watch_offer(struct watch *w, const struct core_dir *dir, const char *name,
			     enum core_found found)
{
	struct core_name core;
	struct core_key key;
	char text[LAUNCH_MESSAGE_MAX];

	if (!w->listening ||
	    !core_component_match(core_dirs_file_component(&w->pattern), name, &core))
		return;
	_cleanup_close_ int fd = core_file_open(dir->fd, name, found, &key);
	if (fd == -EAGAIN)
		w->retry_ns = now_ns() + RETRY_NS;
	if (fd < 0 || !core_sent_add(&w->sent, &key))
		return;
	int len = snprintf(text, sizeof(text), "core %d %d %d %s", (int)core.pid, (int)core.tid,
			   core.signal, core.comm[0] ? core.comm : "-");
	/* Blocks while the launcher is busy, because there is nothing else to do. */
	connection_send_waiting(w->socket_fd, text, (size_t)len, &fd, 1);
	core_dirs_keep(&w->dirs, dir, now_ns() + KEEP_NS);
}

struct removal {
	const struct watch *watch;
	struct core_key key;
};

struct search {
	struct watch *watch;
	enum core_found found;
};

static void on_name(const struct core_dir *dir, const char *name, void *arg)
{
	struct search *s = arg;

	core_watch_offer(s->watch, dir, name, s->found);
}

static void search(struct watch *w, const struct core_dir *dir, enum core_found found)
{
	struct search s = { w, found };
	char literal[CORE_PATTERN_MAX + 16];

	if (core_component_literal(core_dirs_file_component(&w->pattern), literal))
		core_watch_offer(w, dir, literal, found);
	else
		core_dir_each_name(dir, on_name, &s);
}

static void search_all(struct watch *w, enum core_found found)
{
	w->retry_ns = 0;
	for (int i = 0; i < CORE_DIRS_MAX; i++)
		if (w->dirs.list[i].fd >= 0)
			search(w, &w->dirs.list[i], found);
}

static void on_new_directory(const struct core_dir *dir, void *arg)
{
	search(arg, dir, CORE_FOUND);
}

/* Returns processor time: on a busy machine the clock does not show what a scan costs. */
static int64_t used_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static bool read_pattern(struct watch *w)
{
	struct core_pattern now;

	if (!core_pattern_read("/proc", &now))
		return false;
	w->pattern_ns = w->scanned_ns;
	if (now.target != w->pattern.target || strcmp(now.text, w->pattern.text) != 0) {
		w->pattern = now;
		core_dirs_clear(&w->dirs);
	}
	return true;
}

static void scan(struct watch *w)
{
	int64_t begin = used_ns();

	w->scanned_ns = now_ns();
	if ((!w->pattern_ns || w->scanned_ns - w->pattern_ns >= SCAN_NS) && !read_pattern(w))
		return;
	core_dirs_scan(&w->dirs, &w->pattern, w->scanned_ns, on_new_directory, w);
	w->scan_cost_ns = used_ns() - begin;
}

/* The PID given out last in this namespace: unchanged, there is no new process. */
static long last_pid(struct watch *w)
{
	char text[128], *blank;

	/* It may have failed, for want of memory or of a descriptor. */
	if (w->loadavg_fd < 0)
		w->loadavg_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t len = pread(w->loadavg_fd, text, sizeof(text) - 1, 0);
	text[len < 0 ? 0 : len] = '\0';
	blank = strrchr(text, ' ');
	return blank ? strtol(blank, NULL, 10) : -1;
}

static void look(struct watch *w)
{
	int64_t now = now_ns(), since = now - w->scanned_ns;
	long pid = last_pid(w);

	if (pid != w->last_pid)
		w->newcomer_ns = now;
	w->last_pid = pid;
	if (since >= SCAN_NS ||
	    (now - w->newcomer_ns < SOON_NS && since >= SCAN_SHARE * w->scan_cost_ns))
		scan(w);
	if (w->retry_ns && now_ns() >= w->retry_ns)
		search_all(w, CORE_FOUND);
}

static void read_events(struct watch *w)
{
	char room[16 * 1024] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len;

	while ((len = read(w->dirs.inotify_fd, room, sizeof(room))) > 0)
		for (char *at = room; at < room + len;) {
			const struct inotify_event *event = (const struct inotify_event *)at;
			const struct core_dir *dir = core_dirs_find(&w->dirs, event->wd);

			if (event->mask & IN_Q_OVERFLOW)
				search_all(w, CORE_FOUND);
			else if (dir && event->len > 0)
				core_watch_offer(w, dir, event->name, CORE_CLOSED);
			at += sizeof(*event) + event->len;
		}
}

/* --- Removing a core --- */

static void remove_if(const struct core_dir *dir, const char *name, void *arg)
{
	const struct removal *r = arg;
	struct core_name unused;
	struct core_key key;

	if (!core_component_match(core_dirs_file_component(&r->watch->pattern), name, &unused))
		return;
	_cleanup_close_ int fd = core_file_open(dir->fd, name, CORE_FOUND, &key);
	if (fd >= 0 && key.dev == r->key.dev && key.ino == r->key.ino &&
	    key.mtime_ns == r->key.mtime_ns)
		unlinkat(dir->fd, name, 0);
}

static void remove_core(const struct watch *w, const char *which)
{
	struct removal r = { .watch = w };
	unsigned long long dev, ino;
	long long mtime_ns;

	if (sscanf(which, "%llu %llu %lld", &dev, &ino, &mtime_ns) != 3)
		return;
	r.key = (struct core_key){ .dev = dev, .ino = ino, .mtime_ns = mtime_ns };
	for (int i = 0; i < CORE_DIRS_MAX; i++)
		if (w->dirs.list[i].fd >= 0)
			core_dir_each_name(&w->dirs.list[i], remove_if, &r);
}

/* Returns false if the launcher is gone. */
static bool take_order(struct watch *w)
{
	char text[LAUNCH_MESSAGE_MAX + 1];
	int fd;
	ssize_t len = connection_receive(w->socket_fd, text, &fd);

	closep(&fd);
	if (len == 0)
		return false;
	if (len < 0)
		return true;
	if (strncmp(text, CORE_REMOVE " ", sizeof(CORE_REMOVE)) == 0) {
		remove_core(w, text + sizeof(CORE_REMOVE));
		connection_send_waiting(w->socket_fd, CORE_REMOVED, strlen(CORE_REMOVED), NULL, 0);
		return true;
	}
	w->listening = true;
	if (strcmp(text, CORE_AGAIN) == 0)
		core_sent_clear(&w->sent);
	w->pattern_ns = 0;
	scan(w);
	read_events(w);
	search_all(w, strcmp(text, CORE_FLUSH) == 0 ? CORE_FOUND_AT_END : CORE_FOUND);
	if (strcmp(text, CORE_FLUSH) == 0)
		connection_send_waiting(w->socket_fd, CORE_FLUSHED, strlen(CORE_FLUSHED), NULL, 0);
	return true;
}

_Noreturn static void run(const volatile rlim_t *core_limit, int socket_fd, pid_t launcher)
{
	static struct watch w;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher || chdir("/") < 0)
		_exit(0);
	w.socket_fd = socket_fd;
	w.loadavg_fd = -1;
	core_dirs_init(&w.dirs, launcher, core_limit);
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = socket_fd, .events = POLLIN },
			{ .fd = w.dirs.inotify_fd, .events = POLLIN },
		};

		look(&w);
		if (poll(fds, 2, now_ns() - w.newcomer_ns < SOON_NS ? LOOK_SOON_MS : LOOK_MS) < 0 &&
		    errno != EINTR)
			_exit(0);
		if (fds[1].revents) {
			/*
			 * Waits a moment, so that more events are read at once; an order ends the
			 * wait.
			 */
			poll(fds, 1, EVENTS_SPACING_MS);
			read_events(&w);
		}
		if (fds[0].revents && !take_order(&w))
			_exit(0);
	}
}

int core_watch_start(const volatile rlim_t *core_limit, int unwanted_fd, pid_t *ret_pid)
{
	pid_t pid, launcher = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		closep(&unwanted_fd);
		leave_session(KEEP_OWN);
		run(core_limit, ends[1], launcher);
	}
	close(ends[1]);
	if (pid < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
		close(ends[0]);
		return -1;
	}
	*ret_pid = pid;
	return ends[0];
}
