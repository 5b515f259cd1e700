/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests launch_*_test.c share. They start build/afterglow-launch on the kernel that we run
 * on, as a container runtime does, with a fake sidecar at the other end of its socket.
 *
 * AFTERGLOW_BUILD (default "build") names the directory of the programs. AFTERGLOW_LAUNCH names
 * another launcher than the static one in it (one with sanitizers, say). AFTERGLOW_TEST is a
 * pattern that the names of the tests to run must match.
 *
 * Where a step of a function cannot be done, the test that called it fails.
 */
#pragma once

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "sidecar/launch/protocol.h"

/*
 * Generous, because the machine may be slow and busy. What has to be quick is asserted against the
 * clock.
 */
#define PATIENCE_MS 60000
#define OUTPUT_MAX 32768
#define CHILDREN_MAX 256

/* Paths. The directory is the test program's own and empty but for the sidecar's socket. */
extern char launcher[PATH_MAX], probe[PATH_MAX], directory[64], socket_path[128];
/*
 * Whether the launcher is another one (AFTERGLOW_LAUNCH): linked with glibc, which keeps signals 32
 * and 33 to itself and needs descriptors to load.
 */
extern bool launcher_is_dynamic;

/*
 * Runs the tests in the array, or those of them that AFTERGLOW_TEST matches, and returns the exit
 * code of main(). Without root it fails.
 */
#define RUN_LAUNCH_TESTS(tests) \
	(launch_tests_prepare() ? \
		 cmocka_run_group_tests(tests, launch_tests_set_up, launch_tests_tear_down) : \
		 EXIT_FAILURE)
bool launch_tests_prepare(void);
int launch_tests_set_up(void **state);
int launch_tests_tear_down(void **state);

int64_t now_ms(void);
void pause_ms(long ms);
/* Returns the number as text, which is valid until the next call. */
const char *decimal(int n);
/* Creates or replaces a file in the directory; remove_file deletes it. */
void put_file(const char *name, const char *text, mode_t mode);
void remove_file(const char *name);

/* --- Processes --- */

/* A process under test: the launcher, or the bare command to compare it with. */
struct process {
	pid_t pid;
	int pidfd;
	int in, out, err; /* our ends of its pipes; -1: closed */
};

/* How a process is started; all zero is the usual way. */
struct how {
	bool pid1; /* in a PID namespace and a session of its own, with its /proc */
	bool termination_log; /* with a /dev that has a termination-log */
	bool bare; /* the command itself, no launcher */
	void (*prepare)(void); /* in the child, before exec */
};
extern const struct how usual, as_pid1;

/*
 * start(how, OPTION..., "--", COMMAND, ARG..., NULL): the launcher with our socket and those
 * arguments.
 */
struct process start(const struct how *how, ...) __attribute__((sentinel));
/* Starts any program. argv ends with NULL and begins with the path of the program. */
struct process start_argv(const struct how *how, const char *const *argv);
/* The launcher with a command that prints "ready\n" and exits with 0 at the end of its input. */
struct process start_waiting(const struct how *how);

/* The exit codes of `probe take`: a signal came, or the end of its input. */
#define TAKEN 7
#define NOT_TAKEN 3

void close_input(struct process *p);
/* Returns whether the process ends within that time; finish has yet to be called. */
bool ends_within(const struct process *p, int ms);
/*
 * Waits for the end, and releases p. Returns the exit code, or -N after signal N. A process that
 * takes longer than the time (finish: than PATIENCE_MS) is killed: TIMED_OUT.
 */
#define TIMED_OUT (-1000)
int finish(struct process *p);
int finish_within(struct process *p, int ms);

/* Runs `afterglow-launch --release PID`; returns its exit code. */
int run_release(pid_t pid);

/* Returns whether there is something to read from fd, or its end, within that time. */
bool readable_within(int fd, int ms);
/*
 * Returns what comes through fd until its end, or until the text ends in `until`, if that is not
 * NULL. Valid until the next call.
 */
const char *read_text(int fd, const char *until);

/* Reads the beginning of a file of /proc/PID. Returns false, and "", if it cannot be read. */
bool read_proc(pid_t pid, const char *name, char *text, size_t size);
/* The children of a process, by the host's PIDs. Returns how many there are, also of zombies. */
int children_of(pid_t pid, pid_t children[static CHILDREN_MAX]);
int count_children(pid_t pid);
int count_zombies(pid_t pid);
/* Waits until the process has n children. */
void wait_for_children(pid_t pid, int n);

/* --- The fake sidecar --- */

struct sidecar {
	int listener, connection; /* -1: none */
};

/* What the launcher says first on each connection. */
struct hello {
	char fds[8], name[80];
	int version, launcher_pid, command_pid;
	long long start_ns;
	int fd[LAUNCH_FDS_MAX];
	int n_fds;
};

struct sockaddr_un socket_address(void);
struct sidecar sidecar_listen(void);
/* Accepts the connection of a launcher. */
void sidecar_accept(struct sidecar *s);
/* Does the same, receives its hello, and closes the descriptors in it. */
void sidecar_greet(struct sidecar *s);
/* Closes the connection. */
void sidecar_hang_up(struct sidecar *s);
void sidecar_stop_listening(struct sidecar *s);
/* Does both. */
void sidecar_release(struct sidecar *s);

/* Receives hello with its descriptors; forget_hello closes them. */
struct hello receive_hello(const struct sidecar *s);
void forget_hello(struct hello *h);
/* Returns the next message, "" at the end of the connection. Valid until the next call. */
const char *receive_text(const struct sidecar *s);
/* Returns the wait status in the next message but "asked", which must be "exit". */
int receive_exit(const struct sidecar *s);

void order(const struct sidecar *s, const char *text);
/* Sends a descriptor with the order, which stays the caller's. */
void order_with_fd(const struct sidecar *s, const char *text, int fd);
/* Sends the writing end of a pipe with the order; returns the reading end. */
int order_with_pipe(const struct sidecar *s, const char *text);

/* Receives "exit" and answers "done"; returns the wait status. */
int dismiss(const struct sidecar *s);
/*
 * Does so as the last step of a test: the wait status must be that one, and the launcher's exit
 * code what follows from it. Releases both.
 */
void expect_end(struct sidecar *s, struct process *p, int wait_status);
/* Does the same for a command of start_waiting, whose input it closes before. */
void end_waiting(struct sidecar *s, struct process *p);
