/* SPDX-License-Identifier: Apache-2.0 */
/* Collects admission warnings, which kubectl prints to the person who applies an object. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/macros.h"

#define WARNINGS_MAX 16
/* bytes: the API server cuts longer ones when there are many (4 KiB in all) */
#define WARNING_TEXT_MAX 256

bool warnings_full(const cJSON *warnings);

/*
 * Adds a warning, cut to WARNING_TEXT_MAX bytes of whole characters; control characters become '?'.
 * The same text is kept once.
 */
void warnings_addf(cJSON *warnings, const char *fmt, ...) _printf_(2, 3);

/* Removes from warnings those that are also in known. */
void warnings_drop_known(cJSON *warnings, const cJSON *known);

/*
 * name for use in a sentence: at most 63 bytes of whole characters, control characters as '?'.
 * Returns buf.
 */
#define WARNING_NAME_MAX 64
const char *warning_name(const char *name, char buf[static WARNING_NAME_MAX]);
