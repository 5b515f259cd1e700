/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses the node agent's records of signals to say who ended a container or one of its processes.
 * Pure. Without an agent there are no records, and these functions leave the verdict as it is.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/oom.h"
#include "sidecar/verdict/verdict.h"

/* Whether the OOM killer took the command, the process that the container ends with. */
bool sender_oom_took_command(const struct observation *o);
/* Whether a process sent the command the SIGKILL that ended it. */
bool sender_killed_command(const struct observation *o);
/*
 * Whether SIGKILL or SIGTERM came to that process from another program than the container's comm.
 */
bool sender_is_another(const struct observation *o, pid_t target, const char *comm);
/*
 * The number of other processes of the container that the OOM killer took around the container's
 * end.
 */
unsigned int sender_oom_others(const struct observation *o);
/*
 * Corrects oom, the result from counters and log: a record that the OOM killer took the command, or
 * that a process sent the SIGKILL, decides what they leave open. Adds evidence to v.
 */
enum oom sender_oom(const struct observation *o, enum oom oom, struct verdict *v);

/* Adds the sender to a finished verdict, as evidence and in its sentence. */
void sender_verdict(const struct observation *o, struct verdict *v);
