/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a container, through an O_PATH descriptor of its root directory. */
#include "sidecar/sample/rootfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/fileio.h"

int rootfd_open(int root_fd, const char *path, int flags, struct err *err)
{
	struct open_how how = {
		/* openat2 refuses flags that O_PATH would ignore. */
		.flags = (unsigned long long)(flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY)),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd < 0)
		return err_set(err, errno, "open %.200s in the container", path);
	return fd;
}

int rootfd_read(int root_fd, const char *path, struct strbuf *out, struct err *err)
{
	_cleanup_close_ int fd = rootfd_open(root_fd, path, O_RDONLY, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat %.200s in the container", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "%.200s in the container is not a regular file", path);
	if (fd_read_all(fd, out, err) < 0)
		return err_wrap(err, "%.200s in the container", path);
	return 0;
}
