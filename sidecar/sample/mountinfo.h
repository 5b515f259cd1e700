/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a line of /proc/PID/mountinfo. Pure. Long fields are cut. */
#pragma once

#include <stdbool.h>

#define MOUNT_FIELD_MAX 512

struct mount {
	char device[32]; /* "8:1" */
	char root[MOUNT_FIELD_MAX], point[MOUNT_FIELD_MAX], type[32];
	char options[MOUNT_FIELD_MAX]; /* of this mount: "rw,nosuid" */
	char super_options[MOUNT_FIELD_MAX]; /* of the filesystem: a v1 cgroup's controllers */
};

/*
 * Parses "ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER-OPTIONS"; returns false
 * for a shorter line.
 */
bool mount_parse(const char *line, struct mount *ret_mount);
