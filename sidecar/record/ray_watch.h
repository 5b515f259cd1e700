/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ray's own voice: its logs are followed, and what they say of workers that
 * died while the container lives becomes reports, counts and a summary a minute.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_RAY_WATCH_H
#define AFTERGLOW_SIDECAR_RECORD_RAY_WATCH_H

#include "sidecar/ray/ray_lines.h"
#include "sidecar/ray/ray_process_lines.h"
#include "sidecar/ray/ray_tally.h"
#include "sidecar/sample/ray_node.h"

struct observer;
struct snapshot;
struct ray_watch;

struct ray_watch_callbacks {
	/* A worker died, or descriptors ran out, and a report is due. */
	void (*died)(const struct ray_said *said, void *arg);
	/* A node does not answer its health checks, or was declared dead. No report: it is not this container's end. */
	void (*node_lost)(const struct ray_said *said, void *arg);
	/* A minute is over in which workers died. */
	void (*summary)(const struct ray_summary *s, void *arg);
	void *arg;
};

/* root_fd stays the caller's. NULL without memory. */
struct ray_watch *ray_watch_new(int root_fd, int64_t now_ns);
void ray_watch_free(struct ray_watch *w); /* NULL is allowed */

/* After each sample. Reads logs once a second. w may be NULL. */
void ray_watch_poll(struct ray_watch *w, const struct observer *o, int64_t now_ns, const struct ray_watch_callbacks *callbacks);

/* The container is dead: the last words. Nothing is called back. w may be NULL. */
void ray_watch_finish(struct ray_watch *w, int64_t now_ns);

/* What was said last that may have to do with an end at now_ns; NULL: nothing in the last seconds. */
const struct ray_said *ray_watch_last_words(const struct ray_watch *w, int64_t now_ns);

/* What raylet said in the last minute of its resource isolation; NULL: nothing. Valid until the next poll. */
const char *ray_watch_isolation(const struct ray_watch *w, int64_t now_ns);

/* What Ray has said of its own processes so far; NULL without w. */
const struct ray_process_words *ray_watch_process_words(const struct ray_watch *w);

/* What is being reported, else the last words. */
const struct ray_said *ray_watch_subject(const struct ray_watch *w, int64_t now_ns);

/* The latest snapshot that has a process with that PID, else the latest. */
const struct snapshot *ray_watch_snapshot(const struct ray_watch *w, const struct observer *o, pid_t pid);

/*
 * The logs directory, O_PATH, -1: none. Owned by w, which may be NULL. Its filesystem may be one that does not answer: only an
 * errand looks below it.
 */
int ray_watch_logs_dir(const struct ray_watch *w);

/* After each sweep, which found raylet (0: there is none): what is known of its node, and /dev/shm as it is now, into n. w may be NULL. */
void ray_watch_node(struct ray_watch *w, pid_t raylet, struct ray_node *n);

/* Whether a filesystem that Ray's logs are on does not answer. */
bool ray_watch_hangs(struct ray_watch *w, int64_t now_ns);

#endif
