/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the verdict on a command that was never executed. Only the launcher knows the errno of its
 * exec, and reports it. Pure.
 */
#pragma once

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

/*
 * Sets class, confidence, sentence and evidence; v->exit_code is 126 or 127 and o->unstarted is
 * set.
 */
void unstarted_verdict(const struct observation *o, struct verdict *v);
