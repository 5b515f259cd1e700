/* SPDX-License-Identifier: Apache-2.0 */
/* Notes which signal asked the container to stop, and reports it to the sidecar. */
#include "sidecar/launch/stop_signal.h"

#include <signal.h>

#include "sidecar/launch/connection.h"

static bool asks_to_stop(const struct signalfd_siginfo *info)
{
	return info->ssi_code == SI_USER &&
	       (info->ssi_signo == SIGTERM || info->ssi_signo == SIGINT ||
		info->ssi_signo == SIGQUIT);
}

bool stop_signal_note(struct stop_signal *s, const struct signalfd_siginfo *info, int64_t now_ns)
{
	pid_t sender = (pid_t)info->ssi_pid;

	if (!asks_to_stop(info) || (s->signo && (sender || !s->sender)))
		return false;
	*s = (struct stop_signal){ (int)info->ssi_signo, sender, now_ns };
	return true;
}

void stop_signal_send(const struct stop_signal *s, int socket_fd)
{
	if (s->signo && socket_fd >= 0)
		connection_sendf(socket_fd, NULL, 0, "asked %d %d %lld", s->signo, (int)s->sender,
				 (long long)s->at_ns);
}
