/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how large the cores of a container may be. */
#include "sidecar/launch/core_limit.h"

#include <stdio.h>
#include <string.h>

#define TMPFS_MAGIC 0x01021994
#define RAMFS_MAGIC 0x858458f6

/*
 * Returns the length of the pattern's directory up to the first component with a specifier; 0: it
 * has none.
 */
static size_t directory_length(const char *pattern)
{
	size_t plain = strcspn(pattern, "%");

	while (plain > 0 && pattern[plain - 1] != '/')
		plain--;
	return plain;
}

bool core_place_is_in_memory(const struct statfs *fs)
{
	return (unsigned long)fs->f_type == TMPFS_MAGIC || (unsigned long)fs->f_type == RAMFS_MAGIC;
}

struct core_place core_place_find(const struct core_pattern *pattern)
{
	char path[CORE_PATTERN_MAX + 16] = ".";
	size_t len = directory_length(pattern->text);
	struct statfs fs;

	if (pattern->target != CORE_TO_RELATIVE && pattern->target != CORE_TO_ABSOLUTE)
		return (struct core_place){ 0 };
	if (len > 0)
		snprintf(path, sizeof(path), "%.*s", (int)len, pattern->text);
	if (statfs(path, &fs) < 0)
		return (struct core_place){ 0 };
	return (struct core_place){
		.known = true,
		.in_memory = core_place_is_in_memory(&fs),
		.free_bytes = (unsigned long long)fs.f_bavail * (unsigned long long)fs.f_bsize,
	};
}

rlim_t core_limit(const struct core_place *place, rlim_t most, bool memory)
{
	if (!place->known)
		return most;
	if (place->in_memory)
		return memory ? most : 0;
	return place->free_bytes / CORE_LIMIT_SHARE < most ? place->free_bytes / CORE_LIMIT_SHARE :
							     most;
}

rlim_t core_limit_here(rlim_t most, bool memory)
{
	struct core_pattern pattern = { .target = CORE_TO_NOTHING };

	core_pattern_read("/proc", &pattern);
	struct core_place place = core_place_find(&pattern);
	return core_limit(&place, most, memory);
}
