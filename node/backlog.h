/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps messages that prove how a container ended, for pods whose sidecar does not listen: it has
 * not started yet, or is being restarted. A sidecar gets them, in their order, as soon as it
 * listens. What a pod can make the agent keep is bounded, and so is the time. Pure: time is an
 * argument.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/pod_of_process.h"

/*
 * Bytes with all overhead. If there is no room, the oldest messages of the pod, or of all pods, are
 * dropped.
 */
#define BACKLOG_POD_MAX (16 * 1024)
#define BACKLOG_MAX (128 * 1024)
#define BACKLOG_KEPT_NS ((int64_t)600 * 1000000000)

struct kept_message;

/* Starts zeroed. */
struct backlog {
	struct kept_message *first; /* the oldest; NULL: there is none */
	size_t bytes;
};

void backlog_release(struct backlog *b);

/* Appends a copy of the message. Without memory for it, it is left out. */
void backlog_add(struct backlog *b, const char *pod_uid, const char *message, int64_t now_ns);

/* Drops the messages that are older than BACKLOG_KEPT_NS. */
void backlog_expire(struct backlog *b, int64_t now_ns);

/*
 * Calls send for each message of the pod, the oldest first, until it returns false. Drops those for
 * which it returned true.
 */
void backlog_send(struct backlog *b, const char *pod_uid,
		  bool (*send)(const char *message, void *arg), void *arg);

/* To be called before a round of backlog_next. */
void backlog_begin_round(struct backlog *b);
/* Finds the next pod that has messages. Returns false at the end of the round. */
bool backlog_next(struct backlog *b, char ret_pod_uid[static POD_UID_MAX + 1]);
