/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the sentences of a report's diagnosis and advice: what a Ray expert would say next, and
 * the numbers behind it. Pure.
 */
#pragma once

#include "sidecar/report/report.h"

/*
 * Fills r->diagnosis and r->advice from the rest of r; both stay empty where nothing supports them.
 */
void report_diagnose(struct report *r);
