/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which of several replicas acts: the state machine of a Lease, without any
 * I/O. The elector passes it each event and carries out its decision.
 *
 * The rules are client-go's. A replica takes a Lease that nobody holds, or whose
 * record has not changed for LEASE_DURATION_NS by its own clock; times in the
 * record are never compared, so clocks may differ. The holder renews every
 * LEASE_RETRY_NS and gives up LEASE_RENEW_DEADLINE_NS after it sent its last
 * successful renewal, which is before another replica can take over. The API server
 * does not fence writes: code that writes must call lease_is_held() first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LEASE_DURATION_NS ((int64_t)15 * 1000000000)
#define LEASE_RENEW_DEADLINE_NS ((int64_t)10 * 1000000000)
#define LEASE_RETRY_NS ((int64_t)2 * 1000000000)
/* The time limit of each request, so that a request that hangs leaves time for another. */
#define LEASE_REQUEST_NS ((int64_t)5 * 1000000000)

#define LEASE_HOLDER_MAX 320 /* a host name, "_" and a UUID */
#define LEASE_RV_MAX 64
#define LEASE_TIME_MAX 40

/* The fields of a Lease object that are used. */
struct lease_record {
	char holder[LEASE_HOLDER_MAX]; /* "": nobody */
	char rv[LEASE_RV_MAX];
	char acquired[LEASE_TIME_MAX]; /* acquireTime as text, only passed on */
	int64_t transitions;
};

enum lease_event_kind {
	LEASE_TICK, /* the wait is over, or the deadline has come */
	LEASE_READ, /* record: the Lease as it is */
	LEASE_ABSENT, /* there is no Lease */
	LEASE_WRITTEN, /* our write was taken: record with its new version */
	LEASE_CONFLICT, /* our write was refused, because the Lease has changed */
	LEASE_FAILED, /* no answer, or none of the above */
	LEASE_STOP, /* the work has ended: give the Lease back */
};

struct lease_event {
	enum lease_event_kind kind;
	const struct lease_record *record;
	int64_t sent_ns; /* WRITTEN: when the request was sent */
};

enum lease_action {
	LEASE_WAIT, /* drop what runs; LEASE_TICK after delay_ns */
	LEASE_GET,
	LEASE_CREATE, /* write, as a new object */
	LEASE_UPDATE, /* write, if its version is still write.rv */
	LEASE_LOST, /* we no longer hold it, or cannot know: end the program at once */
	LEASE_DONE, /* after LEASE_STOP: it is given back, or was not ours */
};

struct lease_step {
	enum lease_action action;
	int64_t delay_ns;
	bool acquired; /* we are the holder from now on */
	struct lease_record write; /* acquired "": the time of writing */
};

struct lease {
	char identity[LEASE_HOLDER_MAX];
	struct lease_record seen; /* the last known record; rv "": none */
	int64_t seen_ns; /* when it was first seen, by our clock */
	bool held; /* until deadline_ns */
	bool stopping;
	int64_t deadline_ns;
	uint64_t seed;
};

void lease_init(struct lease *l, const char *identity, uint64_t seed);

/* now_ns is CLOCK_BOOTTIME, which continues while the machine is suspended. */
struct lease_step lease_step(struct lease *l, const struct lease_event *event, int64_t now_ns);

/* The fence: returns whether we hold it at this moment. */
bool lease_is_held(const struct lease *l, int64_t now_ns);
