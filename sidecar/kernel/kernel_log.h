/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the kernel log says about a container's death. It reads the log when it is
 * asked to, knows the container's cgroup, and keeps the lines for the bundle (kernel.log,
 * syslog.log).
 */
#pragma once

#include "sidecar/kernel/kernel_evidence.h"
#include "sidecar/kernel/kmsg_read.h"
#include "sidecar/sample/processes.h"

struct kernel_log_options {
	bool off;
	const char *syslog; /* a file, or a directory with one ("/var/log"); NULL: none */
};

struct kernel_log {
	struct kernel_log_options options;
	/* The owner sets these two after kernel_log_open: */
	/* the lines of the node's syslog that the node agent sent; NULL: none */
	const struct strbuf *node_syslog;
	/* the part of the kernel log that the node agent sent; NULL: none */
	const struct kmsg_log *node;
	const char *pod_uid; /* NULL outside Kubernetes */
	pid_t command, launcher; /* in the node's PID namespace, 0 unknown */
	char cgroup[KMSG_PATH_MAX]; /* "" unknown */
	bool shared; /* the sidecar is in that cgroup too, and others may be */
	int64_t since_us, named_since_us; /* as in struct kernel_question */
	int64_t begin_us; /* the first value of since_us */
	struct gpus gpus; /* of the container */
	char *excerpt; /* the lines that the last look found, NULL: none */
};

/*
 * Prepares k. launcher: its PID as root_fd's /proc numbers it; command: the command's PID in the
 * node's PID namespace, 0 unknown; started_ns: CLOCK_BOOTTIME of the command's start. pod_uid stays
 * the caller's. Never fails: if the log cannot be read, the evidence says so.
 */
void kernel_log_open(struct kernel_log *k, int root_fd, pid_t launcher, pid_t command,
		     int64_t started_ns, const char *pod_uid,
		     const struct kernel_log_options *options);
/* Sets the container's cgroup, as in /proc/PID/cgroup, if it is not the cgroup of its launcher. */
void kernel_log_set_cgroup(struct kernel_log *k, const char *cgroup);
void kernel_log_close(struct kernel_log *k);

/*
 * To be called after a death at ended_ns (CLOCK_BOOTTIME): finds what the log says about it.
 * top: the processes of the last sample. The next call begins where this call ended.
 */
void kernel_log_look(struct kernel_log *k, int64_t ended_ns, const struct process *top,
		     size_t n_top, struct kernel_evidence *ret_evidence);

/* The present time by the kernel log's clock, in microseconds, or slightly earlier. */
int64_t kernel_log_now_us(void);

/* What would be needed to read the log after kmsg_read failed with that error. Static text. */
const char *kernel_log_needs(int error, bool in_pod, bool restricted);

/* Appends the last max bytes of the syslog file to out, as whole lines. */
int kernel_log_syslog_tail(const char *path, size_t max, struct strbuf *out, struct err *err);
