/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds the number of history files in the sidecar's directory. */
#include "sidecar/keeping/parking.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/macros.h"

void parking_init(struct parking *p, int dirfd, int64_t spool_bytes)
{
	int64_t n = spool_bytes > 0 ? spool_bytes / 8 / HISTORY_BYTES : HISTORIES_MAX;

	*p = (struct parking){ .dirfd = dirfd,
			       .max = (size_t)MAX(MIN(n, (int64_t)HISTORIES_MAX),
						  (int64_t)HISTORIES_MIN) };
}

void history_file_of(const struct life *l, char file[static HISTORY_FILE_MAX])
{
	snprintf(file, HISTORY_FILE_MAX, "%s.%" PRId64 HISTORY_SUFFIX, l->name, l->started_ns);
}

bool is_history_file(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(HISTORY_SUFFIX) &&
	       strcmp(name + len - strlen(HISTORY_SUFFIX), HISTORY_SUFFIX) == 0;
}

static size_t count_files(int dirfd)
{
	_cleanup_dir_ DIR *dir = dir_of_fd(openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	size_t n = 0;

	for (const struct dirent *entry; (entry = dir_next(dir));)
		n += is_history_file(entry->d_name);
	return n;
}

static void take_at(struct parking *p, size_t i)
{
	memmove(p->files[i], p->files[i + 1], (--p->n - i) * sizeof(p->files[0]));
}

static void remove_oldest(struct parking *p)
{
	unlinkat(p->dirfd, p->files[0], 0);
	take_at(p, 0);
}

void parking_add(struct parking *p, const char *file)
{
	parking_take(p, file);
	if (p->n == PARKED_MAX)
		remove_oldest(p);
	snprintf(p->files[p->n++], HISTORY_FILE_MAX, "%s", file);
}

void parking_take(struct parking *p, const char *file)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->files[i], file) == 0) {
			take_at(p, i);
			return;
		}
}

bool parking_make_room(struct parking *p)
{
	size_t n = count_files(p->dirfd);

	for (; n >= p->max && p->n > 0; n--)
		remove_oldest(p);
	return n < p->max;
}
