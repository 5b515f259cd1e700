/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the messages of the node agent that are about cores (lib/node_protocol.h). Pure. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/node_protocol.h"

#define NODE_CONTAINER_ID_LEN 64

/* NODE_HELLO is the verb "node". NODE_OTHER is any other verb, known or not. */
enum node_verb { NODE_HELLO, NODE_OFFER, NODE_CORE, NODE_OTHER };

struct node_message {
	enum node_verb verb;
	/* The rest is set for NODE_OFFER only: the process that is dumping core. */
	char container_id[NODE_CONTAINER_ID_LEN + 1];
	pid_t pid; /* in its own PID namespace */
	int signal;
	char comm[64]; /* printable, without blanks; "": none */
};

/*
 * Parses len bytes of text, which need no final NUL. -EPROTO if the arguments of one of these verbs
 * are wrong.
 */
int node_message_parse(const char *text, size_t len, struct node_message *ret_message,
		       struct err *err);
