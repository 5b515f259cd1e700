/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches how much a Ray node spills to its disk: reads raylet's own figure every 10 s, and asks the filesystem for its room if it
 * is local. Never touches the spilled files: their directory may be large, or on a server that does not answer.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_SPILL_WATCH_H
#define AFTERGLOW_SIDECAR_RECORD_SPILL_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/loop/errand.h"
#include "sidecar/ray/spill.h"
#include "sidecar/sample/mountinfo.h"
#include "sidecar/sample/ray_node.h"

struct spill_watch {
	struct spill spill;
	struct spill_disk disk;
	struct spill_forecast forecast; /* as of the last look */
	char where[RAY_NODE_PATH_MAX]; /* the directory, escaped; "": nothing is watched */
	/* Its own: */
	int64_t polled_ns, written_ns;
	pid_t raylet;
	char point[MOUNT_FIELD_MAX]; /* of its filesystem; "": not a local one */
};

#define SPILL_WATCH_NONE ((struct spill_watch){ .forecast = SPILL_FORECAST_NONE })

/* Where to look. */
struct spill_place {
	int root_fd; /* the container's root */
	int logs_fd; /* Ray's logs, -1: none yet */
	pid_t launcher; /* whose mounts are the container's, as root_fd's /proc numbers it */
	struct errand *errand; /* looks there: below any path may be a filesystem that does not answer */
	int64_t limit; /* of its ephemeral storage, bytes; 0: none, or not known */
};

/* After a sample; does nothing within 10 s. True: w->forecast is worth a warning now. */
bool spill_watch_poll(struct spill_watch *w, const struct spill_place *at, const struct ray_node *node, int64_t now_ns);

/* Whether so much is spilled, or will be soon, that it may cause a full disk or an eviction. */
bool spill_watch_is_evidence(const struct spill_watch *w);

#endif
