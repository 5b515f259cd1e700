/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers names for some time after they were last noted. Pure: time is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/strmap.h"

#define REMEMBERED_MAX 4096 /* names; further ones are not noted */

struct remembered {
	struct strmap names; /* name -> when it was last noted */
};

void remembered_release(struct remembered *r);
/* Notes a name. If there are too many, drops those that were noted longer than hold_ns ago. */
void remembered_note(struct remembered *r, const char *name, int64_t hold_ns, int64_t now_ns);
void remembered_forget(struct remembered *r, const char *name);
/* Returns whether the name was noted within hold_ns. */
bool remembered_holds(const struct remembered *r, const char *name, int64_t hold_ns,
		      int64_t now_ns);
