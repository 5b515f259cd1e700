/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how many cores are sent to sidecars at a time, on the node and for each pod, so that a pod
 * with a slow sidecar does not hold up the cores of others. A slot is a locked file: it is freed
 * when its holder ends, even by a signal.
 */
#ifndef AFTERGLOW_NODE_CORE_SLOTS_H
#define AFTERGLOW_NODE_CORE_SLOTS_H

#include "lib/err.h"

#define CORE_SLOTS 64 /* on the node */
#define CORE_SLOTS_OF_POD 4

/*
 * Takes a slot and returns its descriptor; closing it frees the slot. directory: the directory of the
 * files. -EBUSY: all slots of the pod are taken. Pods may share slots, because a pod's slots are
 * chosen by a hash of its UID.
 */
int core_slot_take(const char *directory, const char *pod_uid, struct err *err);

#endif
