/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks Ray which objects its object store holds, where they were made, and which processes keep
 * them: what `ray memory` prints in a line for each reference, put together by the line of code
 * that made them.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"
#include "plugin/options.h"

/* Carries out `objects WHAT`. Returns the exit code or a negative error. */
int objects_command(const struct options *o, struct strbuf *out, struct err *err);

/* Appends the answer of the script, objects_script.def, as text. Pure. */
void objects_text(const cJSON *answer, struct strbuf *out);
