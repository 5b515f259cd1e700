/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the memory cgroup of this container, as it is mounted here. */
#pragma once

/*
 * Returns an O_PATH descriptor of its directory, and sets the version, 1 or 2. Returns -1 if the
 * mount shows other cgroups too (a privileged container with the cgroup namespace of the node), if
 * it is not mounted, or if we are not in it.
 */
int own_cgroup_open(int *ret_version);
