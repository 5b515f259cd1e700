/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a limit other than the memory limit explains the command's own exit code. Pure.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

/*
 * v is the verdict from the wait status alone. Where such a limit explains it, v becomes
 * ProcessLimit or DiskFull, never more than likely.
 */
void limit_verdict(const struct observation *o, struct verdict *v);

/*
 * v is the verdict in which the ends of Ray's processes count as well. If none of them explains an
 * exit code, an object that raylet refused shortly before makes it DiskFull, likely.
 */
void limit_of_objects(const struct observation *o, struct verdict *v);

/*
 * For a process that died in a container that lives on: adds that the container had met its limit
 * of processes, or that Ray had refused an object to a job that failed.
 */
void limit_of_process(const struct observation *o, struct verdict *v);

/*
 * v is the whole verdict. If the CPU limit stopped the container most of the time, and a probe or a
 * heartbeat that came late may have ended it, adds that as evidence.
 */
void limit_cpu_evidence(const struct observation *o, struct verdict *v);
