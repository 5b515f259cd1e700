/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which of Ray's events get a report, and counts them. */
#include "sidecar/ray/ray_tally.h"

#include <stdio.h>
#include <string.h>

#include "lib/macros.h"

/* Within this time a second record is about the same death of a worker. */
#define KNOWN_NS (60 * NS_PER_SEC)
#define FDS_SETTLED_NS (10 * NS_PER_SEC)
/* raylet notices within seconds that a worker is gone. */
#define KERNEL_EXPLAINS_NS (15 * NS_PER_SEC)

void ray_tally_init(struct ray_tally *t, int64_t now_ns)
{
	*t = (struct ray_tally){ .kernel_kills_known = -1, .since_ns = now_ns };
}

void ray_tally_kernel(struct ray_tally *t, int64_t now_ns, int64_t oom_kill)
{
	if (oom_kill < 0)
		return;
	if (t->kernel_kills_known >= 0 && oom_kill > t->kernel_kills_known) {
		unsigned int n = (unsigned int)MIN(oom_kill - t->kernel_kills_known, (int64_t)1000);

		t->counted.kernel_kills += n;
		t->kernel_credit = now_ns - t->kernel_ns > KERNEL_EXPLAINS_NS ?
					   n :
					   MIN(t->kernel_credit + n, 1000u);
		t->kernel_ns = now_ns;
	}
	t->kernel_kills_known = oom_kill;
}

/* Returns whether this worker's death has been counted. If not, remembers it. */
static bool seen_before(struct ray_tally *t, int64_t now_ns, const struct ray_event *e)
{
	if (!e->pid && !e->worker_id[0]) {
		/*
		 * The error is logged in both .out and .err, and again for each accept that fails.
		 */
		bool again = e->kind == RAY_FDS_EXHAUSTED && t->fds_ns &&
			     now_ns - t->fds_ns < FDS_SETTLED_NS;

		if (e->kind == RAY_FDS_EXHAUSTED)
			t->fds_ns = MAX(now_ns, (int64_t)1);
		return again;
	}
	for (size_t i = 0; i < ARRAY_SIZE(t->recent); i++) {
		if (!t->recent[i].at_ns || now_ns - t->recent[i].at_ns > KNOWN_NS)
			continue;
		if (e->worker_id[0] && t->recent[i].worker_id[0] ?
			    strcmp(e->worker_id, t->recent[i].worker_id) == 0 :
			    e->pid && e->pid == t->recent[i].pid)
			return true;
	}
	t->recent[t->next_recent].pid = e->pid;
	memcpy(t->recent[t->next_recent].worker_id, e->worker_id, sizeof(e->worker_id));
	t->recent[t->next_recent].at_ns = MAX(now_ns, (int64_t)1);
	t->next_recent = (t->next_recent + 1) % ARRAY_SIZE(t->recent);
	return false;
}

static enum ray_outcome ray_tally_admit(struct ray_tally *t, int64_t now_ns,
					const struct ray_event *e, int wait_status,
					unsigned int *ret_left_out)
{
	size_t slot = 0, reports = 0;
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(t->signatures); i++) {
		bool same = t->signatures[i].reported_ns && t->signatures[i].kind == e->kind &&
			    t->signatures[i].wait_status == wait_status &&
			    strcmp(t->signatures[i].task, e->task) == 0;
		if (same && now_ns - t->signatures[i].reported_ns < RAY_REPORT_SPACING_NS) {
			t->signatures[i].left_out++;
			return RAY_COUNTED;
		}
		reports += t->signatures[i].reported_ns &&
			   now_ns - t->signatures[i].reported_ns < RAY_REPORT_SPACING_NS;
		if (same) {
			*ret_left_out = t->signatures[i].left_out;
			known = true;
			slot = i;
		} else if (!known && t->signatures[i].reported_ns < t->signatures[slot].reported_ns)
			slot = i; /* the oldest one */
	}
	/* A task that uses a different name each time must not get a report each time. */
	if (reports >= RAY_REPORTS_MAX)
		return RAY_COUNTED;
	t->signatures[slot].kind = e->kind;
	t->signatures[slot].wait_status = wait_status;
	memcpy(t->signatures[slot].task, e->task, sizeof(e->task));
	t->signatures[slot].reported_ns = MAX(now_ns, (int64_t)1);
	t->signatures[slot].left_out = 0;
	return RAY_REPORT;
}

enum ray_outcome ray_tally_event(struct ray_tally *t, int64_t now_ns, const struct ray_event *e,
				 int wait_status, unsigned int *ret_left_out)
{
	*ret_left_out = 0;
	if (seen_before(t, now_ns, e))
		return RAY_KNOWN;
	switch (e->kind) {
	case RAY_MEMORY_KILL:
		t->counted.memory_kills += MAX(e->workers, 1u);
		break;
	case RAY_WORKER_CRASH:
		if (t->kernel_credit && now_ns - t->kernel_ns <= KERNEL_EXPLAINS_NS) {
			t->kernel_credit--;
			return RAY_KNOWN;
		}
		t->counted.crashes++;
		break;
	case RAY_FDS_EXHAUSTED:
		t->counted.fds_exhausted++;
		t->counted.crashes += e->pid > 0;
		break;
	case RAY_NODE_LOST:
	case RAY_NO_ENVIRONMENT:
		break;
	default:
		return RAY_KNOWN;
	}
	enum ray_outcome told = ray_tally_admit(t, now_ns, e, wait_status, ret_left_out);
	t->untold |= told == RAY_COUNTED && !IS_ONE_OF(e->kind, RAY_NODE_LOST, RAY_NO_ENVIRONMENT);
	return told;
}

bool ray_tally_summary(struct ray_tally *t, int64_t now_ns, bool last,
		       struct ray_summary *ret_summary)
{
	struct ray_summary s = t->counted;

	s.span_ns = now_ns - t->since_ns;
	if (last ? !t->untold : s.span_ns < RAY_SUMMARY_NS)
		return false;
	t->untold = false;
	t->counted = (struct ray_summary){ 0 };
	t->since_ns = now_ns;
	if (!s.memory_kills && !s.crashes && !s.kernel_kills && !s.fds_exhausted)
		return false;
	*ret_summary = s;
	return true;
}

const char *ray_summary_format(const struct ray_summary *s, const char *where, char *text,
			       size_t size)
{
	snprintf(
		text, size,
		"%u Workers (tasks / actors) killed due to memory pressure (OOM), %u Workers crashed due to other reasons%s%s "
		"in the last %d s",
		s->memory_kills + s->kernel_kills, s->crashes, where ? " at " : "",
		where ? where : "", (int)(s->span_ns / NS_PER_SEC));
	size_t n = strlen(text);
	if (s->kernel_kills)
		snprintf(text + n, size - n,
			 " (%u by Ray's memory monitor, %u by the kernel's OOM killer)",
			 s->memory_kills, s->kernel_kills);
	n = strlen(text);
	if (s->fds_exhausted)
		snprintf(text + n, size - n, "; too many open files: %u times", s->fds_exhausted);
	return text;
}
