/* SPDX-License-Identifier: Apache-2.0 */
/* Lists directories. A header alone, because launcher and node agent use it, too. */
#pragma once

#include <dirent.h>

#include "lib/macros.h"

static inline void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}
#define _cleanup_dir_ _cleanup_(closedirp)

/* Takes fd. Returns NULL with errno set if it is negative, or no directory. */
static inline DIR *dir_of_fd(int fd)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		closep(&fd);
	return dir;
}

/* Returns the next entry; NULL at the end, and if dir is NULL. */
static inline const struct dirent *dir_next(DIR *dir)
{
	return dir ? readdir(dir) : NULL;
}

/* Whether the name is "." or "..". */
static inline bool dir_is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}
