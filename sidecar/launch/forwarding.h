/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forwards signals to the command. If the launcher is process 1, the command stands where process 1
 * would stand without us, so it gets a signal only if it would have got it there (disposition.h):
 * `sh -c 'ray start ...; echo'` outlives SIGTERM for the whole grace period as process 1.
 *
 * A signal that the command blocks is held for a moment. Shells block signals briefly around each
 * fork, and would die of a signal that the kernel drops for process 1 afterwards; a program that
 * reads signals from a signalfd blocks them all the time. A signal that would be dropped is held as
 * well, because the command may just have left sigwait(3), where it would have got it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FORWARDING_SIGNALS 31 /* 1 to 31; real-time signals queue, so they are not held */

struct forwarding {
	pid_t command;
	bool as_process_1;
	int looks_left[FORWARDING_SIGNALS + 1]; /* of a signal that is held; 0: it is not */
	bool is_open[FORWARDING_SIGNALS + 1]; /* of a signal that is held: it was not blocked */
	int64_t look_at_ns; /* when to look again at the signals that are held */
};

/* Forwards the signal, holds it, or drops it. Returns false if it would be dropped, as far as is seen. */
bool forwarding_take(struct forwarding *f, int signo, int64_t now_ns);

/* Returns when forwarding_look is to be called; INT64_MAX: no signal is held. */
int64_t forwarding_next_ns(const struct forwarding *f);
void forwarding_look(struct forwarding *f, int64_t now_ns);
