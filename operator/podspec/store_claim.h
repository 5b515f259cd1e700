/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether Ray pods may mount the store's claim. A claim that never gets a volume
 * would keep them from ever being scheduled, and Ray from starting. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>

/*
 * Returns NULL if pods may mount the claim; otherwise its trouble, as the end of a sentence. claim
 * is a v1 PersistentVolumeClaim, NULL if it does not exist. A claim that waits for its first pod
 * may be mounted, and so may a claim that is younger than a minute, because its volume may still be
 * created.
 */
const char *store_claim_trouble(const cJSON *claim, int64_t now_ns);
