/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles a core in the program that the kernel runs for each core.
 *
 * No byte of the core is read until a sidecar has accepted it, so that it can still be passed on
 * whole. The kernel runs us with an empty environment in "/", with its own privileges. Every
 * descriptor that we open is closed on exec, so the program of the previous core_pattern finds
 * everything as the kernel made it. Descriptor 3 may be the kernel's (%F), so it stays as it is.
 */
#include "node/core_handler.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "node/core_file.h"
#include "node/core_pattern.h"
#include "node/core_slots.h"
#include "node/options.h"
#include "node/pod_of_process.h"
#include "node/sidecar_link.h"

/* A sidecar on a busy node may be slow; the process that crashed cannot end while we wait. */
#define ANSWER_WITHIN_MS 10000
/* Unknown verbs of a newer sidecar are skipped; the time limit covers all answers. */
#define ANSWERS_MAX 16
/* After that the rest of the core is given up, and the process ends. */
#define READ_WITHIN_MS (120 * 1000)
#define LOOK_EVERY_MS 1000 /* whether another pod waits for our slot */

bool core_handler_is_asked(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;

	return slash && strcmp(slash + 1, CORE_PROGRAM) == 0;
}

/* The agent crashes a process of its own, to see whether the kernel can run us. */
static bool is_probe(const char *directory, pid_t pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" CORE_PROBE, directory, (int)pid);
	return unlink(path) == 0;
}

static void find_pods(const char *directory, char *ret_pods, size_t size)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(PATH_MAX);
	char path[PATH_MAX];
	const char *kubelet = DEFAULT_KUBELET;

	snprintf(path, sizeof(path), "%s/" CORE_CONFIG, directory);
	if (file_read(AT_FDCWD, path, &text, NULL) == 0 && strbuf_str(&text)[0] == '/')
		kubelet = strbuf_str(&text);
	snprintf(ret_pods, size, "%.*s/pods", (int)strcspn(kubelet, "\n"), kubelet);
}

/*
 * Returns whether the slot is to be given back: when the time is over, or sooner if another pod
 * waits for it.
 */
static bool slot_is_over(struct core_slot *slot, int64_t began_ns, int64_t within_ms)
{
	int64_t now_ns = now_boottime_ns(), age_ns = now_ns - began_ns;
	bool wanted = core_slot_is_wanted(slot, now_ns);

	return age_ns >= within_ms * NS_PER_MS ||
	       (age_ns >= CORE_SLOT_CERTAIN_S * NS_PER_SEC && wanted);
}

/* Offers the core to the sidecar. Returns whether the sidecar wants it. */
static int core_offer(int link, struct core_slot *slot, const struct core_arguments *a, int pidfd,
		      const struct pod_of_process *pod, struct err *err)
{
	char text[NODE_MESSAGE_MAX + 1];
	struct process_status status;
	int64_t began_ns = now_boottime_ns();
	int rc = core_process_read(a->pid, pidfd, &status, err);

	if (rc < 0)
		return rc;
	snprintf(text, sizeof(text), "offer %s %d %d %s", pod->container_id, (int)status.own_pid,
		 a->signal, status.comm);
	rc = sidecar_link_send(link, text, -1, err);
	for (int i = 0;
	     rc == 0 && i < ANSWERS_MAX && !slot_is_over(slot, began_ns, ANSWER_WITHIN_MS);) {
		rc = sidecar_link_receive(link, LOOK_EVERY_MS, text, err);
		if (rc == 0 && strcmp(text, "take") == 0)
			return 0;
		if (rc == 0 && strncmp(text, "refuse", strlen("refuse")) == 0)
			return err_set(err, ECONNREFUSED, "%s", text);
		i += rc == 0;
		rc = rc == -ETIMEDOUT ? 0 : rc;
	}
	return rc < 0 ? rc : err_set(err, EPROTO, "the sidecar's answer");
}

static unsigned int pipe_limit(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64);

	file_read(AT_FDCWD, "/proc/sys/kernel/core_pipe_limit", &text, NULL);
	return (unsigned int)strtoul(strbuf_str(&text), NULL, 10);
}

/*
 * Ends the dump with SIGKILL when the time is over. The sidecar reads at its own pace. While it
 * reads, the process cannot end and occupies one of the few dumps that the kernel allows at a time.
 */
static void bound_reading(int pidfd, struct core_slot *slot)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int64_t began_ns = now_boottime_ns();
	int rc = 0;

	while (rc <= 0 && !slot_is_over(slot, began_ns, READ_WITHIN_MS)) {
		rc = poll(&ended, 1, LOOK_EVERY_MS);
		if (rc < 0 && errno != EINTR)
			break;
	}
	if (rc <= 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* Returns 0 if the sidecar has the core. */
static int hand_over(int link, struct core_slot *slot, const struct core_arguments *a, int pidfd,
		     const struct pod_of_process *pod, struct err *err)
{
	/* Without a pidfd we could not end a sidecar that reads for too long (bound_reading). */
	int rc = pidfd < 0 ? err_set(err, ENOSYS, "pidfd_open") :
			     core_offer(link, slot, a, pidfd, pod, err);

	if (rc == 0)
		rc = sidecar_link_send(link, "core", STDIN_FILENO, err);
	if (rc < 0)
		return rc;
	/* The kernel waits until the last reader has closed the pipe. */
	close(STDIN_FILENO);
	bound_reading(pidfd, slot);
	return 0;
}

/*
 * Leaves a process that holds our place (core_link_take) until the listener has closed its end of
 * the connection, as a sidecar does at once. The process is not our child, because the program in
 * BEFORE does not expect one. link: -1 if there is no connection.
 */
static void link_leave(int link)
{
	struct pollfd other_end = { .fd = link };

	shutdown(link, SHUT_WR);
	pid_t pid = link >= 0 && poll(&other_end, 1, 0) == 0 ? fork() : -1;
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid != 0)
		return;
	/* The kernel waits until the last reader has closed the pipe. */
	close(STDIN_FILENO);
	if (fork() == 0)
		while (poll(&other_end, 1, -1) < 0 && errno == EINTR)
			;
	_exit(0);
}

static int give_to_sidecar(const char *directory, const struct core_arguments *a, int pidfd,
			   struct err *err)
{
	_cleanup_close_ int place = -1, link = -1;
	struct core_slot slot = { .fd = -1 };
	struct pod_of_process pod;
	char pods[PATH_MAX];
	int rc = pod_of_process("/proc", a->pid, &pod, err);

	if (rc < 0)
		return rc;
	if (!pod.container_id[0])
		return err_set(err, ENOENT, "the process is in no container");
	place = core_link_take(directory, pod.pod_uid, err);
	if (place < 0)
		return place;
	find_pods(directory, pods, sizeof(pods));
	rc = sidecar_link_open(pods, "/proc", pod.pod_uid, a->pid, &link, err);
	if (rc >= 0)
		rc = slot.fd = core_slot_take(directory, pod.pod_uid, pipe_limit(), err);
	if (rc >= 0)
		rc = hand_over(link, &slot, a, pidfd, &pod, err);
	core_slot_account(directory, pod.pod_uid, &slot, now_boottime_ns());
	closep(&slot.fd);
	link_leave(link);
	return rc;
}

static bool kernel_adds_pid(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64);

	return file_read(AT_FDCWD, "/proc/sys/kernel/core_uses_pid", &text, NULL) == 0 &&
	       strbuf_str(&text)[0] == '1';
}

static int pass_to_file(const struct core_arguments *a, int pidfd, struct err *err)
{
	const char *name = a->before[0] ? a->before[0] : "";
	struct process_status status;
	char path[PATH_MAX];

	if (!a->may_add_pid || !kernel_adds_pid())
		return name[0] ? core_file_write(a, pidfd, name, STDIN_FILENO, err) : 0;
	int rc = core_process_read(a->pid, pidfd, &status, err);
	if (rc < 0)
		return rc;
	if ((size_t)snprintf(path, sizeof(path), "%s.%d", name, (int)status.own_pid) >=
	    sizeof(path))
		return err_set(err, ENAMETOOLONG, "%.100s", name);
	return core_file_write(a, pidfd, path, STDIN_FILENO, err);
}

/*
 * Runs the program as the kernel would have done: with the same arguments and standard input, and
 * no environment. One of the arguments is mostly the PID, by which the program finds the process.
 */
static int pass_to_program(char *const *words, int pidfd, struct err *err)
{
	char *argv[CORE_PATTERN_MAX];
	size_t n = 0;

	/* "| /program" is two words. */
	if (words[0][1])
		argv[n++] = words[0] + 1;
	for (words++; *words && n + 1 < ARRAY_SIZE(argv); words++)
		argv[n++] = *words;
	argv[n] = NULL;
	if (n == 0)
		return err_set(err, ENOENT, "core_pattern names no program");
	if (core_process_check(pidfd, err) < 0)
		return -err->code;
	execve(argv[0], argv, (char *const[]){ NULL });
	return err_set(err, errno, "%s", argv[0]);
}

int core_handler_run(char **argv)
{
	_cleanup_close_ int pidfd = -1;
	char directory[PATH_MAX];
	struct core_arguments arguments;
	struct err err = { 0 };

	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(argv[0], '/') - argv[0]),
		 argv[0]);
	if (core_arguments_parse(argv, &arguments, &err) < 0)
		return 2;
	if (is_probe(directory, arguments.pid))
		return 0;
	/*
	 * The pidfd is opened first: if the process is killed and its PID is reused, the new
	 * process is not mistaken for it.
	 */
	pidfd = (int)syscall(SYS_pidfd_open, arguments.pid, 0);
	if (pidfd < 0 && errno == ESRCH)
		return 1;
	if (give_to_sidecar(directory, &arguments, pidfd, &err) == 0)
		return 0;
	err = (struct err){ 0 };
	if (arguments.before[0] && arguments.before[0][0] == '|')
		return pass_to_program(arguments.before, pidfd, &err) < 0;
	alarm(CORE_STALL_S);
	return pass_to_file(&arguments, pidfd, &err) < 0;
}
