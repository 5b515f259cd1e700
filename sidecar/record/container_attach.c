/* SPDX-License-Identifier: Apache-2.0 */
/* Processes a container's hello. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/first_pid_namespace.h"
#include "lib/log.h"
#include "sidecar/ending/life.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/record/gate.h"
#include "sidecar/report/report_json.h"

/* Returns the member for the descriptor with that letter, or NULL. */
static int *place_of(struct container *c, char letter, int *root_fd, enum gate_kind *ret_kind)
{
	switch (letter) {
	case LAUNCH_FD_ROOT:
		*ret_kind = GATE_ROOT;
		return root_fd;
	case LAUNCH_FD_TERMINATION_LOG:
		*ret_kind = GATE_TERMINATION_LOG;
		return &c->termination_fd;
	case LAUNCH_FD_PIDFD:
		*ret_kind = GATE_PIDFD;
		return &c->pidfd;
	default:
		return NULL;
	}
}

/*
 * Takes the descriptors that the letters announce and that really are of that kind, and refuses the
 * others.
 */
static int take_descriptors(struct container *c, struct received *hello)
{
	int root_fd = -1;

	for (size_t i = 0; i < hello->n_fds; i++) {
		struct err err = { 0 };
		enum gate_kind kind;
		int *place =
			place_of(c, i < strlen(c->hello.fd_letters) ? c->hello.fd_letters[i] : '\0',
				 &root_fd, &kind);

		if (place && *place < 0 && gate_admit(hello->fds[i], kind, &err) == 0)
			*place = TAKE_FD(hello->fds[i]);
		else if (err.code)
			log_warning_limited("%s: %s", c->hello.name, err_text(&err));
	}
	return root_fd;
}

void container_take_cgroup(struct container *c, struct received *r)
{
	struct err err = { 0 };

	if (r->n_fds == 0 || c->cgroup.fd >= 0)
		return;
	if (gate_admit(r->fds[0], GATE_CGROUP, &err) < 0) {
		log_debug("%s", err_text(&err));
		return;
	}
	c->cgroup = (struct handed_cgroup){ .fd = TAKE_FD(r->fds[0]),
					    .version = r->message.cgroup_version };
}

static void emit_attached(const struct container *c)
{
	cJSON *fields = cJSON_CreateObject();

	json_set_int(fields, "launcherPID", c->hello.launcher);
	if (c->resumed)
		json_set(fields, "resumed", cJSON_CreateTrue());
	json_set(fields, "cgroupVersion",
		 report_json_number(c->observer.memcg.version ? c->observer.memcg.version : -1));
	json_set(fields, "limitBytes", report_json_number(c->observer.baseline.limit));
	container_emit(c, "attached", fields);
}

/*
 * Returns whether the counters began with the container. They did if it has a cgroup for itself: in
 * a pod, even where the launcher is not PID 1 (shareProcessNamespace, hostPID); where exec made one
 * for it; and elsewhere if it looks like a container.
 */
static bool is_alone(const struct container *c)
{
	return c->hello.launcher == 1 || c->options->id.pod_uid || c->options->own_memcg;
}

static bool counts_from_start(const struct container *c)
{
	return is_alone(c) && (!c->observer.memcg.version || c->observer.memcg.own);
}

/*
 * Returns the command's PID as the kernel log has it, or 0 if unknown. The launcher's claim about
 * its own PID is that of the node if we are in the node's first PID namespace and the kernel
 * reports the same PID for the connected process.
 */
static pid_t node_pid_of_command(const struct container *c)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	    peer.pid != c->hello.launcher || first_pid_namespace_is_ours() != 1)
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
	/* The launcher may have connected only after its command had died. */
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

bool container_attach(struct container *c, struct received *hello)
{
	struct err err = { 0 };

	c->hello = hello->message;
	int root_fd = take_descriptors(c, hello);
	if (root_fd < 0)
		log_warning_limited(
			"%s: its launcher sent no root directory: only its exit can be seen",
			c->hello.name);
	c->cgroup.made = c->options->own_memcg;
	if (observer_open(&c->observer, root_fd, c->hello.launcher, &c->cgroup, &err) < 0) {
		log_error("%s: %s", c->hello.name, err_text(&err));
		return false;
	}
	/*
	 * With mounts of its own a process can have the mountinfo of a process name any directory
	 * below the root.
	 */
	if (c->observer.memcg.version && !fd_is_on_cgroupfs(c->observer.memcg.fds[0])) {
		observer_leave_out_memory(&c->observer);
		err_set(&err, EPROTO,
			"what its mounts show as its memory cgroup is none of the kernel's");
	}
	container_read_limits(c, &c->observer.limits);
	c->end = calloc(1, sizeof(*c->end));
	if (!c->end)
		return false;
	c->report = &c->end->report;
	/* Below exec a report lists it as missing, and a command that ends well leaves no word. */
	if (err.code && !c->options->own_launcher)
		log_warning_limited("%s: %s", c->hello.name, err_text(&err));
	kernel_log_open(&c->observer.kernel, c->observer.root_fd, c->hello.launcher,
			node_pid_of_command(c), c->hello.started_ns, c->options->id.pod_uid,
			&c->options->kernel_log);
	if (c->observer.cgroups.made)
		kernel_log_set_cgroup(&c->observer.kernel, c->observer.cgroups.tree.place.cgroup);
	c->observer.kernel.shared |= !is_alone(c);
	c->observer.kernel.node = c->callbacks.node_log;
	c->observer.kernel.node_syslog = c->callbacks.node_syslog;
	c->observer.command = c->hello.command;
	c->observer.collect = c->options->collect;
	c->hooks =
		hooks_new(c->base, c->fd, &c->options->hooks,
			  &(struct hooks_callbacks){
				  .headroom = headroom, .done = container_hooks_done, .arg = c });
	c->observer.hooks = c->hooks;
	c->observer.spill = &c->spill;
	c->observer.growth = &c->memory;
	if (c->options->left_behind)
		c->observer.processes = *c->options->left_behind;
	container_watch_crashes(c);
	take_history(c);
	/*
	 * Only now it is known whether the cgroups below are the container's own, and which kills
	 * came in its life.
	 */
	cgroup_watch_find(&c->observer.cgroups, c->hello.command, c->observer.baseline.oom_kill);
	emit_attached(c);
	c->callbacks.attached(c, c->callbacks.arg);
	return true;
}
