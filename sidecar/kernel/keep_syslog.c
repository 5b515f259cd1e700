/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up root, except for the right to read the kernel log. */
#include "sidecar/kernel/keep_syslog.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/undumpable.h"

/* glibc has no wrappers; libcap is not worth a dependency. */
static int get_capabilities(struct __user_cap_data_struct data[static _LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)syscall(SYS_capget, &header, data);
}

static int
set_capabilities(const struct __user_cap_data_struct data[static _LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)syscall(SYS_capset, &header, data);
}

int keep_syslog_only(uid_t uid, struct err *err)
{
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3],
		wanted[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint32_t bit = CAP_TO_MASK(CAP_SYSLOG);
	unsigned int word = CAP_TO_INDEX(CAP_SYSLOG);

	if (geteuid() != 0)
		return 0;
	if (get_capabilities(now) < 0)
		return err_set(err, errno, "capget");
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return err_set(err, errno, "prctl PR_SET_KEEPCAPS");
	if (setresuid(uid, uid, uid) < 0)
		return err_set(err, errno, "become user %u (CAP_SETUID)", (unsigned int)uid);
	wanted[word].permitted = wanted[word].effective = now[word].permitted & bit;
	if (set_capabilities(wanted) < 0)
		return err_set(err, errno, "capset");
	/* Where fs.suid_dumpable is 1, the change of the user has undone it. */
	undumpable_become();
	return 0;
}
