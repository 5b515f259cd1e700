/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches how much a Ray node spills to its disk: reads raylet's own figure every 10 s, and asks
 * the filesystem for its free space if it is local, and adds what Ray's logs take up of it, which
 * nothing bounds either. Never touches the spilled files: their directory may be large, or on a
 * server that does not answer.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lib/loop/errand.h"
#include "sidecar/ray/spill.h"
#include "sidecar/sample/mountinfo.h"
#include "sidecar/sample/ray_node.h"

struct spill_watch {
	struct spill spill;
	struct spill_disk disk;
	struct spill_forecast forecast; /* as of the last reading */
	char where[RAY_NODE_PATH_MAX]; /* the directory, escaped; "": nothing is watched */
	/* Private: */
	int64_t polled_ns, written_ns;
	pid_t raylet;
	char point[MOUNT_FIELD_MAX]; /* the mount point of its filesystem; "": it is not local */
};

#define SPILL_WATCH_NONE ((struct spill_watch){ .forecast = SPILL_FORECAST_NONE })

/* The places where spill_watch_poll reads its figures. */
struct spill_place {
	int root_fd; /* the container's root */
	int logs_fd; /* Ray's logs, -1: none yet */
	pid_t launcher; /* its mounts are the container's; numbered as in root_fd's /proc */
	/* its own: it reads there, because any path may be on a filesystem that does not answer */
	struct errand *errand;
	/* the limit of the container's ephemeral storage, bytes; 0: none, or not known */
	int64_t limit;
};

/*
 * To be called after each sample: takes a reading that has come, and begins the next one 10 s after
 * the last. Returns true if w->forecast is new and worth a warning now.
 */
bool spill_watch_poll(struct spill_watch *w, const struct spill_place *at,
		      const struct ray_node *node, int64_t now_ns);

/*
 * Describes objects and logs in text if they are so much, or half of the ephemeral-storage limit,
 * or will be soon, that they may cause a full disk or an eviction; returns NULL if they are not.
 */
const char *spill_watch_evidence(const struct spill_watch *w, char *text, size_t size);
