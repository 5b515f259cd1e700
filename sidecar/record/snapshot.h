/* SPDX-License-Identifier: Apache-2.0 */
/* What one sample shows of a container. */
#ifndef AFTERGLOW_SIDECAR_RECORD_SNAPSHOT_H
#define AFTERGLOW_SIDECAR_RECORD_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "sidecar/report/report.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/processes.h"

/* Memory and largest processes at one moment. */
struct snapshot {
	int64_t at_ns; /* 0: nothing yet */
	struct memory memory;
	struct process top[REPORT_TOP_MAX];
	size_t n_top;
	uint32_t n_processes;
	struct components components;
	int64_t shm_used;
};

#endif
