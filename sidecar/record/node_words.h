/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what the node agent said about the pod as a whole and about containers that this sidecar
 * never met: lines of the kernel log and of the node's syslog, and proof of ends
 * (node/unmet_ends.h).
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"
#include "sidecar/kernel/kmsg_read.h"
#include "sidecar/node/unmet_ends.h"

struct node_words {
	struct kmsg_log log; /* lines of the kernel log */
	struct strbuf syslog; /* lines of the node's syslog */
	const char *pod_uid; /* NULL outside Kubernetes; not owned */
	struct unmet_ends unmet;
	cJSON *ends; /* what follows from unmet and log; NULL: not judged yet */
	/* CLOCK_BOOTTIME. Until then the agent may bring what it kept; 0: there is no agent. */
	int64_t awaited_until_ns;
};

void node_words_init(struct node_words *w, const char *pod_uid);
void node_words_release(struct node_words *w);

/* To be called when the sidecar begins to listen to the node. */
void node_words_await(struct node_words *w);
/* Takes any message of the agent, of which it keeps lines of the logs. */
void node_words_take(struct node_words *w, const char *text, size_t len);
/*
 * To be called when a connection has ended by which the agent brought such messages. What it kept
 * comes before anything else, by this connection or within a second by others.
 */
void node_words_settle(struct node_words *w);
/* Takes a signal to a process of a container whose launcher is not connected. */
void node_words_note(struct node_words *w, const char *container_id, const struct node_signal *s);
/* Notes that the launcher of the container in that cgroup has said hello. */
void node_words_meet(struct node_words *w, const char *cgroup);

/*
 * {"settled": true, "ends": [...]}, with the ends of unmet_end_to_json. settled is false while the
 * node agent may still bring what it kept while no sidecar listened. The caller owns it.
 */
cJSON *node_words_to_json(struct node_words *w);
