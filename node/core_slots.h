/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how many cores sidecars read at a time. While a sidecar reads, the crashed process cannot
 * end, and the kernel counts its dump: beyond kernel.core_pipe_limit the kernel drops the cores of
 * the whole node. A sidecar may be hostile and read as slowly as it likes.
 *
 * So each pod has slots of its own, which no other pod can take. Where the kernel has a limit, all
 * pods together get half of it, and of that half a pod gets a quarter. A pod that has none and
 * finds the half taken says so and waits: then no sidecar has longer than CORE_SLOT_CERTAIN_S for
 * its answer, and as long for its reading, and nobody takes a free slot who does not wait as well.
 * A quarter of the limit is for those that wait, and the rest for dumps that no pod holds up. A pod
 * that held slots for CORE_SLOTS_SHARE_S after others had found all taken gets none until
 * CORE_SLOTS_PERIOD_S are over: so hostile pods, however many, keep others away for a small part of
 * that time. What a pod held while nobody else wanted it costs nothing.
 *
 * A slot is a lock on a byte of a file that has none: it is freed when its holder ends, even by a
 * signal.
 *
 * A listener that accepts no connection, or closes none, keeps each in the kernel's memory, and
 * none of that counts for the pod. So a connection first takes one of CORE_LINKS_OF_POD places of
 * the pod in another file, and holds it until the listener has closed its end. A place outlives the
 * slot.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

#define CORE_SLOTS_OF_POD 4 /* at most */
#define CORE_LINKS_OF_POD 16
#define CORE_SLOT_CERTAIN_S 3
#define CORE_SLOT_WAIT_S 7 /* at most */
#define CORE_SLOTS_SHARE_S 10
#define CORE_SLOTS_PERIOD_S 600

/*
 * Takes a slot and returns its descriptor; closing it frees the slot. directory: where the file is.
 * pipe_limit: kernel.core_pipe_limit, 0: the kernel has no limit. May wait. -EBUSY: all slots that
 * the pod may have are taken, or it has had its share.
 */
int core_slot_take(const char *directory, const char *pod_uid, unsigned int pipe_limit,
		   struct err *err);

/* Takes a place for a connection in the same way, and never waits. -EBUSY: the pod has no more. */
int core_link_take(const char *directory, const char *pod_uid, struct err *err);

/* A slot that is held. The caller closes it. */
struct core_slot {
	int fd;
	bool wanted;
	/* when it was looked last that nobody wants it, or first of all; 0: never */
	int64_t since_ns;
};

/*
 * Returns whether a pod without a slot was refused since this slot was taken, because all were
 * taken. now_ns: CLOCK_BOOTTIME.
 */
bool core_slot_is_wanted(struct core_slot *slot, int64_t now_ns);

/*
 * Notes for how long the pod has held the slot since another one wanted it, at most: from the look
 * before the one that found out.
 */
void core_slot_account(const char *directory, const char *pod_uid, const struct core_slot *slot,
		       int64_t now_ns);
