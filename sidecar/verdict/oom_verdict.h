/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the OOM killer ended a container or took a process of it, and whose memory ran out. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_OOM_VERDICT_H
#define AFTERGLOW_SIDECAR_VERDICT_OOM_VERDICT_H

#include "sidecar/verdict/classify.h"

enum oom {
	OOM_NO, /* it is ruled out */
	OOM_UNTOLD, /* nothing tells */
	OOM_PROVED,
	OOM_PROBABLE,
	OOM_BEFORE, /* it took a process shortly before, but something else most likely ended the container */
};

/* What the counters and samples say. Adds evidence and what is missing to v, whose signal the caller has set. */
enum oom oom_from_counters(const struct observation *o, struct verdict *v);

/* Corrects oom, which the counters gave, by the kernel log. *ret_kernel: what the log says about this death; NULL: nothing. */
enum oom oom_from_kernel_log(const struct observation *o, enum oom oom, struct verdict *v,
			     const struct kernel_evidence **ret_kernel);

/* oom is OOM_PROVED or OOM_PROBABLE. Sets class, confidence and sentence. */
void oom_verdict(const struct observation *o, enum oom oom, const struct kernel_evidence *k, struct verdict *v);

/* For OOM_BEFORE: makes the signal's own verdict from v->signal, likely at best, with both facts in the sentence. */
void oom_before_verdict(const struct observation *o, const struct kernel_evidence *k, struct verdict *v);

#endif
