/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints on the container's stderr what the sidecar asks for.
 *
 * Theory of operation. stderr may be a pipe that nobody reads, a stopped terminal, or a file on a
 * filesystem that hangs. The command uses it as well, so O_NONBLOCK must not be set on it, and
 * between poll(2) and write(2) the command may fill it. So a child writes to it, and may wait for
 * any time. The child is started for the first text, because most containers never have a text.
 * Texts are sent to it over a socket; if that is full, the text is lost.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define SPEAKER_NONE ((struct speaker){ .fd = -1 })

struct speaker {
	int fd; /* to the child that writes, -1: there is none */
	pid_t pid;
};

/* Prints text of at most LAUNCH_MESSAGE_MAX bytes. Never waits. */
void speaker_say(struct speaker *s, const char *text, size_t len);

/* To be called when the launcher has reaped pid. */
void speaker_reaped(struct speaker *s, pid_t pid);

/*
 * To be called before the launcher ends, which ends the child too: waits a moment for texts that
 * are under way.
 */
void speaker_finish(struct speaker *s);
