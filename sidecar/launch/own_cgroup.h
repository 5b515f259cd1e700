/* SPDX-License-Identifier: Apache-2.0 */
/* The memory cgroup of this container, as it is mounted here. */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_OWN_CGROUP_H
#define AFTERGLOW_SIDECAR_LAUNCH_OWN_CGROUP_H

/*
 * An O_PATH descriptor of its directory and the version, 1 or 2. Where its mount shows other cgroups too (a privileged container
 * with the cgroup namespace of the node), where it is not mounted, or where we are not in it: -1.
 */
int own_cgroup_open(int *ret_version);

#endif
