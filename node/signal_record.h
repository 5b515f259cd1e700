/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses records of the trace events signal/signal_generate and oom/mark_victim: which task sent
 * which signal to which task. Pure.
 *
 * PIDs are those of the initial PID namespace. The records have tasks, so sender and target may be
 * threads; only /proc knows the processes to which they belong.
 */
#pragma once

#include <sys/types.h>

#include "node/trace_format.h"
#include "node/trace_page.h"

/*
 * The text for events/signal/signal_generate/filter. It lets through the signals that usually end a
 * process, if they were delivered (result 0) and the task of the record sent them by a system call:
 * kill(2) has code 0, sigqueue(3) -1, tkill(2) -6. With any other code, such as that of a timer,
 * the task of the record merely happened to run.
 */
#define SIGNAL_RECORD_FILTER \
	"result==0 && (code==0 || code==-1 || code==-6) && (sig==9 || sig==15 || sig<=3 || sig==6 || sig==7 || sig==8 || sig==11)"

enum signal_record_kind {
	RECORD_SIGNAL,
	/* the OOM killer chose target; sender is the task that could not allocate memory */
	RECORD_OOM_VICTIM,
};

struct signal_record {
	enum signal_record_kind kind;
	int64_t time_ns; /* CLOCK_BOOTTIME, because the instance's clock is "boot" */
	int signal; /* SIGKILL for an OOM victim */
	pid_t sender, target;
};

/* The places of the fields in both events. An event that the kernel does not have has the ID -1. */
struct signal_formats {
	int signal_id, victim_id;
	struct trace_field sender, signal, target, victim;
};

/*
 * Parses the texts of the two format files; "": the kernel has no such file. Returns false if the
 * event signal_generate or a field of it is missing.
 */
bool signal_formats_parse(const char *signal, const char *victim,
			  struct signal_formats *ret_formats);

/* Parses a record. Returns false if it is of another event, or cut. */
bool signal_record_parse(const struct signal_formats *formats, const struct trace_event *event,
			 struct signal_record *ret_record);
