/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two answers of objects_script.def, to show what has grown since the first. Pure. Both
 * may be hostile.
 */
#pragma once

#include <cjson/cJSON.h>

/*
 * Adds "bytesBefore" and "objectsBefore" to each group of answer: those of the group in `before`
 * with the same line of code or owner, 0 if there is none. Puts the groups that have grown most
 * first. Adds "beforePartial" to the answer if there may have been more before: `before` does not
 * name all objects, or only one of the two answers has lines of code.
 */
void objects_compare(cJSON *answer, const cJSON *before);
