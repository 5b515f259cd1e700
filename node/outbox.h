/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects messages to sidecars while the agent reads a batch of events, and then sends them over
 * one connection for each pod.
 */
#ifndef AFTERGLOW_NODE_OUTBOX_H
#define AFTERGLOW_NODE_OUTBOX_H

#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"
#include "node/node.h"

#define OUTBOX_BYTES_MAX (128 * 1024) /* bytes of a batch; further messages are dropped and counted */

struct outbox {
	struct strbuf messages; /* each is a mark, "POD_UID\0MESSAGE\0" */
	uint64_t sent, dropped; /* messages */
};

void outbox_init(struct outbox *o);
void outbox_release(struct outbox *o);
void outbox_add(struct outbox *o, const char *pod_uid, const char *message);
/*
 * Does the same with a message that proves how a container ended. If the pod's sidecar does not listen,
 * the message goes to the node's backlog.
 */
void outbox_add_proof(struct outbox *o, const char *pod_uid, const char *message);
/* These do the same, unless the batch has the same message to the same pod already. */
void outbox_add_once(struct outbox *o, const char *pod_uid, const char *message);
void outbox_add_proof_once(struct outbox *o, const char *pod_uid, const char *message);
/* Sends the batch and empties it. Messages to a pod without a sidecar are not counted as dropped. */
void outbox_flush(struct outbox *o, struct node *n);

/* Sends the node's backlog to the sidecars that listen by now. */
void outbox_send_backlog(struct node *n);

#endif
