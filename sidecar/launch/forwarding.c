/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards signals to the command. */
#include "sidecar/launch/forwarding.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/macros.h"
#include "sidecar/launch/clock.h"
#include "sidecar/launch/disposition.h"

/*
 * A signal that is blocked at each of these looks is blocked for good, so it is forwarded. One that
 * was not blocked would be dropped, unless the command is seen in sigwait(3) at one of them.
 */
#define LOOKS 5
#define LOOK_NS (10 * NS_PER_MS)
/*
 * The time between a signal to the launcher and that to `afterglow run`, of one sender, if it comes
 * first, and if it comes second.
 */
#define SENT_TO_ALL_NS NS_PER_SEC
#define SENT_TO_ONE_NS (20 * NS_PER_MS)

/*
 * The runtime may signal every process of the container. We may not if the command has changed its
 * user and root lacks CAP_KILL here; then we become that user for the moment.
 */
static void forwarding_send(pid_t command, int signo)
{
	char path[32];
	struct stat owned;
	int dumpable = prctl(PR_GET_DUMPABLE);

	snprintf(path, sizeof(path), "/proc/%d", (int)command);
	if (kill(command, signo) == 0 || errno != EPERM || stat(path, &owned) < 0 ||
	    seteuid(owned.st_uid) < 0)
		return;
	kill(command, signo);
	if (seteuid(getuid()) == 0)
		/* a change of user clears it, and hides our files in /proc */
		prctl(PR_SET_DUMPABLE, dumpable);
}

static void forwarding_pair(struct forwarding *f, int signo, bool asked, int64_t now_ns)
{
	bool was_sent = f->sent_ns[signo] && now_ns - f->sent_ns[signo] < SENT_TO_ALL_NS,
	     was_asked = f->forward_at_ns[signo] && !was_sent;

	/* What others send to our process group does not reach a command that has left it. */
	if (asked ? was_asked : getpgid(f->command) != getpgrp())
		forwarding_send(f->command, signo);
	/*
	 * Two at once, as from timeout(1) or when a terminal hangs up, may be one here and two
	 * there.
	 */
	f->sent_ns[signo] = (asked ? was_sent : was_asked) ?
				    now_ns - SENT_TO_ALL_NS + SENT_TO_ONE_NS :
			    asked ? 0 :
				    now_ns;
	/*
	 * What `afterglow run`, which is alive, has not got in this time, was sent to us alone, as
	 * by a command that signals its parent.
	 */
	bool alone =
		!asked && !was_asked && getpgid(f->command) == getpgrp() && getppid() == f->run;
	f->forward_at_ns[signo] = asked && !was_sent ? now_ns + SENT_TO_ONE_NS :
				  alone		     ? now_ns + SENT_TO_ALL_NS :
						       0;
}

bool forwarding_take(struct forwarding *f, int signo, bool asked, int64_t now_ns)
{
	if (f->run && signo <= FORWARDING_ASKED) {
		forwarding_pair(f, signo, asked, now_ns);
		return true;
	}
	enum disposition d =
		f->as_process_1 ? disposition_read(f->command, signo) : DISPOSITION_TAKEN;

	if (d != DISPOSITION_TAKEN && signo <= FORWARDING_SIGNALS) {
		if (forwarding_next_ns(f) == INT64_MAX)
			f->look_at_ns = now_ns + LOOK_NS;
		f->looks_left[signo] = LOOKS;
		f->is_open[signo] = d == DISPOSITION_DROPPED;
	} else if (d != DISPOSITION_DROPPED)
		forwarding_send(f->command, signo);
	return d != DISPOSITION_DROPPED;
}

int64_t forwarding_next_ns(const struct forwarding *f)
{
	int64_t next = INT64_MAX;

	for (int signo = 1; signo <= FORWARDING_SIGNALS; signo++)
		if (f->looks_left[signo])
			return f->look_at_ns;
	for (int signo = 1; signo <= FORWARDING_ASKED; signo++)
		if (f->forward_at_ns[signo])
			next = MIN(next, f->forward_at_ns[signo]);
	return next;
}

void forwarding_look(struct forwarding *f, int64_t now_ns)
{
	if (now_ns < forwarding_next_ns(f))
		return;
	f->look_at_ns = now_ns + LOOK_NS;
	for (int signo = 1; signo <= FORWARDING_ASKED; signo++)
		if (f->forward_at_ns[signo] && f->forward_at_ns[signo] <= now_ns) {
			f->forward_at_ns[signo] = 0;
			forwarding_send(f->command, signo);
		}
	for (int signo = 1; signo <= FORWARDING_SIGNALS; signo++) {
		if (!f->looks_left[signo])
			continue;
		enum disposition d = f->is_open[signo] ? DISPOSITION_DROPPED :
							 disposition_read(f->command, signo);
		f->is_open[signo] = d == DISPOSITION_DROPPED;
		f->looks_left[signo]--;
		if (d == DISPOSITION_TAKEN || (d == DISPOSITION_BLOCKED && !f->looks_left[signo]) ||
		    (d == DISPOSITION_DROPPED && disposition_in_sigwait(f->command, signo))) {
			f->looks_left[signo] = 0;
			forwarding_send(f->command, signo);
		}
	}
}
