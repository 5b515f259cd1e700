/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the modules of a container share: container.c is its life on the event
 * loop, container_attach.c its hello, container_threshold.c what is told while it
 * runs, container_end.c what is told of an end.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_CONTAINER_INTERNAL_H
#define AFTERGLOW_SIDECAR_RECORD_CONTAINER_INTERNAL_H

#include "lib/json.h"
#include "sidecar/record/channel.h"
#include "sidecar/record/container.h"
#include "sidecar/record/hooks.h"
#include "sidecar/record/postmortem.h"

struct container {
	struct event_base *base;
	const struct recorder_options *options;
	struct container_callbacks callbacks;
	int fd, termination_fd, pidfd, inotify_fd;
	struct event *readable, *timer, *modified, *launcher_gone;
	bool attached; /* hello was said */
	bool resumed; /* with a history from before */
	bool over; /* it died: not only its connection did */
	bool finished;
	struct launch_message hello;
	struct observer observer;
	struct memory at_eof; /* counters when the connection ended */
	bool at_eof_known;
	int64_t eof_ns;
	int step; /* the highest threshold passed, 0: below the first */
	int64_t said_ns;
	int64_t process_reported_ns;
	bool group_ended_by_us;
	bool pod_terminating;
	bool exit_told; /* the launcher outlived the command */
	struct hooks *hooks; /* NULL: none */
	struct report *waiting; /* of its death, until the hooks are done; NULL: none */
};

/* One line of JSON, if the options want them. Takes fields. */
void container_emit(const struct container *c, const char *event, cJSON *fields);
void container_write_termination_log(const struct container *c, const struct report *r, bool final);
/* *ret_known becomes true when the cgroup could be read; else both stay. */
void container_read_counters(struct container *c, struct memory *ret_memory, bool *ret_known);

/* Its hello: takes the descriptors and opens what is seen through them. False: there is nothing to watch, it is finished. */
bool container_attach(struct container *c, const struct launch_message *hello, const int *fds, size_t n_fds);

/* After each sample: a threshold passed upwards is told. */
void container_check_threshold(struct container *c, int64_t now_ns);

/* It ended: verdict, termination message, bundle, report; perhaps hooks before that. May free c. */
void container_died(struct container *c, struct ending *e);
/* The container lives, one of its processes does not: the kernel's counters say so, or Ray does (arg is the container). */
void container_process_died(struct container *c, int64_t now_ns);
void container_worker_died(const struct ray_said *said, void *arg);
/* The hooks at death are over, or lost: what waited for them goes on. arg is the container. May free it. */
void container_hooks_done(void *arg);
/* Nothing more will come of it. May free c. */
void container_finish(struct container *c);

#endif
