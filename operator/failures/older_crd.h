/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes a RayFailure so that it fits a CRD that is older than the operator, for example one that
 * was applied by hand and that the chart does not upgrade. Then the API server refuses a class that
 * it does not know, and with it the whole RayFailure. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Names of members, separated by ", ". */
#define OLDER_CRD_TEXT_MAX 256

/*
 * Removes from failure what the API server's Status (422 Invalid) names. A class becomes Unknown;
 * the verdict and the label afterglow.dev/class keep the real class. Other members of spec are
 * removed. Returns whether anything has changed; ret_what names it.
 */
bool older_crd_reduce(cJSON *failure, const cJSON *status,
		      char ret_what[static OLDER_CRD_TEXT_MAX]);
