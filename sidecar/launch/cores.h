/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's side of the search for cores (core_watch.h): it sends the cores that are found to
 * the sidecar.
 */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct cores {
	int fd; /* to the process that searches, -1: none */
	pid_t pid;
	int removing; /* the number of orders to remove a core that it has not answered yet */
	bool unasked; /* cores are written only for us: the soft limit was 0 before */
};

/*
 * Starts the search; without it, the functions below do nothing. The searching process closes
 * socket_fd; -1: none. core_limit is that of struct command_report; NULL: not known.
 */
void cores_start(struct cores *c, const volatile rlim_t *core_limit, int socket_fd);

/*
 * To be called when cores->fd is readable: sends a core that was found to the sidecar (-1: there is
 * none).
 */
void cores_relay(struct cores *c, int socket_fd);

/*
 * Carries out the order "remove", given its arguments: removes a core that the sidecar has
 * processed, if it was written only for us.
 */
void cores_remove(struct cores *c, const char *which);

/* To be called when a sidecar has connected: sends it the cores that were found before, too. */
void cores_again(struct cores *c);

/*
 * To be called before the end is reported to the sidecar: sends it the cores that exist now, unless
 * that takes too long.
 */
void cores_flush(struct cores *c, int socket_fd);

/* To be called before the launcher ends: waits a moment for cores that are to be removed. */
void cores_finish(struct cores *c);

/* To be called when the launcher has reaped pid. */
void cores_reaped(struct cores *c, pid_t pid);
