/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of a container share these: container.c has its life on the event loop,
 * container_sample.c its samples, container_attach.c its hello, container_threshold.c the warnings
 * while it runs, container_end.c the report of its end, container_crash.c its cores,
 * container_ray.c Ray's own processes, container_node.c what the node agent sends.
 */
#pragma once

#include "lib/json.h"
#include "lib/loop/background.h"
#include "lib/loop/timer.h"
#include "sidecar/crash/core_route.h"
#include "sidecar/crash/core_stream.h"
#include "sidecar/ending/hooks.h"
#include "sidecar/ending/postmortem.h"
#include "sidecar/node/node_message.h"
#include "sidecar/record/container.h"
#include "sidecar/record/container_state.h"
#include "sidecar/record/probe_watch.h"
#include "sidecar/socket/channel.h"

/* A message of its launcher. A function that takes a descriptor puts -1 in its place. */
struct received {
	struct launch_message message;
	int fds[LAUNCH_FDS_MAX];
	size_t n_fds;
};

#define NODE_CORES_MAX 4
#define DEAD_WORKERS_MAX 4
#define STILL_RUNNING_MAX 416
#define STACKS_WHEN_MAX 64
/* between two thresholds of memory, and between two failures of a probe */
#define STACKS_FULL_SPACING_NS (600 * NS_PER_SEC)

/* Which looks at what still runs a request to stop has brought about. */
enum stop_looked {
	STOP_LOOKED_NEVER,
	STOP_LOOKED_EARLY, /* soon after a request to the container alone */
	STOP_LOOKED_LATE, /* before the kill */
};

/* A moment in which stacks were taken. */
struct stacks_moment {
	int64_t at_ns; /* CLOCK_BOOTTIME; 0: none */
	char when[STACKS_WHEN_MAX]; /* begins a sentence */
	/* What the processes did: "ran" or "still ran"; NULL: only drivers are looked at. */
	const char *ran;
};

/* A core of the container that the node agent sends. */
struct node_core {
	struct container *container;
	struct core_stream *stream; /* NULL: there is none */
	struct node_message offer;
};

/* What became of a termination message. */
struct message_written {
	int error;
	struct message_place place;
};

struct next_message {
	struct report report;
	bool takes_away, final;
};

/* A report that is being made, then written into its bundle, and then published. */
struct publication {
	struct container *container;
	struct postmortem making;
	struct kept kept;
	struct report report;
	/* What follows for a process that has ended: */
	struct crash *crash; /* its core; NULL: there is none */
	const char *event; /* to be emitted; NULL: none */
	bool ray_reported; /* by that finding */
	struct ray_finding finding;
	bool container_over; /* the history has the state of the container's end */
	bool forgets_oom; /* this report finishes the OOM kill, up to the counters in after */
	struct memory after;
	/* For the end of the container: */
	bool said; /* it is on the container's stderr already */
};

struct container {
	struct event_base *base;
	const struct record_options *options;
	struct keeper *keeper;
	struct container_callbacks callbacks;
	int fd, termination_fd, pidfd, inotify_fd;
	struct handed_cgroup cgroup; /* before its hello */
	struct event *readable, *timer, *modified, *launcher_gone;
	struct event *ray_answer; /* what reads Ray's logs has been asked; NULL: it has answered */
	enum container_state state;
	struct received *received; /* the message that is being processed; NULL: none */
	bool is_put_off; /* its hello, which is in put_off */
	struct received put_off;
	struct event *turn; /* calls done() when none of its functions runs */
	bool resumed; /* it continues a history from before its launcher connected */
	bool succeeded; /* over, with exit code 0 */
	unsigned int publications; /* its reports that are being made or written */
	struct launch_message hello;
	struct observer observer;
	/*
	 * The counters when the connection ended, or while its command died and the loop was busy.
	 */
	struct memory at_eof;
	bool at_eof_known;
	int64_t eof_ns;
	int step; /* the highest threshold passed, 0: below the first */
	int64_t logged_ns; /* when a threshold was last logged, CLOCK_BOOTTIME; 0: never */
	int64_t process_reported_ns;
	/* the OOM killer's victim that was reported last; 0: none, or its PID is not known */
	int oom_told_pid;
	/* the end of the child whose crash without a core was reported last; 0: none was */
	int64_t child_reported_ns;
	bool group_ended_by_us;
	int64_t group_spared_ns; /* the last OOM kill, as sampled, that ends nobody else; 0: none */
	int64_t terminating_ns; /* since when its pod is, CLOCK_BOOTTIME; 0: it is not */
	enum stop_looked stops_looked;
	/* when a threshold of memory was the reason, CLOCK_BOOTTIME; 0: never */
	int64_t full_looked_ns;
	/* When drivers were last looked at, and when one was last said to wait; 0: never */
	int64_t driver_looked_ns, driver_told_ns;
	int64_t driver_since_ns; /* the first of the looks in a row that showed the same */
	char driver_where[STACK_MAIN_MAX]; /* what they showed; "": none is in a call of Ray's */
	struct probe_watch probe;
	bool full_waits; /* others were being answered when memory rose above it */
	/* The one whose answer is still to come, and the last in which a process was seen. */
	struct stacks_moment stacks_begun, stacks_taken;
	struct strbuf stacks_answer; /* of stacks_begun (record/stacks.h) */
	struct strbuf stacks; /* of stacks_taken: stacks.txt */
	/* The sentence for the report, and its second half; "": nothing was seen. */
	char still_running[STILL_RUNNING_MAX], still_run[STILL_RUNNING_MAX];
	/* how it was asked to stop, according to its launcher; signal 0: it was not */
	struct stop_request asked;
	bool request_said; /* the command went on after it was asked to stop, and a line says so */
	bool exit_reported; /* the launcher outlived the command */
	/* Why its command was never executed; error 0: it was executed, as far as is known. */
	struct unstarted unstarted;
	struct hooks *hooks; /* NULL: none */
	struct crashes *crashes; /* its cores; NULL: cores are not watched */
	/*
	 * pending: no message of the launcher is read until its core was looked at, or the time is
	 * over
	 */
	struct event *core_wait;
	/* workers that wait for their core; NULL: a free place */
	struct ray_finding *dead_workers[DEAD_WORKERS_MAX];
	struct crash *death_crash; /* the crash that ended it; NULL: none */
	struct crash_info child_crash; /* the same of a child that left no core; pid 0: none */
	/* From CONTAINER_ENDED on. Before that: the limits when it was asked to stop. */
	struct ending ending;
	int64_t limits_at_ns; /* when these were read, CLOCK_BOOTTIME; 0: never */
	struct background limits; /* reads limits */
	struct limits limits_read, *limits_place; /* where they belong; NULL: nowhere any more */
	bool limits_again; /* those of its end are to be read after that */
	struct event *wait; /* from CONTAINER_ENDED on: what its report waits for; NULL: nothing */
	int64_t wait_until_ns; /* with wait */
	struct node_core node_cores[NODE_CORES_MAX];
	int64_t node_watches_until_ns;
	struct spill_watch spill;
	struct errand spilling; /* reads for spill */
	struct memory_watch memory;
	char core_needs[CORE_NEEDS_MAX];
	struct background message; /* writes the termination message */
	struct message_written message_written;
	struct next_message *next_message; /* to be written when that has ended; NULL: none */
	struct publication
		*end; /* of its end; allocated at hello, so that there is memory for it */
	struct report *report; /* the report in it */
	int64_t held_until_unix_ns; /* the launcher was ordered to keep it so long; 0: it was not */
	bool to_report; /* the report is written, and is to be published */
	bool concluded; /* whatever else is to be reported or kept is being written */
	bool dismissed; /* the launcher has got its last order */
	bool handed_over; /* a process that stays watches what its command has left behind */
};

/* Writes an event as a line of JSON, if the options ask for events. Takes fields. */
void container_emit(const struct container *c, const char *event, cJSON *fields);
/*
 * Writes the termination message by an errand, behind what the container itself has written there.
 * While an older one is being written it waits for that, in place of one that waits already. NULL:
 * takes ours away.
 */
void container_write_message(struct container *c, const struct report *r, bool final);
bool container_writes_message(const struct container *c);
/*
 * When the sidecar ends: waits until the message is written, and notes its place for whoever takes
 * over. If the disk is late, the message will count as the container's own.
 */
void container_settle_message(struct container *c);
/*
 * Reads the counters. If the cgroup cannot be read, both results stay as they are; else *ret_known
 * becomes true.
 */
void container_read_counters(struct container *c, struct memory *ret_memory, bool *ret_known);

/* Carries out what the table of states has for that event. */
void container_event(struct container *c, enum container_event event);

/*
 * Before hello: takes the descriptor of the cgroup if the gate admits it. Without it, the cgroup is
 * found by its mount.
 */
void container_take_cgroup(struct container *c, struct received *r);

/*
 * Processes hello: takes the descriptors and opens what can be seen through them. Returns false if
 * memory is too short to watch it.
 */
bool container_attach(struct container *c, struct received *hello);

/*
 * Takes a sample, acts on the result, and sets the timer for the next. To be called only while the
 * container runs.
 */
void container_sample(struct container *c);
void container_watch_memory_events(struct container *c);

/* After each sample: reports when memory rises above a threshold. */
void container_check_threshold(struct container *c, int64_t now_ns);
/*
 * After each sample: says once that a command without a pod goes on, though it was asked to stop.
 */
void container_check_request(struct container *c, int64_t now_ns);
/*
 * After each sample: takes the stacks of what still runs soon after a request to stop that only the
 * container got, and those of what still runs when it will soon be killed; each once.
 */
void container_check_stop(struct container *c, int64_t now_ns);
/*
 * When memory has risen above a threshold: takes stacks, unless it did so in the last minutes. To
 * be called again while c->full_waits.
 */
void container_check_full(struct container *c, int64_t now_ns, double fraction);
/*
 * After each sample: looks at the drivers now and then, if the options say so. When one has waited
 * for as long as they say, says so and takes the stacks of all.
 */
void container_check_driver(struct container *c, int64_t now_ns);
/*
 * After each sample: asks the port of its liveness probe, if the options name one. After the first
 * bad answer in some minutes takes the stacks, unless the container was asked to stop.
 */
void container_check_probe(struct container *c, int64_t now_ns);
/* At its end: adds to e what still ran when stacks were taken. */
void container_add_stacks(struct container *c, struct ending *e);
/*
 * After each sample: reports memory that grows for hours towards its limit, and the end of such
 * growth.
 */
void container_check_growth(struct container *c, int64_t now_ns);
/* After each sample: reports a disk that spilled objects will soon fill. */
void container_check_spill(struct container *c, int64_t now_ns);

/*
 * Has the limits read into *place: those at its start, or those in c->ending. If others are being
 * read, those in c->ending follow.
 */
void container_read_limits(struct container *c, struct limits *place);
/* Those that are being read for c->ending are of no use. */
void container_drop_limits(struct container *c);
/*
 * In CONTAINER_ENDED and _JUDGING, in the place of what its report waits for now: calls fn when fd
 * (-1: none) is readable, and when the time is over. Returns false if it does not wait.
 */
bool container_wait(struct container *c, int fd, event_callback_fn fn, int within_ms);
/* Whether its report waits for Ray's last log lines. What comes meanwhile waits with them. */
bool container_awaits_logs(const struct container *c);
/* Notes the end that c->ending describes. */
void container_end(struct container *c);
/* Makes the verdict; CONTAINER_JUDGED follows. */
void container_judge(struct container *c);
/* Writes the termination message and starts the hooks. */
void container_report(struct container *c);
/* Begins the bundle of its end, if that is to be reported; CONTAINER_KEPT follows. */
void container_keep(struct container *c);
/* Afterwards: reports its processes and keeps the cores. */
void container_conclude(struct container *c);
/*
 * After that: lets the launcher go when the reports are written and the termination message is,
 * because the kubelet reads it then.
 */
void container_dismiss(struct container *c);
/* Reads on, unless a report is being written or a core is being looked at. */
void container_listen(struct container *c);
/* Goes on with what had to wait while its reports were being written. */
void container_go_on(struct container *c);
/*
 * A process of the living container has died: the kernel's counters show it, or Ray's logs do (arg
 * is the container).
 */
void container_process_died(struct container *c, int64_t now_ns);
void container_worker_died(const struct ray_finding *finding, void *arg);
/* Says how many workers died lately. arg is the container. */
void container_tell_workers(const struct ray_summary *s, void *arg);
void container_workers_release(struct container *c);
/* Whether an OOM kill of that process was reported in the last minute. */
bool container_told_oom_of(const struct container *c, int pid);
/* All hooks that were started have ended or are lost. arg is the container. */
void container_hooks_done(void *arg);
/*
 * Completes e, which has the time of a process's death and what is known of it, makes the report,
 * publishes it and emits that event. The container lives on, or has just ended. Keeps the process's
 * core; NULL: there is none.
 */
void container_report_process(struct container *c, struct ending *e, struct crash *crash,
			      const char *event);

/* Takes the launcher's message about a process of Ray's. */
void container_ray_message(struct container *c, const struct launch_message *m);
/* Takes the launcher's message m about a request to stop. */
void container_asked(struct container *c, const struct launch_message *m);
/*
 * After each sample: watches Ray's processes, and reports a process that has ended if the container
 * goes on without it. After a success: if raylet failed before Ray was stopped.
 */
void container_ray_due(struct container *c, int64_t now_ns);
/*
 * Returns whether it is a raylet that failed, and then somebody stopped the rest of Ray in order:
 * `ray.shutdown()` of a driver that goes on.
 */
bool container_failed_before_stop(const struct container *c, const struct ray_process_end *end);

/* At hello: starts to watch for cores, if the options ask for them. */
void container_watch_crashes(struct container *c);
/*
 * Processes a core that the launcher sends. Takes core_fd, unless it returns false: then the core
 * is not wanted.
 */
bool container_core(struct container *c, const struct launch_message *m, int core_fd);
/*
 * The report of the end, or what follows it, may have waited for a core: it was looked at, or will
 * not come.
 */
void container_core_came(struct container *c);
/*
 * Finds the core of the process that ended the container, as far as it is known now, for its
 * report.
 */
void container_find_death_crash(struct container *c);
/* Whether the node agent is still sending a core of the container. */
bool container_awaits_node_core(const struct container *c);
void container_cancel_node_cores(struct container *c);
/*
 * Whether its report waits for the node agent's message about who ended it; then CONTAINER_UNWOUND
 * follows.
 */
bool container_awaits_sender(struct container *c);
/* After its report: the container is over when no core of it is being processed. */
void container_cores_changed(struct container *c);
/*
 * After each sample, and with INT64_MAX after the report of an end that was none by failure:
 * reports processes that crashed without a core.
 */
void container_children_due(struct container *c, int64_t now_ns);
/* Whether the container failed after a child had crashed without a core; c->child_crash is that. */
bool container_child_crashed(struct container *c, const struct ending *e);
/* Finds why there is no core of a process that ended so (0 where that is not known). */
void container_explain_missing_core(struct container *c, int wait_status);
/* After each sample: reports the cores that need not wait for anything else. */
void container_crashes_due(struct container *c, int64_t now_ns);
/* Whether the worker that Ray's logs name left a core; then both make one report. */
bool container_crash_of_worker(struct container *c, const struct ray_finding *finding);
/*
 * Takes the core of that process, which then gets no report of its own; NULL: none. The caller
 * keeps or drops it.
 */
struct crash *container_crash_of_process(struct container *c, pid_t pid);
/*
 * The same for a process of that kind of Ray's if nobody saw its end; it is found by the kernel's
 * name for it. NULL: none.
 */
struct crash *container_crash_of_comm(struct container *c, enum ray_process_kind kind);
/* Whether its report has to wait for a backtrace; then CONTAINER_UNWOUND follows. */
bool container_death_waits(struct container *c);
/*
 * Adds to e what is known of the core of the process that ended the container, or why there is
 * none.
 */
void container_add_crash(struct container *c, struct ending *e);
/* Reports the crashes that did not end the container, now that it has ended. */
void container_report_other_crashes(struct container *c);
/* Keeps a core after its report was published. */
void container_keep_core(struct crash *crash, const struct report *r);
