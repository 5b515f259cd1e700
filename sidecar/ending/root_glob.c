/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files of a container by shell patterns. */
#include "sidecar/ending/root_glob.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/directory.h"
#include "lib/macros.h"
#include "sidecar/sample/rootfd.h"

#define ENTRIES_MAX 20000 /* directory entries that are read for one pattern */
#define PATH_LEN_MAX 1024

struct walk {
	int root_fd;
	root_glob_fn fn;
	void *arg;
	unsigned int entries; /* entries that were read */
	bool enough; /* fn asked to end the search */
	bool cut;
};

static void walk(struct walk *w, const char *prefix, const char *pattern);

static void match_entries(struct walk *w, const char *prefix, const char *component,
			  const char *rest)
{
	_cleanup_dir_ DIR *dir = dir_of_fd(
		rootfd_open(w->root_fd, *prefix ? prefix : ".", O_RDONLY | O_DIRECTORY, NULL));
	const struct dirent *d;
	char path[PATH_LEN_MAX];

	while (!w->enough && !w->cut && (d = dir_next(dir))) {
		w->cut = ++w->entries > ENTRIES_MAX;
		if (fnmatch(component, d->d_name, FNM_PERIOD | FNM_PATHNAME | FNM_NOESCAPE) != 0)
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "/" : "",
				     d->d_name) < sizeof(path))
			walk(w, path, rest);
	}
}

/* prefix is a path that may exist; pattern is still to be matched below it. */
static void walk(struct walk *w, const char *prefix, const char *pattern)
{
	char component[NAME_MAX + 1], path[PATH_LEN_MAX];

	pattern += strspn(pattern, "/");
	if (!*pattern) {
		w->enough = !w->fn(prefix, w->arg);
		return;
	}
	size_t len = strcspn(pattern, "/");
	if (len >= sizeof(component))
		return;
	snprintf(component, sizeof(component), "%.*s", (int)len, pattern);
	if (strpbrk(component, "*?["))
		match_entries(w, prefix, component, pattern + len);
	else if ((size_t)snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "/" : "",
				  component) < sizeof(path))
		walk(w, path, pattern + len);
}

bool root_glob(int root_fd, const char *pattern, root_glob_fn fn, void *arg)
{
	struct walk w = { .root_fd = root_fd, .fn = fn, .arg = arg };

	walk(&w, "", pattern);
	return !w.cut;
}
