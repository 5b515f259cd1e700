/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instance of tracefs of our own: a ring buffer for each CPU, events and filters that nobody else's tracing disturbs, nor ours
 * theirs. It lives in the kernel: one that a killed agent left behind is taken over, with what it holds.
 *
 * The kernel filters, so that events of no interest cost us nothing. Memory: TRACE_BUFFER_KB of the kernel's for each CPU.
 */
#ifndef AFTERGLOW_NODE_TRACE_INSTANCE_H
#define AFTERGLOW_NODE_TRACE_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/strbuf.h"
#include "node/trace_page.h"

#define TRACE_BUFFER_KB 32
#define TRACE_CPUS_MAX 1024
#define TRACE_COMM_MAX 16

struct trace_instance;

/*
 * Makes instances/NAME in the tracefs at directory, or takes it over. Where none is mounted there, it
 * uses one that is mounted nowhere (CAP_SYS_ADMIN). Its clock is CLOCK_BOOTTIME.
 */
int trace_instance_open(const char *directory, const char *name, struct trace_instance **ret_instance, struct err *err);
/* Removes it from the kernel, too. */
void trace_instance_close(struct trace_instance *t);

/* event: "signal/signal_generate". The text of its format file. */
int trace_instance_format(const struct trace_instance *t, const char *event, struct strbuf *out, struct err *err);
/* filter: NULL for all of them. */
int trace_instance_enable(const struct trace_instance *t, const char *event, const char *filter, struct err *err);

/* One for each CPU; readable while its buffer holds an event. */
size_t trace_instance_fds(const struct trace_instance *t, const int **ret_fds);

/*
 * The oldest page of that CPU, which is then the caller's and valid until the next call: 1, 0 there is none. What a page that is not
 * full yet holds comes too.
 */
int trace_instance_read(struct trace_instance *t, size_t cpu, struct trace_page *ret_page);

/*
 * The name of a task that has ended meanwhile, as the kernel noted it at its last event or context switch. Not found: false. The
 * name is as it is: print it escaped.
 */
bool trace_instance_comm(const struct trace_instance *t, pid_t task, char comm[static TRACE_COMM_MAX]);
/* The same in the text of the file saved_cmdlines. A name may hold newlines, so a line that another name forged is possible. */
bool trace_saved_comm(const char *text, pid_t task, char comm[static TRACE_COMM_MAX]);

#endif
