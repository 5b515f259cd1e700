/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how many cores sidecars read at a time. */
#include "node/core_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/macros.h"

/*
 * Where the bytes of the pods begin, four for each; before them are those of all pods together. Locks
 * may lie behind the file's end. Its size counts the pods that were refused.
 */
#define PODS_AT ((off_t)1 << 20)

/* FNV-1a. Nobody chooses a pod's UID, so two of 500 pods share slots on one of 10^13 nodes. */
static off_t pod_offset(const char *pod_uid)
{
	uint64_t h = 14695981039346656037u;

	for (; *pod_uid; pod_uid++)
		h = (h ^ (unsigned char)*pod_uid) * 1099511628211u;
	return PODS_AT + (off_t)(h >> 4) * CORE_SLOTS_OF_POD;
}

/* Locks one of n bytes, -EBUSY if all are locked. The lock is that of the open file, so exec and threads do not matter. */
static int lock_one(int fd, off_t at, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct flock lock = { .l_type = F_WRLCK,
				      .l_whence = SEEK_SET,
				      .l_start = at + (off_t)i,
				      .l_len = 1 };

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
			return (int)i;
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
	}
	return -EBUSY;
}

static void say_wanted(int fd)
{
	struct stat st;

	/* Two that say so at once may count as one. */
	if (fstat(fd, &st) == 0)
		(void)!ftruncate(fd, (st.st_size + 1) % PODS_AT);
}

int core_slot_take(const char *directory, const char *pod_uid, unsigned int pipe_limit,
		   struct err *err)
{
	unsigned int of_all = MAX(pipe_limit / 2, 1u), of_pod = CORE_SLOTS_OF_POD;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;
	int own, rc;

	if (pipe_limit)
		of_pod = MIN(MAX(of_all / 4, 1u), of_pod);
	snprintf(path, sizeof(path), "%s/core-slots", directory);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "%s", path);
	own = lock_one(fd, pod_offset(pod_uid), of_pod);
	if (own < 0)
		return err_set(err, -own, "%u cores of this pod are under way", of_pod);
	rc = pipe_limit ? lock_one(fd, 0, of_all) : 0;
	if (rc == -EBUSY && own == 0)
		say_wanted(fd);
	if (rc < 0)
		return err_set(err, -rc, "%u cores of pods are under way", of_all);
	/* Where the descriptor stands tells later how often somebody had been refused before. */
	if (lseek(fd, st.st_size, SEEK_SET) < 0)
		return err_set(err, errno, "%s", path);
	return TAKE_FD(fd);
}

bool core_slot_is_wanted(int slot)
{
	struct stat st;

	return fstat(slot, &st) == 0 && st.st_size != lseek(slot, 0, SEEK_CUR);
}
