/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the life of a container as a table. */
#include "sidecar/record/container_state.h"

#include <stdbool.h>

struct transition {
	bool known; /* false for the pairs that the table does not name */
	struct container_step step;
};

#define TO(state, actions) \
	{ \
		true, \
		{ \
			CONTAINER_##state, actions \
		} \
	}

static const struct transition transitions[CONTAINER_STATE_COUNT][CONTAINER_EVENT_COUNT] = {
	[CONTAINER_CONNECTED] = {
		[CONTAINER_HELLO] = TO(RUNNING, CONTAINER_ATTACH),
		[CONTAINER_HANGUP] = TO(LOST, CONTAINER_STOP_READING | CONTAINER_LEAVE),
		[CONTAINER_TIMEOUT] = TO(LOST, CONTAINER_STOP_READING | CONTAINER_DISMISS | CONTAINER_LEAVE),
	},
	[CONTAINER_RUNNING] = {
		[CONTAINER_UNSEEABLE] = TO(LOST, CONTAINER_STOP_READING | CONTAINER_DISMISS | CONTAINER_LEAVE),
		[CONTAINER_EXIT] = TO(ENDED, CONTAINER_END),
		[CONTAINER_HANGUP] = TO(DISCONNECTED, CONTAINER_STOP_READING | CONTAINER_AWAIT_LAUNCHER),
	},
	[CONTAINER_DISCONNECTED] = {
		[CONTAINER_LAUNCHER_GONE] = TO(ENDED, CONTAINER_END),
		[CONTAINER_TIMEOUT] = TO(LOST, CONTAINER_LEAVE),
	},
	/* If the launcher hangs up after the end, the report does not wait any longer. */
	[CONTAINER_ENDED] = {
		[CONTAINER_UNWOUND] = TO(JUDGING, CONTAINER_JUDGE),
		[CONTAINER_HANGUP] = TO(JUDGING, CONTAINER_STOP_READING | CONTAINER_JUDGE),
	},
	[CONTAINER_JUDGING] = {
		[CONTAINER_JUDGED] = TO(REPORTING, CONTAINER_REPORT),
		[CONTAINER_HANGUP] = TO(JUDGING, CONTAINER_STOP_READING),
	},
	[CONTAINER_REPORTING] = {
		[CONTAINER_HOOKS_DONE] = TO(KEEPING, CONTAINER_KEEP),
		[CONTAINER_HANGUP] = TO(KEEPING, CONTAINER_STOP_READING | CONTAINER_KEEP),
	},
	[CONTAINER_KEEPING] = {
		[CONTAINER_KEPT] = TO(REPORTED, CONTAINER_CONCLUDE),
		[CONTAINER_HANGUP] = TO(KEEPING, CONTAINER_STOP_READING),
	},
	[CONTAINER_REPORTED] = {
		[CONTAINER_CORES_KEPT] = TO(OVER, CONTAINER_LEAVE),
		[CONTAINER_HANGUP] = TO(REPORTED, CONTAINER_STOP_READING),
	},
};

struct container_step container_step(enum container_state state, enum container_event event)
{
	const struct transition *t = &transitions[state][event];

	return t->known ? t->step : (struct container_step){ state, 0 };
}
