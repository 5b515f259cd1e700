/* SPDX-License-Identifier: Apache-2.0 */
/* A message of the node agent (lib/node_protocol.h), parsed. */
#ifndef AFTERGLOW_SIDECAR_NODE_NODE_MESSAGE_H
#define AFTERGLOW_SIDECAR_NODE_NODE_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/node_protocol.h"

#define NODE_CONTAINER_ID_LEN 64

enum node_verb { NODE_HELLO, NODE_OFFER, NODE_CORE, NODE_OTHER };

struct node_message {
	enum node_verb verb;
	/* offer */
	char container_id[NODE_CONTAINER_ID_LEN + 1];
	pid_t pid;
	int signal;
	char comm[64]; /* printable, no blank; "": none */
};

/* Pure. len bytes of text, no final NUL needed. -EPROTO when a known verb's arguments are wrong. */
int node_message_parse(const char *text, size_t len, struct node_message *ret_message, struct err *err);

#endif
