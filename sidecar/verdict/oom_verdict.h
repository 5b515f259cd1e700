/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether the OOM killer ended a container or took a process of it, and which memory ran
 * out. Pure.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/oom.h"
#include "sidecar/verdict/verdict.h"

/*
 * What the counters and samples say. Adds evidence and what is missing to v; the caller has set
 * v->signal.
 */
enum oom oom_from_counters(const struct observation *o, struct verdict *v);

/*
 * Corrects oom, the result from the counters, by the kernel log. *ret_kernel: what the log says
 * about this death; NULL: nothing.
 */
enum oom oom_from_kernel_log(const struct observation *o, enum oom oom, struct verdict *v,
			     const struct kernel_evidence **ret_kernel);

/* Sets class, confidence and sentence; oom is OOM_PROVED or OOM_PROBABLE. */
void oom_verdict(const struct observation *o, enum oom oom, const struct kernel_evidence *k,
		 struct verdict *v);

/*
 * For OOM_BEFORE: makes the verdict of the signal v->signal, at best likely. Its sentence has the
 * OOM kill as well.
 */
void oom_before_verdict(const struct observation *o, const struct kernel_evidence *k,
			struct verdict *v);
