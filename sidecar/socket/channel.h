/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar's end of the launcher's socket: receives messages with their
 * descriptors and parses them. The input is hostile: any process of the Ray
 * container may connect and send anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "sidecar/launch/protocol.h"
#include "sidecar/verdict/launcher_words.h"

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
	LAUNCH_DUMPED,
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
	int64_t ended_ns; /* CLOCK_BOOTTIME; not set by finished */
	/* core; 0 and "" if not known */
	pid_t core_pid, core_tid;
	int core_signal;
	char core_comm[64]; /* printable, no blank */
	/* ran, finished, refused; dumped sets hook_id and hook_errno, unwatched hook_errno */
	int hook_id;
	bool hook_timed_out;
	int hook_errno;
	/* ended, unwatched */
	pid_t process;
	bool status_known; /* with ended: whether wait_status is set */
	struct stop_request asked; /* asked */
};

/*
 * Whether name can be the name of a container: 1 to 63 letters, digits, '.', '_' and '-', the first
 * a letter or digit.
 */
bool launch_name_valid(const char *name);

/* Whether waitpid(2) can give such a status for a process that has ended. */
bool wait_status_is_end(int status);

/*
 * Parses len bytes of text, which need no final NUL. Pure. -EPROTO if the arguments of a known verb
 * are wrong.
 */
int launch_message_parse(const char *text, size_t len, struct launch_message *ret_message,
			 struct err *err);

/*
 * Receives one message by one call of recvmsg. Returns 1 for a message, 0 if the other end has
 * closed the connection, -EAGAIN if there is no message now, else -errno. On success, sets fds and
 * *ret_n_fds; the caller discards the descriptors that the gate does not admit.
 */
int launch_receive(int socket_fd, char text[static LAUNCH_MESSAGE_MAX], size_t *ret_len,
		   int fds[static LAUNCH_FDS_MAX], size_t *ret_n_fds, struct err *err);

/*
 * Sends "verb" or "verb text", cut to the size of a message. Never blocks; -EAGAIN: the launcher
 * does not read.
 */
int launch_send(int socket_fd, const char *verb, const char *text, struct err *err);

/*
 * The same with a descriptor, which stays the caller's. Returns -EMSGSIZE where launch_send would
 * cut the text.
 */
int launch_send_fd(int socket_fd, const char *verb, const char *text, int fd, struct err *err);
