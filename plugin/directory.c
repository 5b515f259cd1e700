/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a directory for the files that a command saves. */
#include "plugin/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/fileio.h"

static bool is_empty(int dir_fd)
{
	DIR *dir = fdopendir(dup(dir_fd));
	const struct dirent *entry;
	bool empty = dir != NULL;

	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (dir)
		closedir(dir);
	return empty;
}

int directory_open_empty(const char *path, int *ret_fd, struct err *err)
{
	int r = dir_make_all(path, 0755, err);

	if (r < 0)
		return r;
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0)
		return err_set(err, errno, "directory %s", path);
	return is_empty(*ret_fd) ? 0 : err_set(err, EEXIST, "directory %s is not empty", path);
}
