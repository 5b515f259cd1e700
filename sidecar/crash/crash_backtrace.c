/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the backtrace of a crash in a child: for the report or, if it comes too late, for the
 * bundle.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/printable.h"
#include "lib/units.h"
#include "sidecar/crash/crashes_internal.h"

#define UNWIND_NS (30 * NS_PER_SEC)
#define TURN_US 20000 /* between two looks whether another one may begin */

static void end_late(struct crash *crash, const struct err *err)
{
	if (err->code && err->code != EEXIST)
		log_warning_limited("a backtrace was not kept: %s", err_text(err));
	crash->owner->callbacks.added(crash->owner->callbacks.arg);
}

static void on_late_added(const struct err *err, void *arg)
{
	struct crash *crash = arg;

	crash->late = NULL;
	crash->adding_late = false;
	end_late(crash, err);
	crash_free_if_over(crash);
}

void crash_end_late_backtrace(struct crash *crash)
{
	struct err err = { 0 };

	if (!crash->late || crash->adding_late)
		return;
	if (crash->backtrace.len &&
	    addition_commit(crash->late, &crash->backtrace, NULL, ADD_WITHIN_NS, on_late_added,
			    crash, &err) >= 0) {
		crash->adding_late = true;
		return;
	}
	addition_abort(TAKE_PTR(crash->late));
	end_late(crash, &err);
}

static void on_late_begun(const struct err *err, void *arg)
{
	struct crash *crash = arg;

	if (err->code) {
		on_late_added(err, crash);
		return;
	}
	crash->adding_late = false;
	if (crash->unwound)
		crash_end_late_backtrace(crash);
	crash_free_if_over(crash);
}

void crash_begin_late_backtrace(struct crash *crash)
{
	struct err err = { 0 };

	if (crash->backtrace_kept || (crash->unwound && !crash->backtrace.len))
		return;
	if (addition_begin(crash->owner->base, crash->bundle, "backtrace.txt", NULL, ADD_BEGINS_NS,
			   on_late_begun, crash, &crash->late, &err) < 0)
		log_warning_limited("a backtrace was not kept: %s", err_text(&err));
	else
		crash->adding_late = true;
}

static void backtrace_on_unwound(const struct child_result *r, void *arg)
{
	struct crash *crash = arg;
	struct err err = { 0 };

	crash->owner->stats->n_unwinding -= crash->unwinder != NULL;
	crash->unwinder = NULL;
	crash->unwound = true;
	strbuf_add(&crash->backtrace, r->output, r->output_len);
	if (crash->backtrace.len)
		mend_printable(crash->backtrace.data, crash->backtrace.len, "\n");
	if (r->extra[0] && crash_info_of_summary(r->extra, r->output, &crash->info, &err) < 0)
		log_warning_limited("backtrace: %s", err_text(&err));
	crash->owner->stats->backtraces[r->timed_out   ? BACKTRACE_TIMEOUT :
					r->exited_well ? BACKTRACE_MADE :
							 BACKTRACE_FAILED]++;
	if (r->timed_out)
		log_warning_limited("a backtrace was not done within %d s",
				    (int)(UNWIND_NS / NS_PER_SEC));
	else if (!r->exited_well)
		log_warning_limited("backtrace: %.300s",
				    r->errors[0] ? r->errors : "afterglow-unwind failed");
	if (!crash->settled) {
		crash->owner->callbacks.unwound(crash, crash->owner->callbacks.arg);
		return;
	}
	crash_end_late_backtrace(crash);
	crash_free_if_over(crash);
}

/* The opener ends when the unwinder has ended, so its own end carries no news. */
static void on_opener_ended(const struct child_result *r, void *arg)
{
	struct crash *crash = arg;

	crash->opener = NULL;
	if (!r->exited_well && !r->timed_out)
		log_warning_limited("backtrace: no program or library could be opened: %.300s",
				    r->errors);
}

/*
 * Starts the child that opens files for the unwinder. The unwinder reads the core and opens no file
 * itself. The child opens files inside the container's root, where a directory may be on a
 * filesystem that hangs; then only the child hangs. Returns the unwinder's end of their socket.
 */
static int start_opener(struct crash *crash, struct err *err)
{
	static const char *const argv[] = { "afterglow-unwind", "--root-fd", "3",
					    "--serve-fd",	"4",	     NULL };
	struct child_work work = {
		.argv = argv,
		.fds = { crash->owner->root_fd },
		.n_fds = 2,
		.within_ns = UNWIND_NS,
	};
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, errno, "socketpair");
	work.fds[1] = ends[1];
	rc = crash_start_child(crash, &work, on_opener_ended, &crash->opener, err);
	close(ends[1]);
	if (rc >= 0)
		return ends[0];
	close(ends[0]);
	return rc;
}

static void unwinder_start(struct crash *crash)
{
	static const char *const alone[] = {
		"afterglow-unwind", "--core-fd", "3", "--summary-fd", "4", "--no-root", NULL
	};
	static const char *const with_files[] = {
		"afterglow-unwind", "--core-fd", "3", "--files-fd", "4", "--summary-fd", "5", NULL
	};
	struct child_work work = {
		.argv = alone,
		.fds = { crash->core_fd },
		.n_fds = 1,
		.output_max = BACKTRACE_MAX,
		.extra_max = 16 * 1024,
		.within_ns = UNWIND_NS,
	};
	const struct child_result none = { .output = "",
					   .extra = "",
					   .errors = "afterglow-unwind could not be started" };
	struct err err = { 0 };
	_cleanup_close_ int files_fd = crash->owner->root_fd < 0 ? -1 : start_opener(crash, &err);

	if (files_fd >= 0) {
		work.argv = with_files;
		work.fds[work.n_fds++] = files_fd;
	} else if (err.code)
		log_warning_limited("a backtrace lacks programs and libraries: %s", err_text(&err));
	if (crash_start_child(crash, &work, backtrace_on_unwound, &crash->unwinder, &err) >= 0) {
		crash->owner->stats->n_unwinding++;
		return;
	}
	log_warning_limited("a backtrace cannot be made: %s", err_text(&err));
	backtrace_on_unwound(&none, crash);
}

static void unwinder_on_turn(evutil_socket_t, short, void *arg)
{
	struct crash *crash = arg;

	if (crash->owner->stats->n_unwinding < UNWINDERS_MAX)
		unwinder_start(crash);
	else
		event_add(crash->turn, &(struct timeval){ .tv_usec = TURN_US });
}

/* From the event loop, because a crash is handed over before anything else is said of it. */
void crash_start_unwinder(struct crash *crash)
{
	crash->turn = evtimer_new(crash->owner->base, unwinder_on_turn, crash);
	if (crash->turn)
		event_active(crash->turn, EV_TIMEOUT, 0);
	else
		crash->unwound = true;
}

void crash_cancel_unwinder(struct crash *crash)
{
	crash->owner->stats->n_unwinding -= crash->unwinder != NULL;
	child_cancel(TAKE_PTR(crash->unwinder));
}
