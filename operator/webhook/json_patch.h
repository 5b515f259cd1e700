/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a JSON Patch (RFC 6902) of the difference of two JSON documents. Pure. */
#pragma once

#include <cjson/cJSON.h>

#include "lib/err.h"

/*
 * Makes an array of operations (the caller owns it) that turn before into after; it is empty if
 * they are equal. Elements of arrays are compared by position: the elements of after beyond the end
 * of before are appended with "/-", so that a patch which only appends never moves an element. The
 * cost is linear if both have their members in the same order. Returns -ENOMEM, or -E2BIG if the
 * path of an operation is longer than JSON_PATCH_PATH_MAX.
 */
#define JSON_PATCH_PATH_MAX ((size_t)4096)
int json_patch_diff(const cJSON *before, const cJSON *after, cJSON **ret_patch, struct err *err);
