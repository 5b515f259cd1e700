/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manages the agent's own instance in tracefs: a ring buffer for each CPU, with events and filters
 * of its own, so that the agent and other users of tracing do not disturb each other. The instance
 * is in the kernel: an agent takes over the instance that a killed agent left, with the events in
 * it.
 *
 * The kernel applies the filters, so other events cost the agent nothing. An instance takes
 * TRACE_BUFFER_KB of kernel memory for each CPU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/strbuf.h"
#include "node/trace_page.h"

#define TRACE_BUFFER_KB "32"
#define TRACE_CPUS_MAX 1024
#define TRACE_COMM_MAX 16

struct trace_instance;

/*
 * Makes instances/NAME in the tracefs at directory, or takes it over. If no tracefs is mounted
 * there, the agent opens a tracefs without mounting it, which takes CAP_SYS_ADMIN. The instance's
 * clock is CLOCK_BOOTTIME.
 */
int trace_instance_open(const char *directory, const char *name,
			struct trace_instance **ret_instance, struct err *err);
/* Also removes the instance from the kernel. */
void trace_instance_close(struct trace_instance *t);

/* Appends the text of the format file of an event, such as "signal/signal_generate". */
int trace_instance_format(const struct trace_instance *t, const char *event, struct strbuf *out,
			  struct err *err);
/* Turns an event on. filter: in the kernel's syntax; NULL: all events of that kind. */
int trace_instance_enable(const struct trace_instance *t, const char *event, const char *filter,
			  struct err *err);

/*
 * One descriptor for each CPU, readable while its buffer has an event; owned by t. Returns how
 * many.
 */
size_t trace_instance_fds(const struct trace_instance *t, const int **ret_fds);

/*
 * Takes the oldest page out of the buffer of a CPU, also if the page is not full yet. Returns 1; 0
 * if there is none. ret_page is valid until the next call.
 */
int trace_instance_read(struct trace_instance *t, size_t cpu, struct trace_page *ret_page);

/*
 * Finds the name of a task that has ended, as the kernel noted it at its last event or context
 * switch. Returns false if the kernel has none. comm may have any bytes, so it must be escaped.
 */
bool trace_instance_comm(const struct trace_instance *t, pid_t task,
			 char comm[static TRACE_COMM_MAX]);
/*
 * Finds the name in the text of the file saved_cmdlines. A name may have newlines in it, so a
 * process can forge a line.
 */
bool trace_saved_comm(const char *text, pid_t task, char comm[static TRACE_COMM_MAX]);
