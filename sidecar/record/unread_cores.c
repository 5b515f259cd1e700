/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps cores that could not be read in time. */
#include "sidecar/record/unread_cores.h"

#include <stdio.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/socket/discard.h"

#define SPACING_NS NS_PER_SEC
#define GIVE_UP_NS (60 * NS_PER_SEC)

bool unread_cores_put(struct unread_cores *u, int fd, const struct core_hint *hint, int64_t now_ns)
{
	struct unread_core *core = &u->list[u->n];

	if (u->n == UNREAD_CORES_MAX)
		return false;
	*core = (struct unread_core){ .fd = fd, .hint = *hint, .since_ns = now_ns, .next_ns = now_ns + SPACING_NS };
	snprintf(core->comm, sizeof(core->comm), "%s", hint->comm ? hint->comm : "");
	u->n++;
	return true;
}

/* Returns true if it must not be tried again. */
static bool try_one(struct unread_core *core, int64_t now_ns, unread_core_fn fn, void *arg)
{
	struct core_hint hint = core->hint;

	if (core->next_ns > now_ns)
		return false;
	hint.comm = core->comm;
	if (fn(core->fd, &hint, arg))
		return true;
	if (now_ns == INT64_MAX)
		return false;
	core->next_ns = now_ns + SPACING_NS;
	if (now_ns - core->since_ns < GIVE_UP_NS)
		return false;
	log_warning_limited("the core of PID %d could not be read within %d s", (int)hint.pid, (int)(GIVE_UP_NS / NS_PER_SEC));
	discard(&core->fd, 1);
	return true;
}

size_t unread_cores_retry(struct unread_cores *u, int64_t now_ns, unread_core_fn fn, void *arg)
{
	size_t left = 0;
	bool late = false;

	if (u->at_it)
		return u->n;
	u->at_it = true;
	for (size_t i = 0; i < u->n; i++) {
		struct unread_core core = u->list[i];
		bool due = core.next_ns <= now_ns;

		/* A pass ends at the first late core, because each may delay the caller. At the container's end all are tried. */
		if ((late && now_ns != INT64_MAX) || !try_one(&core, now_ns, fn, arg)) {
			u->list[left++] = core;
			late |= due;
		}
	}
	u->n = left;
	u->at_it = false;
	return left;
}

void unread_cores_release(struct unread_cores *u)
{
	for (size_t i = 0; i < u->n; i++)
		discard(&u->list[i].fd, 1);
	u->n = 0;
}
