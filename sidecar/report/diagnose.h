/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Ray expert would say next, and the numbers that it rests on: the sentences of a report's
 * diagnosis and advice. Pure.
 */
#ifndef AFTERGLOW_SIDECAR_REPORT_DIAGNOSE_H
#define AFTERGLOW_SIDECAR_REPORT_DIAGNOSE_H

#include "sidecar/report/report.h"

/* Fills r->diagnosis and r->advice from the rest of r; both stay empty where nothing supports them. */
void report_diagnose(struct report *r);

#endif
