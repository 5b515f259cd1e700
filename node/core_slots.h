/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many cores go to sidecars at a time: a bound for each pod, so that a pod with a slow sidecar does not hold those of
 * others up, and one for the node. A slot is a locked file, which the end of its holder frees, however that comes.
 */
#ifndef AFTERGLOW_NODE_CORE_SLOTS_H
#define AFTERGLOW_NODE_CORE_SLOTS_H

#include "lib/err.h"

#define CORE_SLOTS 64 /* on the node */
#define CORE_SLOTS_OF_POD 4

/* The slot's descriptor, whose close frees it. -EBUSY: all of the pod's are taken. directory: where slots are kept. */
int core_slot_take(const char *directory, const char *pod_uid, struct err *err);

#endif
