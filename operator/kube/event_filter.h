/* SPDX-License-Identifier: Apache-2.0 */
/* What was told to people, so that it is not told again too soon. */
#ifndef AFTERGLOW_OPERATOR_KUBE_EVENT_FILTER_H
#define AFTERGLOW_OPERATOR_KUBE_EVENT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/strmap.h"

/*
 * Whether key was not told within the last again_ns; then it counts as told now (boottime). Without memory: false.
 * What is older is forgotten: clusters come and go. The map's values are freed with free.
 */
bool event_filter_is_time(struct strmap *told, const char *key, int64_t now, int64_t again_ns);

/* Whether it was told in the last again_ns. */
bool event_filter_lately(const struct strmap *told, const char *key, int64_t now, int64_t again_ns);

#endif
