/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are installed beside the sidecar, and read what a user wrote. */
#include <errno.h>
#include <unistd.h>

#include "sidecar/crash/crash_internal.h"

#define ERRORS_MAX 4096

int crash_start_child(struct crash *crash, struct child_work *work, child_done_fn done, struct child **ret_child, struct err *err)
{
	char path[PATH_MAX];

	if (child_beside(work->argv[0], path, err) < 0)
		return -err->code;
	if (access(path, X_OK) < 0)
		return err_set(err, errno, "%s, which belongs beside afterglow-sidecar", path);
	work->path = path;
	work->no_new_privs = true;
	work->errors_max = ERRORS_MAX;
	return child_start(crash->owner->base, work, done, crash, ret_child, err);
}
