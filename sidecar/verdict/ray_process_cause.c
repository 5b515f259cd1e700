/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which of Ray's own processes ended first. */
#include "sidecar/verdict/ray_process_cause.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "sidecar/verdict/oom_cause.h"

/*
 * Log lines are read up to a second after they were written, and at the latest when the container
 * ends.
 */
#define WORDS_NS (30 * NS_PER_SEC)
/*
 * If two ends are closer than this, their order is not known, because the launcher sees both in one
 * poll.
 */
#define SEEN_LATE_NS NS_PER_SEC
/*
 * The longest time between an OOM kill and the end of its victim, or the sample that shows the
 * kill.
 */
#define OOM_NEAR_NS (2 * NS_PER_SEC)
#define AT_ONCE_NS (20 * NS_PER_MS)

/* Returns Ray's log line from around that time, or NULL. */
static const struct ray_process_word *fresh(const struct ray_process_word *word, int64_t at_ns)
{
	int64_t apart = word->at_ns - at_ns;

	return word->at_ns && apart <= WORDS_NS && -apart <= WORDS_NS ? word : NULL;
}

/*
 * The same, but NULL also if another process wrote it: several raylets may run here, or one after
 * another.
 */
static const struct ray_process_word *fresh_by(const struct ray_process_word *word,
					       const struct ray_process_end *end)
{
	return !word->pid || word->pid == end->pid ? fresh(word, end->ended_ns) : NULL;
}

static const struct ray_process_words *words_of(const struct observation *o)
{
	static const struct ray_process_words none;

	return o->process_words ? o->process_words : &none;
}

/* Returns the line in which the process of this end says why it aborts itself, or NULL. */
static const struct ray_process_word *gave_up(const struct observation *o,
					      const struct ray_process_end *end)
{
	const struct ray_process_word *word = fresh_by(&words_of(o)->gave_up, end);

	return word && word->process == end->kind ? word : NULL;
}

static bool ended_in_order(const struct ray_process_end *end)
{
	return end->status_known && ray_process_ended_in_order(end->wait_status);
}

/*
 * Returns the agent that ended before raylet: the one that raylet names, or else the first. On a
 * busy machine the launcher may look so late that it sees the named agent's end together with
 * raylet's, or after it.
 */
static const struct ray_process_end *agent_before(const struct observation *o,
						  const struct ray_process_end *raylet,
						  enum ray_process_kind named)
{
	for (const struct ray_process_end *e = o->ends; e < o->ends + o->n_ends; e++) {
		bool before = named == RAY_PROCESS_NONE ?
				      e < raylet :
				      e->ended_ns - raylet->ended_ns <= SEEN_LATE_NS;

		if (ray_process_is_agent(e->kind) && before &&
		    (named == RAY_PROCESS_NONE || e->kind == named))
			return e;
	}
	return NULL;
}

/*
 * Returns whether the end is what a request to stop leads to if it takes too long. The OOM killer
 * may come just then; in a cgroup that others share, it may have come for them.
 */
static bool killed_by_stop(const struct observation *o, const struct ray_process_end *end,
			   const struct ray_process_word *stopped)
{
	bool killed = end->status_known && WIFSIGNALED(end->wait_status) &&
		      WTERMSIG(end->wait_status) == SIGKILL;
	bool oom = o->process_oom_ns && !o->cgroup_shared &&
		   llabs(o->process_oom_ns - end->ended_ns) <= OOM_NEAR_NS;

	return killed && stopped && !oom;
}

static struct ray_process_cause cause_of_raylet(const struct observation *o,
						const struct ray_process_end *raylet)
{
	const struct ray_process_words *w = words_of(o);
	const struct ray_process_word *agent = fresh_by(&w->agent_failed, raylet);
	const struct ray_process_word *stopped = fresh_by(&w->stopped, raylet);
	const struct ray_process_word *lost = fresh_by(&w->gcs_lost, raylet);
	bool killed = raylet->status_known && WIFSIGNALED(raylet->wait_status) &&
		      WTERMSIG(raylet->wait_status) != SIGABRT;
	struct ray_process_cause c = { .kind = RAY_PROCESS_RAYLET,
				       .end = raylet,
				       .story = STORY_PROCESS };

	/*
	 * A killed process does not log its end. But the process that asks raylet to stop also
	 * kills it if raylet takes too long: then raylet itself had logged the request.
	 */
	if (killed && !ended_in_order(raylet)) {
		if (killed_by_stop(o, raylet, stopped) && stopped->pid == raylet->pid) {
			c.story = STORY_STOPPED;
			c.word = stopped;
		}
		return c;
	}
	if (agent) {
		c = (struct ray_process_cause){
			STORY_AGENT, agent->process, agent_before(o, raylet, agent->process),
			raylet,	     agent,	     NULL
		};
		if (c.kind == RAY_PROCESS_NONE && c.end)
			c.kind = c.end->kind;
		/*
		 * It left a core, but ended so soon after its start that we had not seen it before.
		 */
		if (!c.end && c.kind != RAY_PROCESS_NONE && o->crash &&
		    ray_process_of_comm(o->crash->comm) == c.kind)
			c.crash = o->crash;
	} else if (lost && !ended_in_order(raylet)) {
		c.story = STORY_GCS_LOST;
		c.word = lost;
	} else if (stopped && stopped->process == RAY_PROCESS_RAYLET) {
		c.story = STORY_STOPPED;
		c.word = stopped;
	} else if (ended_in_order(raylet))
		c.story = WIFSIGNALED(raylet->wait_status) ? STORY_STOPPED : STORY_RAYLET_EXITED;
	else
		c.word = gave_up(o, raylet);
	return c;
}

/*
 * The cause of the end of another process than raylet. Where raylet or the GCS server had logged
 * that it was asked to stop, a SIGKILL is what follows if that takes too long. Whoever ends Ray
 * after a failure asks raylet to stop, too, but later.
 */
static struct ray_process_cause cause_of_other(const struct observation *o,
					       const struct ray_process_end *end)
{
	const struct ray_process_word *stopped = fresh(&words_of(o)->stopped, end->ended_ns);
	struct ray_process_cause c = { .story = STORY_PROCESS, .kind = end->kind, .end = end };

	if (killed_by_stop(o, end, stopped) && stopped->at_ns <= end->ended_ns) {
		c.story = STORY_STOPPED;
		c.word = stopped;
	} else
		c.word = gave_up(o, end);
	return c;
}

/* Returns whether another GCS server has ended after this one. */
static bool is_of_earlier_ray(const struct observation *o, const struct ray_process_end *gcs_server)
{
	for (const struct ray_process_end *end = gcs_server + 1; end < o->ends + o->n_ends; end++)
		if (end->kind == gcs_server->kind)
			return true;
	return false;
}

/*
 * Decides by the ends alone. The process that asked raylet to stop also kills the processes that
 * end after raylet's orderly end.
 */
static struct ray_process_cause cause_by_ends(const struct observation *o)
{
	struct ray_process_cause quiet = { .story = STORY_NONE };

	for (size_t i = 0; i < o->n_ends; i++) {
		const struct ray_process_end *end = &o->ends[i];

		/* `ray start` looks each second; a driver may start Ray again. */
		int64_t follows_ns = end->kind == RAY_PROCESS_GCS_SERVER && !o->ray_start &&
						     !is_of_earlier_ray(o, end) ?
					     GCS_FOLLOWS_NS :
					     RAY_FOLLOWS_NS;

		if (o->ended_ns - end->ended_ns > follows_ns || !ray_process_is_of_start(end->kind))
			continue;
		if (end->kind == RAY_PROCESS_RAYLET) {
			struct ray_process_cause c = cause_of_raylet(o, end);

			if (c.story != STORY_STOPPED && c.story != STORY_RAYLET_EXITED)
				return c;
			if (quiet.story == STORY_NONE)
				quiet = c;
		} else if (!ended_in_order(end) && quiet.story == STORY_NONE) {
			struct ray_process_cause c = cause_of_other(o, end);

			if (c.story != STORY_STOPPED)
				return c;
			quiet = c;
		}
	}
	return quiet;
}

/*
 * Decides by log lines if no wait status is known: `ray start` logs those of its children. It does
 * not log that of a GCS server that gives up at its start, but waits for it for most of a minute.
 */
static struct ray_process_cause cause_by_words(const struct observation *o)
{
	const struct ray_process_words *w = words_of(o);
	const struct ray_process_word *exited = fresh(&w->exited, o->ended_ns);
	const struct ray_process_word *agent = fresh(&w->agent_failed, o->ended_ns);
	const struct ray_process_word *lost = fresh(&w->gcs_lost, o->ended_ns);

	if (agent && (!exited || exited->process == RAY_PROCESS_RAYLET))
		return (struct ray_process_cause){ STORY_AGENT, agent->process, NULL,
						   NULL,	agent,		NULL };
	if (lost && (!exited || exited->process == RAY_PROCESS_RAYLET))
		return (struct ray_process_cause){ STORY_GCS_LOST, RAY_PROCESS_RAYLET,
						   NULL,	   NULL,
						   lost,	   NULL };
	if (exited)
		return (struct ray_process_cause){ STORY_PROCESS, exited->process, NULL,
						   NULL,	  exited,	   NULL };
	if (ray_process_gave_up(o, w->gave_up.process))
		return (struct ray_process_cause){ STORY_PROCESS, w->gave_up.process, NULL,
						   NULL,	  &w->gave_up,	      NULL };
	return (struct ray_process_cause){ .story = STORY_NONE };
}

struct ray_process_cause ray_process_cause_of_end(const struct observation *o)
{
	struct ray_process_cause c = cause_by_ends(o), by_words = cause_by_words(o);

	/* The log of `ray start` is better evidence than an end without a wait status. */
	if (c.story == STORY_NONE ||
	    (c.story == STORY_PROCESS && !c.end->status_known && by_words.story != STORY_NONE))
		return by_words;
	return c;
}

bool ray_process_cause_status(const struct ray_process_cause *c, int *ret_signal, int *ret_code)
{
	*ret_signal = 0;
	*ret_code = -1;
	if (c->end && c->end->status_known) {
		if (WIFSIGNALED(c->end->wait_status))
			*ret_signal = WTERMSIG(c->end->wait_status);
		else
			*ret_code = WEXITSTATUS(c->end->wait_status);
		return true;
	}
	if (c->crash) {
		*ret_signal = c->crash->signal;
		return true;
	}
	if (c->story != STORY_PROCESS || !c->word || c->word->returncode == 0)
		return false;
	if (c->word->returncode < 0)
		*ret_signal = -c->word->returncode;
	else
		*ret_code = c->word->returncode;
	return true;
}

/* Returns whether no other process ended at the same moment, or earlier in an unknown way. */
static bool is_first_without_doubt(const struct observation *o, const struct ray_process_end *end)
{
	for (size_t i = 0; i < o->n_ends; i++) {
		const struct ray_process_end *e = &o->ends[i];
		int64_t apart = e->ended_ns - end->ended_ns;

		if (e == end || !ray_process_is_of_start(e->kind) || ended_in_order(e))
			continue;
		if (apart < AT_ONCE_NS && apart > -RAY_FOLLOWS_NS)
			return false;
	}
	return true;
}

bool ray_process_cause_is_proved(const struct observation *o, const struct ray_process_cause *c,
				 bool oom_ruled_out)
{
	int signal, code;

	if (!c->end || !c->end->status_known || !ray_process_cause_status(c, &signal, &code))
		return false;
	return is_first_without_doubt(o, c->end) && (signal != SIGKILL || oom_ruled_out);
}

bool ray_process_cause_was_found_dead(const struct observation *o,
				      const struct ray_process_cause *c)
{
	const struct ray_process_word *exited = fresh(&words_of(o)->exited, o->ended_ns);

	return exited && exited->process == c->kind && exited->returncode == -SIGKILL;
}

struct ray_process_cause ray_process_cause_of_process(const struct observation *o)
{
	const struct ray_process_word *stopped = fresh_by(&words_of(o)->stopped, o->process);

	if (o->process->kind == RAY_PROCESS_RAYLET)
		return cause_of_raylet(o, o->process);
	if (ended_in_order(o->process))
		return (struct ray_process_cause){
			.story = STORY_STOPPED,
			.kind = o->process->kind,
			.end = o->process,
			.word = stopped && stopped->process == o->process->kind ? stopped : NULL,
		};
	return cause_of_other(o, o->process);
}

const char *ray_process_gave_up(const struct observation *o, enum ray_process_kind kind)
{
	const struct ray_process_word *word = &words_of(o)->gave_up;
	static const char mark[] = "Check failed: ";
	const char *check = strstr(word->line, mark);

	if (!word->at_ns || kind == RAY_PROCESS_NONE || word->process != kind ||
	    o->ended_ns - word->at_ns > RAY_FOLLOWS_NS)
		return NULL;
	return check ? check + strlen(mark) : word->line;
}

/*
 * --- The OOM killer's victim
 * -------------------------------------------------------------------------------
 */

static int64_t kills_counted(const struct observation *o)
{
	return MAX(oom_rise(o->before.oom_kill, o->latest.oom_kill),
		   o->after_known ? oom_rise(o->before.oom_kill, o->after.oom_kill) : 0);
}

/*
 * The kernel's name of a process has 15 bytes. For a Python program it is the title, or "python3".
 */
static bool kernel_may_mean(const struct kernel_evidence *k, enum ray_process_kind kind)
{
	if (!k->oom || !k->by_cgroup || k->kills > 1 || !k->name[0])
		return true;
	if (kind == RAY_PROCESS_RAYLET || kind == RAY_PROCESS_GCS_SERVER)
		return strcmp(k->name, ray_process_type(kind)) == 0;
	return strncmp(k->name, "ray", 3) == 0 || strncmp(k->name, "python", 6) == 0;
}

/*
 * Returns whether the only victim is known to be a process of the user, which held most of the
 * memory.
 */
static bool is_known_otherwise(const struct observation *o)
{
	return o->victim && o->last.limit > 0 && o->victim_rss > o->last.limit / 2 &&
	       kills_counted(o) <= 1;
}

/*
 * Returns whether the only victim is the command, the largest process: `ray start`. SIGKILL ended
 * it, and the kernel sends its children the same signal when it is gone (PR_SET_PDEATHSIG).
 */
static bool command_was_taken(const struct observation *o)
{
	return !o->container_lives && o->status_known && WIFSIGNALED(o->wait_status) &&
	       WTERMSIG(o->wait_status) == SIGKILL && o->command_pid > 0 &&
	       o->victim_pid == o->command_pid && kills_counted(o) == 1;
}

/*
 * Returns whether another process may have been taken before: Ray kills its own processes by the
 * same signal when the driver fails for want of its worker.
 */
static bool other_went_first(const struct observation *o, int64_t from_ns,
			     const struct ray_process_end *e)
{
	for (size_t i = 0; i < o->n_watched_ends; i++) {
		const struct watched_end *w = &o->watched_ends[i];

		if (w->pid > 0 && w->ended_ns >= from_ns && w->ended_ns < e->ended_ns &&
		    (!w->status_known ||
		     (WIFSIGNALED(w->wait_status) && WTERMSIG(w->wait_status) == SIGKILL)))
			return true;
	}
	return false;
}

const struct ray_process_end *ray_process_oom_victim(const struct observation *o)
{
	int64_t seen_ns =
		o->container_lives ? o->ended_ns : o->ended_ns - MAX(o->oom_age_ns, (int64_t)0);
	int64_t unseen_ns =
		!o->container_lives && o->oom_age_ns < 0 ? MAX(o->latest_age_ns, (int64_t)0) : 0;

	if (kills_counted(o) == 0 || is_known_otherwise(o) || command_was_taken(o))
		return NULL;
	for (size_t i = 0; i < o->n_ends; i++) {
		const struct ray_process_end *e = &o->ends[i];

		if (e->ended_ns < seen_ns - unseen_ns - OOM_NEAR_NS || ended_in_order(e))
			continue;
		/* From the sample on that showed the kill, the SIGKILL may be ours. */
		if (o->group_ended_by_us && e->ended_ns >= seen_ns)
			return NULL;
		if (e->ended_ns > seen_ns + OOM_NEAR_NS || !e->status_known ||
		    !WIFSIGNALED(e->wait_status) || WTERMSIG(e->wait_status) != SIGKILL ||
		    !kernel_may_mean(&o->kernel, e->kind) ||
		    other_went_first(o, seen_ns - unseen_ns - OOM_NEAR_NS, e))
			return NULL;
		return e;
	}
	return NULL;
}
