/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the core handler on the node, and sets and restores kernel.core_pattern. */
#include "node/cores.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "lib/directory.h"
#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/units.h"
#include "node/core_handler.h"
#include "node/core_pattern.h"

#define PROGRAM_MAX (16 * 1024 * 1024)
#define LOOK_NS (10 * NS_PER_SEC) /* how often to check whether the pattern is still ours */
#define RETAKES_MAX 5 /* after so many changes by others the pattern is left to them */
#define PROBE_WITHIN_MS 5000

static struct {
	const struct node_options *options;
	struct source look;
	unsigned int retakes;
	/* The pattern could not be taken over; it is left alone until somebody changes it. */
	bool refuses;
	char refused[CORE_PATTERN_MAX + 1];
} cores;

static void pattern_path(const struct node_options *o, char path[static PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/proc/sys/kernel/core_pattern", o->root);
}

static int cores_read_pattern(const struct node_options *o,
			      char ret_pattern[static CORE_PATTERN_MAX + 1], struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CORE_PATTERN_MAX + 1);
	char path[PATH_MAX];

	pattern_path(o, path);
	int rc = file_read(AT_FDCWD, path, &text, err);
	if (rc < 0)
		return rc;
	snprintf(ret_pattern, CORE_PATTERN_MAX + 1, "%.*s", (int)strcspn(strbuf_str(&text), "\n"),
		 strbuf_str(&text));
	return 0;
}

/*
 * Writes the pattern in one write, because the kernel takes each write as a whole value, and checks
 * that it took all of it.
 */
static int write_pattern(const struct node_options *o, const char *pattern, struct err *err)
{
	char path[PATH_MAX], after[CORE_PATTERN_MAX + 1], line[CORE_PATTERN_MAX + 2];
	_cleanup_close_ int fd = -1;
	size_t len = strlen(pattern) + 1;

	pattern_path(o, path);
	snprintf(line, sizeof(line), "%s\n", pattern);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "open %s", path);
	if (write(fd, line, len) != (ssize_t)len)
		return err_set(err, errno, "write %s", path);
	int rc = cores_read_pattern(o, after, err);
	if (rc < 0)
		return rc;
	return strcmp(after, pattern) == 0 ?
		       0 :
		       err_set(err, EIO, "%s is \"%s\" after \"%s\" was written", path, after,
			       pattern);
}

/* --- The handler on the node --- */

/*
 * Writes the program under another name and renames it, because the kernel may run the old one at
 * any time.
 */
static int put_program(int directory, struct err *err)
{
	_cleanup_strbuf_ struct strbuf program = STRBUF_INIT(PROGRAM_MAX);
	int rc = file_read(AT_FDCWD, "/proc/self/exe", &program, err);

	if (rc < 0)
		return rc;
	unlinkat(directory, CORE_PROGRAM ".new", 0);
	rc = file_write(directory, CORE_PROGRAM ".new", strbuf_str(&program), program.len, 0700,
			err);
	if (rc < 0)
		return rc;
	return renameat(directory, CORE_PROGRAM ".new", directory, CORE_PROGRAM) < 0 ?
		       err_set(err, errno, CORE_PROGRAM) :
		       0;
}

/*
 * Checks that the kernel can run the program from there. If it cannot, the node gets no cores at
 * all.
 */
static int check_directory(int directory, const char *path, struct err *err)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(directory, &st) < 0 || fstatvfs(directory, &fs) < 0)
		return err_set(err, errno, "%s", path);
	if (st.st_uid != 0 || (st.st_mode & 022))
		return err_set(
			err, EPERM,
			"%s may be written by others than root: the kernel runs what is in it as root",
			path);
	if (fs.f_flag & ST_NOEXEC)
		return err_set(
			err, EACCES,
			"%s is mounted noexec: choose another --directory, from which the node may run programs",
			path);
	return 0;
}

/*
 * An agent that was killed while it probed has left a file, and the handler would drop the core of
 * the next process with that PID.
 */
static void remove_probes(const char *path)
{
	_cleanup_dir_ DIR *dir = opendir(path);
	const struct dirent *d;

	while ((d = dir_next(dir)))
		if (strncmp(d->d_name, CORE_PROBE_PREFIX, strlen(CORE_PROBE_PREFIX)) == 0)
			unlinkat(dirfd(dir), d->d_name, 0);
}

static int cores_install(const struct node_options *o, struct err *err)
{
	char path[PATH_MAX], config[PATH_MAX];
	_cleanup_close_ int directory = -1;

	snprintf(path, sizeof(path), "%s%s", o->root, o->directory);
	int rc = dir_make_all(path, 0755, err);
	if (rc < 0)
		return rc;
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return err_set(err, errno, "%s", path);
	rc = check_directory(directory, path, err);
	if (rc < 0)
		return rc;
	remove_probes(path);
	snprintf(config, sizeof(config), "%s\n", o->kubelet);
	file_replace(directory, CORE_CONFIG, config, strlen(config));
	return put_program(directory, err);
}

/* --- The probe --- */

/* Ends by SIGABRT when the parent has closed its end of the pipe. */
static void crash_on_request(int pipe_fd)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	char byte;

	setrlimit(RLIMIT_CORE, &unlimited);
	signal(SIGABRT, SIG_DFL);
	if (read(pipe_fd, &byte, 1) == 0)
		abort();
	_exit(1);
}

static bool wait_until_gone(const char *path)
{
	for (int ms = 0; ms < PROBE_WITHIN_MS; ms += 10) {
		if (access(path, F_OK) < 0 && errno == ENOENT)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 10 * NS_PER_MS }, NULL);
	}
	return false;
}

/*
 * Returns whether the kernel runs the handler. That depends on mounts and security modules that we
 * cannot see.
 */
static int cores_probe(const struct node_options *o, struct err *err)
{
	char path[PATH_MAX];
	int fds[2], status;
	_cleanup_close_ int file = -1;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[1]);
		crash_on_request(fds[0]);
	}
	close(fds[0]);
	snprintf(path, sizeof(path), "%s%s/" CORE_PROBE, o->root, o->directory, (int)pid);
	if (pid > 0)
		file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	close(fds[1]);
	if (pid < 0 || file < 0)
		return err_set(err, errno, "a process to see whether the kernel runs our program");
	waitpid(pid, &status, 0);
	bool ran = wait_until_gone(path);
	unlink(path);
	return ran ? 0 :
		     err_set(err, EACCES,
			     "the kernel does not run %s/" CORE_PROGRAM
			     " for a core: a security module or the mount may forbid it",
			     o->directory);
}

/* --- The pattern --- */

int cores_restore(const struct node_options *o, struct err *err)
{
	char pattern[CORE_PATTERN_MAX + 1];
	int rc = cores_read_pattern(o, pattern, err);

	if (rc < 0)
		return rc;
	const char *before = core_pattern_before(pattern);
	return before ? write_pattern(o, before, err) : 0;
}

static int cores_take_over(const struct node_options *o, struct err *err)
{
	char now[CORE_PATTERN_MAX + 1], ours[CORE_PATTERN_MAX + 1];
	int rc = cores_read_pattern(o, now, err);

	cores.refuses = false;
	if (rc < 0)
		return rc;
	/* The pattern may already be that of an agent that was killed or that we replace. */
	const char *before = core_pattern_before(now);
	rc = core_pattern_make(o->directory, before ? before : now, ours, err);
	cores.refuses = rc < 0;
	snprintf(cores.refused, sizeof(cores.refused), "%s", now);
	if (rc < 0)
		return rc;
	rc = write_pattern(o, ours, err);
	if (rc == 0)
		rc = cores_probe(o, err);
	if (rc < 0) {
		struct err ignored = { 0 };

		cores_restore(o, &ignored);
		return rc;
	}
	log_info("cores: core_pattern was \"%s\" and is \"%s\" now", before ? before : now, ours);
	return 0;
}

/*
 * Takes the pattern over. If it cannot be taken over, that is no failure: the node's administrator
 * may still change it.
 */
static int take_over_or_refuse(const struct node_options *o, struct err *err)
{
	int rc = cores_take_over(o, err);

	if (!cores.refuses)
		return rc;
	log_error("cores: %s", err_text(err));
	*err = (struct err){ 0 };
	return 0;
}

static bool cores_is_settled(const char *pattern)
{
	return core_pattern_before(pattern) ||
	       (cores.refuses && strcmp(pattern, cores.refused) == 0);
}

/*
 * If somebody changes the pattern while we run, we take the new one over, and cores that we pass on
 * go to it. If somebody does so again and again, we leave the pattern to them.
 */
static void cores_on_look(struct source *s, int64_t now_ns)
{
	char pattern[CORE_PATTERN_MAX + 1];
	struct err err = { 0 };

	s->due_ns = now_ns + LOOK_NS;
	if (cores_read_pattern(cores.options, pattern, &err) == 0 && cores_is_settled(pattern))
		return;
	if (!err.code && cores.retakes++ < RETAKES_MAX &&
	    take_over_or_refuse(cores.options, &err) == 0)
		return;
	s->due_ns = LOOP_NEVER;
	log_error("cores: another program changed core_pattern, which stays as it is now: %s",
		  err.code ? err_text(&err) : "this happened too often");
}

int cores_start(struct node *n, struct err *err)
{
	if (!n->options->cores)
		return 0;
	/* From now on cores_stop gives back what an agent that was killed has left. */
	cores.options = n->options;
	int rc = cores_install(n->options, err);
	if (rc == 0)
		rc = take_over_or_refuse(n->options, err);
	if (rc < 0)
		return rc;
	cores.look = (struct source){ .name = "core_pattern",
				      .fd = -1,
				      .due_ns = now_boottime_ns() + LOOK_NS,
				      .due = cores_on_look };
	return loop_add(&n->loop, &cores.look, err);
}

void cores_stop(void)
{
	struct err err = { 0 };

	if (cores.options && cores_restore(cores.options, &err) < 0)
		log_error("cores: core_pattern could not be restored: %s", err_text(&err));
	cores.options = NULL;
}
