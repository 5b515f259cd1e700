/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the memory cgroup of a process from /proc/PID/cgroup and mountinfo. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/sample/isolation.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/mountinfo.h"

#define FIELD_MAX MOUNT_FIELD_MAX

/* Returns whether word is in the comma-separated list of len bytes. */
static bool list_has(const char *list, size_t len, const char *word)
{
	size_t word_len = strlen(word);

	while (len > 0) {
		const char *comma = memchr(list, ',', len);
		size_t item = comma ? (size_t)(comma - list) : len;

		if (item == word_len && memcmp(list, word, item) == 0)
			return true;
		list += MIN(item + 1, len);
		len -= MIN(item + 1, len);
	}
	return false;
}

/*
 * Finds the path. A line is "ID:CONTROLLERS:PATH"; v2 has ID 0 and no controllers. Hybrid hosts
 * have lines of both versions, and the controller belongs to v1 if v1 lists it.
 */
static int find_cgroup(const char *controller, const char *text, char *ret_path, size_t size,
		       int *ret_version)
{
	*ret_version = 0;
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		const char *list = memchr(line, ':', (size_t)(end - line));
		const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;

		if (path && (size_t)(end - path) <= size) {
			bool v1 = list_has(list + 1, (size_t)(path - list - 1), controller);
			bool v2 = path == list + 1 && line + 1 == list && *line == '0';

			if (v1 || (v2 && *ret_version == 0)) {
				snprintf(ret_path, size, "%.*s", (int)(end - path - 1), path + 1);
				*ret_version = v1 ? 1 : 2;
			}
		}
		line = *end ? end + 1 : end;
	}
	return *ret_version ? 0 : -ENOENT;
}

int memcg_find_cgroup(const char *text, char *ret_path, size_t size, int *ret_version)
{
	return find_cgroup("memory", text, ret_path, size, ret_version);
}

int memcg_find(const char *cgroup_text, const char *mountinfo_text, char *ret_path, size_t size,
	       int *ret_version, struct err *err)
{
	return cgroup_find("memory", cgroup_text, mountinfo_text, ret_path, size, ret_version, err);
}

/* Returns whether the path begins with "/..". */
static bool is_above(const char *path)
{
	return strncmp(path, "/..", 3) == 0 && (path[3] == '/' || !path[3]);
}

/* Returns whether the path consists of ".." only: "/../..". */
static bool ends_above(const char *path)
{
	size_t len = strlen(path);

	return len >= 3 && strcmp(path + len - 3, "/..") == 0;
}

/* The mount shows the hierarchy from m->root down, which is mostly the container's own cgroup. */
static int place_in(const struct mount *m, const char *path, struct memcg_place *place)
{
	size_t root_len = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);

	place->own = strncmp(path, m->root, root_len) == 0 &&
		     (path[root_len] == '/' || !path[root_len]) && !is_above(path + root_len);
	const char *rest = place->own ? path + root_len : "";
	place->top = strlen(m->point);
	/*
	 * In another cgroup namespace, the root of a mount of the container's own namespace begins
	 * with ".." and ends with the container's name.
	 */
	place->whole = place->own && is_above(m->root) && !ends_above(m->root);
	place->writable = strncmp(m->options, "rw", 2) == 0;
	place->local_events =
		list_has(m->super_options, strlen(m->super_options), "memory_localevents");
	return (size_t)snprintf(place->path, sizeof(place->path), "%s%s", m->point,
				strcmp(rest, "/") ? rest : "") < sizeof(place->path) ?
		       0 :
		       -1;
}

static bool memcg_find_is_of(const struct mount *m, const struct memcg_place *place,
			     const char *controller)
{
	if (place->version == 2)
		return strcmp(m->type, "cgroup2") == 0;
	return strcmp(m->type, "cgroup") == 0 &&
	       list_has(m->super_options, strlen(m->super_options), controller);
}

static int find_place(const char *controller, const char *cgroup_text, const char *mountinfo_text,
		      struct memcg_place *ret_place, struct err *err)
{
	struct memcg_place place = { .version = 0 }, found = { .version = 0 };
	char point[FIELD_MAX] = "";

	if (find_cgroup(controller, cgroup_text, place.cgroup, sizeof(place.cgroup),
			&place.version) < 0)
		return err_set(err, ENOENT, "no %s cgroup in /proc/PID/cgroup", controller);
	for (const char *line = mountinfo_text; *line;) {
		const char *end = strchrnul(line, '\n');
		struct mount m;

		if (mount_parse(line, &m) && memcg_find_is_of(&m, &place, controller)) {
			if (place_in(&m, place.cgroup, &place) < 0)
				return err_set(err, ENAMETOOLONG, "%s cgroup path", controller);
			/*
			 * A later mount hides an earlier one at the same point, as happens in a
			 * container within a container.
			 */
			if (!found.version || strcmp(point, m.point) == 0 ||
			    (place.own && !found.own)) {
				found = place;
				memcpy(point, m.point, sizeof(point));
			}
		}
		line = *end ? end + 1 : end;
	}
	if (!found.version)
		return err_set(err, ENOENT, "no mount of the %s cgroup in mountinfo", controller);
	*ret_place = found;
	return 0;
}

int memcg_find_place(const char *cgroup_text, const char *mountinfo_text,
		     struct memcg_place *ret_place, struct err *err)
{
	return find_place("memory", cgroup_text, mountinfo_text, ret_place, err);
}

void memcg_place_to_container(struct memcg_place *place)
{
	const char *isolated = isolation_node(place->path + place->top);
	size_t len = strlen(place->path), cut = place->whole ? len - place->top :
						isolated     ? strlen(isolated) :
							       0;

	/*
	 * A directory with a name like those of Ray's that is above the known part of the
	 * container's path is not Ray's.
	 */
	if (cut > strlen(place->cgroup))
		return;
	place->path[len - cut] = '\0';
	place->cgroup[strlen(place->cgroup) - cut] = '\0';
}

bool memcg_place_to_made(struct memcg_place *place, const char *made)
{
	size_t shown = strlen(place->path) - place->top,
	       cgroup_len = strcmp(place->cgroup, "/") == 0 ? 0 : strlen(place->cgroup);

	/* The mount does not show this part, which is the same for both. */
	size_t hidden = cgroup_len - shown;

	if (!place->own || shown > cgroup_len || strncmp(made, place->path, place->top) != 0 ||
	    made[place->top] != '/' || strlen(made) >= sizeof(place->path) ||
	    hidden + strlen(made + place->top) >= sizeof(place->cgroup))
		return false;
	snprintf(place->cgroup + hidden, sizeof(place->cgroup) - hidden, "%s", made + place->top);
	snprintf(place->path, sizeof(place->path), "%s", made);
	return true;
}

bool memcg_local_events(const char *mountinfo_text)
{
	struct mount m;

	for (const char *line = mountinfo_text; *line; line += *line == '\n') {
		if (mount_parse(line, &m) && strcmp(m.type, "cgroup2") == 0 &&
		    list_has(m.super_options, strlen(m.super_options), "memory_localevents"))
			return true;
		line = strchrnul(line, '\n');
	}
	return false;
}

/* Returns how many ".." the path begins with, and the rest. */
static size_t count_up(const char *path, const char **ret_rest)
{
	size_t n = 0;

	for (; is_above(path); path += 3)
		n++;
	*ret_rest = strcmp(path, "/") == 0 ? "" : path;
	return n;
}

bool memcg_place_beside(const struct memcg_place *home, struct memcg_place *place)
{
	const char *home_rest, *rest;
	size_t home_up = count_up(home->cgroup, &home_rest), up = count_up(place->cgroup, &rest);
	size_t len = strlen(home->path), rest_len = strlen(rest);

	if (!home->own || home_up == 0 || up < home_up || strlen(home_rest) > len - home->top ||
	    strcmp(home->path + len - strlen(home_rest), home_rest) != 0)
		return false;
	for (len -= strlen(home_rest); up > home_up; up--) {
		while (len > home->top && home->path[len - 1] != '/')
			len--;
		if (len <= home->top)
			return false;
		len--;
	}
	if (len + rest_len >= sizeof(place->path))
		return false;
	memcpy(place->path, home->path, len);
	memcpy(place->path + len, rest, rest_len + 1);
	place->own = true;
	return true;
}

int cgroup_find(const char *controller, const char *cgroup_text, const char *mountinfo_text,
		char *ret_path, size_t size, int *ret_version, struct err *err)
{
	struct memcg_place place;
	int r = find_place(controller, cgroup_text, mountinfo_text, &place, err);

	if (r < 0)
		return r;
	if (strlen(place.path) >= size)
		return err_set(err, ENAMETOOLONG, "%s cgroup path", controller);
	memcpy(ret_path, place.path, strlen(place.path) + 1);
	*ret_version = place.version;
	return place.own ? 0 : 1;
}
