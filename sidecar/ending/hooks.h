/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks are commands that are run in the container when its memory passes a threshold,
 * and when it has died but its launcher has not.
 *
 * Theory of operation. The launcher runs them (launch/protocol.h), one at a
 * time. The sidecar makes the pipe for the output and sends only its writing end,
 * so it never reads from a descriptor that the container made. The output stays
 * in memory until a bundle takes it: at most HOOK_OUTPUT_MAX of each hook, and
 * the results of HOOK_RESULTS_MAX hooks.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/strbuf.h"
#include "sidecar/socket/channel.h"

#define HOOK_COMMANDS_MAX 8 /* for each moment */
/* bytes; the command and the script before it have to fit into a message */
#define HOOK_COMMAND_MAX 2048
#define HOOK_OUTPUT_MAX (64 * 1024)
#define HOOK_RESULTS_MAX 16
/* bytes that a hook may write into one file of the container */
#define HOOK_FILE_MAX ((int64_t)64 << 20)
#define HOOK_ROUND_SPACING_NS (60 * NS_PER_SEC) /* between rounds at thresholds */
#define HOOK_RESULT_AGE_NS (600 * NS_PER_SEC) /* older output has nothing to do with a death */
#define DEFAULT_HOOK_TIMEOUT_S 10
#define DEFAULT_HOOK_HEADROOM ((int64_t)64 << 20)

enum hook_moment { HOOK_AT_THRESHOLD, HOOK_AT_DEATH };

struct hook_options {
	const char *commands[2][HOOK_COMMANDS_MAX + 1]; /* by moment; each ends with NULL */
	int timeout_s; /* for each */
	/* hooks are not run with less free memory below the limit; 0: they always run */
	int64_t headroom;
};

enum hook_outcome { HOOK_ENDED, HOOK_TIMED_OUT, HOOK_NO_HEADROOM, HOOK_REFUSED, HOOK_LOST };

struct hook_result {
	unsigned int number; /* counts the hooks of this container from 1 */
	enum hook_moment moment;
	enum hook_outcome outcome;
	const char *command;
	char reason[32];
	pid_t pid; /* AFTERGLOW_PID, 0: it was not set */
	int64_t at_ns, ended_ns; /* CLOCK_BOOTTIME */
	int wait_status; /* with HOOK_ENDED and HOOK_TIMED_OUT */
	int refused_errno;
	int64_t headroom; /* bytes, -1: not known */
	bool cut; /* there was more output */
	struct strbuf output;
};

struct hooks_callbacks {
	int64_t (*headroom)(void *arg); /* bytes, -1: not known */
	/* all hooks that were due have ended; not called from within hooks_due */
	void (*done)(void *arg);
	void *arg;
};

struct hooks;

/*
 * socket_fd is the launcher's connection and stays the caller's. Returns NULL without memory, or if
 * options have no command.
 */
struct hooks *hooks_new(struct event_base *base, int socket_fd, const struct hook_options *options,
			const struct hooks_callbacks *callbacks);
void hooks_free(struct hooks *h);

/*
 * Runs the commands of that moment in turn. pid is the largest process; reason,
 * which has no quotes, says why they run. Returns true if a command runs now;
 * then done() will be called. h may be NULL.
 */
bool hooks_due(struct hooks *h, enum hook_moment moment, pid_t pid, const char *reason,
	       int64_t now_ns);

/* Takes an answer of the launcher about hooks; ignores other messages. */
void hooks_message(struct hooks *h, const struct launch_message *m);

/*
 * The launcher is gone: a running hook is lost, and hooks that were due are not run. done() is not
 * called.
 */
void hooks_abandon(struct hooks *h);

/* Calls fn for each result that is recent enough at now_ns, in the order in which the hooks ran. */
void hooks_each(const struct hooks *h, int64_t now_ns,
		void (*fn)(const struct hook_result *r, void *arg), void *arg);

/*
 * Makes the script for /bin/sh: the environment, then the command. Pure. -E2BIG: it does not fit.
 */
int hook_script(const char *command, pid_t pid, const char *reason, char *script, size_t size);
