/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes for the sidecar which signal asked the container to stop, and which process sent it: the
 * command's exit code alone does not show whether the end was requested.
 *
 * Theory of operation. The kernel shows PID 0 as the sender of a kill(2) from outside our PID
 * namespace, such as a kill by the container runtime. Other processes cannot forge that:
 * rt_sigqueueinfo(2) demands a negative code for a made-up sender, and only SI_USER counts here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct stop_signal {
	int signo; /* 0: none came */
	pid_t sender; /* in our PID namespace; 0: a process outside it */
	int64_t at_ns; /* CLOCK_BOOTTIME */
};

/*
 * Notes SIGTERM, SIGINT and SIGQUIT: the first of them, and the first from outside, which replaces
 * it. So a flood of signals causes at most two messages. Returns whether there is something new to
 * send.
 */
bool stop_signal_note(struct stop_signal *s, const struct signalfd_siginfo *info, int64_t now_ns);

/*
 * Reports the signal to the sidecar, if there was a signal and there is a sidecar (socket_fd is not
 * -1).
 */
void stop_signal_send(const struct stop_signal *s, int socket_fd);
