/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and copies the directory for what must survive this process. */
#include "sidecar/keeping/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/store/bundle.h"

#define DIRECTORY ".sidecar"
#define FILE_MAX ((size_t)4 << 20) /* a history has a quarter of this size */
#define FILES_MAX 256
#define RESTORE_WITHIN_NS (5 * NS_PER_SEC)

static int open_directory(const char *where, int *ret_fd, struct err *err)
{
	char path[BUNDLE_PATH_MAX];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/" DIRECTORY, where);
	if (dir_make_all(path, 0700, err) < 0)
		return -err->code;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "open %s", path);
	/* A directory that a previous sidecar could write may be read-only now. */
	if (faccessat(fd, ".", W_OK, AT_EACCESS) < 0)
		return err_set(err, errno, "%s", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static bool is_memory(int fd)
{
	struct statfs s;

	return fstatfs(fd, &s) == 0 && s.f_type == TMPFS_MAGIC;
}

/* Calls fn for each file that is not just being written. */
static void each_file(int fd, void (*fn)(const char *name, void *arg), void *arg)
{
	_cleanup_dir_ DIR *dir = dir_of_fd(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *d;

	for (size_t n = 0; n < FILES_MAX && (d = dir_next(dir));)
		if (d->d_name[0] != '.') {
			fn(d->d_name, arg);
			n++;
		}
}

/*
 * A copy in either direction. A restored copy may come late, when this process has already begun a
 * new state.
 */

struct copying {
	int from, to;
	const char *where; /* in the child: the spool */
	bool keep; /* existing files stay, because they are newer */
};

static void copy_file(const char *name, void *arg)
{
	const struct copying *c = arg;
	_cleanup_strbuf_ struct strbuf data = STRBUF_INIT(FILE_MAX);

	if (file_read_foreign(c->from, name, &data, NULL) < 0)
		return;
	/* This is checked after reading the file, because reading takes the time. */
	if (!c->keep || faccessat(c->to, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		file_replace(c->to, name, strbuf_str(&data), data.len);
}

static void drop_if_gone(const char *name, void *arg)
{
	const struct copying *c = arg;

	if (faccessat(c->from, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		unlinkat(c->to, name, 0);
}

static void copy_save(int, void *arg)
{
	struct copying *c = arg;
	struct err err = { 0 };

	if (open_directory(c->where, &c->to, &err) < 0)
		return;
	each_file(c->from, copy_file, c);
	each_file(c->to, drop_if_gone, c);
	fsync(c->to);
}

static void copy_restore(int, void *arg)
{
	struct copying *c = arg;
	char path[BUNDLE_PATH_MAX];

	snprintf(path, sizeof(path), "%s/" DIRECTORY, c->where);
	c->from = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->from >= 0)
		each_file(c->from, copy_file, c);
}

static void note_one(const char *, void *arg)
{
	*(bool *)arg = true;
}

static void begin_with_copy(struct state_dir *s)
{
	struct copying c = { .from = -1, .to = s->fd, .where = s->copy, .keep = true };
	bool any = false;

	each_file(s->fd, note_one, &any);
	if (any || errand_start(&s->errand, copy_restore, &c, NULL) < 0)
		return;
	if (!errand_wait_outside_loop(&s->errand, RESTORE_WITHIN_NS, errand_ignore, NULL))
		log_warning(
			"the disk of %s does not answer: the history of a previous sidecar cannot be read",
			s->copy);
}

int state_dir_open(struct state_dir *s, const struct record_options *options, struct err *err)
{
	struct err local = { 0 };

	*s = STATE_DIR_NONE;
	if (options->spool_fallback &&
	    open_directory(options->spool_fallback, &s->fd, &local) >= 0 && is_memory(s->fd)) {
		s->copy = options->spool;
		begin_with_copy(s);
		return 0;
	}
	closep(&s->fd);
	s->fd = -1;
	if (open_directory(options->spool, &s->fd, err) >= 0)
		return 0;
	if (!options->spool_fallback || open_directory(options->spool_fallback, &s->fd, &local) < 0)
		return -err->code;
	log_warning("the spool cannot be written: %s; %s is used instead", err_text(err),
		    options->spool_fallback);
	return 0;
}

void state_dir_close(struct state_dir *s)
{
	errand_cancel(&s->errand);
	closep(&s->fd);
	*s = STATE_DIR_NONE;
}

void state_dir_copy(struct state_dir *s)
{
	struct copying c = { .from = s->fd, .to = -1, .where = s->copy };

	if (s->copy && s->fd >= 0)
		errand_start(&s->errand, copy_save, &c, NULL);
}
