/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to stop, by a signal to the container's launcher. What ends the container after it is
 * most likely not a failure. Pure.
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
	int signal; /* SIGTERM, SIGINT or SIGQUIT; 0: there was no request, as far as is known */
	/*
	 * in the container's PID namespace; 0: a process outside of it, such as the container
	 * runtime
	 */
	pid_t sender;
	int64_t at_ns; /* CLOCK_BOOTTIME */
};

/*
 * Whether the container was asked to stop before at_ns, and so shortly that the request explains an
 * end at that time. Kubernetes gives a container seconds to minutes (terminationGracePeriodSeconds)
 * before it kills it.
 */
bool stop_request_explains(const struct stop_request *s, int64_t at_ns);

/* Adds to the evidence who asked, and when. Adds nothing if there was no request. */
void stop_request_evidence(const struct observation *o, struct verdict *v);

/* "SIGTERM from outside the container, 3.0 s before", "SIGTERM from PID 7, 3.0 s before"; o->asked is set. Returns text. */
const char *stop_request_describe(const struct observation *o, char *text, size_t size);

#endif
