/* SPDX-License-Identifier: Apache-2.0 */
/* Describes which of Ray's own processes ended first, how it ended, and what followed. */
#include "sidecar/verdict/ray_process_verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/units.h"
#include "sidecar/verdict/crash_verdict.h"
#include "sidecar/verdict/ray_process_cause.h"
#include "sidecar/verdict/ray_verdict.h"
#include "sidecar/verdict/stop_request.h"

/* An OOM kill up to this long before a SIGKILL is likely to be its cause. */
#define OOM_NEAR_NS (15 * NS_PER_SEC)
/*
 * The times of one OOM kill in the kernel log and from the launcher differ at most by this, because
 * the log has its own clock.
 */
#define OOM_AGREES_NS (3 * NS_PER_SEC)
/*
 * The longest time from raylet's end to the end of the driver that stopped it and then stops the
 * other processes.
 */
#define DRIVER_STOPS_NS (10 * NS_PER_SEC)
/* Within this time the order of two ends is not known: the launcher may see both in one poll. */
#define DRIVER_ENDS_NS NS_PER_SEC
#define HOW_MAX 160

static void set_process(const struct ray_process_cause *c, struct verdict *v)
{
	snprintf(v->process.name, sizeof(v->process.name), "%s", ray_process_type(c->kind));
	v->process.pid = c->end ? (int)c->end->pid : c->crash ? (int)c->crash->pid : 0;
	ray_process_cause_status(c, &v->process.signal, &v->process.exit_code);
}

/*
 * Makes "was killed with SIGKILL", "crashed with SIGSEGV in f", "ended with exit code 1", "gave up"
 * or "ended".
 */
static const char *how_it_ended(const struct observation *o, const struct ray_process_cause *c,
				char how[static HOW_MAX])
{
	int signal, code;
	char in[HOW_MAX] = "";

	if (!ray_process_cause_status(c, &signal, &code))
		snprintf(how, HOW_MAX,
			 c->word && o->process_words && c->word == &o->process_words->gave_up ?
				 "gave up" :
				 "ended");
	else if (signal == SIGKILL)
		snprintf(how, HOW_MAX, "was killed with SIGKILL");
	else if (signal && failure_class_of_signal(signal) != FAILURE_SIGNALED &&
		 signal != SIGTERM && signal != SIGINT) {
		if (o->crash && (o->crash == c->crash || (c->end && o->crash->pid == c->end->pid)))
			crash_in(o, in, sizeof(in));
		snprintf(how, HOW_MAX, "crashed with %s%.100s", signal_name(signal), in);
	} else if (signal)
		snprintf(how, HOW_MAX, "was ended by %s",
			 signal_name(signal) ? signal_name(signal) : "a signal");
	else
		snprintf(how, HOW_MAX, "ended with exit code %d", code);
	return how;
}

static void add_end(const struct observation *o, const struct ray_process_end *end,
		    struct verdict *v)
{
	struct ray_process_cause one = { .story = STORY_PROCESS, .kind = end->kind, .end = end };
	char how[HOW_MAX], before[DURATION_TEXT_MAX];

	duration_format(MAX(o->ended_ns - end->ended_ns, 0), before);
	verdict_add_evidence(v, end->status_known ? "launcher" : "/proc", "%s (PID %d) %s%s%s",
			     ray_process_title(end->kind), (int)end->pid,
			     how_it_ended(o, &one, how),
			     o->container_lives ? "" : ", before the container by ",
			     o->container_lives ? "" : before);
}

static void add_evidence(const struct observation *o, const struct ray_process_cause *c,
			 struct verdict *v)
{
	const char *line = c->word ? c->word->line + strspn(c->word->line, " ") : "";

	if (c->end)
		add_end(o, c->end, v);
	if (c->raylet)
		add_end(o, c->raylet, v);
	if (*line)
		verdict_add_evidence(v, ray_verdict_source(c->word->file), "%s", line);
	if (c->end && !c->end->status_known)
		verdict_add_missing(
			v, "how that process of Ray's ended",
			"a launcher and a kernel that let it be watched (pidfd_open, Linux 5.3)");
}

/*
 * Returns whether there was an OOM kill around the time of the SIGKILL. It may have been reported
 * already.
 */
static bool oom_was_near(const struct observation *o, const struct ray_process_cause *c)
{
	int signal, code;

	return ray_process_cause_status(c, &signal, &code) && signal == SIGKILL && c->end &&
	       o->process_oom_ns && c->end->ended_ns - o->process_oom_ns <= OOM_NEAR_NS &&
	       o->process_oom_ns - c->end->ended_ns <= OOM_NEAR_NS;
}

/* In a cgroup that others share, the OOM killer may have killed another container's process. */
static const char *by_oom_killer(const struct observation *o, const struct ray_process_cause *c)
{
	if (!oom_was_near(o, c))
		return "";
	return o->process_oom_reported || !o->cgroup_shared ?
		       ", most likely by the kernel's OOM killer," :
		       ", perhaps by the kernel's OOM killer,";
}

/* --- Confidence --- */

/* `ray start` exits with 1, and with no other code, after one of its children failed. */
static bool follows_as_ray_start_does(const struct observation *o,
				      const struct ray_process_cause *c)
{
	return o->ray_start && o->status_known && WIFEXITED(o->wait_status) &&
	       WEXITSTATUS(o->wait_status) == 1 && c->end && ray_process_is_of_start(c->kind);
}

/* --- The container's end --- */

/*
 * raylet ended in an orderly way, which does not end the container. Why the container ended later
 * is not known.
 */
static void left_alone_sentence(const struct observation *o, const struct ray_process_cause *c,
				struct verdict *v)
{
	char how[HOW_MAX];

	verdict_say(
		v,
		"%s %s in container %s and raylet ended with it; %s later the container ended with exit code %d, most likely for that.",
		ray_process_title(c->kind), how_it_ended(o, c, how), o->container,
		DURATION_TEXT(o->ended_ns - c->raylet->ended_ns), v->exit_code);
}

static void process_sentence(const struct observation *o, const struct ray_process_cause *c,
			     struct verdict *v)
{
	bool certain = v->confidence == CONFIDENCE_CERTAIN;
	const char *by = by_oom_killer(o, c);
	char how[HOW_MAX];

	if (c->raylet && c->raylet->status_known &&
	    ray_process_ended_in_order(c->raylet->wait_status)) {
		left_alone_sentence(o, c, v);
		return;
	}
	verdict_say(v, "%s %s%s in container %s%s%s then %sended the container with exit code %d.",
		    ray_process_title(c->kind), how_it_ended(o, c, how), by, o->container,
		    c->story == STORY_AGENT ? ", raylet went with it;" : ";",
		    o->ray_start ? " `ray start`" : "", certain ? "" : "most likely ",
		    v->exit_code);
	if (!o->ray_start)
		verdict_say(
			v,
			"%s %s%s in container %s%s, which then ended with exit code %d, most likely for it.",
			ray_process_title(c->kind), how, by, o->container,
			c->story == STORY_AGENT ? ", raylet with it" : "", v->exit_code);
	v->sentence[0] = v->sentence[0] == 't' ? 'T' : v->sentence[0];
}

/*
 * Says why raylet, which the sentence calls `raylet`, ended. Ray's words name one of several
 * causes, and it logs the same words for the others.
 */
static const char *lost_reason(const struct ray_process_cause *c, const char *raylet,
			       struct verdict *v, char text[static HOW_MAX])
{
	const char *line = c->word->line;
	bool late = strstr(line, "marked as dead by the GCS") != NULL;

	snprintf(text, HOW_MAX,
		 late ? "%s did not answer the health checks of the GCS in time: it or its machine "
			"was overloaded or frozen, or the network failed" :
		 strstr(line, "consider this node to be dead") ?
			"the GCS takes %s for dead: raylet missed the health checks of the GCS, "
			"or the head was restarted without its state" :
		 strstr(line, "authentication error") ? "the GCS that it reached does not know %s" :
							"%s lost the GCS of the head",
		 raylet);
	verdict_add_missing(v, late ? "why raylet did not answer" : "what became of the GCS",
			    late ? "the processor time and the network of its machine then" :
				   "the report of the head's container");
	return text;
}

/*
 * Returns whether the class of an OOM kill remains. It does unless the process ended in a way that
 * an OOM kill does not cause.
 */
static bool keeps_oom(const struct observation *, const struct ray_process_cause *c,
		      const struct verdict *v)
{
	int signal, code;
	bool known = ray_process_cause_status(c, &signal, &code);

	return failure_class_is_oom((int)v->class) && (!known || signal == SIGKILL);
}

/*
 * Returns whether the kernel log means this process. The kernel cuts names to 15 bytes, and other
 * processes may have that name, so the times have to agree, too.
 */
static bool kernel_names(const struct observation *o, const struct ray_process_cause *c)
{
	int64_t apart = c->end ? o->ended_ns - c->end->ended_ns - o->kernel.age_ns : 0;

	return o->kernel.oom && o->kernel.by_cgroup && c->end && apart < OOM_AGREES_NS &&
	       -apart < OOM_AGREES_NS &&
	       ((c->kind == RAY_PROCESS_RAYLET && strcmp(o->kernel.name, "raylet") == 0) ||
		(c->kind == RAY_PROCESS_GCS_SERVER && strcmp(o->kernel.name, "gcs_server") == 0));
}

/* Describes which of Ray's processes the OOM killer killed, and that the container followed. */
static void oom_of_process(const struct observation *o, const struct ray_process_cause *c,
			   struct verdict *v)
{
	bool named = kernel_names(o, c);
	bool sure = named && o->kernel.where != OOM_WHERE_UNKNOWN &&
		    ray_process_cause_is_proved(o, c, true) && follows_as_ray_start_does(o, c);

	if (!named && !(o->victim && c->end && o->victim_pid == c->end->pid))
		return;
	set_process(c, v);
	add_evidence(o, c, v);
	v->confidence = sure && v->confidence != CONFIDENCE_UNKNOWN ? CONFIDENCE_CERTAIN :
								      CONFIDENCE_LIKELY;
	verdict_continue(v, ". `ray start` %sends with %s.", sure ? "" : "most likely ",
			 ray_process_title(c->kind));
}

/*
 * Returns whether the limit remains the cause. A limit that was met explains an exit code or an
 * abort, but no SIGKILL.
 */
static bool keeps_limit(const struct ray_process_cause *c, const struct verdict *v)
{
	int signal, code;

	return IS_ONE_OF((int)v->class, FAILURE_FILE_DESCRIPTORS_EXHAUSTED, FAILURE_DISK_FULL,
			 FAILURE_PROCESS_LIMIT) &&
	       (!ray_process_cause_status(c, &signal, &code) ||
		IS_ONE_OF(signal, 0, SIGABRT, SIGBUS));
}

/* Returns whether the process ended by itself: `ray start` did not send that SIGKILL. */
static bool ended_by_itself(const struct observation *o, const struct ray_process_cause *c)
{
	int signal, code;

	return !ray_process_cause_status(c, &signal, &code) || signal != SIGKILL ||
	       ray_process_cause_was_found_dead(o, c);
}

static void ended_verdict(const struct observation *o, enum oom oom,
			  const struct ray_process_cause *c, struct verdict *v)
{
	char how[HOW_MAX];

	v->confidence = CONFIDENCE_LIKELY;
	switch (c->story) {
	case STORY_GCS_LOST:
		v->class = FAILURE_GCS_LOST;
		verdict_say(v, "Container %s most likely ended because %s.", o->container,
			    lost_reason(c, "its raylet", v, how));
		break;
	case STORY_STOPPED:
	case STORY_RAYLET_EXITED:
		v->class = FAILURE_TERMINATED;
		verdict_say(
			v,
			"Container %s was most likely asked to stop: %s %s, and then the container ended with exit code %d.",
			o->container, ray_process_title(c->word ? c->word->process : c->kind),
			c->story == STORY_STOPPED ? "got SIGTERM" : "ended in order", v->exit_code);
		break;
	default:
		v->class = ray_process_class(c->kind);
		if (!ended_by_itself(o, c))
			verdict_add_missing(
				v, "who killed it: asked to stop, `ray start` kills what hangs",
				"ray_process_exit.log of `ray start`, and the pod's events");
		else if (ray_process_cause_is_proved(o, c, oom == OOM_NO && !oom_was_near(o, c)) &&
			 follows_as_ray_start_does(o, c) &&
			 !stop_request_explains(&o->asked, o->ended_ns))
			v->confidence = CONFIDENCE_CERTAIN;
		process_sentence(o, c, v);
	}
}

/*
 * The container had no raylet any more. A probe may have ended it because of that, or somebody for
 * another reason.
 */
static void after_raylet(const struct observation *o, struct verdict *v)
{
	const struct ray_process_end *raylet = NULL;

	for (size_t i = 0; i < o->n_ends; i++)
		if (o->ends[i].kind == RAY_PROCESS_RAYLET)
			raylet = &o->ends[i];
	if (!raylet || v->class != FAILURE_APPLICATION_ERROR)
		return;
	add_end(o, raylet, v);
	v->confidence = CONFIDENCE_LIKELY;
	verdict_say(v, "Container %s ended with exit code %d; it had been without raylet for %s.",
		    o->container, v->exit_code, DURATION_TEXT(o->ended_ns - raylet->ended_ns));
	verdict_add_missing(v, "who ended it",
			    "the pod's events: a probe fails where raylet does not answer");
}

/*
 * Returns whether it crashed. An orderly stop is no crash. But if the GCS is stopped as well,
 * raylet aborts because it has lost the GCS.
 */
static bool has_crashed(const struct ray_process_cause *c)
{
	int signal, code;

	return c->story == STORY_PROCESS && ray_process_cause_status(c, &signal, &code) &&
	       signal_is_of_crash(signal);
}

/* A container that is asked to stop stops its processes, and kills those that hang. */
static bool ended_while_stopping(const struct observation *o, const struct ray_process_cause *c)
{
	int64_t at_ns = c->end ? c->end->ended_ns : c->word ? c->word->at_ns : o->ended_ns;

	return stop_request_explains(&o->asked, o->ended_ns) && at_ns >= o->asked.at_ns &&
	       !has_crashed(c);
}

/*
 * Returns whether `ray start` without --block began Ray. It exits long before Ray's end, and then
 * no driver stops Ray.
 */
static bool began_with_ray_start(const struct observation *o)
{
	for (size_t i = 0; i < o->n_ends; i++)
		if (o->ends[i].kind == RAY_PROCESS_START)
			return true;
	return o->ray_start;
}

/*
 * Returns whether raylet may have ended because an agent failed. There is no sign that raylet was
 * asked to stop.
 */
static bool an_agent_failed_before(const struct observation *o,
				   const struct ray_process_end *raylet)
{
	for (size_t i = 0; i < o->n_ends; i++) {
		const struct ray_process_end *e = &o->ends[i];

		if (ray_process_is_agent(e->kind) && e->ended_ns <= raylet->ended_ns &&
		    e->status_known && !ray_process_ended_in_order(e->wait_status))
			return true;
	}
	return false;
}

/*
 * Returns whether raylet was stopped by the driver that had started it with ray.init(), at the
 * driver's own end. Where `ray start` began Ray, only a request to stop does that.
 */
static bool stopped_at_its_own_end(const struct observation *o, const struct ray_process_cause *c)
{
	bool in_order = c->story == STORY_STOPPED || c->story == STORY_RAYLET_EXITED;

	if (!in_order || !c->end ||
	    (c->story == STORY_RAYLET_EXITED && an_agent_failed_before(o, c->end)))
		return false;
	return !began_with_ray_start(o) && !stop_request_explains(&o->asked, o->ended_ns);
}

/* Other known facts, such as an OOM kill or a full disk, explain the end better. */
static void own_end_verdict(const struct observation *o, const struct ray_process_cause *c,
			    struct verdict *v)
{
	bool later = c->end->ended_ns >= o->ended_ns;
	char before[DURATION_TEXT_MAX], how[HOW_MAX];

	if (v->class != FAILURE_APPLICATION_ERROR)
		return;
	v->confidence = CONFIDENCE_LIKELY;
	verdict_add_missing(v, "why the command ended", "its own log");
	duration_format(MAX(o->ended_ns - c->end->ended_ns, 0), before);
	if (c->story == STORY_PROCESS) {
		verdict_continue(v, "; %s %s %s%s: the Ray of a driver ends with the driver%s.",
				 ray_process_title(c->kind), how_it_ended(o, c, how),
				 later ? "as it ended" : before, later ? " or later" : " before",
				 later ? "" : ", or the driver ended for want of it");
		return;
	}
	v->stopped_its_ray = true;
	verdict_continue(
		v,
		"; %s %s %s before, most likely %sby the command itself, as a driver does at its end.",
		c->kind == RAY_PROCESS_RAYLET ? "its raylet" : ray_process_title(c->kind),
		c->story == STORY_STOPPED ? "was stopped" : "ended in order", before,
		c->story == STORY_STOPPED ? "" : "stopped ");
}

/*
 * Returns whether the kernel may have killed it because the driver ended that had started it with
 * ray.init(): Ray asks for that signal (PR_SET_PDEATHSIG). It comes as the driver's first thread
 * ends, and the driver itself ends when its memory is freed, a GiB in a tenth of a second. The OOM
 * killer may have taken others just before: a driver that loses its raylet or GCS server to a
 * SIGKILL lives on for more than ten seconds (Ray 2.60).
 */
static bool may_follow_its_driver(const struct observation *o, const struct ray_process_cause *c)
{
	int signal, code;
	bool known = ray_process_cause_status(c, &signal, &code);

	return c->story == STORY_PROCESS && c->end && !c->word && (!known || signal == SIGKILL) &&
	       !began_with_ray_start(o) &&
	       o->ended_ns - c->end->ended_ns <= DRIVER_ENDS_NS + o->command_rss / 8;
}

void ray_process_verdict(const struct observation *o, enum oom oom, struct verdict *v)
{
	/* A container that is asked to stop stops its children, and exit code 0 is no failure. */
	if (o->container_lives || o->pod_terminating || o->gap || v->exit_code <= 0 || v->signal)
		return;
	struct ray_process_cause c = ray_process_cause_of_end(o);
	if (c.story == STORY_NONE) {
		after_raylet(o, v);
		return;
	}
	bool stopped = stopped_at_its_own_end(o, &c),
	     late = stopped && o->ended_ns - c.end->ended_ns > DRIVER_STOPS_NS;
	/* So early it need not have been the driver, but nobody asked the command to stop. */
	if (late && c.kind == RAY_PROCESS_RAYLET) {
		after_raylet(o, v);
		return;
	}
	if (stopped && !late) {
		add_evidence(o, &c, v);
		own_end_verdict(o, &c, v);
		return;
	}
	if (keeps_oom(o, &c, v)) {
		oom_of_process(o, &c, v);
		return;
	}
	bool stopping = ended_while_stopping(o, &c);
	if (stopping || may_follow_its_driver(o, &c)) {
		add_evidence(o, &c, v);
		if (!stopping)
			own_end_verdict(o, &c, v);
		return;
	}
	set_process(&c, v);
	add_evidence(o, &c, v);
	if (keeps_limit(&c, v))
		return;
	ended_verdict(o, oom, &c, v);
	stop_request_append(o, v);
}

/* --- The container lives on --- */

/* An exit code of 0 is no signal, and anybody in the container can log that there was one. */
static void stopped_sentence(const struct observation *o, const struct ray_process_cause *c,
			     struct verdict *v)
{
	bool killed =
		c->end && c->end->status_known && !ray_process_ended_in_order(c->end->wait_status);
	char how[HOW_MAX];

	verdict_set(
		v, FAILURE_TERMINATED, CONFIDENCE_LIKELY,
		"Ray was most likely stopped in container %s: %s got SIGTERM, as `ray stop` sends it, and %s%s%s; the container lives "
		"on without it.",
		o->container, ray_process_title(c->word ? c->word->process : c->kind),
		killed ? ray_process_title(c->kind) : "", killed ? " then " : "",
		killed ? how_it_ended(o, c, how) : "ended in order");
}

static void exited_sentence(const struct observation *o, struct verdict *v)
{
	verdict_set(
		v, FAILURE_RAYLET_FAILED, CONFIDENCE_LIKELY,
		"raylet ended with exit code 0 in container %s, as it does when an agent of it has "
		"ended or it is asked to stop; the container lives on without it.",
		o->container);
	verdict_add_missing(v, "why raylet ended", "raylet.out of that time");
}

static void lives_sentence(const struct observation *o, const struct ray_process_cause *c,
			   struct verdict *v)
{
	bool counted = o->cgroup_version && o->after.oom_kill >= 0 && !o->cgroup_shared &&
		       !o->cgroup_unseen;
	char how[HOW_MAX], pid[24] = "";

	v->class = ray_process_class(c->kind);
	v->confidence = ray_process_cause_is_proved(o, c, counted && !oom_was_near(o, c)) ?
				CONFIDENCE_CERTAIN :
				CONFIDENCE_LIKELY;
	how_it_ended(o, c, how);
	if (c->kind == RAY_PROCESS_DRIVER) {
		v->confidence = CONFIDENCE_LIKELY;
		verdict_add_missing(
			v, "whether the job failed with it",
			"ray job status: an entrypoint may go on after a program of it");
	}
	if (v->process.pid > 0)
		snprintf(pid, sizeof(pid), " (PID %d)", v->process.pid);
	verdict_say(v, "%s%s %s%s in container %s%s; the container lives on%s.",
		    ray_process_title(c->kind), pid, how, by_oom_killer(o, c), o->container,
		    c->story == STORY_AGENT ? ", and raylet ended with it" : "",
		    c->story == STORY_AGENT	  ? " without raylet" :
		    c->kind == RAY_PROCESS_RAYLET ? " without it" :
						    "");
	v->sentence[0] = v->sentence[0] == 't' ? 'T' : v->sentence[0];
}

void ray_process_lives_verdict(const struct observation *o, struct verdict *ret_verdict)
{
	struct verdict v = { .exit_code = -1 };
	struct ray_process_cause c = ray_process_cause_of_process(o);
	char how[HOW_MAX];

	set_process(&c, &v);
	v.signal = v.process.signal;
	add_evidence(o, &c, &v);
	switch (c.story) {
	case STORY_STOPPED:
		stopped_sentence(o, &c, &v);
		break;
	case STORY_RAYLET_EXITED:
		exited_sentence(o, &v);
		break;
	case STORY_GCS_LOST:
		verdict_set(&v, FAILURE_GCS_LOST, CONFIDENCE_LIKELY,
			    "raylet in container %s most likely ended because %s; the container "
			    "lives on without it.",
			    o->container, lost_reason(&c, "it", &v, how));
		break;
	default:
		lives_sentence(o, &c, &v);
	}
	if (o->crash)
		crash_evidence(o, &v);
	*ret_verdict = v;
}

void ray_error_verdict(const struct ray_error *error, struct verdict *v)
{
	char about[RAY_ERROR_ABOUT_MAX];

	verdict_add_evidence(v, "driver's log", "%s", error->line);
	ray_error_about(error, about);
	verdict_continue(v, ". Its last exception is Ray's %s%s%s%s%s.", error->name,
			 about[0] ? ", about " : "", about,
			 error->meant ? ", about what a program of the job had ended itself, by " :
					"",
			 error->meant ? error->meant : "");
	if (about[0])
		verdict_add_missing(
			v, "why that had died",
			"the RayFailure of its pod, which this one's status.causedBy names");
}

/*
 * Returns whether the driver logged its own SIGTERM. Ray writes the lines of workers to the same
 * log, each after "(f pid=7) ". After an exception it may be the SIGTERM of a child, which Python
 * ends at its own end.
 */
static bool driver_logged_sigterm(const char *lines)
{
	const char *at = strstr(lines, ".log: *** SIGTERM received at time=");
	char exception[RAY_LAST_LINE_MAX];

	return at && !(ray_last_exception(lines, exception) && strstr(lines, exception) < at);
}

/*
 * A program that Ray runs in logs the signal and exits with 1. If that hangs, because a lock is
 * held, it aborts itself after 3 s. Ray kills a driver that takes too long to stop.
 */
void ray_driver_stopped_verdict(const struct observation *o, const char *lines, struct verdict *v)
{
	struct ray_process_cause c = { .story = STORY_PROCESS, .end = o->process };
	bool supervised = strncmp(lines, RAY_STOP_LOG, strlen(RAY_STOP_LOG)) == 0;
	const char *killed = strstr(lines, "force-killed with SIGKILL"), *end = strchr(lines, '\n');
	/*
	 * Of an abort that has another reason Ray writes a line. The line about SIGTERM may be of a
	 * child, which writes into the same log.
	 */
	bool aborted_itself = v->signal == SIGABRT &&
			      (supervised || !strstr(lines, ".log: *** SIGABRT received"));

	if (v->class != FAILURE_RAY_JOB_FAILED || !(supervised || driver_logged_sigterm(lines)) ||
	    (has_crashed(&c) && !aborted_itself) || oom_was_near(o, &c))
		return;
	v->class = FAILURE_TERMINATED;
	verdict_continue(v, ". It was most likely asked to stop: its %slog says that it %s it.",
			 supervised ? "supervisor's " : "",
			 !supervised ?
				 "got SIGTERM, as `ray job stop` sends" :
			 killed && killed < end ?
				 "did not end in time and was killed, as `ray job stop` does" :
				 "ended when it was asked to, as `ray job stop` does");
}
