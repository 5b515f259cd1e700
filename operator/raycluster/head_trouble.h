/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out why a head pod is not ready, in the words of the kubelet and the scheduler. Pure. */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

#define HEAD_TROUBLE_MAX 4096

/*
 * For a head pod that is not ready: sets the condition's reason, which lives as long as the pod's
 * JSON, and appends its message to out, an empty buffer of HEAD_TROUBLE_MAX.
 */
void head_trouble(const cJSON *head, const char **ret_reason, struct strbuf *out);
