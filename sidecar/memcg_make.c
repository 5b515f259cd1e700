/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a memory cgroup for a command, and removes it. */
#include "sidecar/memcg_make.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/fileio.h"
#include "lib/units.h"
#include "sidecar/sample/memcg.h"

#define PROC_FILE_MAX (1 << 20)
/* how many cgroups of this name may be left by earlier processes that had our PID */
#define LEFT_BEHIND_MAX 64
#define LEFT_BEHIND_S 60 /* seconds; while its owner lives, a cgroup is not empty for so long */
#define PREFIX "afterglow-"
#define ROUNDS_MAX 100 /* tries to remove a cgroup, 5 ms each */
#define PROCESSES_MAX (64 * 1024) /* bytes of a list of PIDs */

static int write_value(const char *directory, const char *file, const char *value, struct err *err)
{
	char path[768];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "open %s", path);
	if (write(fd, value, strlen(value)) < 0)
		return err_set(err, errno, "write %s to %s", value, path);
	return 0;
}

static int find_own(char *path, size_t size, int *ret_version, struct err *err)
{
	_cleanup_strbuf_ struct strbuf cgroup = STRBUF_INIT(PROC_FILE_MAX);
	_cleanup_strbuf_ struct strbuf mounts = STRBUF_INIT(PROC_FILE_MAX);
	int r = file_read(AT_FDCWD, "/proc/self/cgroup", &cgroup, err);

	if (r >= 0)
		r = file_read(AT_FDCWD, "/proc/self/mountinfo", &mounts, err);
	if (r >= 0)
		r = memcg_find(strbuf_str(&cgroup), strbuf_str(&mounts), path, size, ret_version,
			       err);
	return r;
}

/* Parses "afterglow-PID-N", the name that make_directory gives. */
static bool is_name_of_ours(const char *name, pid_t *ret_pid)
{
	unsigned int count;
	int pid, end = 0;

	if (sscanf(name, PREFIX "%d-%u%n", &pid, &count, &end) != 2 || name[end] != '\0' ||
	    pid <= 0)
		return false;
	*ret_pid = pid;
	return true;
}

/*
 * Removes empty cgroups whose owners are gone. Young ones stay: the owner may be in another PID
 * namespace, where we cannot see it, and a cgroup is empty until its launcher enters it. The kernel
 * does not remove a cgroup that has processes.
 */
static void remove_left_behind(const char *parent)
{
	_cleanup_dir_ DIR *directory = opendir(parent);
	struct timespec now;
	const struct dirent *entry;
	pid_t pid;

	clock_gettime(CLOCK_REALTIME, &now);
	while ((entry = dir_next(directory))) {
		struct stat st;

		if (entry->d_type != DT_DIR || !is_name_of_ours(entry->d_name, &pid) ||
		    kill(pid, 0) == 0 || errno != ESRCH)
			continue;
		if (fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    now.tv_sec - st.st_mtime >= LEFT_BEHIND_S)
			unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
	}
}

/*
 * Makes a directory with a name that does not exist yet. A previous exec with our PID may have left
 * its own, with processes in it.
 */
static int make_directory(const char *parent, char *path, size_t size, struct err *err)
{
	static unsigned int count;

	for (int i = 0; i < LEFT_BEHIND_MAX; i++) {
		snprintf(path, size, "%.500s/" PREFIX "%d-%u", parent, (int)getpid(), count++);
		if (mkdir(path, 0755) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return err_set(err, errno, "mkdir %s", path);
}

static int make_in(struct made_memcg *m, const char *parent, int version, int64_t limit, bool group,
		   struct err *err)
{
	char value[32], path[sizeof(m->path)];

	/*
	 * On v2 the parent has to enable the controller for its children first. The kernel refuses
	 * that if the parent has processes of its own.
	 */
	if (version == 2)
		write_value(parent, "cgroup.subtree_control", "+memory", NULL);
	remove_left_behind(parent);
	int r = make_directory(parent, path, sizeof(path), err);
	if (r < 0)
		return r;
	snprintf(value, sizeof(value), "%" PRId64, limit);
	r = write_value(path, version == 1 ? "memory.limit_in_bytes" : "memory.max", value, err);
	if (r < 0) {
		rmdir(path);
		return r;
	}
	/*
	 * With swap the command would become extremely slow before it is killed. The file is
	 * missing if swap is not accounted.
	 */
	if (version == 1)
		write_value(path, "memory.memsw.limit_in_bytes", value, NULL);
	else
		write_value(path, "memory.swap.max", "0", NULL);
	if (version == 2 && group && write_value(path, "memory.oom.group", "1", err) < 0) {
		rmdir(path);
		return -err->code;
	}
	memcpy(m->path, path, sizeof(path));
	return 0;
}

/*
 * Whether `systemd-run --user` gives a cgroup with a memory limit: this user's manager has the
 * controller (v2), and it runs.
 */
static bool user_manager_limits_memory(void)
{
	_cleanup_strbuf_ struct strbuf controllers = STRBUF_INIT(PROC_FILE_MAX);
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	unsigned int uid = geteuid();
	char path[PATH_MAX];

	snprintf(path, sizeof(path),
		 "/sys/fs/cgroup/user.slice/user-%u.slice/user@%u.service/cgroup.controllers", uid,
		 uid);
	if (!runtime || file_read(AT_FDCWD, path, &controllers, NULL) < 0 ||
	    !strstr(strbuf_str(&controllers), "memory"))
		return false;
	snprintf(path, sizeof(path), "%s/systemd/private", runtime);
	return access(path, W_OK) == 0;
}

int made_memcg_new(struct made_memcg *m, int64_t limit, bool group, struct err *err)
{
	char own[512];
	struct err first = { 0 };
	int version;

	m->path[0] = '\0';
	if (find_own(own, sizeof(own), &version, err) < 0)
		return err_wrap(err, "finding this process's memory cgroup");
	if (make_in(m, own, version, limit, group, &first) == 0)
		return 0;
	/*
	 * On v2 a cgroup with processes cannot have children with controllers, so the new one is
	 * made beside it.
	 */
	char *slash = version == 2 ? strrchr(own, '/') : NULL;
	if (slash) {
		*slash = '\0';
		if (make_in(m, own, version, limit, group, err) == 0)
			return 0;
	}
	return err_set(
		err,
		first.code == EACCES || first.code == EPERM || first.code == EROFS ? EINVAL :
										     first.code,
		"no memory cgroup can be made here (%s); %s", first.text,
		user_manager_limits_memory() ?
			"begin with `systemd-run --user --scope -p Delegate=yes` to have one" :
			"it takes root, or a cgroup delegated to you with its memory controller");
}

int made_memcg_join(const struct made_memcg *m, struct err *err)
{
	return write_value(m->path, "cgroup.procs", "0", err);
}

/*
 * Kills the processes of one cgroup, if asked to. Returns how many there are; further ones are left
 * to the next round.
 */
static unsigned int see_processes(const char *cgroup, bool end)
{
	_cleanup_strbuf_ struct strbuf list = STRBUF_INIT(PROCESSES_MAX);
	unsigned int n = 0;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	if (file_read(AT_FDCWD, path, &list, NULL) < 0 && !list.len)
		return 0;
	for (char *at = list.data, *line; (line = strsep(&at, "\n")) && *line; n++) {
		pid_t pid = (pid_t)strtol(line, NULL, 10);

		/* 0 stands for a process that our PID namespace does not show. */
		if (end && pid > 0)
			kill(pid, SIGKILL);
	}
	return n;
}

/* Goes once through all cgroups, from the lowest up. Returns how many processes are in them. */
static unsigned int memcg_clear(const struct made_memcg *m, bool end)
{
	char *const paths[] = { (char *)m->path, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	unsigned int n = 0;

	/* Of version 2, since Linux 5.14: no process escapes this by forking. */
	if (end)
		write_value(m->path, "cgroup.kill", "1", NULL);
	for (FTSENT *e; tree && (e = fts_read(tree));)
		if (e->fts_info == FTS_DP) {
			n += see_processes(e->fts_path, end);
			rmdir(e->fts_path);
		}
	if (tree)
		fts_close(tree);
	return n;
}

unsigned int made_memcg_remove(struct made_memcg *m, bool end)
{
	unsigned int n = 0;

	for (int i = 0; i < ROUNDS_MAX && m->path[0]; i++) {
		/* The last process may still be exiting. */
		n = memcg_clear(m, end);
		if (access(m->path, F_OK) == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 5 * NS_PER_MS }, NULL);
		else
			m->path[0] = '\0';
	}
	return m->path[0] ? n : 0;
}
