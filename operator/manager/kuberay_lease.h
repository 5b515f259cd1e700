/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides from KubeRay's Leases whether its operator runs: a function from the Leases, and the
 * times at which they were read, to a verdict. No I/O.
 *
 * KubeRay's replicas elect a leader by the Lease ray-operator-leader in the namespace where they
 * run (its main.go, 1.6 and 1.7; controller-runtime renews it every 2 s, and it is valid for 15 s).
 * Several KubeRay operators have several such Leases. A Lease is being renewed if the text of its
 * renewTime differs from the last reading; the time in it is never compared with our clock. Only
 * answers count: time passes only from one answer to the next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KUBERAY_LEASE "ray-operator-leader"
#define KUBERAY_LOOK_NS ((int64_t)5 * 1000000000) /* from one look to the next, at most */
/*
 * After KubeRay was seen, this number of durations of its Lease without a renewal means that it is
 * gone. One is not enough: KubeRay does not give the Lease back, so after a restart it renews
 * nothing for one duration and the start of its pod.
 */
#define KUBERAY_GONE_DURATIONS 4

/*
 * Bounds for Leases, because everybody who may write Leases in some namespace can write such
 * Leases.
 */
#define KUBERAY_LEASES_MAX 256
#define KUBERAY_DURATION_S 15 /* where the Lease has none */
#define KUBERAY_DURATION_MAX_S 60
#define KUBERAY_NAMESPACE_MAX 64
#define KUBERAY_HOLDER_MAX 128 /* a longer name is cut; unprintable characters become '?' */
#define KUBERAY_TIME_MAX 40

/* A Lease as it was read. */
struct kuberay_lease {
	char namespace[KUBERAY_NAMESPACE_MAX];
	char holder[KUBERAY_HOLDER_MAX]; /* "": it was given back */
	char renewed[KUBERAY_TIME_MAX];
	int64_t duration_s;
};

enum kuberay_verdict {
	KUBERAY_UNKNOWN, /* nothing was read yet */
	KUBERAY_ABSENT, /* there is no Lease, or none that is renewed */
	/* a Lease is there that has a holder; it is too early to say whether it is renewed */
	KUBERAY_SUSPECTED,
	KUBERAY_RUNS, /* a Lease was renewed between two looks */
};

struct kuberay_sighting {
	char namespace[KUBERAY_NAMESPACE_MAX];
	char holder[KUBERAY_HOLDER_MAX];
	char renewed[KUBERAY_TIME_MAX];
	int64_t until_ns; /* without a renewal it counts until then */
	bool runs; /* it was seen being renewed */
	bool listed; /* in the last answer */
	bool at_start; /* it was in the first answer of all */
};

/* All zero at first. */
struct kuberay_sightings {
	enum kuberay_verdict verdict;
	struct kuberay_sighting leases[KUBERAY_LEASES_MAX];
	size_t n;
	bool too_many; /* some Leases had no room */
	int64_t seen_ns; /* when they were read last: no other time decides about them */
	int64_t next_ns; /* when to look again */
};

/*
 * Notes that all Leases of that name were read at now_ns (CLOCK_BOOTTIME). More than
 * KUBERAY_LEASES_MAX of them count as KUBERAY_RUNS.
 */
void kuberay_saw(struct kuberay_sightings *s, const struct kuberay_lease *leases, size_t n,
		 int64_t now_ns);

/* Returns what is known of the Lease in that namespace; NULL: there is none. */
struct kuberay_sighting *kuberay_sighting_of(const struct kuberay_sightings *s, const char *lease);

/*
 * Returns the Lease for which the verdict is SUSPECTED or RUNS; NULL if there is none, or there are
 * too many. believes (NULL: all) says which Leases count.
 */
typedef bool (*kuberay_believes_fn)(const void *arg, const struct kuberay_sighting *lease);
const struct kuberay_sighting *kuberay_witness(const struct kuberay_sightings *s, int64_t now_ns,
					       kuberay_believes_fn believes, const void *arg);
