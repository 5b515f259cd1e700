/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to sidecars: collected while a batch of events is read, then sent over one connection for each pod. */
#ifndef AFTERGLOW_NODE_OUTBOX_H
#define AFTERGLOW_NODE_OUTBOX_H

#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"
#include "node/node.h"

#define OUTBOX_BYTES_MAX (128 * 1024) /* of a batch; what is more is dropped and counted */

struct outbox {
	struct strbuf messages; /* "POD_UID\0MESSAGE\0" each */
	uint64_t sent, dropped;
};

void outbox_init(struct outbox *o);
void outbox_release(struct outbox *o);
void outbox_add(struct outbox *o, const char *pod_uid, const char *message);
/* The same, unless that message to that pod is there already. */
void outbox_add_once(struct outbox *o, const char *pod_uid, const char *message);
/* Sends what there is. A pod without a sidecar gets nothing, which is no failure. */
void outbox_flush(struct outbox *o, const struct node *n);

#endif
