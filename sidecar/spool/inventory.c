/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the bundles of a directory with their sizes, and removes them. */
#include "sidecar/spool/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/failure_class.h"
#include "lib/file_time.h"
#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"
#include "sidecar/store/bundle.h"
#include "sidecar/store/manifest.h"

#define LOCK_WITHIN_NS (2 * NS_PER_SEC)
#define PARTIAL ".partial"

/* Returns the kind of a file of a bundle, by its name: the first drop that removes it. */
static enum drop inventory_kind_of(const char *file)
{
	/* The files that say what happened. Each is small. */
	static const char *const report[] = { "report.txt",    "report.json",	 "report.html",
					      "backtrace.txt", "processes.json", "kernel.log",
					      "ray.txt",       MANIFEST_FILE };

	if (strncmp(file, "core.", 5) == 0)
		return DROP_CORE;
	for (size_t i = 0; i < ARRAY_SIZE(report); i++)
		if (strcmp(file, report[i]) == 0)
			return DROP_BUNDLE;
	return DROP_FILES;
}

/*
 * Returns the size on disk. A file that was just written may still have reserved more blocks than
 * it needs.
 */
static int64_t on_disk(const struct stat *st)
{
	int64_t blocks = (int64_t)st->st_blocks * 512,
		size = ((int64_t)st->st_size + 4095) / 4096 * 4096;

	return S_ISREG(st->st_mode) ? MIN(blocks, size) : blocks;
}

static DIR *inventory_open_dir(int dirfd, const char *path)
{
	int fd = dir_open_below(dirfd, path, strlen(path));

	if (fd < 0)
		errno = -fd;
	return dir_of_fd(fd);
}

/* Opens the directory that contains the last component of path. *ret_name is that component. */
static int inventory_open_parent(int dirfd, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');

	*ret_name = slash ? slash + 1 : path;
	return dir_open_below(dirfd, path, slash ? (size_t)(slash - path) : 0);
}

/* --- Reading --- */

struct walk {
	struct inventory *inv;
	size_t max, room;
	bool failed;
	char path[BUNDLE_PATH_MAX];
};

static void add_bytes(struct stored *s, enum drop kind, int64_t bytes)
{
	*(kind == DROP_CORE ? &s->core : kind == DROP_FILES ? &s->files : &s->report) += bytes;
}

/* Adds up the files of a bundle by their kind. Files in a subdirectory count as collected. */
static void inventory_measure(DIR *dir, bool below, struct stored *s)
{
	rewinddir(dir);
	for (const struct dirent *entry; (entry = readdir(dir));) {
		struct stat st;

		if (dir_is_dots(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		add_bytes(s, below ? DROP_FILES : inventory_kind_of(entry->d_name), on_disk(&st));
		_cleanup_dir_ DIR *sub = !below && S_ISDIR(st.st_mode) ?
						 inventory_open_dir(dirfd(dir), entry->d_name) :
						 NULL;
		if (sub)
			inventory_measure(sub, true, s);
	}
}

/*
 * Parses the time in a name such as "20260121T012906.324Z-Killed". Returns 0 for any other name,
 * and for times before 1970.
 */
static int64_t time_of_name(const char *name)
{
	char text[40];
	int64_t ns;

	if (strlen(name) < 20 || name[8] != 'T')
		return 0;
	snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.2s:%.2s:%.*s", name, name + 4, name + 6,
		 name + 9, name + 11, (int)strcspn(name + 13, "-"), name + 13);
	return time_parse(text, &ns, NULL) == 0 ? MAX(ns, (int64_t)0) : 0;
}

static bool is_bundle_name(const char *name)
{
	return time_of_name(name) != 0;
}

/* Whether the word after the time in a name is a class. */
static bool has_class(const char *name)
{
	const char *class = strchr(name, '-');
	char text[64];

	snprintf(text, sizeof(text), "%.*s", class ? (int)strcspn(class + 1, "-") : 0,
		 class ? class + 1 : "");
	return failure_class_from_name(text) >= 0;
}

static void take_bundle(struct walk *w, DIR *dir, int64_t at_ns)
{
	struct stored s = { .at_ns = at_ns };
	struct inventory *inv = w->inv;
	size_t room = w->room ? 2 * w->room : 32;

	inventory_measure(dir, false, &s);
	inv->bytes += s.core + s.files + s.report;
	if (inv->n == w->max) {
		inv->left_out++;
		return;
	}
	if (inv->n == w->room) {
		struct stored *stored = realloc(inv->stored, room * sizeof(*stored));

		if (stored) {
			inv->stored = stored;
			w->room = room;
		}
	}
	s.path = inv->n < w->room ? strdup(w->path) : NULL;
	if (s.path)
		inv->stored[inv->n++] = s;
	else
		w->failed = true;
}

static void walk_dir(struct walk *w, DIR *dir, int depth)
{
	const char *slash = strrchr(w->path, '/'), *name = slash ? slash + 1 : w->path;
	size_t len = strlen(w->path);
	struct stat st;

	if (is_bundle_name(name) && (has_class(name) || fstatat(dirfd(dir), MANIFEST_FILE, &st,
								AT_SYMLINK_NOFOLLOW) == 0)) {
		take_bundle(w, dir, time_of_name(name));
		return;
	}
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (dir_is_dots(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		w->inv->bytes += on_disk(&st);
		if (!S_ISDIR(st.st_mode) || entry->d_name[0] == '.' ||
		    depth == INVENTORY_DEPTH_MAX ||
		    len + 1 + strlen(entry->d_name) >= sizeof(w->path))
			continue;
		_cleanup_dir_ DIR *sub = inventory_open_dir(dirfd(dir), entry->d_name);
		if (!sub)
			continue;
		snprintf(w->path + len, sizeof(w->path) - len, "%s%s", len ? "/" : "",
			 entry->d_name);
		walk_dir(w, sub, depth + 1);
		w->path[len] = '\0';
	}
}

static int inventory_by_time(const void *a, const void *b)
{
	const struct stored *s = a, *t = b;

	return s->at_ns != t->at_ns ? (s->at_ns < t->at_ns ? -1 : 1) : strcmp(s->path, t->path);
}

int inventory_read(int rootfd, const char *below, size_t max, struct inventory *ret_inventory,
		   struct err *err)
{
	struct inventory inv = { .n = 0 };
	struct walk w = { .inv = &inv, .max = max };
	DIR *dir = inventory_open_dir(rootfd, below);

	if (!dir)
		return err_set(err, errno, "open %s",
			       *below ? below : "the directory of the bundles");
	snprintf(w.path, sizeof(w.path), "%s", below);
	walk_dir(&w, dir, 0);
	closedir(dir);
	if (w.failed) {
		inventory_release(&inv);
		return err_set(err, ENOMEM, "inventory of bundles");
	}
	if (inv.n > 0)
		qsort(inv.stored, inv.n, sizeof(*inv.stored), inventory_by_time);
	*ret_inventory = inv;
	return 0;
}

void inventory_release(struct inventory *inv)
{
	while (inv->n > 0)
		free(inv->stored[--inv->n].path);
	free(inv->stored);
	*inv = (struct inventory){ .n = 0 };
}

/* --- Dropping --- */

/*
 * In a store that others may write to, a manifest may list anything, also among what was dropped
 * before.
 */
static bool is_name_in_bundle(const char *name)
{
	return name && name[0] != '/' && !strstr(name, "..");
}

/*
 * Takes from files what `what` covers, and notes it in dropped, so that a reader sees that it was
 * there.
 */
static bool inventory_split(cJSON *files, cJSON *dropped, enum drop what)
{
	cJSON *file, *next;
	bool any = false;

	for (file = files->child; file; file = next) {
		const char *name = json_str(file, "name");

		next = file->next;
		if (!is_name_in_bundle(name) || inventory_kind_of(name) > what)
			continue;
		json_append(dropped, cJSON_DetachItemViaPointer(files, file));
		any = true;
	}
	return any;
}

static int write_synced(int fd, const char *name, const cJSON *manifest, struct err *err)
{
	_cleanup_close_ int written = -1;

	if (manifest_write(manifest, fd, name, err) < 0)
		return -err->code;
	written = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (written < 0 || fsync(written) < 0)
		return err_set(err, errno, "write %s", name);
	return 0;
}

/*
 * The lock of a bundle on a file server holds only on this machine. On another one a sidecar may
 * prune or ship the same bundle now, so the new manifest has a name that no other process has.
 */
static int exchange_manifest(int fd, const cJSON *manifest, struct err *err)
{
	char name[NAME_MAX];
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		return err_set(err, errno, "getrandom");
	snprintf(name, sizeof(name), "." MANIFEST_FILE ".%016" PRIx64 PARTIAL, number);
	int r = write_synced(fd, name, manifest, err);
	if (r == 0 && renameat(fd, name, fd, MANIFEST_FILE) < 0)
		r = err_set(err, errno, "rename to " MANIFEST_FILE);
	if (r < 0)
		unlinkat(fd, name, 0);
	else
		fsync(fd);
	return r;
}

static void remove_files(int fd, const cJSON *dropped)
{
	json_each(file, dropped) {
		const char *name = json_str(file, "name"), *last;
		_cleanup_close_ int in =
			is_name_in_bundle(name) ? inventory_open_parent(fd, name, &last) : -1;

		/* Where others can write to the store, "logs" may be a link. */
		if (in < 0)
			continue;
		unlinkat(in, last, 0);
		inventory_remove_empty(fd, name, 0, 0);
	}
}

/* A manifest that no later try will be able to read either. */
static bool is_damage(int code)
{
	return code == EPROTO || code == EFBIG || code == ELOOP;
}

/* Returns 1 if there is no manifest: the writer died before the bundle was complete. */
static int drop_files(int rootfd, const char *path, enum drop what, struct err *err)
{
	_cleanup_close_ int fd = dir_open_below(rootfd, path, strlen(path));
	_cleanup_json_ cJSON *manifest = NULL;
	cJSON *files, *dropped;

	if (fd < 0)
		return err_set(err, -fd, "open %s", path);
	manifest_lock(fd, LOCK_WITHIN_NS);
	if (manifest_read(fd, &manifest, &files, err) < 0) {
		if (err->code == ENOENT)
			return 1;
		if (is_damage(err->code))
			err->code = EPROTO;
		return err_wrap(err, "%s", path);
	}
	dropped = json_array_at(manifest, "dropped");
	if (!dropped)
		return err_set(err, ENOMEM, "%s", path);
	if (!inventory_split(files, dropped, what))
		return 0;
	if (exchange_manifest(fd, manifest, err) < 0) {
		if (err->code != ENOSPC && err->code != EDQUOT)
			return err_wrap(err, "%s", path);
		err->code = 0;
		remove_files(fd, dropped);
		return exchange_manifest(fd, manifest, err) < 0 ? err_wrap(err, "%s", path) : 0;
	}
	remove_files(fd, dropped);
	return 0;
}

static void hide_name(const char *name, char hidden[static BUNDLE_PATH_MAX + 16])
{
	snprintf(hidden, BUNDLE_PATH_MAX + 16, ".%s" PARTIAL, name);
}

/*
 * Removes a bundle. It is renamed to a hidden name first, so that readers never see an incomplete
 * bundle.
 */
static int drop_bundle(int rootfd, const char *path, struct err *err)
{
	const char *name;
	_cleanup_close_ int in = inventory_open_parent(rootfd, path, &name);
	char hidden[BUNDLE_PATH_MAX + 16];

	if (in < 0)
		return err_set(err, -in, "remove %s", path);
	hide_name(name, hidden);
	if (renameat(in, name, in, hidden) < 0)
		return err_set(err, errno, "remove %s", path);
	return tree_remove(in, hidden) ? 0 :
					 err_set(err, EIO, "%s was not removed to the end", path);
}

int inventory_drop(int rootfd, const char *path, enum drop what, struct err *err)
{
	struct err local = { 0 };
	int rc = 1;

	if (!err)
		err = &local;
	if (what == DROP_NOTHING)
		return 0;
	if (what != DROP_BUNDLE)
		rc = drop_files(rootfd, path, what, err);
	return rc == 1 ? drop_bundle(rootfd, path, err) : rc;
}

int inventory_drop_at_least(int rootfd, const char *path, enum drop *what, struct err *err)
{
	int r = inventory_drop(rootfd, path, *what, err);

	if (r != -EPROTO)
		return r;
	*what = DROP_BUNDLE;
	return inventory_drop(rootfd, path, *what, err);
}

void inventory_finish_drop(int rootfd, const char *path)
{
	const char *name;
	_cleanup_close_ int in = inventory_open_parent(rootfd, path, &name);
	char hidden[BUNDLE_PATH_MAX + 16];

	if (in < 0 || faccessat(in, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return;
	hide_name(name, hidden);
	tree_remove(in, hidden);
}

static bool older_than(struct timespec t, int64_t age_ns)
{
	return age_ns <= 0 || now_realtime_ns() - file_time_ns(t) >= age_ns;
}

void inventory_remove_empty(int rootfd, const char *path, unsigned int keep, int64_t age_ns)
{
	char above[BUNDLE_PATH_MAX];
	unsigned int components = 0;
	struct stat st;

	snprintf(above, sizeof(above), "%s", path);
	for (const char *p = above; *p; p++)
		components += *p == '/';
	for (char *slash; components > keep && (slash = strrchr(above, '/')); components--) {
		_cleanup_close_ int in = -1;
		const char *name;

		*slash = '\0';
		in = inventory_open_parent(rootfd, above, &name);
		if (in < 0 || fstatat(in, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !older_than(st.st_mtim, age_ns) || unlinkat(in, name, AT_REMOVEDIR) < 0)
			return;
	}
}

/*
 * Whether our processes make hidden files or directories of this name: any in a bundle, and beside
 * one those of a bundle's name.
 */
static bool is_partial(const char *name, bool in_bundle)
{
	size_t len = strlen(name);

	return name[0] == '.' && len > strlen(PARTIAL) &&
	       strcmp(name + len - strlen(PARTIAL), PARTIAL) == 0 &&
	       (in_bundle || is_bundle_name(name + 1));
}

/*
 * Whether an NFS client of Linux makes files of this name. It renames a file that is removed while
 * a process of its machine has it open, and removes it later. A machine that dies before leaves the
 * file, and nothing else ever removes it.
 */
static bool is_nfs_leftover(const char *name)
{
	return strncmp(name, ".nfs", 4) == 0 && strspn(name + 4, "0123456789abcdef") == 24 &&
	       !name[4 + 24];
}

static void remove_stale_in(DIR *dir, int64_t age_ns, int64_t leftover_ns, int depth,
			    bool in_bundle)
{
	for (const struct dirent *entry; (entry = readdir(dir));) {
		const char *name = entry->d_name;
		struct stat st;

		if (dir_is_dots(name) || fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (is_partial(name, in_bundle) && older_than(st.st_mtim, age_ns))
			tree_remove(dirfd(dir), name);
		/*
		 * Of a leftover the time of its renaming counts: it may have been written long
		 * before.
		 */
		if (in_bundle && S_ISREG(st.st_mode) && is_nfs_leftover(name) &&
		    older_than(st.st_ctim, leftover_ns))
			unlinkat(dirfd(dir), name, 0);
		if (!S_ISDIR(st.st_mode) || name[0] == '.' || depth == INVENTORY_DEPTH_MAX)
			continue;
		_cleanup_dir_ DIR *sub = inventory_open_dir(dirfd(dir), name);
		if (sub)
			remove_stale_in(sub, age_ns, leftover_ns, depth + 1,
					in_bundle || is_bundle_name(name));
	}
}

void inventory_remove_stale(int rootfd, const char *below, int64_t age_ns, int64_t leftover_ns)
{
	DIR *dir = inventory_open_dir(rootfd, below);

	if (!dir)
		return;
	remove_stale_in(dir, age_ns, leftover_ns, 0, false);
	closedir(dir);
}
