/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the messages of the node agent that are about cores. */
#include "sidecar/node/node_message.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int node_message_parse_hello(const char *args, struct node_message *m, struct err *err)
{
	int version, end = 0;

	if (sscanf(args, "%d%n", &version, &end) != 1 || args[end])
		return err_set(err, EPROTO, "node \"%.60s\"", args);
	if (version != NODE_PROTOCOL_VERSION)
		return err_set(err, EPROTO, "the node agent speaks version %d, this sidecar %d",
			       version, NODE_PROTOCOL_VERSION);
	m->verb = NODE_HELLO;
	return 0;
}

static int parse_offer(const char *args, struct node_message *m, struct err *err)
{
	int pid, signal, end = 0;
	char id[NODE_CONTAINER_ID_LEN + 1], comm[64];

	if (sscanf(args, "%64[0-9a-f] %d %d %63s%n", id, &pid, &signal, comm, &end) != 4 ||
	    args[end] || strlen(id) != NODE_CONTAINER_ID_LEN || pid <= 0 || signal < 0 ||
	    signal >= _NSIG)
		return err_set(err, EPROTO, "offer \"%.100s\" of the node agent", args);
	for (char *p = comm; *p; p++)
		if (*p <= ' ' || *p >= 0x7f)
			*p = '?';
	m->verb = NODE_OFFER;
	memcpy(m->container_id, id, sizeof(id));
	m->pid = pid;
	m->signal = signal;
	snprintf(m->comm, sizeof(m->comm), "%s", strcmp(comm, "-") == 0 ? "" : comm);
	return 0;
}

int node_message_parse(const char *text, size_t len, struct node_message *ret_message,
		       struct err *err)
{
	struct node_message m = { .verb = NODE_OTHER };
	char line[256];
	int rc = 0;

	if (len >= sizeof(line) || memchr(text, '\0', len)) {
		*ret_message = m;
		return 0;
	}
	memcpy(line, text, len);
	line[len] = '\0';
	if (strncmp(line, "node ", 5) == 0)
		rc = node_message_parse_hello(line + 5, &m, err);
	else if (strncmp(line, "offer ", 6) == 0)
		rc = parse_offer(line + 6, &m, err);
	else if (strcmp(line, "core") == 0)
		m.verb = NODE_CORE;
	if (rc < 0)
		return rc;
	*ret_message = m;
	return 0;
}
