/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the modules of a container share: container.c is its life on the event
 * loop, container_sample.c its samples, container_attach.c its hello, container_threshold.c what is told while it
 * runs, container_end.c what is told of an end, container_crash.c its cores,
 * container_ray.c Ray's own processes, container_node.c what the node agent brings.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_CONTAINER_INTERNAL_H
#define AFTERGLOW_SIDECAR_RECORD_CONTAINER_INTERNAL_H

#include "lib/json.h"
#include "sidecar/record/channel.h"
#include "sidecar/record/container.h"
#include "sidecar/record/container_state.h"
#include "sidecar/crash/core_route.h"
#include "sidecar/crash/core_stream.h"
#include "sidecar/node/node_message.h"
#include "sidecar/record/hooks.h"
#include "sidecar/record/postmortem.h"
#include "sidecar/record/unread_cores.h"

/* A message of its launcher; whoever takes a descriptor puts -1 in its place. */
struct received {
	struct launch_message message;
	int fds[LAUNCH_FDS_MAX];
	size_t n_fds;
};

#define NODE_CORES_MAX 4
#define DEAD_WORKERS_MAX 4

/* A core of it that comes from the node. */
struct node_core {
	struct container *container;
	struct core_stream *stream; /* NULL: there is none */
	struct node_message offer;
};

struct container {
	struct event_base *base;
	const struct record_options *options;
	struct keeper *keeper;
	struct container_callbacks callbacks;
	int fd, termination_fd, pidfd, inotify_fd;
	struct handed_cgroup cgroup; /* before its hello */
	struct event *readable, *timer, *modified, *launcher_gone;
	enum container_state state;
	struct received *received; /* while a message is dealt with; NULL: there is none */
	struct event *leave; /* to its owner, on the event loop: nothing of ours runs on it then */
	bool resumed; /* with a history from before */
	bool succeeded; /* over, with exit code 0 */
	struct launch_message hello;
	struct observer observer;
	struct memory at_eof; /* counters when the connection ended, or while its command died and we were at something else */
	bool at_eof_known;
	int64_t eof_ns;
	int step; /* the highest threshold passed, 0: below the first */
	int64_t said_ns;
	int64_t process_reported_ns;
	bool group_ended_by_us;
	bool pod_terminating;
	struct stop_request asked; /* to stop, as its launcher says; signal 0: it was not */
	bool exit_told; /* the launcher outlived the command */
	struct unstarted unstarted; /* its command, if that was never executed; error 0: it was, as far as is known */
	struct hooks *hooks; /* NULL: none */
	struct crashes *crashes; /* its cores, NULL: none are looked at */
	struct unread_cores unread_cores; /* that crashes did not take in time */
	bool looks_at_core; /* crashes_take is at one, and samples go on */
	struct ray_said *dead_workers[DEAD_WORKERS_MAX]; /* that wait for their core; NULL: a free place */
	struct crash *death_crash; /* the one that ended it; NULL: none */
	struct ending ending; /* from CONTAINER_ENDED on */
	struct event *death_timer;
	struct node_core node_cores[NODE_CORES_MAX];
	int64_t node_watches_until_ns;
	struct event *sender_timer;
	struct spill_watch spill;
	struct memory_watch memory;
	char core_needs[CORE_NEEDS_MAX];
	struct report *report; /* of its end; from hello on there is room for it */
	bool to_report; /* it is written, and worth telling */
	bool concluded; /* each core that is to be kept is being kept */
};

/* One line of JSON, if the options want them. Takes fields. */
void container_emit(const struct container *c, const char *event, cJSON *fields);
void container_write_termination_log(struct container *c, const struct report *r, bool final);
/* *ret_known becomes true when the cgroup could be read; else both stay. */
void container_read_counters(struct container *c, struct memory *ret_memory, bool *ret_known);

/* Something has happened to it: does what its table says. */
void container_event(struct container *c, enum container_event event);

/* Before its hello: takes the descriptor, if it is what it should be. Without it the cgroup is looked for by its mount. */
void container_take_cgroup(struct container *c, struct received *r);

/* Its hello: takes the descriptors and opens what is seen through them. False: there is no memory to watch it. */
bool container_attach(struct container *c, struct received *hello);

/* Looks at it, and says what follows from that; sets the timer for the next time. Only while it runs. */
void container_sample(struct container *c);
void container_watch_memory_events(struct container *c);

/* After each sample: a threshold passed upwards is told. */
void container_check_threshold(struct container *c, int64_t now_ns);
/* After each sample: memory that grows for hours towards its limit is told, and when it grows no longer. */
void container_check_growth(struct container *c, int64_t now_ns);
/* After each sample: a disk that spilled objects will fill soon is told. */
void container_check_spill(struct container *c, int64_t now_ns);

/* It ended, as c->ending says: that is noted. */
void container_end(struct container *c);
/* Verdict and termination message; hooks begin. */
void container_report(struct container *c);
/* Bundle, report and cores. */
void container_conclude(struct container *c);
/* The container lives, one of its processes does not: the kernel's counters say so, or Ray does (arg is the container). */
void container_process_died(struct container *c, int64_t now_ns);
void container_worker_died(const struct ray_said *said, void *arg);
/* After each sample, and with INT64_MAX at its end: deaths of workers that waited for their cores are reported. */
void container_workers_due(struct container *c, int64_t now_ns);
void container_workers_release(struct container *c);
/* All hooks that were begun are over, or lost. arg is the container. */
void container_hooks_done(void *arg);
/* Its report into a bundle, and to whoever is told of it. */
void container_publish(struct container *c, struct report *r, bool container_lives, int64_t held_until_unix_ns);

/* The launcher's word on a process of Ray's. */
void container_ray_message(struct container *c, const struct launch_message *m);
/* Its launcher was asked to stop, by m. */
void container_asked(struct container *c, const struct launch_message *m);
/* After each sample: Ray's processes are watched, and one that has ended is told of when the container goes on without it. */
void container_ray_due(struct container *c, int64_t now_ns);

/* At its hello, when the options want cores. */
void container_watch_crashes(struct container *c);
/* The launcher hands over a core. Takes core_fd, unless it returns false: then nothing is to be done with it. */
bool container_core(struct container *c, const struct launch_message *m, int core_fd);
/* The same for a core that came another way; takes core_fd, unless it returns false. Also when it has ended. */
bool container_take_core(struct container *c, const struct core_hint *hint, int core_fd);
/* The core that ended it, as far as is known now, is to be in its report. */
void container_find_death_crash(struct container *c);
/* Whether a core of it is still coming from the node. */
bool container_awaits_node_core(const struct container *c);
void container_cancel_node_cores(struct container *c);
/* Whether its report waits for the node agent's word on who ended it: CONTAINER_UNWOUND happens then. */
bool container_awaits_sender(struct container *c);
/* After its report: it is over when no core of it is under way any more. */
void container_cores_changed(struct container *c);
/* After each sample: cores that nothing more is to be waited for are reported. */
void container_crashes_due(struct container *c, int64_t now_ns);
/* Whether the worker that Ray tells of left a core: then both are one report. */
bool container_crash_of_worker(struct container *c, const struct ray_said *said);
/* The core of that process, which is not reported by itself any more; NULL: none. The caller keeps or drops it. */
struct crash *container_crash_of_process(struct container *c, pid_t pid);
/* The core of that kind of process of Ray's, whose end nobody saw, by the kernel's name for it; NULL: there is none. */
struct crash *container_crash_of_comm(struct container *c, enum ray_process_kind kind);
/* Whether its report has to wait for a backtrace: CONTAINER_UNWOUND happens then. */
bool container_death_waits(struct container *c);
/* What is known of the core that ended it, or why there is none. */
void container_add_crash(struct container *c, struct ending *e);
/* Those that are not the end's own are told of, now that it is over. */
void container_report_other_crashes(struct container *c);
/* After its report was published. */
void container_keep_core(struct container *c, struct crash *crash, const struct report *r);

#endif
