/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the verdict on a worker whose death Ray's own logs report, while the container lives. Pure.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

/* Makes the verdict; o->ray is set and the container lives. */
void ray_verdict(const struct observation *o, struct verdict *v);

/*
 * For a container that died: adds to its verdict what Ray logged shortly before, and what follows
 * from it.
 */
void ray_last_words(const struct observation *o, struct verdict *v);

/*
 * The name of one of Ray's logs for the list of evidence, static text, by what the file's name
 * contains.
 */
const char *ray_verdict_source(const char *file);
