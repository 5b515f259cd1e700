/* SPDX-License-Identifier: Apache-2.0 */
/* Watches processes of the container, and reports their ends to the sidecar. */
#include "sidecar/launch/watched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sidecar/launch/clock.h"
#include "sidecar/launch/connection.h"
#include "sidecar/launch/proc_file.h"

/*
 * The first version of the kernel's struct pidfd_info (Linux 6.13). Later versions extend it. musl
 * does not have it.
 */
struct pidfd_info_v0 {
	uint64_t mask, cgroupid;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
_Static_assert(sizeof(struct pidfd_info_v0) == 64, "it is part of the ioctl's number");
#define PIDFD_GET_INFO_V0 _IOWR(0xFF, 11, struct pidfd_info_v0)
/* From Linux 6.15 on; for a process that was reaped. */
#define PIDFD_INFO_EXIT_CODE (UINT64_C(1) << 3)

#define FDS_SPARE 16 /* descriptors below the limit that are not used for watching */
#define STAT_MAX 1024 /* 52 numbers and a name of 15 bytes */
#define STAT_PARENT 4
#define STAT_START 22
#define STAT_EXIT_CODE 52

/* The fields of /proc/PID/stat that we need. */
struct stat_line {
	char state;
	pid_t parent;
	unsigned long long start;
	int exit_code;
	/* exit_code is valid; to readers without the permission the kernel shows 0. */
	bool exit_code_is_true;
};

/*
 * Parses the fields after the name. The name may contain anything, so they begin after the last
 * parenthesis.
 */
static bool parse_stat(const char *text, struct stat_line *ret)
{
	const char *at = strrchr(text, ')');

	if (!at || at[1] != ' ')
		return false;
	ret->state = at[2];
	at++;
	for (int field = 3; field <= STAT_EXIT_CODE; field++) {
		if (!at || *at != ' ')
			return false;
		at++;
		if (field == STAT_PARENT)
			ret->parent = (pid_t)strtol(at, NULL, 10);
		else if (field == STAT_START)
			ret->start = strtoull(at, NULL, 10);
		else if (field == STAT_EXIT_CODE)
			ret->exit_code = (int)strtol(at, NULL, 10);
		at = strchr(at, ' ');
	}
	return true;
}

static bool read_stat(pid_t pid, struct stat_line *ret)
{
	char path[40], text[STAT_MAX];
	struct stat owner;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	/*
	 * The directory belongs to the process's effective user and group. The kernel shows the
	 * exit code only if both are ours.
	 */
	ret->exit_code_is_true =
		stat(path, &owner) == 0 && owner.st_uid == geteuid() && owner.st_gid == getegid();
	return proc_file_read(pid, "stat", text, sizeof(text)) && parse_stat(text, ret);
}

static struct watched_process *watched_find(struct watched *w, pid_t pid)
{
	for (int i = 0; i < LAUNCH_WATCHED_MAX; i++)
		if (w->list[i].pid == pid)
			return &w->list[i];
	return NULL;
}

static void watched_forget(struct watched_process *p)
{
	closep(&p->pidfd);
	*p = (struct watched_process){ 0 };
}

/*
 * The user's limit on open files may be low, and what the launcher does besides watching needs
 * some.
 */
static bool leaves_room(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > (rlim_t)fd + FDS_SPARE;
}

static int open_watched(pid_t pid, unsigned long long start, pid_t *ret_parent)
{
	struct stat_line line;
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return -errno;
	if (!leaves_room(fd))
		return -EMFILE;
	/*
	 * The descriptor is of the process that has the PID now. The start time, read afterwards,
	 * shows whether that is the wanted process.
	 */
	if (!read_stat(pid, &line) || line.start != start)
		return -ESRCH;
	*ret_parent = line.parent;
	return TAKE_FD(fd);
}

int watched_add(struct watched *w, const char *order, pid_t *ret_pid)
{
	char *end;
	pid_t parent = 0;

	*ret_pid = 0;
	if (*order < '1' || *order > '9')
		return -EINVAL;
	errno = 0;
	long pid = strtol(order, &end, 10);
	if (errno || *end != ' ' || pid > INT32_MAX || end[1] < '0' || end[1] > '9')
		return -EINVAL;
	*ret_pid = (pid_t)pid;
	unsigned long long start = strtoull(end + 1, &end, 10);
	if (errno || *end)
		return -EINVAL;
	struct watched_process *p = watched_find(w, (pid_t)pid);
	if (p && p->start == start)
		return 0; /* a previous sidecar asked for it already */
	p = p ? p : watched_find(w, 0);
	if (!p)
		return -EBUSY;
	int fd = open_watched((pid_t)pid, start, &parent);
	if (fd < 0)
		return fd;
	if (p->pid)
		watched_forget(p);
	*p = (struct watched_process){ (pid_t)pid, fd, start, parent, WATCHED_STATUS_UNKNOWN, 0 };
	return 0;
}

nfds_t watched_poll(const struct watched *w, struct pollfd fds[static LAUNCH_WATCHED_MAX])
{
	nfds_t n = 0;

	for (nfds_t i = 0; i < LAUNCH_WATCHED_MAX; i++) {
		fds[i] = (struct pollfd){ .fd = w->list[i].pid ? w->list[i].pidfd : -1,
					  .events = POLLIN };
		if (fds[i].fd >= 0)
			n = i + 1;
	}
	return n;
}

void watched_reaped(struct watched *w, pid_t pid, int status)
{
	struct watched_process *p = pid > 0 ? watched_find(w, pid) : NULL;

	if (p)
		p->status = status;
}

/* Returns the wait status of a process that has ended, or WATCHED_STATUS_UNKNOWN. */
static int status_of(const struct watched_process *p)
{
	struct pidfd_info_v0 info = { .mask = PIDFD_INFO_EXIT_CODE };
	struct stat_line line;

	if (p->status != WATCHED_STATUS_UNKNOWN)
		return p->status;
	if (read_stat(p->pid, &line) && line.start == p->start &&
	    (line.state == 'Z' || line.state == 'X') && (line.exit_code || line.exit_code_is_true))
		return line.exit_code & 0xffff;
	/* The parent has reaped it before we could read its stat. */
	if (ioctl(p->pidfd, PIDFD_GET_INFO_V0, &info) == 0 && (info.mask & PIDFD_INFO_EXIT_CODE))
		return info.exit_code & 0xffff;
	return WATCHED_STATUS_UNKNOWN;
}

/* Notes the end and the status, which can be read only now. */
static void note_end(struct watched_process *p)
{
	p->status = status_of(p);
	p->ended_ns = now_ns();
	close(p->pidfd);
	p->pidfd = -1;
}

static void watched_send_end(struct watched_process *p, int socket_fd)
{
	if (socket_fd < 0)
		return;
	if (p->status == WATCHED_STATUS_UNKNOWN)
		connection_sendf(socket_fd, NULL, 0, "ended %d - %lld", (int)p->pid,
				 (long long)p->ended_ns);
	else
		connection_sendf(socket_fd, NULL, 0, "ended %d %d %lld", (int)p->pid, p->status,
				 (long long)p->ended_ns);
	watched_forget(p);
}

void watched_tell(struct watched *w, const struct pollfd fds[static LAUNCH_WATCHED_MAX],
		  int socket_fd)
{
	for (int i = 0; i < LAUNCH_WATCHED_MAX; i++)
		if (w->list[i].pid && w->list[i].pidfd >= 0 && w->list[i].pidfd == fds[i].fd &&
		    fds[i].revents) {
			note_end(&w->list[i]);
			watched_send_end(&w->list[i], socket_fd);
		}
}

/* What cannot be read otherwise, as when descriptors have run out, may still be a zombie. */
static bool watched_is_reaped(const struct watched_process *p)
{
	struct stat_line line;

	errno = 0;
	return read_stat(p->pid, &line) ? line.start != p->start :
					  errno == ENOENT || errno == ESRCH;
}

void watched_parent_ended(struct watched *w, pid_t parent, int socket_fd)
{
	for (int i = 0; i < LAUNCH_WATCHED_MAX; i++) {
		struct watched_process *p = &w->list[i];
		struct pollfd ended = { .fd = p->pidfd, .events = POLLIN };

		/*
		 * A child that parent had not reaped is the launcher's by now: a zombie, or reaped.
		 */
		if (!p->pid || p->pidfd < 0 || p->parent != parent ||
		    p->status != WATCHED_STATUS_UNKNOWN || poll(&ended, 1, 0) <= 0 ||
		    !watched_is_reaped(p))
			continue;
		note_end(p);
		watched_send_end(p, socket_fd);
	}
}

void watched_again(struct watched *w, int socket_fd)
{
	for (int i = 0; i < LAUNCH_WATCHED_MAX; i++)
		if (w->list[i].pid && w->list[i].ended_ns)
			watched_send_end(&w->list[i], socket_fd);
}

void watched_flush(struct watched *w, int socket_fd)
{
	struct pollfd fds[LAUNCH_WATCHED_MAX];

	if (poll(fds, watched_poll(w, fds), 0) > 0)
		watched_tell(w, fds, socket_fd);
}
