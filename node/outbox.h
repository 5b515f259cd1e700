/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects messages to sidecars while the agent reads a batch of events, and then sends them over
 * one connection for each pod.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/strbuf.h"
#include "node/node.h"

/* bytes of a batch; further messages are dropped and counted */
#define OUTBOX_BYTES_MAX (128 * 1024)
/* Bytes that messages of less importance leave free */
#define OUTBOX_RESERVE (16 * 1024)

/*
 * What is left out where a pod's messages do not all fit into the buffer of a socket that its
 * sidecar does not read meanwhile. The messages of a part that does not fit are left out whole, and
 * those of the parts that are less important with them.
 */
enum outbox_part {
	OUTBOX_NEEDED, /* never left out */
	OUTBOX_DETAIL,
	OUTBOX_TABLE,
	OUTBOX_PARTS,
	/* Sent as far as there is room; such messages do not keep others out. */
	OUTBOX_REST = OUTBOX_PARTS,
};

struct outbox {
	/* Each is "PART PROOF POD_UID\0MESSAGE\0"; the first two are a character each. */
	struct strbuf messages;
	/* Messages of this part, or of less important ones, found no room in the batch. */
	enum outbox_part cut;
	uint64_t sent, dropped; /* messages */
	uint64_t logged; /* how many of the dropped messages were logged */
};

void outbox_init(struct outbox *o);
void outbox_release(struct outbox *o);
/*
 * proof: the message proves how a container ended. If the pod's sidecar does not listen, it goes to
 * the node's backlog.
 */
void outbox_add(struct outbox *o, enum outbox_part part, bool proof, const char *pod_uid,
		const char *message);
/* Adds the message, unless the batch has the same message to the same pod already. */
void outbox_add_once(struct outbox *o, enum outbox_part part, bool proof, const char *pod_uid,
		     const char *message);
/*
 * Sends the batch and empties it. Messages to a pod without a sidecar are not counted as dropped.
 */
void outbox_flush(struct outbox *o, struct node *n);
/* Flushes, and logs if messages were dropped. what says what they are about, such as "signals". */
void outbox_flush_logged(struct outbox *o, struct node *n, const char *what);

/*
 * Does that if the batch is half full, so that the messages of one pod do not fill it for all
 * others.
 */
void outbox_flush_half(struct outbox *o, struct node *n, const char *what);

/* Sends the node's backlog to the sidecars that listen by now. */
void outbox_send_backlog(struct node *n);
