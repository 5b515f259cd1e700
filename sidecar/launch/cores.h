/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's side of the search for cores: what is found goes on to the sidecar. */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_CORES_H
#define AFTERGLOW_SIDECAR_LAUNCH_CORES_H

#include <stdbool.h>
#include <sys/types.h>

struct cores {
	int fd; /* to the process that searches, -1: none */
	pid_t pid;
	int removing; /* it was told to remove so many, and has not answered */
	bool unasked; /* nobody but us wants cores: the soft limit was 0 */
};

/* Nothing is searched for until this; without it all of the below does nothing. socket_fd: not the searcher's; -1: none. */
void cores_start(struct cores *c, int socket_fd);

/* The searcher has something to say (cores->fd is readable): a core goes to the sidecar, if there is one (-1: none). */
void cores_relay(struct cores *c, int socket_fd);

/* The sidecar wants nothing more of a core: what is left of the order after its verb. Only if only we made it be written. */
void cores_remove(struct cores *c, const char *which);

/* A sidecar has connected: it gets those too that were found before. */
void cores_again(struct cores *c);

/* Hands over what is there now, if that takes no longer than a moment: before the sidecar is told of the end. */
void cores_flush(struct cores *c, int socket_fd);

/* Before we leave, and the searcher with us: what is to be removed is, if that takes no longer than a moment. */
void cores_finish(struct cores *c);

/* That process has ended. */
void cores_reaped(struct cores *c, pid_t pid);

#endif
