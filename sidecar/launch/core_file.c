/* SPDX-License-Identifier: Apache-2.0 */
/* Examines a file that may be a core. */
#include "sidecar/launch/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file_time.h"
#include "lib/macros.h"
#include "sidecar/launch/clock.h"

/* a file that has not changed for this long is not being written any more */
#define QUIET_NS (2 * NS_PER_SEC)

/*
 * Returns whether a process may still write to the file. A lease tells; on a filesystem without
 * leases, the time of the last change does.
 */
static bool may_be_written_to(int fd, const struct stat *st, enum core_found found)
{
	struct timespec now;

	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return false;
	}
	if (errno == EAGAIN || found != CORE_FOUND)
		return errno == EAGAIN;
	clock_gettime(CLOCK_REALTIME, &now);
	return file_time_ns(now) - file_time_ns(st->st_mtim) < QUIET_NS;
}

static bool begins_as_a_core(int fd)
{
	unsigned char head[EI_NIDENT + 2];

	if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return false;
	return head[EI_DATA] == ELFDATA2MSB ? head[EI_NIDENT + 1] == ET_CORE :
					      head[EI_NIDENT] == ET_CORE;
}

int core_file_open(int dir_fd, const char *name, enum core_found found, struct core_key *ret_key)
{
	char path[40];
	struct stat st;
	_cleanup_close_ int path_fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC),
			    fd = -1;

	if (path_fd < 0 || fstat(path_fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || !begins_as_a_core(fd))
		return -ENOENT;
	if (may_be_written_to(fd, &st, found))
		return -EAGAIN;
	*ret_key = (struct core_key){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.mtime_ns = file_time_ns(st.st_mtim),
	};
	return TAKE_FD(fd);
}

bool core_sent_add(struct core_sent *sent, const struct core_key *key)
{
	size_t n = sent->count < CORE_SENT_MAX ? sent->count : CORE_SENT_MAX;

	for (size_t i = 0; i < n; i++)
		if (sent->list[i].dev == key->dev && sent->list[i].ino == key->ino &&
		    sent->list[i].mtime_ns == key->mtime_ns)
			return false;
	sent->list[sent->count++ % CORE_SENT_MAX] = *key;
	return true;
}

void core_sent_clear(struct core_sent *sent)
{
	sent->count = 0;
}
