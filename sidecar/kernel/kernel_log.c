/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the kernel log says about a container's death. */
#include "sidecar/kernel/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "sidecar/sample/isolation.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/rootfd.h"

#define CGROUP_TEXT_MAX (16 * 1024)
#define SUSPECTS_MAX 32
#define START_SLACK_US 1000000

/*
 * The clock of the kernel log runs like CLOCK_MONOTONIC on some machines and like
 * CLOCK_MONOTONIC_RAW on others. The earlier of both makes no record look older than it is.
 */
int64_t kernel_log_now_us(void)
{
	struct timespec monotonic, raw;

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	return MIN(monotonic.tv_sec * NS_PER_SEC + monotonic.tv_nsec,
		   raw.tv_sec * NS_PER_SEC + raw.tv_nsec) /
	       1000;
}

static int64_t to_kernel_us(int64_t boottime_ns)
{
	return kernel_log_now_us() - MAX(now_boottime_ns() - boottime_ns, (int64_t)0) / 1000;
}

static bool is_own_cgroup(const char *cgroup)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CGROUP_TEXT_MAX);
	char own[KMSG_PATH_MAX];
	int version;

	return file_read(AT_FDCWD, "/proc/self/cgroup", &text, NULL) == 0 &&
	       memcg_find_cgroup(strbuf_str(&text), own, sizeof(own), &version) == 0 &&
	       strcmp(own, cgroup) == 0;
}

void kernel_log_open(struct kernel_log *k, int root_fd, pid_t launcher, pid_t command,
		     int64_t started_ns, const char *pod_uid,
		     const struct kernel_log_options *options)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CGROUP_TEXT_MAX);
	char path[64];
	int version;

	kernel_log_close(k);
	/* If the command's PID is that of the node, so is the launcher's. */
	*k = (struct kernel_log){ .options = *options,
				  .pod_uid = pod_uid,
				  .command = command,
				  .launcher = command > 0 ? launcher : 0,
				  .since_us = -1,
				  .named_since_us = -1,
				  .begin_us = -1 };
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)launcher);
	if (root_fd < 0 || rootfd_read_no_fuse(root_fd, path, &text, NULL) < 0 ||
	    memcg_find_cgroup(strbuf_str(&text), k->cgroup, sizeof(k->cgroup), &version) < 0)
		k->cgroup[0] = '\0';
	/* Ray may have moved the launcher to a cgroup below, before we looked. */
	const char *isolated = isolation_node(k->cgroup);
	if (isolated)
		k->cgroup[isolated - k->cgroup] = '\0';
	k->shared = is_own_cgroup(k->cgroup);
	gpus_read(root_fd, &k->gpus);
	/*
	 * A command that crashed at once did so before we began to look, and the clocks differ by
	 * some milliseconds.
	 */
	k->since_us = to_kernel_us(started_ns) - START_SLACK_US;
	k->named_since_us = options->off ? k->since_us : kmsg_newest_us();
	k->since_us = MIN(k->named_since_us, k->since_us);
	k->begin_us = k->since_us;
}

void kernel_log_set_cgroup(struct kernel_log *k, const char *cgroup)
{
	snprintf(k->cgroup, sizeof(k->cgroup), "%s", cgroup);
	k->shared = is_own_cgroup(k->cgroup);
}

void kernel_log_close(struct kernel_log *k)
{
	free(TAKE_PTR(k->excerpt));
}

const char *kernel_log_needs(int error, bool in_pod, bool restricted)
{
	if (error == 0)
		return in_pod ? "recording.kernelLog.enabled: it is off" :
				"--kernel-log auto: it is off";
	if (error != EPERM && error != EACCES)
		return "a kernel that lets its log be read (CONFIG_PRINTK)";
	if (restricted)
		return in_pod ?
			       "CAP_SYSLOG, as kernel.dmesg_restrict is 1 here: set recording.kernelLog.enabled" :
			       "root or CAP_SYSLOG, as kernel.dmesg_restrict is 1 here";
	return in_pod ?
		       "a seccomp profile that allows syslog(2), as the runtime's does with CAP_SYSLOG: set "
		       "recording.kernelLog.enabled" :
		       "a seccomp profile that allows syslog(2)";
}

static bool is_restricted(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(16);

	return file_read(AT_FDCWD, "/proc/sys/kernel/dmesg_restrict", &text, NULL) < 0 ||
	       strbuf_str(&text)[0] != '0';
}

static size_t list_suspects(const struct kernel_log *k, const struct process *top, size_t n_top,
			    struct kernel_suspect suspects[static SUSPECTS_MAX])
{
	size_t n = 0;

	if (k->command > 0)
		suspects[n++] = (struct kernel_suspect){ .name = "", .pid = k->command };
	for (size_t i = 0; i < n_top && n < SUSPECTS_MAX; i++)
		suspects[n++] = (struct kernel_suspect){
			.name = top[i].name,
			.rss = top[i].rss,
			.pid = k->command > 0 ? top[i].pid : 0,
		};
	return n;
}

/* Notes how far the log has been read, because older records do not explain a later death. */
static void look_is_done(struct kernel_log *k, const struct kmsg_log *log)
{
	for (size_t i = log->n; i-- > 0;)
		k->since_us = MAX(k->since_us, log->entries[i].time_us);
}

/*
 * Searches the lines that the node agent selected for the pod. That a line is missing there proves
 * nothing.
 */
static void look_at_nodes_lines(struct kernel_log *k, const struct kernel_question *q,
				struct kernel_evidence *e)
{
	_cleanup_strbuf_ struct strbuf excerpt = STRBUF_INIT(KERNEL_EXCERPT_MAX);
	struct kernel_evidence found;
	struct kernel_question of_pod = *q;

	if (!k->node || k->node->n == 0)
		return;
	of_pod.own_lines = true;
	kernel_evidence_find(k->node, &of_pod, &found, &excerpt);
	gpu_faults_find(k->node, &of_pod, k->begin_us, &k->gpus, &found.gpu);
	found.rules_out = false;
	if (found.oom || found.crash[0] || found.gpu.whose != GPU_NOBODYS)
		*e = found;
	look_is_done(k, k->node);
	if (excerpt.len > 0)
		k->excerpt = strndup(strbuf_str(&excerpt), excerpt.len);
}

void kernel_log_look(struct kernel_log *k, int64_t ended_ns, const struct process *top,
		     size_t n_top, struct kernel_evidence *ret_evidence)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	_cleanup_strbuf_ struct strbuf excerpt = STRBUF_INIT(KERNEL_EXCERPT_MAX);
	struct kernel_suspect suspects[SUSPECTS_MAX];
	struct kernel_question q = {
		.self = { .cgroup = k->cgroup, .pod_uid = k->pod_uid },
		.shared = k->shared,
		.command = k->command,
		.launcher = k->launcher,
		.begin_us = k->begin_us,
		.since_us = k->since_us,
		.named_since_us = k->named_since_us,
		.ended_us = to_kernel_us(ended_ns),
		.suspects = suspects,
		.n_suspects = list_suspects(k, top, n_top, suspects),
	};
	int rc = k->options.off ? 0 : kmsg_read(&log, NULL);

	kernel_log_close(k);
	if (k->options.off || rc < 0) {
		*ret_evidence = KERNEL_EVIDENCE_ABSENT;
		ret_evidence->needs =
			kernel_log_needs(-rc, k->pod_uid != NULL, rc < 0 && is_restricted());
		look_at_nodes_lines(k, &q, ret_evidence);
		return;
	}
	kernel_evidence_find(&log, &q, ret_evidence, &excerpt);
	gpu_faults_find(&log, &q, k->begin_us, &k->gpus, &ret_evidence->gpu);
	look_is_done(k, &log);
	if (excerpt.len > 0)
		k->excerpt = strndup(strbuf_str(&excerpt), excerpt.len);
}

/* Opens the log in a directory by the names that the distributions use. */
static int open_syslog(const char *path, struct err *err)
{
	static const char *const names[] = { "syslog", "messages", "kern.log" };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open %s", path);
	for (size_t i = 0; S_ISDIR(st.st_mode); i++) {
		int file =
			i < ARRAY_SIZE(names) ?
				openat(fd, names[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) :
				-1;

		if (file < 0 && (i >= ARRAY_SIZE(names) || errno != ENOENT))
			return err_set(err, i < ARRAY_SIZE(names) ? errno : ENOENT,
				       "open a syslog file in %s", path);
		if (file < 0)
			continue;
		close(fd);
		fd = file;
		if (fstat(fd, &st) < 0)
			return err_set(err, errno, "stat %s", path);
		break;
	}
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "%s is not a regular file", path);
	return TAKE_FD(fd);
}

int kernel_log_syslog_tail(const char *path, size_t max, struct strbuf *out, struct err *err)
{
	_cleanup_close_ int fd = open_syslog(path, err);
	char buf[4096];
	ssize_t n;
	size_t begin = 0;

	if (fd < 0)
		return fd;
	off_t end = lseek(fd, 0, SEEK_END);
	if (end < 0 || lseek(fd, MAX(end - (off_t)max, (off_t)0), SEEK_SET) < 0)
		return err_set(err, errno, "seek in %s", path);
	/* The file may grow while it is read. */
	for (size_t total = 0; total < max; total += (size_t)n) {
		n = read(fd, buf, MIN(sizeof(buf), max - total));
		if (n < 0)
			return err_set(err, errno, "read %s", path);
		if (n == 0)
			break;
		strbuf_add(out, buf, (size_t)n);
	}
	/* Drops the first line, which may be incomplete. */
	if (end > (off_t)max && memchr(strbuf_str(out), '\n', out->len))
		begin = (size_t)((const char *)memchr(strbuf_str(out), '\n', out->len) -
				 strbuf_str(out)) +
			1;
	strbuf_consume(out, begin);
	return 0;
}
