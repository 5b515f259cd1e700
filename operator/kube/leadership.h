/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs leader election on a thread of its own, so that the main loop never costs the Lease, however
 * long it takes.
 *
 * Theory of operation. The thread has its own event loop, its own client with its own connections
 * and credentials, and the elector (elector.h). Both sides send each other messages over a socket
 * pair. They share two atomic numbers and nothing else: until when we hold the Lease, which is
 * compared with the clock right before each write; and when the main loop last ran. If the main
 * loop has not run for LEADERSHIP_SILENCE_NS, it hangs: then the thread stops renewing, and another
 * replica may act.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "operator/kube/kubeconfig.h"

/* No plan takes a tenth of it (raycluster/bounds.h). */
#define LEADERSHIP_SILENCE_NS ((int64_t)60 * 1000000000)

struct leadership;

/* All callbacks are called by the main loop. */
struct leadership_options {
	/*
	 * The base of the main loop, with at least two priorities: messages from the thread come
	 * first.
	 */
	struct event_base *base;
	const char *namespace, *name; /* of the Lease */
	int64_t silence_ns; /* 0: LEADERSHIP_SILENCE_NS */
	void (*on_acquired)(void *arg);
	/*
	 * Called when another replica acts, or may act: the program must end at once. why says why.
	 */
	void (*on_lost)(void *arg, const char *why);
	/* Called when there is trouble with the Lease, once until it is over (then err is NULL). */
	void (*on_trouble)(void *arg, const struct err *err);
	/* Called when credentials could not be read again; the old ones stay in use. */
	void (*on_credentials)(void *arg, const struct err *err);
	/* Called after each request, for metrics; code 0 means no answer. */
	void (*on_request)(void *arg, const char *method, int code);
	void *arg;
};

/* Takes what config holds over, also on failure. The strings of options must outlive it. */
int leadership_new(const struct leadership_options *options, struct kubeconfig *config,
		   struct leadership **ret_leadership, struct err *err);
/* Ends the thread. No callback is called afterwards. A Lease that is held expires. */
void leadership_free(struct leadership *leadership);

int leadership_start(struct leadership *leadership, struct err *err);
/*
 * Call this when all work has ended: gives the Lease back, so that another replica need not
 * wait. done is called once, soon.
 */
void leadership_stop(struct leadership *leadership, void (*done)(void *arg), void *arg);

/* The fence: returns whether we may write. Ask it right before each write. */
bool leadership_is_held(const struct leadership *leadership);
/*
 * Returns whether we hold the Lease as far as we know, but should have renewed it or given up by
 * now, so that something must be delaying the thread.
 */
bool leadership_is_overdue(const struct leadership *leadership);
/* The same as elector_identity and elector_holder. */
const char *leadership_identity(const struct leadership *leadership);
const char *leadership_holder(const struct leadership *leadership);
