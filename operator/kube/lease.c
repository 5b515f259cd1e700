/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the state machine of a Lease. */
#include "operator/kube/lease.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lib/macros.h"
#include "operator/kube/backoff.h"

void lease_init(struct lease *l, const char *identity, uint64_t seed)
{
	*l = (struct lease){ .seed = seed };
	snprintf(l->identity, sizeof(l->identity), "%s", identity);
}

bool lease_is_held(const struct lease *l, int64_t now_ns)
{
	return l->held && now_ns < l->deadline_ns;
}

static struct lease_step do_now(enum lease_action action)
{
	return (struct lease_step){ .action = action };
}

static struct lease_step lease_lost(struct lease *l)
{
	l->held = false;
	return do_now(LEASE_LOST);
}

/*
 * The holder renews at regular intervals. The others vary theirs, so that they do not all compete
 * at once for a Lease that is given back.
 */
static struct lease_step wait_a_while(struct lease *l, int64_t now_ns)
{
	int64_t delay_ns = LEASE_RETRY_NS;

	if (l->held)
		delay_ns = MIN(delay_ns, MAX(l->deadline_ns - now_ns, 0));
	else
		delay_ns = random_between(&l->seed, LEASE_RETRY_NS, LEASE_RETRY_NS * 22 / 10);
	return (struct lease_step){ .action = LEASE_WAIT, .delay_ns = delay_ns };
}

static struct lease_step write_record(const struct lease *l, enum lease_action action)
{
	struct lease_step step = { .action = action };
	bool ours = strcmp(l->seen.holder, l->identity) == 0;

	/*
	 * If the Lease is ours already, this is only a renewal: a write of ours whose answer was
	 * lost.
	 */
	snprintf(step.write.holder, sizeof(step.write.holder), "%s", l->identity);
	snprintf(step.write.rv, sizeof(step.write.rv), "%s", l->seen.rv);
	snprintf(step.write.acquired, sizeof(step.write.acquired), "%s",
		 ours ? l->seen.acquired : "");
	step.write.transitions = l->seen.transitions + (action == LEASE_UPDATE && !ours);
	return step;
}

static void lease_see(struct lease *l, const struct lease_record *record, int64_t now_ns)
{
	if (l->seen.rv[0] && strcmp(l->seen.rv, record->rv) == 0)
		return;
	l->seen = *record;
	l->seen_ns = now_ns;
}

static struct lease_step lease_tick(struct lease *l, int64_t now_ns)
{
	if (l->held && now_ns >= l->deadline_ns)
		return lease_lost(l);
	return l->held ? write_record(l, LEASE_UPDATE) : do_now(LEASE_GET);
}

static struct lease_step was_read(struct lease *l, const struct lease_record *record,
				  int64_t now_ns)
{
	bool ours = strcmp(record->holder, l->identity) == 0;

	lease_see(l, record, now_ns);
	if (l->held && (!ours || now_ns >= l->deadline_ns))
		return lease_lost(l);
	if (!ours && record->holder[0] && now_ns - l->seen_ns < LEASE_DURATION_NS)
		return wait_a_while(l, now_ns);
	return write_record(l, LEASE_UPDATE);
}

static struct lease_step was_absent(struct lease *l, int64_t now_ns)
{
	if (l->held && now_ns >= l->deadline_ns)
		return lease_lost(l);
	l->seen = (struct lease_record){ 0 };
	return write_record(l, LEASE_CREATE);
}

static struct lease_step was_written(struct lease *l, const struct lease_event *event,
				     int64_t now_ns)
{
	bool before = l->held;

	lease_see(l, event->record, now_ns);
	l->held = true;
	l->deadline_ns = event->sent_ns + LEASE_RENEW_DEADLINE_NS;
	/* An answer that took too long shows that we were the holder, not that we still are. */
	if (now_ns >= l->deadline_ns)
		return lease_lost(l);
	struct lease_step step = wait_a_while(l, now_ns);
	step.acquired = !before;
	return step;
}

static struct lease_step lease_failed(struct lease *l, int64_t now_ns)
{
	if (l->held && now_ns >= l->deadline_ns)
		return lease_lost(l);
	return wait_a_while(l, now_ns);
}

static struct lease_step lease_stop(struct lease *l, int64_t now_ns)
{
	bool held = lease_is_held(l, now_ns);
	struct lease_step step = write_record(l, LEASE_UPDATE);

	l->stopping = true;
	l->held = false;
	step.write.holder[0] = '\0';
	return held ? step : do_now(LEASE_DONE);
}

static struct lease_step lease_step_for(struct lease *l, const struct lease_event *event,
					int64_t now_ns)
{
	/*
	 * There is only one attempt to give the Lease back. If it fails, the Lease expires by
	 * itself.
	 */
	if (l->stopping)
		return do_now(LEASE_DONE);
	switch (event->kind) {
	case LEASE_TICK:
		return lease_tick(l, now_ns);
	case LEASE_READ:
		return was_read(l, event->record, now_ns);
	case LEASE_ABSENT:
		return was_absent(l, now_ns);
	case LEASE_WRITTEN:
		return was_written(l, event, now_ns);
	case LEASE_CONFLICT:
		/* Another replica won the race; look at once which one. */
		return l->held ? do_now(LEASE_GET) : wait_a_while(l, now_ns);
	case LEASE_FAILED:
		return lease_failed(l, now_ns);
	case LEASE_STOP:
		return lease_stop(l, now_ns);
	}
	return wait_a_while(l, now_ns);
}

struct lease_step lease_step(struct lease *l, const struct lease_event *event, int64_t now_ns)
{
	struct lease_step step = lease_step_for(l, event, now_ns);

	/*
	 * A replica holds the Lease while it has time left; one that has lost it or stops does not
	 * hold it.
	 */
	assert(!step.acquired || lease_is_held(l, now_ns));
	assert(step.action != LEASE_LOST || !l->held);
	assert(!l->stopping || !l->held);
	assert(step.delay_ns >= 0);
	return step;
}
