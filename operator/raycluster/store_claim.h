/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether Ray pods may mount the store's claim. One that no volume will be bound
 * to would keep them from ever being scheduled, and Ray from starting. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_STORE_CLAIM_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_STORE_CLAIM_H

#include <cjson/cJSON.h>
#include <stdint.h>

/*
 * NULL: they may; else what is wrong with it, as the end of a sentence. claim is a v1 PersistentVolumeClaim, NULL when
 * there is none. One that waits for its first pod may be mounted, and so may one that is younger than a minute, for the
 * volume may be on its way.
 */
const char *store_claim_trouble(const cJSON *claim, int64_t now_ns);

#endif
