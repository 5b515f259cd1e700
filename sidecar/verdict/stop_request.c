/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a request to stop explains the end of a container, and describes the request. */
#include "sidecar/verdict/stop_request.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

/*
 * The longest grace period that is common. A command that went on for longer did not end because of
 * the signal.
 */
#define EXPLAINS_NS (600 * NS_PER_SEC)
/* From a SIGTERM until Ray's handler aborts what has not ended, by Abseil's alarm (Ray 2.60) */
#define RAY_ABORTS_NS (3 * NS_PER_SEC)
#define WHO_MAX 60
#define DESCRIPTION_MAX 160

bool stop_request_explains(const struct stop_request *s, int64_t at_ns)
{
	return s->signal && s->at_ns <= at_ns && at_ns - s->at_ns <= EXPLAINS_NS;
}

const char *stop_request_describe(const struct observation *o, char *text, size_t size)
{
	char who[WHO_MAX] = "outside the container", age[DURATION_TEXT_MAX];

	if (o->asked.sender_name[0])
		snprintf(who, sizeof(who), "%s (PID %d)", o->asked.sender_name,
			 (int)o->asked.sender);
	else if (o->asked.sender > 0)
		snprintf(who, sizeof(who), "PID %d", (int)o->asked.sender);
	snprintf(text, size, "%s from %s, %s before", signal_name(o->asked.signal), who,
		 duration_format(MAX(o->ended_ns - o->asked.at_ns, (int64_t)0), age));
	return text;
}

void stop_request_evidence(const struct observation *o, struct verdict *v)
{
	char text[EVIDENCE_TEXT_MAX - 40];

	if (o->asked.signal && o->asked.at_ns <= o->ended_ns)
		verdict_add_evidence(v, "launcher", "it was asked to stop: %s",
				     stop_request_describe(o, text, sizeof(text)));
}

void stop_request_append(const struct observation *o, struct verdict *v)
{
	char asked[DESCRIPTION_MAX];
	/* The kernel may have written a core for a while. */
	int64_t after_ns = o->ended_ns - o->asked.at_ns - (o->crash ? o->crash->dump_ns : 0);

	if (!stop_request_explains(&o->asked, o->ended_ns))
		return;
	verdict_continue(v, "; it had been asked to stop (%s).",
			 stop_request_describe(o, asked, sizeof(asked)));
	if (v->class != FAILURE_ABORT || !o->has_raylet || o->asked.signal != SIGTERM ||
	    (o->crash && o->crash->message[0]) || after_ns < RAY_ABORTS_NS ||
	    after_ns > RAY_ABORTS_NS + 2 * NS_PER_SEC)
		return;
	verdict_set(v, FAILURE_TERMINATED, CONFIDENCE_LIKELY,
		    "Container %s aborted after it had been asked to stop (%s), most likely "
		    "because Ray aborts what still runs 3 s after a SIGTERM.",
		    o->container, asked);
}
