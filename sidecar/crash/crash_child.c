/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the programs that are installed beside the sidecar and read data of users. */
#include <errno.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/log.h"
#include "sidecar/crash/crashes_internal.h"

#define ERRORS_MAX 4096

/*
 * Logs once that there is no Landlock. Nothing depends on it, but those who judge the confinement
 * need to know.
 */
static void say_what_kernel_lacks(void)
{
	static bool logged;

	if (!logged &&
	    syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) <= 0)
		log_info(
			"this kernel has no Landlock (Linux 5.13, enabled): programs that read cores are confined by seccomp and "
			"limits alone");
	logged = true;
}

int crash_start_child(struct crash *crash, struct child_work *work, child_done_fn done,
		      struct child **ret_child, struct err *err)
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
