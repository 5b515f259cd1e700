/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two answers of objects_script.def: what was made since the first. Pure. Both may be
 * hostile.
 */
#pragma once

#include <cjson/cJSON.h>

/*
 * Adds "bytesBefore" and "objectsBefore" to each group of answer: those of the group in `before`
 * with the same place or owner, 0 if there is none. Puts the groups that have grown most first. Adds
 * "beforePartial" to the answer if there may have been more before, because `before` does not name
 * all, or only one of both has lines of code.
 */
void objects_compare(cJSON *answer, const cJSON *before);
