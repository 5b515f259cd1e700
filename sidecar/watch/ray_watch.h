/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows Ray's logs. Turns what they say about workers that died while the container
 * lives into reports, counts and a summary every minute.
 */
#pragma once

#include "sidecar/ray/ray_lines.h"
#include "sidecar/ray/ray_process_lines.h"
#include "sidecar/ray/ray_tally.h"
#include "sidecar/sample/ray_node.h"
#include "sidecar/watch/snapshot.h"
#include "sidecar/watch/worker_watch.h"

struct ray_watch;

struct ray_watch_callbacks {
	/* A worker died, or file descriptors ran out: a report is due. */
	void (*died)(const struct ray_finding *finding, void *arg);
	/*
	 * A node does not answer its health checks, or was declared dead. This needs no report,
	 * because this container lives.
	 */
	void (*node_lost)(const struct ray_finding *finding, void *arg);
	/* A minute in which workers died is over. */
	void (*summary)(const struct ray_summary *s, void *arg);
	/*
	 * The OOM kills that the samples count may be those of other containers. So they explain no
	 * worker's death, and nothing else reports them.
	 */
	bool kills_are_shared;
	const struct worker_watch *workers; /* knows how they ended; NULL: nobody does */
	void *arg;
};

/* root_fd stays the caller's. Returns NULL without memory. */
struct ray_watch *ray_watch_new(int root_fd, int64_t now_ns);
/*
 * Says whether what Ray logs is perhaps not the container's: without a PID namespace of its own,
 * and as long as none of its processes was Ray's, /tmp/ray may be that of another Ray on the
 * machine. w may be NULL.
 */
void ray_watch_of_others(struct ray_watch *w, bool of_others);
void ray_watch_free(struct ray_watch *w); /* NULL is allowed */

/*
 * To be called after each sample, which is last; reads the logs once a second. Returns the
 * descriptor that is readable when it is to be called again for the answer; -1: nothing was asked.
 * w may be NULL.
 */
int ray_watch_poll(struct ray_watch *w, const struct snapshot *last, int64_t now_ns,
		   const struct ray_watch_callbacks *callbacks);

/*
 * To be called when the container is dead: reads the rest of the logs without calling back. Returns
 * true when that is done, or its filesystem hangs; else it is to be called again when *ret_fd is
 * readable. w may be NULL.
 */
bool ray_watch_finish(struct ray_watch *w, int64_t now_ns, int *ret_fd);

/*
 * After that: what was counted since the last summary, if deaths among it got no report. w may be
 * NULL.
 */
bool ray_watch_last_summary(struct ray_watch *w, struct ray_summary *ret_summary);

/*
 * The last log event that may be related to an end at now_ns; NULL: there was none in the last
 * seconds.
 */
const struct ray_finding *ray_watch_last_words(const struct ray_watch *w, int64_t now_ns);

/*
 * What raylet logged about its resource isolation in the last minute; NULL: nothing. Valid until
 * the next poll.
 */
const char *ray_watch_isolation(const struct ray_watch *w, int64_t now_ns);

/*
 * A request that no node can have, as Ray has said for a minute and still says: "{'CPU': 8.0}";
 * NULL: there is none. Valid until the next poll.
 */
const char *ray_watch_infeasible(const struct ray_watch *w);

/* What Ray has logged about its own processes so far; NULL if w is NULL. */
const struct ray_process_words *ray_watch_process_words(const struct ray_watch *w);

/* The event that is being reported, else what ray_watch_last_words returns. */
const struct ray_finding *ray_watch_subject(const struct ray_watch *w, int64_t now_ns);

/*
 * Of last, previous and the snapshot with the most memory in the last seconds, returns the first
 * that contains a process with that PID; last, if none does. w may be NULL.
 */
const struct snapshot *ray_watch_snapshot(const struct ray_watch *w, const struct snapshot *last,
					  const struct snapshot *previous, pid_t pid);

/*
 * The directory of the logs, O_PATH, -1: none. Owned by w, which may be NULL. Its filesystem may
 * not answer, so only an errand may look below it.
 */
int ray_watch_logs_dir(const struct ray_watch *w);

/*
 * To be called after each sweep, which found raylet (0: there is none). Fills n with what is known
 * of its node and with the present state of /dev/shm. w may be NULL.
 */
void ray_watch_node(struct ray_watch *w, pid_t raylet, struct ray_node *n);

/*
 * Whether the filesystem of Ray's logs did not answer, when they were last polled. w may be NULL.
 */
bool ray_watch_hangs(const struct ray_watch *w);
