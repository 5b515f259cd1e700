/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the node agent's messages about signals, the kernel log and syslog (lib/node_protocol.h),
 * and keeps the latest signals to a container's processes until the container ends. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/strbuf.h"
#include "sidecar/kernel/kmsg_parse.h"
#include "sidecar/verdict/node_signal.h"

/* Signals to the command or to the launcher. They have room of their own. */
#define NODE_SIGNALS_VITAL_MAX 8
#define NODE_SIGNALS_OTHER_MAX 56 /* signals to other processes */
#define NODE_SIGNALS_MAX (NODE_SIGNALS_VITAL_MAX + NODE_SIGNALS_OTHER_MAX)
#define NODE_SIGNALS_ID_LEN 64

/*
 * Parses a message "signal ..." or "oom ..." of len bytes; ret_container_id is the ID of the
 * target's container. False: it is another message, or malformed.
 */
bool node_signal_parse(const char *text, size_t len,
		       char ret_container_id[static NODE_SIGNALS_ID_LEN + 1],
		       struct node_signal *ret_signal);

/*
 * Parses a message "kernel PRIORITY TIME_US TEXT"; ret_record points into text. False: it is
 * another message, or malformed.
 */
bool node_kernel_line_parse(const char *text, size_t len, struct kmsg_record *ret_record);

#define NODE_SYSLOG_MAX (64 * 1024) /* bytes */
/*
 * Appends the line of a message "syslog TEXT" to lines, whose ceiling is NODE_SYSLOG_MAX; if there
 * is no room, it removes the older half of lines first. Ignores other messages.
 */
void node_syslog_add(struct strbuf *lines, const char *text, size_t len);

/*
 * Parses a message "watching SECONDS": for that time, at most an hour, the agent certainly sees
 * signals. False: it is another message, or malformed.
 */
bool node_watching_parse(const char *text, size_t len, int64_t *ret_ns);

struct node_signals {
	struct node_signal vital[NODE_SIGNALS_VITAL_MAX], others[NODE_SIGNALS_OTHER_MAX];
	size_t n_vital, n_others; /* how many were ever added; the arrays are rings */
};

/*
 * Adds s in the place of the oldest if there is no room. vital: it went to the command or to the
 * launcher.
 */
void node_signals_add(struct node_signals *all, const struct node_signal *s, bool vital);

/*
 * Lists the vital signals and then the others, each in the order in which they came. Returns how
 * many there are.
 */
size_t node_signals_list(const struct node_signals *all,
			 struct node_signal ret_list[static NODE_SIGNALS_MAX]);
