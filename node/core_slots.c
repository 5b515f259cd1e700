/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how many cores sidecars read at a time. */
#include "node/core_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/fnv.h"
#include "lib/macros.h"
#include "lib/units.h"

/*
 * The bytes of the file: those of all pods together, of which each stands for a dump, then those of
 * the pods that wait, then 16 for each pod, of which the first four are its slots. Locks may lie
 * behind the file's end. Its size counts how often a pod found all taken. In the file of
 * connections a pod has the same 16 bytes.
 */
#define WAITING_AT ((off_t)1 << 16)
#define PODS_AT ((off_t)1 << 20)
#define LIMIT_MAX 60000u /* a larger kernel.core_pipe_limit counts as this one */

/* Nobody chooses a pod's UID, so two of 500 pods share places on one of 10^12 nodes. */
static off_t pod_offset(const char *pod_uid)
{
	return PODS_AT + (off_t)(fnv1a(pod_uid, FNV_START) >> 6) * CORE_LINKS_OF_POD;
}

static int slots_open(const char *directory, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* --- What pods have held ---------------------------------------------------------------------- */

/*
 * Pods whose places in this table are the same forget each other, which frees a hostile one early.
 */
#define ACCOUNTS 4096

struct account {
	uint64_t pod; /* its hash */
	int64_t since_ns, held_ns; /* CLOCK_REALTIME, as the file outlives the machine's start */
};

/* Returns the descriptor of the table. -1: there is none, and nobody has held anything. */
static int account_open(const char *directory, const char *pod_uid, struct account *ret)
{
	int64_t now_ns = now_realtime_ns();
	struct account fresh = { .pod = fnv1a(pod_uid, FNV_START), .since_ns = now_ns };
	int fd = slots_open(directory, "core-accounts");

	if (pread(fd, ret, sizeof(*ret), (off_t)(fresh.pod % ACCOUNTS * sizeof(*ret))) !=
		    sizeof(*ret) ||
	    ret->pod != fresh.pod || now_ns < ret->since_ns ||
	    now_ns - ret->since_ns >= CORE_SLOTS_PERIOD_S * NS_PER_SEC)
		*ret = fresh;
	return fd;
}

void core_slot_account(const char *directory, const char *pod_uid, const struct core_slot *slot,
		       int64_t now_ns)
{
	struct account account;
	_cleanup_close_ int fd = slot->wanted ? account_open(directory, pod_uid, &account) : -1;

	if (fd < 0)
		return;
	account.held_ns += now_ns - slot->since_ns;
	(void)!pwrite(fd, &account, sizeof(account),
		      (off_t)(account.pod % ACCOUNTS * sizeof(account)));
}

static bool has_had_its_share(const char *directory, const char *pod_uid)
{
	struct account account;
	_cleanup_close_ int fd = account_open(directory, pod_uid, &account);

	return account.held_ns >= CORE_SLOTS_SHARE_S * NS_PER_SEC;
}

/* --- Slots ------------------------------------------------------------------------------------ */

/* Locks one of n bytes; -EBUSY if all are locked. The lock is that of the open file. */
static int lock_one(int fd, off_t at, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_start = at + (off_t)i, .l_len = 1 };

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
			return (int)i;
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
	}
	return -EBUSY;
}

/* Returns whether somebody else has locked one of n bytes. */
static bool is_one_locked(int fd, off_t at, unsigned int n)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = at, .l_len = n };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/*
 * Takes one of the slots of all pods. fd: of the file, with the lock of the pod; first: the pod has
 * no other slot.
 */
static int take_of_all(int fd, unsigned int pipe_limit, bool first)
{
	const struct timespec pause = { .tv_nsec = 50 * NS_PER_MS };
	unsigned int of_all = MAX(pipe_limit / 2, 1u), waiting = pipe_limit / 4;
	int64_t due_ns = now_boottime_ns() + CORE_SLOT_WAIT_S * NS_PER_SEC;
	struct stat st;
	int rc = -EBUSY;

	if (!waiting || !is_one_locked(fd, WAITING_AT, waiting))
		rc = lock_one(fd, 0, of_all);
	if (rc != -EBUSY || !first)
		return rc;
	/* Two that say at once that they want one may count as one. */
	if (fstat(fd, &st) == 0)
		(void)!ftruncate(fd, (st.st_size + 1) % PODS_AT);
	if (!waiting || lock_one(fd, WAITING_AT, waiting) < 0)
		return -EBUSY;
	while ((rc = lock_one(fd, 0, of_all)) == -EBUSY && now_boottime_ns() < due_ns)
		nanosleep(&pause, NULL);
	fcntl(fd, F_OFD_SETLK,
	      &(struct flock){ .l_type = F_UNLCK, .l_start = WAITING_AT, .l_len = waiting });
	return rc;
}

int core_slot_take(const char *directory, const char *pod_uid, unsigned int pipe_limit,
		   struct err *err)
{
	unsigned int most = CORE_SLOTS_OF_POD;
	unsigned int of_pod = pipe_limit ? MIN(MAX(pipe_limit / 8, 1u), most) : most;
	_cleanup_close_ int fd = -1;
	struct stat st;

	pipe_limit = MIN(pipe_limit, LIMIT_MAX);
	if (pipe_limit && has_had_its_share(directory, pod_uid))
		return err_set(err, EBUSY, "this pod has had its share of the node's dumps");
	fd = slots_open(directory, "core-slots");
	if (fd < 0)
		return err_set(err, errno, "%s/core-slots", directory);
	int own = lock_one(fd, pod_offset(pod_uid), of_pod);
	if (own < 0)
		return err_set(err, -own, "%u cores of this pod are under way", of_pod);
	int rc = pipe_limit ? take_of_all(fd, pipe_limit, own == 0) : 0;
	if (rc < 0)
		return err_set(err, -rc, "%u cores of pods are under way", MAX(pipe_limit / 2, 1u));
	/* Where the descriptor stands tells later how often somebody had found all taken before. */
	if (fstat(fd, &st) < 0 || lseek(fd, st.st_size, SEEK_SET) < 0)
		return err_set(err, errno, "%s/core-slots", directory);
	return TAKE_FD(fd);
}

int core_link_take(const char *directory, const char *pod_uid, struct err *err)
{
	_cleanup_close_ int fd = slots_open(directory, "core-links");
	int rc = fd < 0 ? -errno : lock_one(fd, pod_offset(pod_uid), CORE_LINKS_OF_POD);

	return rc < 0 ? err_set(err, -rc, "a place for a connection") : TAKE_FD(fd);
}

bool core_slot_is_wanted(struct core_slot *slot, int64_t now_ns)
{
	struct stat st;

	if (slot->wanted)
		return true;
	slot->wanted = fstat(slot->fd, &st) == 0 && st.st_size != lseek(slot->fd, 0, SEEK_CUR);
	if (!slot->wanted || !slot->since_ns)
		slot->since_ns = now_ns;
	return slot->wanted;
}
