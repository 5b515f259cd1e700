/* SPDX-License-Identifier: Apache-2.0 */
/* Decides from KubeRay's Leases whether its operator runs. */
#include "operator/manager/kuberay_lease.h"

#include <stdio.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/printable.h"
#include "lib/units.h"

#define LOOK_MIN_NS (100 * NS_PER_MS)

struct kuberay_sighting *kuberay_sighting_of(const struct kuberay_sightings *s, const char *lease)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->leases[i].namespace, lease) == 0)
			return (struct kuberay_sighting *)&s->leases[i];
	return NULL;
}

static int64_t duration_ns(const struct kuberay_lease *lease)
{
	int64_t seconds = lease->duration_s > 0 ? lease->duration_s : KUBERAY_DURATION_S;

	return MIN(seconds, (int64_t)KUBERAY_DURATION_MAX_S) * NS_PER_SEC;
}

/*
 * Returns whether it has another holder or another time of renewal. Giving it back does not count.
 */
static bool is_renewed(const struct kuberay_sighting *before, const struct kuberay_sighting *now)
{
	return *now->holder && (strcmp(before->renewed, now->renewed) != 0 ||
				strcmp(before->holder, now->holder) != 0);
}

/* Returns false if there is no room for another Lease. */
static bool see(struct kuberay_sightings *s, const struct kuberay_lease *lease, int64_t now_ns)
{
	struct kuberay_sighting *known = kuberay_sighting_of(s, lease->namespace),
				now = { .listed = true };

	snprintf(now.namespace, sizeof(now.namespace), "%s", lease->namespace);
	copy_printable(now.holder, sizeof(now.holder), lease->holder, strlen(lease->holder));
	snprintf(now.renewed, sizeof(now.renewed), "%s", lease->renewed);
	if (!known && s->n == KUBERAY_LEASES_MAX)
		return false;
	if (!known) {
		now.until_ns = now_ns + (*now.holder ? duration_ns(lease) : 0);
		now.at_start = s->verdict == KUBERAY_UNKNOWN;
		s->leases[s->n++] = now;
		return true;
	}
	now.at_start = known->at_start;
	now.runs = known->runs || is_renewed(known, &now);
	now.until_ns = is_renewed(known, &now) ?
			       now_ns + KUBERAY_GONE_DURATIONS * duration_ns(lease) :
			       known->until_ns;
	*known = now;
	return true;
}

/*
 * Drops Leases that were deleted, but only when their time is over: a running KubeRay creates its
 * Lease again.
 */
static void drop_deleted(struct kuberay_sightings *s, int64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->leases[i].listed || now_ns < s->leases[i].until_ns)
			s->leases[kept++] = s->leases[i];
	s->n = kept;
}

static void judge(struct kuberay_sightings *s, int64_t now_ns)
{
	s->verdict = KUBERAY_ABSENT;
	s->next_ns = now_ns + KUBERAY_LOOK_NS;
	for (size_t i = 0; i < s->n; i++) {
		struct kuberay_sighting *lease = &s->leases[i];
		if (now_ns >= lease->until_ns) {
			lease->runs = false;
			continue;
		}
		s->verdict = MAX(s->verdict, lease->runs ? KUBERAY_RUNS : KUBERAY_SUSPECTED);
		s->next_ns = MIN(s->next_ns, MAX(lease->until_ns, now_ns + LOOK_MIN_NS));
	}
}

void kuberay_saw(struct kuberay_sightings *s, const struct kuberay_lease *leases, size_t n,
		 int64_t now_ns)
{
	bool room = true;

	s->seen_ns = now_ns;
	for (size_t i = 0; i < s->n; i++)
		s->leases[i].listed = false;
	for (size_t i = 0; i < n; i++)
		room = see(s, &leases[i], now_ns) && room;
	drop_deleted(s, now_ns);
	judge(s, now_ns);
	s->too_many = !room;
	if (!room)
		s->verdict = KUBERAY_RUNS;
}

const struct kuberay_sighting *kuberay_witness(const struct kuberay_sightings *s, int64_t now_ns,
					       kuberay_believes_fn believes, const void *arg)
{
	const struct kuberay_sighting *found = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct kuberay_sighting *lease = &s->leases[i];
		if (now_ns < lease->until_ns && (!found || (lease->runs && !found->runs)) &&
		    (!believes || believes(arg, lease)))
			found = lease;
	}
	return found;
}
