/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what a kernel log says about a death. */
#include "sidecar/kernel/kernel_evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAMED_WITHIN_US (5 * 1000000) /* a name is weak evidence, and after this time it is none */
#define CRASH_WITHIN_US (5 * 1000000)
/* an OOM kill that explains an end is hardly older: see DIES_AT_LAST_NS in oom_verdict.c */
#define WHOLE_FOR_US (120 * 1000000)
/* what the kernel's counters of resident pages may be off on a machine of many CPUs */
#define SIZE_SLACK ((int64_t)4 << 20)

struct search {
	const struct kmsg_log *log;
	const struct kernel_question *q;
	bool found, by_cgroup, by_pid, of_command, of_launcher, group;
	/*
	 * One of the victims in the container's cgroup may have been the command, or a thread of
	 * it.
	 */
	bool unclear;
	/* A victim in an unknown cgroup may have been the command, or a thread of it. */
	bool unplaced;
	unsigned int kills, killed, others, foreign;
	struct oom_kill kill;
};

static bool is_recent(const struct kernel_question *q, int64_t time_us, int64_t within_us)
{
	if (time_us < 0)
		return true;
	return time_us > q->since_us && q->ended_us - time_us <= within_us;
}

/*
 * Returns whether name, size and time all fit a process of the container. Each of them alone would
 * fit processes of other containers, too.
 */
static bool is_suspect(const struct kernel_question *q, const struct oom_kill *k)
{
	int64_t rss = oom_kill_rss(k);

	if (q->command > 0 || rss < 0 || k->time_us < 0 || k->time_us <= q->named_since_us ||
	    !is_recent(q, k->time_us, NAMED_WITHIN_US))
		return false;
	for (size_t i = 0; i < q->n_suspects; i++) {
		const struct kernel_suspect *s = &q->suspects[i];
		int64_t apart = rss > s->rss ? rss - s->rss : s->rss - rss;

		if (kernel_suspect_is_named(s, k->name) && apart <= MAX(s->rss / 2, SIZE_SLACK))
			return true;
	}
	return false;
}

static bool took_command(const struct kernel_question *q, const struct oom_kill *k)
{
	return q->command > 0 && oom_kill_took(k, q->command);
}

static bool took_launcher(const struct kernel_question *q, const struct oom_kill *k)
{
	return q->launcher > 0 && oom_kill_took(k, q->launcher);
}

/*
 * Returns whether the kill hit a process of the container. A PID of the node is unique, wherever
 * the process moved and whatever the kernel left out of its report.
 */
static bool took_one_of_ours(const struct kernel_question *q, const struct oom_kill *k)
{
	if (k->time_us < 0)
		return false;
	if (took_command(q, k) || took_launcher(q, k))
		return true;
	for (size_t i = 0; i < q->n_suspects; i++)
		if (q->suspects[i].pid > 0 && oom_kill_took(k, q->suspects[i].pid))
			return true;
	return false;
}

static bool kernel_evidence_is_known(const struct kernel_question *q, int64_t pid)
{
	for (size_t i = 0; i < q->n_suspects; i++)
		if (q->suspects[i].pid > 0 && q->suspects[i].pid == pid)
			return true;
	return pid > 0 && (q->command == pid || q->launcher == pid);
}

/*
 * The command ends but once. A report on another process may have read the log between its kill and
 * its end, which takes seconds, or a minute where there is much memory to give back: that makes the
 * kill no old one.
 */
static bool is_of_command(const struct kernel_question *q, const struct oom_kill *k)
{
	return took_command(q, k) && k->time_us > q->begin_us;
}

static void kernel_evidence_take(struct search *s, const struct oom_kill *k, bool by_cgroup)
{
	bool of_command = by_cgroup && took_command(s->q, k);
	bool first = !s->found || s->by_cgroup != by_cgroup;

	s->kills = first ? 1 : s->kills + by_cgroup;
	s->killed = first ? k->killed : s->killed + (by_cgroup ? k->killed : 0);
	s->found = true;
	s->by_cgroup = by_cgroup;
	/* The kill of the command explains its end better than a later kill. */
	if (!s->of_command) {
		s->kill = *k;
		s->group = k->group;
	}
	s->of_command = s->of_command || of_command;
	s->of_launcher = s->of_launcher || took_launcher(s->q, k);
}

static void kernel_evidence_visit(const struct oom_kill *k, void *arg)
{
	struct search *s = arg;
	enum oom_match match = oom_kill_match(k, &s->q->self);
	bool pid = took_one_of_ours(s->q, k), unclear;

	if (!is_of_command(s->q, k) && !is_recent(s->q, k->time_us, INT64_MAX))
		return;
	s->by_pid = s->by_pid || pid;
	unclear = (!k->is_process && !pid) || k->n_group_pids + 1 < k->killed;
	s->unclear = s->unclear || (unclear && match == OOM_OURS);
	s->unplaced = s->unplaced || (unclear && match == OOM_CGROUP_UNKNOWN);
	if (pid || (match == OOM_OURS && !s->q->shared))
		kernel_evidence_take(s, k, true);
	else if (match == OOM_OURS && s->q->command > 0)
		s->others += k->killed;
	else if (match == OOM_CGROUP_UNKNOWN && !(s->found && s->by_cgroup) && is_suspect(s->q, k))
		kernel_evidence_take(s, k, false);
	else if (is_recent(s->q, k->time_us, WHOLE_FOR_US))
		s->foreign++;
}

/* ret_by_pid: a PID of the node is unique, and a name is not. */
static bool is_crash_of_suspect(const struct kernel_question *q, const struct kmsg_line *l,
				bool *ret_by_pid)
{
	for (size_t i = 0; i < q->n_suspects; i++) {
		const struct kernel_suspect *s = &q->suspects[i];

		if (s->pid > 0 ? l->pid == s->pid : kernel_suspect_is_named(s, l->name)) {
			*ret_by_pid = s->pid > 0;
			return true;
		}
	}
	return false;
}

static bool find_crash(const struct kmsg_log *log, const struct kernel_question *q, bool of_anyone,
		       struct kernel_evidence *e)
{
	for (size_t i = log->n; i-- > 0;) {
		const struct kmsg_entry *entry = &log->entries[i];
		struct kmsg_line l;
		bool by_pid = false;

		if (entry->time_us >= 0 && !is_recent(q, entry->time_us, CRASH_WITHIN_US))
			break;
		if (!kmsg_is_believed(entry) || entry->time_us < 0 ||
		    kmsg_parse_line(kmsg_text(log, i), entry->len, &l) != KMSG_CRASH)
			continue;
		if (of_anyone || is_crash_of_suspect(q, &l, &by_pid)) {
			e->crash_by_pid = by_pid;
			text_escape(e->crash, sizeof(e->crash), kmsg_text(log, i), entry->len);
			return true;
		}
	}
	return false;
}

/* "[ 3886.466192] text" as dmesg prints it; what user space wrote is marked. */
static void kernel_evidence_add_line(const struct kmsg_log *log, size_t i, struct strbuf *out)
{
	const struct kmsg_entry *e = &log->entries[i];

	if (e->time_us >= 0)
		strbuf_addf(out, "[%5" PRId64 ".%06" PRId64 "] ", e->time_us / 1000000,
			    e->time_us % 1000000);
	if (!kmsg_from_kernel(e->priority))
		strbuf_addf(out, "(user space, facility %d) ", e->priority >> 3);
	strbuf_add_escaped(out, kmsg_text(log, i), e->len);
	strbuf_addc(out, '\n');
}

/*
 * Returns whether the log is complete enough to show an OOM kill that explains the end. The line of
 * the kill itself is never left out.
 */
static bool kernel_evidence_is_whole(const struct kmsg_log *log, const struct kernel_question *q)
{
	return log->lost == 0 && log->n > 0 && log->entries[0].time_us >= 0 &&
	       log->entries[0].time_us <= MAX(q->begin_us, q->ended_us - WHOLE_FOR_US);
}

void kernel_evidence_find(const struct kmsg_log *log, const struct kernel_question *q,
			  struct kernel_evidence *ret_evidence, struct strbuf *excerpt)
{
	struct search s = { .log = log, .q = q };
	struct kernel_evidence e = KERNEL_EVIDENCE_ABSENT;
	size_t first = log->n > KERNEL_TAIL_LINES ? log->n - KERNEL_TAIL_LINES : 0, last = log->n;

	e.needs = NULL;
	oom_kills_find(log, kernel_evidence_visit, &s);
	e.others = s.others;
	e.foreign = s.foreign;
	e.whole = kernel_evidence_is_whole(log, q);
	e.rules_out = e.whole && !s.of_command && q->command > 0 && !s.unclear && !s.unplaced;
	if (s.found) {
		const struct oom_kill *k = &s.kill;
		const char *below = oom_kill_below(k, &q->self);

		e.oom = true;
		e.by_cgroup = s.by_cgroup;
		e.where = oom_kill_where(k, &q->self);
		e.limit = k->limit;
		e.kills = s.kills;
		e.killed = s.killed;
		e.table = k->processes;
		e.by_pid = s.by_cgroup && s.by_pid;
		if (s.by_cgroup && q->command > 0)
			e.victim = s.of_command ? KERNEL_VICTIM_COMMAND :
				   s.unclear	? KERNEL_VICTIM_UNKNOWN :
						  KERNEL_VICTIM_OTHER;
		e.group = s.of_command && s.group;
		e.took_launcher = s.by_cgroup && s.of_launcher;
		e.pid = (pid_t)MIN(k->pid, (int64_t)INT32_MAX);
		e.rss = oom_kill_rss(k);
		if (k->time_us >= 0)
			e.age_ns = MAX(q->ended_us - k->time_us, (int64_t)0) * 1000;
		/* The first victim of a group may belong to another container. */
		if (!(s.by_pid && k->n_group_pids > 0 && !kernel_evidence_is_known(q, k->pid)))
			text_escape(e.name, sizeof(e.name), k->name, strlen(k->name));
		text_escape(e.memcg, sizeof(e.memcg), k->oom_memcg, strlen(k->oom_memcg));
		if (below)
			text_escape(e.below, sizeof(e.below), below, strlen(below));
		e.elsewhere = !below && e.where == OOM_WHERE_CONTAINER && q->self.cgroup[0];
		text_escape(e.line, sizeof(e.line), kmsg_text(log, k->killed_at),
			    log->entries[k->killed_at].len);
		first = k->first;
		last = k->last + 1;
	}
	/*
	 * The node agent's lines are those of the whole pod, so they include processes of its other
	 * containers.
	 */
	if (!find_crash(log, q, false, &e) && q->own_lines)
		find_crash(log, q, true, &e);
	if (log->lost > 0)
		strbuf_addf(excerpt,
			    "(%" PRId64 " records were overwritten before they could be read)\n",
			    log->lost);
	for (size_t i = first; i < last; i++)
		kernel_evidence_add_line(log, i, excerpt);
	*ret_evidence = e;
}
