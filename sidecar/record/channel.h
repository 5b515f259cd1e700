/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar's end of the launcher's socket: receives one message and its
 * descriptors, parses it. What comes is hostile: any process of the Ray
 * container may connect and send anything.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_CHANNEL_H
#define AFTERGLOW_SIDECAR_RECORD_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "sidecar/launch/protocol.h"
#include "sidecar/verdict/stop_request.h"
#include "sidecar/verdict/unstarted.h"

enum launch_verb {
	LAUNCH_HELLO,
	LAUNCH_CGROUP,
	LAUNCH_UNSTARTED,
	LAUNCH_EXIT,
	LAUNCH_CORE,
	LAUNCH_RAN,
	LAUNCH_FINISHED,
	LAUNCH_REFUSED,
	LAUNCH_ENDED,
	LAUNCH_UNWATCHED,
	LAUNCH_ASKED,
	LAUNCH_OTHER
};

struct launch_message {
	enum launch_verb verb;
	/* hello */
	char fd_letters[LAUNCH_FDS_MAX + 1];
	char name[LAUNCH_NAME_MAX + 1]; /* launch_name_valid */
	pid_t launcher, command;
	int64_t started_ns;
	int cgroup_version; /* cgroup: 1 or 2 */
	struct unstarted unstarted; /* unstarted */
	/* exit, finished, ended */
	int wait_status;
	int64_t ended_ns; /* not of finished */
	/* core; 0 and "" for what is not known */
	pid_t core_pid, core_tid;
	int core_signal;
	char core_comm[64]; /* printable, no blank */
	/* ran, finished, refused; the last one is also that of unwatched */
	int hook_id;
	bool hook_timed_out;
	int hook_errno;
	/* ended, unwatched */
	pid_t process;
	bool status_known; /* of ended: whether wait_status is set */
	struct stop_request asked; /* asked */
};

/* Whether name may be a container's: 1 to 63 letters, digits, '.', '_' and '-', the first a letter or digit. */
bool launch_name_valid(const char *name);

/* Pure. len bytes of text, no final NUL needed. -EPROTO when a known verb's arguments are wrong. */
int launch_message_parse(const char *text, size_t len, struct launch_message *ret_message, struct err *err);

/*
 * One recvmsg. fds (discarded by the caller, unless the gate admits them) and *ret_n_fds are set on success.
 * 0: the other end is gone; 1: a message; -EAGAIN: none now; else -errno.
 */
int launch_receive(int socket_fd, char text[static LAUNCH_MESSAGE_MAX], size_t *ret_len, int fds[static LAUNCH_FDS_MAX],
		   size_t *ret_n_fds, struct err *err);

/* Sends "verb" or "verb text", cut to what one message holds. Never blocks; -EAGAIN: the launcher does not read. */
int launch_send(int socket_fd, const char *verb, const char *text, struct err *err);

/* The same with a descriptor, which stays the caller's; -EMSGSIZE instead of a cut text. */
int launch_send_fd(int socket_fd, const char *verb, const char *text, int fd, struct err *err);

#endif
