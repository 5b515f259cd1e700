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
 *
 * `afterglow run`, the launcher and the command are three processes in the place of one. What is
 * sent to all of their process group, as by `kill %1` and by schedulers, has reached the command
 * already: then the launcher gets it from its sender too, and neither that nor what `afterglow run`
 * asks for is forwarded. A program may take a second SIGTERM or SIGINT for an order to give up at
 * once. What only the launcher gets, as from a command that signals its parent, is forwarded a
 * second later, when `afterglow run` has not asked for it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FORWARDING_SIGNALS 31 /* 1 to 31; real-time signals queue, so they are not held */
/* the last signal, by which `afterglow run` asks for one, whose number and sender go with it */
#define FORWARDING_ASKED 64
#define FORWARDING_VALUE(signo, sender) ((sender) << 7 | (signo))

struct forwarding {
	pid_t command;
	bool as_process_1;
	int looks_left[FORWARDING_SIGNALS + 1]; /* of a signal that is held; 0: it is not */
	bool is_open[FORWARDING_SIGNALS + 1]; /* of a signal that is held: it was not blocked */
	int64_t look_at_ns; /* when to look again at the signals that are held */
	pid_t run; /* `afterglow run`; 0: there is none */
	/*
	 * When others sent the signal to us, perhaps as to the whole group; and when it is to be
	 * forwarded, whether they sent it or `afterglow run` asked for it. 0: never
	 */
	int64_t sent_ns[FORWARDING_ASKED + 1], forward_at_ns[FORWARDING_ASKED + 1];
};

/*
 * Forwards the signal, holds it, or drops it. asked: by `afterglow run`. Returns false if it would
 * be dropped, as far as is seen.
 */
bool forwarding_take(struct forwarding *f, int signo, bool asked, int64_t now_ns);

/* Returns when forwarding_look is to be called; INT64_MAX: no signal is held. */
int64_t forwarding_next_ns(const struct forwarding *f);
void forwarding_look(struct forwarding *f, int64_t now_ns);

/*
 * Stops this process by a signal that it blocks, as the command is stopped. In a process group that
 * no shell minds (ssh -t, a pane of tmux) the kernel then stops nobody. SIGSTOP would stop the
 * process there, too, and nobody would continue it.
 */
static inline void forwarding_stop_self(int signo)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signo);
	raise(signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
}
