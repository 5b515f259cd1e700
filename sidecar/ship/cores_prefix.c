/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the path below a store to which cores are written. */
#include "sidecar/ship/cores_prefix.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-/"

/* Returns whether no component is empty or begins with a dot. */
static bool has_components(const char *path)
{
	for (;; path++) {
		if (*path == '/' || *path == '.' || !*path)
			return false;
		path += strcspn(path, "/");
		if (!*path)
			return true;
	}
}

int cores_prefix_check(const char *prefix, struct err *err)
{
	size_t len = strlen(prefix);

	if (prefix[0] == '_' && len <= CORES_PREFIX_MAX && strspn(prefix, LETTERS) == len &&
	    has_components(prefix))
		return 0;
	return err_set(
		err, EINVAL,
		"cores go to a path such as _cores, which begins with '_' and has at most %d letters, digits "
		"and ._~-/, not to '%.200s'",
		CORES_PREFIX_MAX, prefix);
}
