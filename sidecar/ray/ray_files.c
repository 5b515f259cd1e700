/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, finds and reads files of Ray's logs directory through its descriptor. */
#include "sidecar/ray/ray_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/file_time.h"
#include "lib/macros.h"
#include "sidecar/sample/rootfd.h"

/* Of the directory; Ray leaves a few files for every worker that it ever started. */
#define ENTRIES_MAX 50000
#define FILES_OF_PID_MAX 8

int ray_file_path(int dir_fd, const char *name, struct stat *ret_st)
{
	int fd = rootfd_open_no_links(dir_fd, name, O_PATH);

	if (fd >= 0 && fstat(fd, ret_st) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int ray_file_open(int dir_fd, const char *name, struct stat *ret_st)
{
	_cleanup_close_ int path_fd = ray_file_path(dir_fd, name, ret_st);

	if (path_fd < 0 || !S_ISREG(ret_st->st_mode))
		return -1;
	int fd = rootfd_open_no_links(dir_fd, name, O_RDONLY);
	/* The file may have been replaced meanwhile. */
	if (fd >= 0 && (fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool ray_file_tail(int dir_fd, const char *name, size_t max, struct strbuf *out)
{
	struct stat st;
	_cleanup_close_ int fd = ray_file_open(dir_fd, name, &st);

	if (fd < 0 || st.st_size <= 0)
		return false;
	off_t end = st.st_size; /* text that is appended meanwhile is not read */
	off_t at = end > (off_t)max ? end - (off_t)max : 0;
	bool skip = at > 0; /* the first line is skipped if its beginning was not read */
	while (at < end && !strbuf_failed(out)) {
		char buf[4096];
		ssize_t n = pread(fd, buf, (size_t)MIN(end - at, (off_t)sizeof(buf)), at);
		const char *newline = skip && n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;
		size_t from = newline ? (size_t)(newline - buf) + 1 : 0;

		if (n <= 0)
			break;
		skip = false;
		strbuf_add(out, buf + from, (size_t)n - from);
		at += n;
	}
	return out->len > 0;
}

bool ray_file_is_of_pid(const char *name, pid_t pid)
{
	char ends[3][24];

	snprintf(ends[0], sizeof(ends[0]), "-%d.out", (int)pid);
	snprintf(ends[1], sizeof(ends[1]), "-%d.err", (int)pid);
	snprintf(ends[2], sizeof(ends[2]), "_%d.log", (int)pid);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const char *prefix = i < 2 ? "worker-" : "python-core-worker-";
		size_t len = strlen(name), end = strlen(ends[i]);

		if (strncmp(name, prefix, strlen(prefix)) == 0 && len > end &&
		    strcmp(name + len - end, ends[i]) == 0)
			return true;
	}
	return false;
}

/* Returns NULL if the directory cannot be read. */
static DIR *ray_files_open_directory(int dir_fd)
{
	return dir_of_fd(rootfd_open_no_links(dir_fd, ".", O_RDONLY | O_DIRECTORY));
}

void ray_files_of_pid(int dir_fd, pid_t pid, void (*fn)(const char *name, void *arg), void *arg)
{
	_cleanup_dir_ DIR *dir = ray_files_open_directory(dir_fd);
	const struct dirent *d;
	unsigned int found = 0;

	for (unsigned int i = 0; i < ENTRIES_MAX && found < FILES_OF_PID_MAX && (d = dir_next(dir));
	     i++)
		if (ray_file_is_of_pid(d->d_name, pid)) {
			fn(d->d_name, arg);
			found++;
		}
}

int64_t ray_files_size(int dir_fd)
{
	_cleanup_dir_ DIR *dir = ray_files_open_directory(dir_fd);
	const struct dirent *d;
	struct stat st;
	int64_t bytes = 0;

	for (unsigned int i = 0; i < ENTRIES_MAX && (d = dir_next(dir)); i++)
		if (fstatat(dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			bytes += (int64_t)st.st_blocks * 512;
	return bytes;
}

static bool ray_files_is_between(const char *name, const char *prefix, const char *suffix)
{
	size_t len = strlen(name), begin = strlen(prefix), end = strlen(suffix);

	return len > begin + end && len <= RAY_FILE_NAME_MAX && strncmp(name, prefix, begin) == 0 &&
	       strcmp(name + len - end, suffix) == 0;
}

static bool ray_files_modified(int dir_fd, const char *name, int64_t *ret_ns)
{
	struct stat st;
	_cleanup_close_ int fd = ray_file_path(dir_fd, name, &st);

	if (fd < 0 || !S_ISREG(st.st_mode))
		return false;
	*ret_ns = file_time_ns(st.st_mtim);
	return true;
}

struct newest {
	char (*names)[RAY_FILE_NAME_MAX + 1];
	int64_t times[RAY_FILES_NEWEST_MAX];
	size_t n, max;
};

/* Inserts the file behind newer ones. If there is no room, the oldest one is dropped. */
static void keep_if_newer(const char *name, int64_t ns, void *arg)
{
	struct newest *k = arg;
	size_t at = k->n;

	while (at > 0 && k->times[at - 1] < ns)
		at--;
	if (at == k->max)
		return;
	k->n = MIN(k->n + 1, k->max);
	memmove(&k->times[at + 1], &k->times[at], (k->n - at - 1) * sizeof(k->times[0]));
	memmove(k->names[at + 1], k->names[at], (k->n - at - 1) * sizeof(k->names[0]));
	k->times[at] = ns;
	snprintf(k->names[at], sizeof(k->names[at]), "%s", name);
}

/* Calls fn for the regular files of such names, with the time of their last change. */
static void each_between(int dir_fd, const char *prefix, const char *suffix,
			 void (*fn)(const char *name, int64_t ns, void *arg), void *arg)
{
	_cleanup_dir_ DIR *dir = ray_files_open_directory(dir_fd);
	unsigned int looked = 0;
	const struct dirent *d;
	int64_t ns;

	for (unsigned int i = 0;
	     i < ENTRIES_MAX && looked < RAY_FILES_LOOKED_MAX && (d = dir_next(dir)); i++) {
		if (!ray_files_is_between(d->d_name, prefix, suffix))
			continue;
		looked++;
		if (ray_files_modified(dir_fd, d->d_name, &ns))
			fn(d->d_name, ns, arg);
	}
}

size_t ray_files_newest(int dir_fd, const char *prefix, const char *suffix,
			char ret_names[][RAY_FILE_NAME_MAX + 1], size_t max)
{
	struct newest kept = { .names = ret_names, .max = MIN(max, (size_t)RAY_FILES_NEWEST_MAX) };

	each_between(dir_fd, prefix, suffix, keep_if_newer, &kept);
	return kept.n;
}

struct of_time {
	int64_t from_ns, until_ns;
	char *name;
	size_t n;
};

static void count_if_of_time(const char *name, int64_t ns, void *arg)
{
	struct of_time *t = arg;

	if (ns < t->from_ns || ns > t->until_ns)
		return;
	if (t->n++ == 0)
		snprintf(t->name, RAY_FILE_NAME_MAX + 1, "%s", name);
}

bool ray_file_of_time(int dir_fd, const char *prefix, const char *suffix, int64_t from_ns,
		      int64_t until_ns, char ret_name[static RAY_FILE_NAME_MAX + 1])
{
	char name[RAY_FILE_NAME_MAX + 1];
	struct of_time t = { from_ns, until_ns, name, 0 };

	each_between(dir_fd, prefix, suffix, count_if_of_time, &t);
	if (t.n == 1)
		memcpy(ret_name, name, sizeof(name));
	return t.n == 1;
}
