/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the orders of the sidecar. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/leave_session.h"
#include "sidecar/launch/connection.h"
#include "sidecar/launch/launcher.h"
#include "sidecar/launch/tracer.h"

#define HOLD_MAX_S 86400

void launcher_disconnect(struct launcher *l)
{
	closep(&l->socket_fd);
	l->socket_fd = -1;
	hooks_kill_all(&l->hooks);
	if (l->ended && !l->held && !l->awaiting)
		l->released = true;
}

/*
 * As PID 1 or subreaper we get the orphans as our children. So each round kills the
 * children that we have, and when they have ended, the next round kills the children
 * that they leave (see reap). The child that prints texts is spared.
 */
void launcher_kill_children(const struct launcher *l)
{
	char path[64], list[4096];

	if (!l->ended)
		kill(l->command, SIGKILL);
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, list, sizeof(list) - 1);
	list[len < 0 ? 0 : len] = '\0';
	/*
	 * Each number ends with a blank. A number that the end of the buffer cuts has none, and is
	 * left to the next round.
	 */
	for (char *pid = list, *end; (end = strchr(pid, ' ')); pid = end + 1)
		if (strtol(pid, NULL, 10) != l->speaker.pid)
			kill((pid_t)strtol(pid, NULL, 10), SIGKILL);
}

static void kill_everything(struct launcher *l)
{
	l->killing = true;
	/*
	 * This kills all of a PID namespace except PID 1, at once. No process can escape that by
	 * forking.
	 */
	if (getpid() == 1)
		kill(-1, SIGKILL);
	else
		launcher_kill_children(l);
}

static void run_hook(struct launcher *l, const char *order, int output_fd)
{
	int64_t now = now_ns();
	int id;
	pid_t pid = hooks_run(&l->hooks, order, output_fd, l->original_mask, now, &id);

	connection_sendf(l->socket_fd, NULL, 0, pid > 0 ? "ran %d %d" : "refused %d %d", id,
			 pid > 0 ? (int)pid : (int)-pid);
	if (pid > 0 && l->ended &&
	    hooks_find(&l->hooks, pid)->kill_at_ns + LINGER_NS > l->linger_until_ns)
		l->linger_until_ns = hooks_find(&l->hooks, pid)->kill_at_ns + LINGER_NS;
}

static void launcher_watch(struct launcher *l, const char *order)
{
	pid_t pid;
	int r = watched_add(&l->watched, order, &pid);

	if (r != 0 && pid > 0)
		connection_sendf(l->socket_fd, NULL, 0, "unwatched %d %d", (int)pid, -r);
}

static void dump_process(struct launcher *l, const char *order, int dump_fd)
{
	int id, pid, fds[TRACER_FDS], r;

	if (sscanf(order, "%d %d", &id, &pid) != 2)
		return;
	r = tracer_dump(pid, dump_fd, fds);
	connection_sendf(l->socket_fd, fds, r == 0 ? TRACER_FDS : 0, "dumped %d %d", id, -r);
	for (int i = 0; r == 0 && i < TRACER_FDS; i++)
		close(fds[i]);
}

/*
 * Goes over to another sidecar, which tells us when to end. From now on only the processes that the
 * command left behind are ours.
 */
static void launcher_stay(struct launcher *l, const char *socket_path)
{
	char directory[64];
	int fd = l->ended ? connection_open(socket_path) : -1, before = l->socket_fd;

	if (fd < 0)
		return;
	unlink(socket_path);
	snprintf(directory, sizeof(directory), "%.*s",
		 (int)(strrchr(socket_path, '/') - socket_path), socket_path);
	rmdir(directory);
	speaker_finish(&l->speaker);
	l->socket_fd = fd;
	l->command = getpid();
	l->linger_until_ns = INT64_MAX;
	launcher_greet(l);
	l->released = l->socket_fd < 0;
	/* That we lead a session and hang up shows that the greeting has been sent. */
	if (!l->released)
		leave_session(KEEP_OWN);
	close(before);
}

static void take_order(struct launcher *l, const char *text, size_t len, int fd)
{
	if (len > 4 && memcmp(text, "say ", 4) == 0)
		speaker_say(&l->speaker, text + 4, len - 4);
	else if (strcmp(text, "kill") == 0 && !l->ended)
		kill_everything(l);
	else if (strncmp(text, "run ", 4) == 0)
		run_hook(l, text + 4, fd);
	else if (strncmp(text, "watch ", 6) == 0)
		launcher_watch(l, text + 6);
	else if (strncmp(text, "dump-into ", 10) == 0)
		dump_process(l, text + 10, fd);
	else if (strncmp(text, "remove ", 7) == 0)
		cores_remove(&l->cores, text + 7);
	else if (strncmp(text, "hold ", 5) == 0 && l->ended) {
		long seconds = strtol(text + 5, NULL, 10);

		if (seconds > 0 && seconds <= HOLD_MAX_S) {
			l->linger_until_ns = now_ns() + seconds * NS_PER_SEC;
			l->held = true;
		}
	} else if (strncmp(text, "stay /", 6) == 0)
		launcher_stay(l, text + 5);
	else if (strcmp(text, "done") == 0 && l->ended)
		l->released = true;
}

void launcher_read_order(struct launcher *l)
{
	char text[LAUNCH_MESSAGE_MAX + 1];
	int fd;
	ssize_t len = connection_receive(l->socket_fd, text, &fd);

	if (len == 0)
		launcher_disconnect(l);
	else if (len > 0)
		take_order(l, text, (size_t)len, fd);
	closep(&fd);
}
