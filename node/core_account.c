/* SPDX-License-Identifier: Apache-2.0 */
/* Counts a core's file in memory for the pod of the process that crashed. */
#include "node/core_account.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "lib/fileio.h"
#include "node/pod_of_process.h"

#define CGROUP_TEXT_MAX (64 * 1024)
#define CGROUPS "/sys/fs/cgroup"
/* Of linux/magic.h, which is not there for every libc. */
#define TMPFS 0x01021994UL
#define RAMFS 0x858458f6UL

static bool core_account_is_memory(const char *controllers, const char *end)
{
	static const char name[] = "memory";

	while (controllers < end) {
		const char *comma = memchr(controllers, ',', (size_t)(end - controllers));
		size_t len = (size_t)((comma ? comma : end) - controllers);

		if (len == strlen(name) && memcmp(controllers, name, len) == 0)
			return true;
		controllers += len + 1;
	}
	return false;
}

/*
 * Lines are "ID:CONTROLLERS:PATH". That of cgroup v2 is "0::PATH"; where v1 has the memory, v2 has
 * none.
 */
bool core_account_path(const char *text, char ret_path[static PATH_MAX])
{
	bool found = false;

	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n'),
			   *controllers = memchr(line, ':', (size_t)(end - line));
		const char *path = controllers ? memchr(controllers + 1, ':',
							(size_t)(end - controllers - 1)) :
						 NULL;
		bool v1 = path && core_account_is_memory(controllers + 1, path),
		     v2 = path && path == controllers + 1 && *line == '0';

		if (v1 || (v2 && !found)) {
			int n = snprintf(ret_path, PATH_MAX, CGROUPS "%s%.*s", v1 ? "/memory" : "",
					 (int)(end - path - 1), path + 1);

			found = n > 0 && n < PATH_MAX;
			if (v1)
				break;
		}
		line = *end ? end + 1 : end;
	}
	return found;
}

void core_account_open(pid_t pid, struct core_account *ret_account)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CGROUP_TEXT_MAX);
	_cleanup_close_ int directory = -1;
	struct core_account a = { .procs = -1 };
	struct pod_of_process pod;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (file_read(AT_FDCWD, path, &text, NULL) == 0)
		a.of_pod = pod_of_cgroups(strbuf_str(&text), &pod, NULL) == 0;
	if (a.of_pod && core_account_path(strbuf_str(&text), path))
		directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory >= 0)
		a.procs = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	*ret_account = a;
}

void core_account_release(struct core_account *a)
{
	closep(&a->procs);
}

int core_account_charge(const struct core_account *a, int file, struct err *err)
{
	struct statfs fs;

	if (!a->of_pod)
		return 0;
	if (fstatfs(file, &fs) < 0)
		return err_set(err, errno, "the file system of the core");
	if ((unsigned long)fs.f_type != TMPFS && (unsigned long)fs.f_type != RAMFS)
		return 0;
	/* The kernel asks for the rights of who opened it. "0" is this process. */
	if (a->procs < 0 || write(a->procs, "0", 1) != 1)
		return err_set(err, a->procs < 0 ? ENOENT : errno,
			       "enter the memory cgroup of the process");
	return 0;
}
