/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which ends in one Ray cluster belong to one incident, and which of them was the first
 * cause. Pure: the answer does not depend on the order in which the ends are passed.
 *
 * Theory of operation. A table of rules (incident_rules.h) says which end can explain which: the
 * loss of a node explains the ends of its pods, the end of one of Ray's own processes that of its
 * container, the head's end those of workers which lost the GCS, and one deletion those of the pods
 * that it deletes. Each rule has a window of time, because a raylet gives up late and clocks of
 * nodes differ by seconds. A cause has a lower rank than what it explains (node, GPU, process in
 * the head, head, process in a worker, worker, NCCL; before a process its OOM kill); so the order
 * of close times does not matter, and there are no cycles. Only a driver goes against the ranks,
 * because the exception in its log names by Ray's IDs which worker or node had died; what it hangs
 * together with is then never joined in a circle. Ends of the same rank are joined only as a group
 * around one of them. A worker's crash never explains another worker's, unless NCCL in the other
 * says that a peer was gone.
 */
#pragma once

#include <stddef.h>

#include "lib/incident_death.h"

struct incident_place {
	/* the index of the first cause; the end's own index if nothing explains it */
	size_t first;
	size_t consequences; /* of a first cause: how many ends followed from it */
	bool may_follow; /* a cause that would explain the end may still become known */
};

/* Fills n places, one for each death. Returns 0 or -ENOMEM. Takes nearly linear time in n. */
int incident_join(const struct incident_death *deaths, size_t n, struct incident_place *places);

/*
 * Writes a text such as "GCSFailed of the head" for a column of a list. place names that to which a
 * uid belongs: "pod", or "command".
 */
#define INCIDENT_TEXT_MAX 64
const char *incident_text(const struct incident_death *first, const struct incident_death *death,
			  const char *place, char buf[static INCIDENT_TEXT_MAX]);
