/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to stop, by a signal to the container's launcher. What ends the container after it is
 * most likely not a failure. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/verdict/observation.h"
#include "sidecar/verdict/verdict.h"

/*
 * Whether the container was asked to stop before at_ns, and so shortly that the request explains an
 * end at that time. Kubernetes gives a container seconds to minutes (terminationGracePeriodSeconds)
 * before it kills it.
 */
bool stop_request_explains(const struct stop_request *s, int64_t at_ns);

/* Adds to the evidence who asked, and when. Adds nothing if there was no request. */
void stop_request_evidence(const struct observation *o, struct verdict *v);

/*
 * Appends the request to v's sentence as its last clause, if the request may have to do with the
 * end. The sentence ends with a full stop before and after. An abort by Ray's handler of SIGTERM
 * gets another sentence and class: it interrupts a function that is not to blame.
 */
void stop_request_append(const struct observation *o, struct verdict *v);

/*
 * Describes the request, such as "SIGTERM from outside the container, 3.0 s before", "SIGTERM from
 * PID 7, 3.0 s before" or "SIGTERM from slurmstepd (PID 7), 3.0 s before". The caller has checked
 * that there is a request in o->asked. Returns text.
 */
const char *stop_request_describe(const struct observation *o, char *text, size_t size);
