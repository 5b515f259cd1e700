/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether a file lies on a FUSE server. */
#include "sidecar/sample/fuse.h"

#include <fcntl.h>

#include "lib/macros.h"

#define HANDLE_MAX 128 /* MAX_HANDLE_SZ */
/*
 * The types of file handles that FUSE makes (FILEID_INO64_GEN, and the same with a parent). Only
 * XFS uses them as well, and it has a device.
 */
#define FUSE_HANDLE 0x81
#define FUSE_HANDLE_PARENT 0x82

bool fuse_look(int fd, struct statx *ret_st)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, ret_st) == 0;
}

int file_handle_type(int fd)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + HANDLE_MAX];
	} h = { .handle.handle_bytes = HANDLE_MAX };
	int mount_id;

	return name_to_handle_at(fd, "", &h.handle, &mount_id, AT_EMPTY_PATH) == 0 ?
		       h.handle.handle_type :
		       -1;
}

static bool is_on_fuse(int fd, const struct statx *st)
{
	int type = st->stx_dev_major == 0 ? file_handle_type(fd) : -1;

	return type == FUSE_HANDLE || type == FUSE_HANDLE_PARENT;
}

bool fuse_is_foreign(int fd, const struct statx *st)
{
	_cleanup_close_ int own = -1;
	struct statx own_st;

	if (!is_on_fuse(fd, st))
		return false;
	own = open("/", O_PATH | O_CLOEXEC);
	return own < 0 || !fuse_look(own, &own_st) || !is_on_fuse(own, &own_st);
}
