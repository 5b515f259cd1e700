/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the events signal/signal_generate and oom/mark_victim: which signal which task sent to which. Pure.
 *
 * PIDs are those of the initial PID namespace. The kernel names tasks: sender and target may be threads of a process, and only
 * /proc knows of which.
 */
#ifndef AFTERGLOW_NODE_SIGNAL_RECORD_H
#define AFTERGLOW_NODE_SIGNAL_RECORD_H

#include <sys/types.h>

#include "node/trace_format.h"
#include "node/trace_page.h"

/*
 * For events/signal/signal_generate/filter: the signals that end a process and that somebody sends, which were delivered (result),
 * and which the sending task itself sent: kill(2) 0, sigqueue(3) -1, tkill(2) -6. With any other code, such as that of a timer, the task that
 * happened to run is not the sender.
 */
#define SIGNAL_RECORD_FILTER \
	"result==0 && (code==0 || code==-1 || code==-6) && (sig==9 || sig==15 || sig<=3 || sig==6 || sig==7 || sig==8 || sig==11)"

enum signal_record_kind {
	RECORD_SIGNAL,
	RECORD_OOM_VICTIM, /* the OOM killer took target; sender is the task whose allocation failed */
};

struct signal_record {
	enum signal_record_kind kind;
	int64_t time_ns; /* CLOCK_BOOTTIME, as the instance's clock is "boot" */
	int signal; /* of an OOM victim SIGKILL */
	pid_t sender, target;
};

/* Where both events have their fields. An event that the kernel lacks has the ID -1. */
struct signal_formats {
	int signal_id, victim_id;
	struct trace_field sender, signal, target, victim;
};

/* signal, victim: texts of the two format files, "" where there is none. False: the fields that are needed are not there. */
bool signal_formats_parse(const char *signal, const char *victim, struct signal_formats *ret_formats);

/* False: it is of another event, or cut. */
bool signal_record_parse(const struct signal_formats *formats, const struct trace_event *event, struct signal_record *ret_record);

#endif
