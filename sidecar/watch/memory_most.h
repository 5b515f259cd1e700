/* SPDX-License-Identifier: Apache-2.0 */
/* The most that the samples of a container have shown of each kind of memory. */
#pragma once

#include "lib/units.h"
#include "sidecar/sample/memcg.h"

struct memory_most {
	int64_t since_unix_ns; /* the first sample; 0: there was none */
	int64_t working_set, anon, file, shmem, kernel; /* bytes; -1: not known */
};

static inline void memory_most_add(struct memory_most *most, const struct memory *m)
{
	if (!most->since_unix_ns)
		*most = (struct memory_most){ now_realtime_ns(), -1, -1, -1, -1, -1 };
	most->working_set = MAX(most->working_set, memory_kubelet(m));
	most->anon = MAX(most->anon, m->anon);
	most->file = MAX(most->file, m->file);
	most->shmem = MAX(most->shmem, m->shmem);
	most->kernel = MAX(most->kernel, m->kernel);
}
