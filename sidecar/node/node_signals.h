/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node agent says of the signals to a container's processes (lib/node_protocol.h): parsed, and the latest kept until the
 * container ends. Pure.
 */
#ifndef AFTERGLOW_SIDECAR_NODE_NODE_SIGNALS_H
#define AFTERGLOW_SIDECAR_NODE_NODE_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/strbuf.h"
#include "sidecar/kernel/kmsg_parse.h"
#include "sidecar/verdict/node_signal.h"

#define NODE_SIGNALS_VITAL_MAX 8 /* to the command and to the launcher */
#define NODE_SIGNALS_OTHER_MAX 56 /* to other processes: they cannot push out the vital ones */
#define NODE_SIGNALS_MAX (NODE_SIGNALS_VITAL_MAX + NODE_SIGNALS_OTHER_MAX)
#define NODE_SIGNALS_ID_LEN 64

/*
 * A message "signal ..." or "oom ..." of len bytes; of which container: its ID. False: it is another message, or malformed.
 */
bool node_signal_parse(const char *text, size_t len, char ret_container_id[static NODE_SIGNALS_ID_LEN + 1],
		       struct node_signal *ret_signal);

/* A message "kernel PRIORITY TIME_US TEXT"; ret_record points into text. False: it is another message, or malformed. */
bool node_kernel_line_parse(const char *text, size_t len, struct kmsg_record *ret_record);

#define NODE_SYSLOG_MAX (64 * 1024)
/* A message "syslog TEXT" is appended to lines, which has that ceiling; the oldest go. Others are passed over. */
void node_syslog_add(struct strbuf *lines, const char *text, size_t len);

/* A message "watching SECONDS": so long the agent looks for sure. False: it is another message. */
bool node_watching_parse(const char *text, size_t len, int64_t *ret_ns);

struct node_signals {
	struct node_signal vital[NODE_SIGNALS_VITAL_MAX], others[NODE_SIGNALS_OTHER_MAX];
	size_t n_vital, n_others; /* ever added */
};

/* vital: it is to the command or to the launcher. */
void node_signals_add(struct node_signals *all, const struct node_signal *s, bool vital);

/* Those to each process in the order in which they came; returns how many. */
size_t node_signals_list(const struct node_signals *all, struct node_signal ret_list[static NODE_SIGNALS_MAX]);

#endif
