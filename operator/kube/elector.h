/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leader election: carries out the decisions of lease.h on a Lease object of the cluster. It has a
 * client of its own.
 */
#pragma once

#include "operator/kube/client.h"

struct elector;

struct elector_options {
	struct event_base *base;
	struct client *client;
	const char *namespace, *name; /* of the Lease */
	/* Called when the results of the functions below may have changed. NULL is allowed. */
	void (*on_step)(void *arg);
	void (*on_acquired)(void *arg);
	/* Called when another replica acts, or may act: the program must end at once. */
	void (*on_lost)(void *arg);
	/* Called when there is trouble with the Lease, once until it is over (then err is NULL). */
	void (*on_trouble)(void *arg, const struct err *err);
	void *arg;
};

/* The client and the strings of options must outlive it. */
int elector_new(const struct elector_options *options, struct elector **ret_elector,
		struct err *err);
void elector_free(struct elector *elector);

void elector_start(struct elector *elector);
/*
 * Call this when all work has ended: gives the Lease back, so that another replica need not
 * wait. done is called once, soon.
 */
void elector_stop(struct elector *elector, void (*done)(void *arg), void *arg);

/* The fence: returns whether we may write. Ask it right before each write. */
bool elector_is_leader(const struct elector *elector);
/*
 * Returns until when we hold the Lease, by the boot clock; 0 if we do not hold it. That time may
 * have passed.
 */
int64_t elector_deadline_ns(const struct elector *elector);
/* Returns "host_uuid", which each process makes anew. */
const char *elector_identity(const struct elector *elector);
/* Returns the last known holder, "" if there is none. */
const char *elector_holder(const struct elector *elector);
