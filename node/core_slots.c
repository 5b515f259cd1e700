/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how many cores are sent to sidecars at a time. */
#include "node/core_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

/*
 * FNV-1a. If two pods share slots, one of them may find all of them taken. Then its core goes where
 * it would go without the agent.
 */
static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

int core_slot_take(const char *directory, const char *pod_uid, struct err *err)
{
	char path[PATH_MAX];
	uint32_t first = hash(pod_uid);

	snprintf(path, sizeof(path), "%s/slots", directory);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set(err, errno, "%s", path);
	for (uint32_t i = 0; i < CORE_SLOTS_OF_POD; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/slots/%u", directory, (first + i) % CORE_SLOTS);
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_set(err, errno, "%s", path);
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		close(fd);
	}
	return err_set(err, EBUSY, "%d cores of this pod are under way", CORE_SLOTS_OF_POD);
}
