/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints on the container's stderr what the sidecar asks for.
 *
 * Theory of operation. Nobody knows what stderr is: a pipe that nobody reads, a stopped terminal, a file on a filesystem
 * that hangs. It is the command's as well, so O_NONBLOCK must not be set on it, and between poll(2) and write(2) the command may
 * fill it. So a child writes, and may wait for as long as it likes. It is started for the first text: most containers never
 * have one. Texts reach it over a socket; what finds that socket full is lost.
 */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_SPEAKER_H
#define AFTERGLOW_SIDECAR_LAUNCH_SPEAKER_H

#include <stddef.h>
#include <sys/types.h>

#define SPEAKER_NONE ((struct speaker){ .fd = -1 })

struct speaker {
	int fd; /* to the child that writes, -1: there is none */
	pid_t pid;
};

/* Never waits. At most LAUNCH_MESSAGE_MAX bytes. */
void speaker_say(struct speaker *s, const char *text, size_t len);

/* That process has ended. */
void speaker_reaped(struct speaker *s, pid_t pid);

/* Before the launcher's end, which is also the child's: waits a moment for texts that are on their way. */
void speaker_finish(struct speaker *s);

#endif
