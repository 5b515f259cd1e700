/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are installed beside the sidecar, and read what a user wrote. */
#include <errno.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/log.h"
#include "sidecar/crash/crash_internal.h"

#define ERRORS_MAX 4096

/* Said once: nothing depends on Landlock, but who has to judge the confinement wants to know that a layer is not there. */
static void say_what_kernel_lacks(void)
{
	static bool said;

	if (!said && syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) <= 0)
		log_info("this kernel has no Landlock (Linux 5.13, enabled): programs that read cores are confined by seccomp and "
			 "limits alone");
	said = true;
}

int crash_start_child(struct crash *crash, struct child_work *work, child_done_fn done, struct child **ret_child, struct err *err)
{
	char path[PATH_MAX];

	say_what_kernel_lacks();
	if (child_beside(work->argv[0], path, err) < 0)
		return -err->code;
	if (access(path, X_OK) < 0)
		return err_set(err, errno, "%s, which belongs beside afterglow-sidecar", path);
	work->path = path;
	work->no_new_privs = true;
	work->errors_max = ERRORS_MAX;
	return child_start(crash->owner->base, work, done, crash, ret_child, err);
}
