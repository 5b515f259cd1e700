/* SPDX-License-Identifier: Apache-2.0 */
/* A memory cgroup of one's own. */
#include "sidecar/memcg_make.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "sidecar/sample/memcg.h"

#define PROC_FILE_MAX (1 << 20)
/* Cgroups of this name that may be left of a process that had our PID before us. */
#define LEFT_BEHIND_MAX 64
/* Directories that are open at a time while cgroups below ours are removed; deeper ones cost time, not descriptors. */
#define OPEN_AT_A_TIME 16

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
		r = memcg_find(strbuf_str(&cgroup), strbuf_str(&mounts), path, size, ret_version, err);
	return r;
}

/* A directory of a name that nobody has: another exec with this PID may have left its own behind, with processes in it. */
static int make_directory(const char *parent, char *path, size_t size, struct err *err)
{
	static unsigned int count;

	for (int i = 0; i < LEFT_BEHIND_MAX; i++) {
		snprintf(path, size, "%.500s/afterglow-%d-%u", parent, (int)getpid(), count++);
		if (mkdir(path, 0755) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return err_set(err, errno, "mkdir %s", path);
}

static int make_in(struct made_memcg *m, const char *parent, int version, int64_t limit, bool group, struct err *err)
{
	char value[32], path[sizeof(m->path)];
	int r;

	/* v2: a controller must be handed down first; refused where the parent itself holds processes. */
	if (version == 2)
		write_value(parent, "cgroup.subtree_control", "+memory", NULL);
	r = make_directory(parent, path, sizeof(path), err);
	if (r < 0)
		return r;
	snprintf(value, sizeof(value), "%" PRId64, limit);
	r = write_value(path, version == 1 ? "memory.limit_in_bytes" : "memory.max", value, err);
	if (r < 0) {
		rmdir(path);
		return r;
	}
	/* Swap would turn the kill into a crawl. Absent where there is no swap accounting. */
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

int made_memcg_new(struct made_memcg *m, int64_t limit, bool group, struct err *err)
{
	char own[512];
	struct err first = { 0 };
	char *slash;
	int version;

	m->path[0] = '\0';
	if (find_own(own, sizeof(own), &version, err) < 0)
		return err_wrap(err, "finding this process's memory cgroup");
	if (make_in(m, own, version, limit, group, &first) == 0)
		return 0;
	/* v2 lets a cgroup with processes have no children with controllers: then beside it. */
	slash = version == 2 ? strrchr(own, '/') : NULL;
	if (slash) {
		*slash = '\0';
		if (make_in(m, own, version, limit, group, err) == 0)
			return 0;
	}
	return err_set(err, first.code == EACCES || first.code == EPERM || first.code == EROFS ? EINVAL : first.code,
		       "no memory cgroup can be made here (%s): run as root, or in a cgroup delegated to you with "
		       "its memory controller (systemd-run --user --scope -p Delegate=yes ...)",
		       first.text);
}

int made_memcg_join(const struct made_memcg *m, struct err *err)
{
	return write_value(m->path, "cgroup.procs", "0", err);
}

static int remove_directory(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)at;
	/* What is busy stays; so do those above it. */
	if (type == FTW_DP)
		rmdir(path);
	return 0;
}

void made_memcg_remove(struct made_memcg *m)
{
	/* The last process may still be on its way out. */
	for (int i = 0; i < 100 && m->path[0] && access(m->path, F_OK) == 0; i++) {
		nftw(m->path, remove_directory, OPEN_AT_A_TIME, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
		if (access(m->path, F_OK) < 0)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 5 * NS_PER_MS }, NULL);
	}
	m->path[0] = '\0';
}
