/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's program file, mapped. */
#include "operator/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/macros.h"

int launcher_map(const char *path, struct launcher *ret_launcher, struct err *err)
{
	/* A FIFO would have us wait. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "%s is no regular file", path);
	if (st.st_size == 0)
		return err_set(err, EINVAL, "%s is empty", path);
	if ((size_t)st.st_size > LAUNCHER_MAX)
		return err_set(err, EFBIG, "%s has more than %zu bytes", path, LAUNCHER_MAX);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return err_set(err, errno, "map %s", path);
	*ret_launcher = (struct launcher){ data, (size_t)st.st_size };
	return 0;
}

void launcher_release(struct launcher *launcher)
{
	if (launcher->data)
		munmap(launcher->data, launcher->len);
	*launcher = (struct launcher){ 0 };
}
