/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container that was asked to stop by a signal to its launcher: what ends it afterwards is most likely no failure of its own.
 * Pure.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_STOP_REQUEST_H
#define AFTERGLOW_SIDECAR_VERDICT_STOP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct observation;
struct verdict;

struct stop_request {
	int signal; /* SIGTERM, SIGINT or SIGQUIT; 0: it was not asked, as far as is known */
	pid_t sender; /* in the container's PID namespace; 0: a process outside it, as the container runtime is */
	int64_t at_ns; /* CLOCK_BOOTTIME */
};

/*
 * Whether it was asked to stop before at_ns, and so shortly that this explains an end at that time: Kubernetes gives a container
 * seconds to minutes (terminationGracePeriodSeconds) before it kills it.
 */
bool stop_request_explains(const struct stop_request *s, int64_t at_ns);

/* Adds who asked, and when, to the evidence; nothing when nobody did. */
void stop_request_evidence(const struct observation *o, struct verdict *v);

/* Makes it the last clause of v's sentence when it may have to do with the end; the sentence ends with a full stop. */
void stop_request_append(const struct observation *o, struct verdict *v);

/* "SIGTERM from outside the container, 3.0 s before", "SIGTERM from PID 7, 3.0 s before"; o->asked is set. Returns text. */
const char *stop_request_describe(const struct observation *o, char *text, size_t size);

#endif
