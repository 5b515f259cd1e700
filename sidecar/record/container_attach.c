/* SPDX-License-Identifier: Apache-2.0 */
/* A container's hello. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/record/discard.h"
#include "sidecar/record/life.h"
#include "sidecar/report/report_json.h"

static bool is_type(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/* Takes what the letters promise and what really is of that kind; the rest is closed. */
static int take_descriptors(struct container *c, const int *fds, size_t n_fds)
{
	int root_fd = -1;

	for (size_t i = 0; i < n_fds; i++) {
		char letter = i < strlen(c->hello.fd_letters) ? c->hello.fd_letters[i] : '\0';

		if (letter == LAUNCH_FD_ROOT && root_fd < 0 && is_type(fds[i], S_IFDIR))
			root_fd = fds[i];
		else if (letter == LAUNCH_FD_TERMINATION_LOG && c->termination_fd < 0 && is_type(fds[i], S_IFREG))
			c->termination_fd = fds[i];
		else if (letter == LAUNCH_FD_PIDFD && c->pidfd < 0 && fd_is_pidfd(fds[i]))
			c->pidfd = fds[i];
		else
			discard(&fds[i], 1);
	}
	return root_fd;
}

static void emit_attached(const struct container *c)
{
	cJSON *fields = cJSON_CreateObject();

	json_set_int(fields, "launcherPID", c->hello.launcher);
	if (c->resumed)
		json_set(fields, "resumed", cJSON_CreateTrue());
	json_set(fields, "cgroupVersion", report_json_number(c->observer.memcg.version ? c->observer.memcg.version : -1));
	json_set(fields, "limitBytes", report_json_number(c->observer.baseline.limit));
	container_emit(c, "attached", fields);
}

/*
 * Whether the counters began with the container. They do when it has its cgroup for itself: in a pod, where the launcher need
 * not be PID 1 (shareProcessNamespace, hostPID), where exec made one for it, and elsewhere if it looks like a container.
 */
static bool is_alone(const struct container *c)
{
	return c->hello.launcher == 1 || c->options->id.pod_uid || c->options->own_memcg;
}

static bool counts_from_start(const struct container *c)
{
	return is_alone(c) && (!c->observer.memcg.version || c->observer.memcg.own);
}

/* The inode of the first PID namespace is fixed (PROC_PID_INIT_INO). */
static bool in_first_pid_namespace(void)
{
	static const char first[] = "pid:[4026531836]";
	char own[sizeof(first)];

	return readlink("/proc/self/ns/pid", own, sizeof(own)) == sizeof(first) - 1 && memcmp(own, first, sizeof(first) - 1) == 0;
}

/*
 * The command's PID as the kernel log has it, 0 unknown: the launcher's own word for its PID is that of the node if the
 * kernel, asked in the node's first PID namespace, has the same for who connected to us.
 */
static pid_t node_pid_of_command(const struct container *c)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid != c->hello.launcher ||
	    !in_first_pid_namespace())
		return 0;
	return c->hello.command;
}

static void take_history(struct container *c)
{
	struct history *history;
	struct life life;

	c->observer.cgroup_shared = !counts_from_start(c);
	if (!c->observer.cgroup_shared)
		observer_look_below(&c->observer);
	life_begin(&life, c->hello.name, c->hello.started_ns, c->hello.launcher);
	history = c->callbacks.history(c, &life, c->callbacks.arg);
	c->resumed = history && history_last(history);
	/* A launcher may meet us only when its command is dead already. */
	if (counts_from_start(c) && !c->resumed)
		observer_count_from_start(&c->observer);
	if (history)
		life_adopt(&c->observer, history);
}

static int64_t headroom(void *arg)
{
	struct container *c = arg;
	struct memory m;
	bool known = false;

	container_read_counters(c, &m, &known);
	if (!known || m.limit <= 0 || m.usage < 0)
		return -1;
	return MAX(m.limit - (m.usage - MAX(m.inactive_file, 0)), 0);
}

bool container_attach(struct container *c, const struct launch_message *hello, const int *fds, size_t n_fds)
{
	struct err err = { 0 };
	int root_fd;

	c->hello = *hello;
	c->attached = true;
	root_fd = take_descriptors(c, fds, n_fds);
	if (root_fd < 0)
		log_warning_limited("%s: its launcher sent no root directory: nothing to see but its exit", c->hello.name);
	if (observer_open(&c->observer, root_fd, c->hello.launcher, &err) < 0) {
		log_error("%s: %s", c->hello.name, err_text(&err));
		container_finish(c);
		return false;
	}
	if (err.code)
		log_warning_limited("%s: %s", c->hello.name, err_text(&err));
	kernel_log_open(&c->observer.kernel, c->observer.root_fd, hello->launcher, node_pid_of_command(c),
			hello->started_ns, c->options->id.pod_uid, &c->options->kernel_log);
	c->observer.kernel.shared |= !is_alone(c);
	c->observer.command = c->observer.cgroups.command = hello->command;
	c->observer.collect = c->options->collect;
	c->hooks = hooks_new(c->base, c->fd, &c->options->hooks,
			     &(struct hooks_callbacks){ .headroom = headroom, .done = container_hooks_done, .arg = c });
	c->observer.hooks = c->hooks;
	c->observer.spill = &c->spill;
	c->observer.growth = &c->memory;
	container_watch_crashes(c);
	take_history(c);
	emit_attached(c);
	c->callbacks.attached(c, c->callbacks.arg);
	return true;
}
