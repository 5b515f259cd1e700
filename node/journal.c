/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the journal of a node. */
#include "node/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/directory.h"
#include "lib/log.h"
#include "lib/macros.h"

#define OBJECTS_AT_ONCE_MAX 20000
#define MACHINES_MAX \
	64 /* limit of directories: the image of a node may contain journals of other machines */

/* Notes why a file could not be opened. A missing file is no error. */
static void note_fault(struct journal *j, const char *path)
{
	if (errno != ENOENT)
		err_set(&j->fault, errno, "%s", path);
}

/*
 * Opens a file. If `later` is true, it is taken only if its last entry is later than that of the
 * file found before.
 */
static void open_one(struct journal *j, const char *path, bool from_end, bool later)
{
	struct journal_file file;
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);

	if (fd < 0) {
		note_fault(j, path);
		return;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    journal_file_open(&file, fd, from_end, &j->fault) < 0 ||
	    (later && file.written_us <= j->file.written_us)) {
		close(fd);
		return;
	}
	closep(&j->file.fd);
	j->file = file;
	j->st = st;
	if (path != j->path)
		snprintf(j->path, sizeof(j->path), "%s", path);
}

/*
 * journald has a directory for each machine ID. The directory of this machine has the latest entry.
 */
static void open_latest_in(struct journal *j, const char *directory, bool from_end)
{
	char path[sizeof(j->path)];
	_cleanup_dir_ DIR *dir = opendir(directory);
	const struct dirent *e;

	if (!dir)
		note_fault(j, directory);
	for (int n = 0; n < MACHINES_MAX && (e = dir_next(dir)); n++)
		/*
		 * A name with a dot is the journal of a namespace, or not a directory of journald.
		 */
		if (!strchr(e->d_name, '.') && snprintf(path, sizeof(path), "%s/%s/system.journal",
							directory, e->d_name) < (int)sizeof(path))
			open_one(j, path, from_end, true);
}

static void open_latest(struct journal *j, bool from_end)
{
	static const char *const places[] = { "/var/log/journal", "/run/log/journal" };
	char directory[sizeof(j->path)];

	j->fault.code = 0;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(directory, sizeof(directory), "%s%s", j->root, places[i]);
		open_latest_in(j, directory, from_end);
	}
}

int journal_open(struct journal *ret_journal, const char *root, struct err *err)
{
	*ret_journal = (struct journal){ .root = root, .file = { .fd = -1, .written_us = -1 } };
	open_latest(ret_journal, true);
	if (ret_journal->file.fd >= 0)
		return 0;
	if (!ret_journal->fault.code)
		return err_set(err, ENOENT, "the node has no journal");
	if (err)
		*err = ret_journal->fault;
	return -ret_journal->fault.code;
}

static void say_compressed(struct journal *j)
{
	if (j->logged_compressed)
		return;
	j->logged_compressed = true;
	log_info(
		"the journal: longer messages are compressed, and left out; Compress=4K in journald.conf keeps them as they are");
}

static void journal_read_on(struct journal *j, void (*fn)(const char *line, size_t len))
{
	size_t len;

	if (!journal_file_refresh(&j->file))
		return;
	for (int n = 0; n < OBJECTS_AT_ONCE_MAX; n++) {
		enum journal_step step = journal_file_next(&j->file, j->line, &len);

		if (step == JOURNAL_END)
			return;
		if (step == JOURNAL_LINE)
			fn(j->line, len);
		else if (step == JOURNAL_COMPRESSED)
			say_compressed(j);
	}
	journal_file_skip(&j->file);
}

/*
 * Returns whether journald has replaced the file. It renames the file and begins another; when /var
 * becomes writable it continues there.
 */
static bool is_replaced(const struct journal *j)
{
	struct stat now;

	return stat(j->path, &now) < 0 || now.st_ino != j->st.st_ino || now.st_dev != j->st.st_dev;
}

void journal_read(struct journal *j, void (*fn)(const char *line, size_t len))
{
	/*
	 * We ask this before we read the rest, because journald renames the file after it wrote its
	 * last entry.
	 */
	bool replaced = j->file.fd < 0 || is_replaced(j);

	if (j->file.fd >= 0)
		journal_read_on(j, fn);
	if (!replaced)
		return;
	int64_t read_us = j->file.written_us;
	closep(&j->file.fd);
	j->file.fd = -1;
	open_one(j, j->path, false, false);
	if (j->file.fd < 0) {
		open_latest(j, false);
		/*
		 * journald copied to the new file what it had written to the old one. Entries up to
		 * this time are skipped.
		 */
		j->file.after_us = read_us;
	}
	if (j->file.fd >= 0)
		journal_read_on(j, fn);
	else if (j->fault.code)
		log_warning_limited("the journal cannot be read: %s", err_text(&j->fault));
}

void journal_close(struct journal *j)
{
	closep(&j->file.fd);
	j->file.fd = -1;
}
