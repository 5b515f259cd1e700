/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes the memory cgroups of Ray's resource isolation. */
#include "sidecar/sample/isolation.h"

#include <stdbool.h>

#include "lib/macros.h"

static const struct {
	const char *path; /* path below the node's cgroup */
	enum isolation_part part;
} branches[] = {
	{ "", ISOLATION_NODE },
	{ "system", ISOLATION_SYSTEM },
	{ "system/leaf", ISOLATION_SYSTEM },
	{ "user", ISOLATION_USER },
	{ "user/workers", ISOLATION_WORKERS },
	{ "user/non-ray", ISOLATION_NON_RAY },
	{ "application", ISOLATION_USER },
	{ "application/leaf", ISOLATION_USER },
};

enum isolation_part isolation_part_of(const char *cgroup)
{
	const char *node = isolation_node(cgroup);

	if (!node)
		return ISOLATION_NONE;
	const char *id = node + strlen("/ray-node_"); /* the older name has the same length */
	const char *rest = strchrnul(id, '/');
	if (rest == id)
		return ISOLATION_NONE;
	rest += *rest == '/';
	for (size_t i = 0; i < ARRAY_SIZE(branches); i++)
		if (strcmp(rest, branches[i].path) == 0)
			return branches[i].part;
	return ISOLATION_NONE;
}

const char *isolation_name(enum isolation_part part)
{
	/* clang-format off */
	static const char *const names[] = {
		[ISOLATION_NONE] = "",		[ISOLATION_NODE] = "ray-node", [ISOLATION_SYSTEM] = "system",
		[ISOLATION_USER] = "user",	[ISOLATION_WORKERS] = "user/workers",
		[ISOLATION_NON_RAY] = "user/non-ray",
	};
	/* clang-format on */

	return names[part];
}

const char *isolation_holds(enum isolation_part part)
{
	static const char *const texts[] = {
		[ISOLATION_NONE] = "",
		[ISOLATION_NODE] = "all of Ray",
		[ISOLATION_SYSTEM] = "Ray's own processes",
		[ISOLATION_USER] = "workers, drivers and what Ray did not start",
		[ISOLATION_WORKERS] = "Ray's workers",
		[ISOLATION_NON_RAY] = "drivers and what Ray did not start",
	};

	return texts[part];
}

const char *isolation_advice(enum isolation_part part)
{
	switch (part) {
	case ISOLATION_SYSTEM:
		return "a higher --system-reserved-memory of ray start";
	case ISOLATION_USER:
	case ISOLATION_WORKERS:
	case ISOLATION_NON_RAY:
		return "a lower --system-reserved-memory of ray start, which leaves more to the user's processes";
	case ISOLATION_NONE:
	case ISOLATION_NODE:
		break;
	}
	return NULL;
}

static bool isolation_has(const char *line, size_t len, const char *words)
{
	return memmem(line, len, words, strlen(words)) != NULL;
}

const char *isolation_remark(const char *line, size_t len)
{
	static const struct {
		const char *first, *second, *remark;
	} rows[] = {
		{ "System slice memory usage ", "has exceeded the reserved system memory",
		  "Ray's own processes used more than the memory reserved for them (--system-reserved-memory)" },
		{ "resource isolation protection", "user and system slice memory snapshot",
		  "Ray's monitor could not read the cgroups of the resource isolation and did not protect them" },
		{ "Failed to start CgroupManager", "",
		  "raylet could not make the cgroups of the resource isolation" },
		{ "Failed to initialize resource isolation", "",
		  "raylet could not make the cgroups of the resource isolation" },
		{ "Ray's cgroup hierarchy must not be modified while Ray is running", "",
		  "somebody else changed the cgroups of the resource isolation, which ends raylet" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (isolation_has(line, len, rows[i].first) &&
		    isolation_has(line, len, rows[i].second))
			return rows[i].remark;
	return NULL;
}
