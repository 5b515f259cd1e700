/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the verdict on a worker whose death Ray's own logs report. */
#include "sidecar/verdict/ray_verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/verdict/crash_verdict.h"
#include "sidecar/verdict/gpu_verdict.h"
#include "sidecar/verdict/oom_cause.h"
#include "sidecar/verdict/sender.h"

/*
 * Ray's monitor kills at 95 % by default. If the memory was far emptier, our samples contradict
 * Ray's log.
 */
#define FULL_ENOUGH 0.7
#define FILL_MAX 160
#define STATUS_TEXT_MAX 80
#define OOM_NEAR_NS (15 * NS_PER_SEC) /* raylet notices within seconds that a worker is gone */
/* It says only after this time (worker_register_timeout_seconds) that a worker cannot start. */
#define START_LOGGED_NS (60 * NS_PER_SEC)

static bool knows_status(const struct observation *o)
{
	return o->worker_ended && o->worker_status >= 0;
}

/* Returns the signal that ended the worker, by its wait status; 0: none, or not known. */
static int status_signal(const struct observation *o)
{
	return knows_status(o) && WIFSIGNALED(o->worker_status) ? WTERMSIG(o->worker_status) : 0;
}

static bool kill_was_counted(const struct observation *o)
{
	return o->after_known && oom_rise(o->before.oom_kill, o->after.oom_kill) > 0;
}

/* raylet says so a minute after it started the worker, which ended at some time between. */
static bool died_at_start(const struct ray_event *e)
{
	return strstr(e->detail, "probably it crashed during start");
}

/*
 * Returns whether an OOM kill of shortly before was reported, so that the counters begin after it.
 */
static bool kill_was_reported(const struct observation *o)
{
	int64_t ago_ns = o->ended_ns - o->process_oom_ns;
	int64_t late_ns = died_at_start(&o->ray->event) ? START_LOGGED_NS : 0;

	return o->process_oom_ns && ago_ns <= OOM_NEAR_NS + late_ns && -ago_ns <= OOM_NEAR_NS;
}

/*
 * Each kill that the counters of the container's own cgroup show has explained the death of another
 * worker already (ray_tally.h), or this one would have no report. In a cgroup that others share
 * none has.
 */
static const char *by_oom_killer(const struct observation *o)
{
	bool full =
		o->last.limit > 0 && (double)o->last.usage >= FULL_ENOUGH * (double)o->last.limit;

	if (!kill_was_counted(o) && !kill_was_reported(o))
		return "";
	return o->cgroup_shared && full ? ", most likely by the kernel's OOM killer" :
					  ", perhaps by the kernel's OOM killer";
}

const char *ray_verdict_source(const char *file)
{
	/* The result is one of these, because the list of evidence keeps only the pointer. */
	static const char *const names[] = { "event_RAYLET.log",    "raylet.out",
					     "raylet.err",	    "gcs_server.out",
					     "gcs_server.err",	    "monitor.log",
					     "dashboard_agent.log", "ray_process_exit.log" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(file, names[i]))
			return names[i];
	return "Ray's logs";
}

/* Makes "ray::leak (PID 706)" or "a worker". */
static const char *name_worker(const struct ray_event *e, char *text, size_t size)
{
	const char *name = e->task[0] ? e->task : "a worker";

	if (e->pid)
		snprintf(text, size, "%s (PID %d)", name, (int)e->pid);
	else
		snprintf(text, size, "%s", name);
	return text;
}

/* Adds the largest processes of Ray's own table. The whole table is in the bundle. */
static void add_table(const struct ray_event *e, struct verdict *v)
{
	char text[EVIDENCE_TEXT_MAX] = "";
	const char *row = e->table;
	size_t n = 0;

	for (unsigned int i = 0; i < 3 && *row; i++) {
		int len = (int)strcspn(row, "\n");
		int pid, at;
		char held[16];

		if (sscanf(row, "%d %15[^\t] %n", &pid, held, &at) >= 2 && at < len)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s (PID %d) %s GB",
					      n ? ", " : "", MIN(len - at, 40), row + at, pid,
					      held);
		if (n >= sizeof(text))
			break;
		row += len + (row[len] == '\n');
	}
	if (text[0])
		verdict_add_evidence(v, "Ray's table", "%s", text);
}

/*
 * Returns whether more than Ray's log tells of the process: anybody in the container can log a line
 * about any PID.
 */
static bool worker_is_known(const struct observation *o)
{
	return o->ray_seen || o->worker_ended || (o->crash && o->crash->by_node);
}

static void add_presence(const struct observation *o, struct verdict *v)
{
	verdict_add_evidence(v, "processes",
			     !o->ray->gone ? "PID %d is there still, or again" :
			     worker_is_known(o) ?
					     "PID %d is gone" :
					     "PID %d was not among the largest of the last samples",
			     (int)o->ray->event.pid);
}

static const char *lives_on(const struct observation *o)
{
	return o->container_over ? ", shortly before its end" : "; the container lives on";
}

/*
 * Returns whether the user's processes reached the limit that Ray's resource isolation gives them.
 * Ray says so, and our own figures do not contradict it.
 */
static bool is_of_user(const struct observation *o, double user)
{
	return user >= FULL_ENOUGH && strstr(o->ray->event.detail, "user cgroup");
}

/* For such a kill Ray's log names the memory of the whole machine as the limit. */
static const char *fill(const struct observation *o, double user, char text[static FILL_MAX])
{
	const char *words = o->ray->event.memory;

	if (is_of_user(o, user))
		snprintf(
			text, FILL_MAX,
			"the user's processes used %s of the %s that Ray's resource isolation leaves them",
			SIZE_TEXT(o->isolation->usage), SIZE_TEXT(o->isolation->limit));
	else
		snprintf(text, FILL_MAX, "memory was at %s", words[0] ? words : "its threshold");
	return text;
}

static void memory_kill(const struct observation *o, struct verdict *v)
{
	const struct ray_event *e = &o->ray->event;
	char worker[160], more[40] = "", held[48] = "", memory[FILL_MAX];
	double used = o->last.limit > 0 ? (double)o->last.usage / (double)o->last.limit : 0;
	/*
	 * With resource isolation Ray compares the usage of the user's processes with the limit of
	 * their cgroup.
	 */
	double user = o->isolation ? (double)o->isolation->usage / (double)o->isolation->limit : 0;
	bool full = used >= FULL_ENOUGH || user >= FULL_ENOUGH;
	/* When memory is short, the kernel may have killed the same worker, or another one. */
	bool taken = kill_was_counted(o);

	/* Raylet may name a worker that lives on, or another process may have that PID by now. */
	bool named_died = e->pid > 0 && o->ray_seen && o->ray->gone &&
			  !sender_is_another(o, e->pid, "raylet");

	v->class = FAILURE_RAY_MEMORY_MONITOR;
	/*
	 * Anybody in the container can write the log, so our own figures and processes have to
	 * agree with it.
	 */
	v->confidence = full && !taken && named_died ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY;
	if (e->workers > 1)
		snprintf(more, sizeof(more), " and %u more", e->workers - 1);
	if (e->held[0])
		snprintf(held, sizeof(held), ", which held %s", e->held);
	verdict_say(v, "%s killed %s%s%s in container %s: %s%s.",
		    v->confidence == CONFIDENCE_CERTAIN ? "Ray's memory monitor" :
							  "Ray says that its memory monitor",
		    name_worker(e, worker, sizeof(worker)), more, held, o->container,
		    fill(o, user, memory), lives_on(o));
	if (is_of_user(o, user))
		v->isolation = ISOLATION_USER;
	if (e->detail[0])
		verdict_add_evidence(v, ray_verdict_source(o->ray->file), "%s", e->detail);
	else
		verdict_add_evidence(v, ray_verdict_source(o->ray->file),
				     "%u worker(s) killed, the node running low on memory",
				     e->workers);
	if (o->last.limit > 0)
		verdict_add_evidence(v, "samples", "%.0f %% of the limit in use %s", 100 * used,
				     full ? "then" : "at most: less than Ray's words let expect");
	if (e->pid > 0)
		add_presence(o, v);
	else
		verdict_add_missing(v, "which process the monitor killed",
				    "a release of Ray that logs its PID, and one worker at a time");
	if (taken)
		verdict_add_evidence(v, "OOM killer",
				     "oom_kill %" PRId64 " -> %" PRId64
				     ": it took a process shortly before, perhaps this one",
				     o->before.oom_kill, o->after.oom_kill);
	if (o->isolation)
		verdict_add_evidence(
			v, "samples",
			"%.0f %% of the limit of Ray's sub-cgroup \"user\" in use, at most %.0f %% before",
			100 * user,
			100 * (double)MAX(o->isolation->usage, o->isolation->peak) /
				(double)o->isolation->limit);
	add_table(e, v);
}

/*
 * Parses "Worker exits with an exit code 4.", which raylet logs for a worker that called exit.
 * "None" is no code.
 */
static bool logged_exit_code(const struct ray_event *e, int *ret_code)
{
	static const char words[] = "exits with an exit code ";
	const char *at = strstr(e->detail, words);

	return e->kind == RAY_WORKER_CRASH && at &&
	       sscanf(at + strlen(words), "%3d", ret_code) == 1 && *ret_code > 0 && *ret_code < 256;
}

/*
 * Ray's message often suspects memory. If the kernel killed a worker, Ray only sees that it died
 * "unexpectedly".
 */
static void oom_killer(const struct observation *o, struct verdict *v)
{
	bool other = knows_status(o) && status_signal(o) != SIGKILL;
	const char *which = other ? "another one" : "perhaps this one";

	if (!o->after_known || o->before.oom_kill < 0)
		return;
	if (o->after.oom_kill > o->before.oom_kill) {
		verdict_add_evidence(v, "OOM killer",
				     "oom_kill %" PRId64 " -> %" PRId64
				     ": it took a process shortly before, %s",
				     o->before.oom_kill, o->after.oom_kill, which);
		/* If the worker logged a signal or left a core, its end had another cause. */
		if (v->confidence == CONFIDENCE_CERTAIN && !o->ray->logged_signal[0] && !o->crash &&
		    (!knows_status(o) || status_signal(o) == SIGKILL))
			v->confidence = CONFIDENCE_LIKELY;
	} else if (kill_was_reported(o))
		verdict_add_evidence(v, "OOM killer", "it took a process %s before, %s",
				     DURATION_TEXT(o->ended_ns - o->process_oom_ns), which);
	else if (o->after.oom_kill == o->before.oom_kill && o->last.limit > 0 && !o->cgroup_unseen)
		verdict_add_evidence(
			v, "samples",
			"not the OOM killer: its counter stayed at %d, %.0f %% of the limit in use",
			(int)o->after.oom_kill,
			100.0 * (double)o->last.usage / (double)o->last.limit);
}

/*
 * Says how the worker ended by its wait status: " was killed with SIGKILL", " ended with exit code
 * 42".
 */
static void status_text(const struct observation *o, char *how, size_t size)
{
	int signal = status_signal(o);

	if (signal == SIGKILL)
		snprintf(how, size, " was killed with SIGKILL%s", by_oom_killer(o));
	else if (signal)
		snprintf(how, size, " %s %s",
			 signal_is_of_crash(signal) ? "crashed with" : "was ended by",
			 signal_name(signal) ? signal_name(signal) : "a signal");
	else
		snprintf(how, size, " ended with exit code %d%s", WEXITSTATUS(o->worker_status),
			 WEXITSTATUS(o->worker_status) == 127 && died_at_start(&o->ray->event) ?
				 ", as a shell does that does not find a program" :
				 "");
}

static void add_status(const struct observation *o, struct verdict *v)
{
	char how[STATUS_TEXT_MAX];

	if (!knows_status(o)) {
		verdict_add_missing(
			v, "what ended the worker",
			o->worker_ended ?
				"Linux 6.15 or newer, where its wait status can be read after raylet has reaped it" :
				"a worker that lives for more than a second, and a launcher that watches it");
		return;
	}
	status_text(o, how, sizeof(how));
	verdict_add_evidence(v, "launcher", "the worker (PID %d)%s", (int)o->ray->event.pid, how);
	v->signal = status_signal(o);
}

static void crash(const struct observation *o, struct verdict *v)
{
	const struct ray_event *e = &o->ray->event;
	bool fds = e->kind == RAY_FDS_EXHAUSTED,
	     exited_well = !fds && knows_status(o) && o->worker_status == 0;
	char worker[160], who[240], in[400] = "", how[STATUS_TEXT_MAX], left[64] = "";
	int code, signal = status_signal(o);
	const char *logged_signal = o->ray->logged_signal[0] ? o->ray->logged_signal :
				    o->crash && !fds	     ? signal_name(o->crash->signal) :
							       NULL;

	v->class = fds ? FAILURE_FILE_DESCRIPTORS_EXHAUSTED : FAILURE_WORKER_CRASH;
	v->confidence = o->ray->gone && worker_is_known(o) && !exited_well && !fds ?
				CONFIDENCE_CERTAIN :
				CONFIDENCE_LIKELY;
	/* A core with another signal than the wait status was copied. */
	if (!knows_status(o) || (o->crash && status_signal(o) == o->crash->signal))
		crash_in(o, in, sizeof(in));
	name_worker(e, worker, sizeof(worker));
	snprintf(who, sizeof(who), "%s%s%s in container %s",
		 v->confidence == CONFIDENCE_CERTAIN || exited_well ? "Ray worker" :
								      "Ray says that its worker",
		 e->pid || e->task[0] ? " " : "",
		 worker + MIN(strlen(worker), e->task[0] ? 0 : strlen("a worker ")), o->container);
	/*
	 * raylet ends a worker that is leaving, so that signal is not its cause, and not every
	 * release passes the code on. Ray's own handler of SIGTERM calls exit, too.
	 */
	if (knows_status(o) && logged_exit_code(e, &code) && !strstr(e->detail, "a SIGTERM") &&
	    (signal ? IS_ONE_OF(signal, SIGKILL, SIGTERM) : WEXITSTATUS(o->worker_status) != code))
		snprintf(left, sizeof(left),
			 " called exit with code %d, as Ray's log says, and then", code);
	snprintf(how, sizeof(how), died_at_start(e) ? " died as it started" : " died unexpectedly");
	if (fds)
		snprintf(how, sizeof(how), " died after open files ran out");
	else if (knows_status(o) && !(logged_signal && signal_is_of_crash(status_signal(o))))
		status_text(o, how, sizeof(how));
	else if (logged_signal)
		snprintf(how, sizeof(how), " died of %.16s", logged_signal);
	else if (logged_exit_code(e, &code))
		snprintf(how, sizeof(how), " ended with exit code %d", code);
	if (fds && !e->pid)
		verdict_say(v, "Ray's logs say \"Too many open files\" in container %s%s.",
			    o->container, lives_on(o));
	else
		verdict_say(v, "%s%s%s%s%s.", who, left, how, in, lives_on(o));
	if (o->crash || (!fds && (o->ray->logged_signal[0] || signal_is_of_crash(signal))))
		crash_evidence(o, v);
	if (e->detail[0])
		verdict_add_evidence(v, ray_verdict_source(o->ray->file), "%s", e->detail);
	if (o->ray->logged_signal[0])
		verdict_add_evidence(v, "worker's log", "*** %s received", o->ray->logged_signal);
	if (died_at_start(e))
		verdict_add_missing(
			v, "what else the worker wrote",
			"raylet.err, into which it writes until it has a log of its own");
	if (!fds && (knows_status(o) ||
		     (!o->crash && !o->ray->logged_signal[0] && !logged_exit_code(e, &code))))
		add_status(o, v);
	oom_killer(o, v);
	if (e->pid)
		add_presence(o, v);
	if (!fds)
		gpu_worker_verdict(o, who, v);
}

static void no_environment(const struct observation *o, struct verdict *v)
{
	verdict_set(v, FAILURE_WORKER_CRASH, CONFIDENCE_LIKELY,
		    "Ray says that it could not make a runtime environment in container %s, so no "
		    "worker started for it%s.",
		    o->container, lives_on(o));
	verdict_add_evidence(v, ray_verdict_source(o->ray->file), "%s", o->ray->event.detail);
	verdict_add_missing(v, "what else was written", "runtime_env_agent.log of Ray's session");
}

void ray_verdict(const struct observation *o, struct verdict *v)
{
	int signal = knows_status(o) ? status_signal(o) : SIGKILL;

	*v = (struct verdict){ .exit_code = -1 };
	/* Ray's monitor sends SIGKILL, or SIGTERM: another wait status proves its log wrong. */
	if (o->ray->event.kind == RAY_MEMORY_KILL && (signal == SIGKILL || signal == SIGTERM))
		memory_kill(o, v);
	else if (o->ray->event.kind == RAY_NO_ENVIRONMENT)
		no_environment(o, v);
	else
		crash(o, v);
	if (o->ray->left_out)
		verdict_add_evidence(v, "afterglow",
				     "%u more like this one since the last report of them",
				     o->ray->left_out);
}

/*
 * Says which signal ended which of Ray's processes, by a line such as "*** SIGSEGV received at
 * time=..".
 */
static void daemon_sentence(const struct observation *o, struct verdict *v)
{
	const char *mark = strstr(o->ray->event.detail, "*** SIG");
	char logged_signal[16] = "";

	if (!mark || sscanf(mark, "*** %15[A-Z0-9]", logged_signal) != 1)
		return;
	verdict_say(v, "Container %s ended with exit code %d, shortly after %s crashed with %s.",
		    o->container, v->exit_code,
		    strncmp(o->ray->file, "gcs", 3) == 0 ? "gcs_server" : "raylet", logged_signal);
	v->confidence = CONFIDENCE_LIKELY;
}

void ray_last_words(const struct observation *o, struct verdict *v)
{
	const struct ray_event *e = &o->ray->event;

	if (!e->detail[0])
		return;
	verdict_add_evidence(v, ray_verdict_source(o->ray->file), "shortly before: %s", e->detail);
	if (e->kind == RAY_DAEMON_CRASH && v->class == FAILURE_APPLICATION_ERROR)
		daemon_sentence(o, v);
	/* The program exited with a code of its own after the descriptors had run out. */
	if (e->kind == RAY_FDS_EXHAUSTED && !e->pid &&
	    (v->class == FAILURE_APPLICATION_ERROR || v->class == FAILURE_ABORT)) {
		verdict_set(
			v, FAILURE_FILE_DESCRIPTORS_EXHAUSTED, CONFIDENCE_LIKELY,
			"Container %s ended with exit code %d, shortly after Ray's logs reported \"Too many open files\".",
			o->container, v->exit_code);
	}
}
