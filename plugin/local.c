/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a directory of bundles and makes a RayFailure of each report.json. */
#include "plugin/local.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "plugin/failure_items.h"
#include "plugin/local_incidents.h"
#include "plugin/page.h"
#include "plugin/terminal.h"

#define REPORT_MAX ((size_t)4 << 20) /* above the sidecar's own limits for each part of it */
#define DEPTH_MAX 8 /* of a cluster: namespace, cluster, pod, container, bundle */

/* The memory of the command: of a cgroup that others share, that of its processes alone. */
static int64_t memory_of(const cJSON *spec)
{
	int64_t sum = 0;

	if (!json_bool(spec, "memory.shared", false))
		return json_int(spec, "memory.usageBytes", -1);
	json_each(component, json_get(spec, "components"))
		if (!json_str(component, "name") ||
		    strcmp(json_str(component, "name"), "afterglow-launch") != 0)
			sum += MIN(MAX(json_int(component, "bytes", 0), (int64_t)0),
				   INT64_MAX - sum);
	return sum ? sum : -1;
}

/*
 * Names the command and its run. Two commands with one name may start at the same time on two
 * machines, but hardly on one.
 */
static void run_complete(cJSON *spec)
{
	_cleanup_strbuf_ struct strbuf run = STRBUF_INIT(PATH_MAX);

	strbuf_addf(&run, "%s/%s/%s", json_str_or(spec, "node", ""),
		    json_str_or(spec, "container", ""), json_str_or(spec, "startedAt", ""));
	json_set_str(spec, "run", strbuf_str(&run));
	json_set_str(spec, "pod", json_str(spec, "container"));
}

/* Where several machines wrote, a command has its machine behind it: "ray@node1". */
static void machines_complete(cJSON *items)
{
	const char *machine = NULL;
	bool several = false;
	cJSON *failure;

	cJSON_ArrayForEach(failure, items) {
		const char *node =
			json_str(failure, "spec.run") ? json_str(failure, "spec.node") : NULL;

		several = several || (node && machine && strcmp(node, machine) != 0);
		machine = node ? node : machine;
	}
	cJSON_ArrayForEach(failure, items) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(PATH_MAX);

		if (!several || !json_str(failure, "spec.run") || !json_str(failure, "spec.node"))
			continue;
		strbuf_addf(&text, "%s@%s", failure_str(failure, "spec.container"),
			    failure_str(failure, "spec.node"));
		json_set_str(json_get(failure, "spec"), "pod", strbuf_str(&text));
	}
}

static void spec_complete(cJSON *spec, const char *bundle)
{
	int64_t usage = memory_of(spec);

	json_set_str(spec, "bundle", bundle);
	json_set_str(spec, "verdict", json_str(spec, "sentence"));
	if (!json_str(spec, "pod"))
		run_complete(spec);
	if (usage >= 0)
		json_set_str(spec, "memoryText", SIZE_TEXT(usage));
}

/* Returns NULL if the report cannot be read. room: the bytes that all further reports may have. */
static cJSON *local_failure_of_report(const char *path, const char *bundle, size_t *room,
				      struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(MIN(REPORT_MAX, *room));
	cJSON *spec = NULL, *failure, *metadata;
	const char *slash = strrchr(bundle, '/');

	if (file_read_foreign(AT_FDCWD, path, &text, err) < 0 ||
	    json_parse(strbuf_str(&text), text.len, &spec, err) < 0)
		return NULL;
	*room -= text.len;
	if (!cJSON_IsObject(spec)) {
		cJSON_Delete(spec);
		err_set(err, EPROTO, "it is no report");
		return NULL;
	}
	failure = cJSON_CreateObject();
	metadata = json_object_at(failure, "metadata");
	json_set_str(metadata, "name", slash ? slash + 1 : bundle);
	json_set_str(metadata, "namespace", json_str_or(spec, "namespace", "local"));
	spec_complete(spec, bundle);
	json_set(failure, "spec", spec);
	return failure;
}

static void take_report(const FTSENT *entry, size_t *room, cJSON *items)
{
	_cleanup_strbuf_ struct strbuf bundle = STRBUF_INIT(PATH_MAX);
	struct err err = { 0 };

	strbuf_addf(&bundle, "%.*s", (int)(entry->fts_pathlen - entry->fts_namelen - 1),
		    entry->fts_path);
	cJSON *failure = local_failure_of_report(entry->fts_path, strbuf_str(&bundle), room, &err);
	if (failure)
		json_append(items, failure);
	else
		stderr_note("%s is left out: %s\n", entry->fts_path, err_text(&err));
}

/* Takes what is below the directory. Returns a code of errno if that cannot be read itself. */
static int tree_walk(FTS *tree, cJSON *items)
{
	size_t room = LOCAL_REPORTS_MAX;

	for (FTSENT *e; (e = fts_read(tree));) {
		if (e->fts_info == FTS_D &&
		    (e->fts_level > DEPTH_MAX || (e->fts_level > 0 && e->fts_name[0] == '.')))
			fts_set(tree, e, FTS_SKIP);
		else if (e->fts_info == FTS_NS || e->fts_info == FTS_DNR ||
			 e->fts_info == FTS_ERR) {
			if (e->fts_level == 0)
				return e->fts_errno;
			stderr_note("%s is left out: %s\n", e->fts_path, strerror(e->fts_errno));
		} else if (e->fts_level == 0 && e->fts_info != FTS_D && e->fts_info != FTS_DP)
			return ENOTDIR;
		else if (e->fts_info == FTS_F && strcmp(e->fts_name, "report.json") == 0) {
			take_report(e, &room, items);
			if (cJSON_GetArraySize(items) < PAGE_FAILURES_MAX)
				continue;
			stderr_note("Only %d bundles were read.\n", PAGE_FAILURES_MAX);
			return 0;
		}
	}
	return 0;
}

int local_failures(const char *directory, cJSON **ret_list, struct err *err)
{
	/* A page links to the bundles, from wherever it is. */
	_cleanup_free_ char *whole = realpath(directory, NULL);
	char *const paths[] = { whole ? whole : (char *)directory, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	cJSON *list = cJSON_CreateObject(), *items = json_array_at(list, "items");
	int code = !tree ? errno : !items ? ENOMEM : tree_walk(tree, items);

	machines_complete(items);
	local_incidents_join(items);
	json_set_str(list, "heading", "COMMAND");
	if (tree)
		fts_close(tree);
	if (code) {
		cJSON_Delete(list);
		return err_set(err, code, "--store %s", directory);
	}
	*ret_list = list;
	return 0;
}

int local_bundle_file(const cJSON *failure, const char *name, struct strbuf *out, struct err *err)
{
	char path[PATH_MAX];

	if (snprintf(path, PATH_MAX, "%s/%s", failure_str(failure, "spec.bundle"), name) >=
	    PATH_MAX)
		return err_set(err, ENAMETOOLONG, "%s", name);
	return file_read_foreign(AT_FDCWD, path, out, err);
}

const cJSON *local_newest(const cJSON *list)
{
	struct items items = failure_items_of(list, &(struct failure_filter){ 0 });
	const cJSON *newest = items.n ? items.all[items.n - 1].failure : NULL;

	free(items.all);
	return newest;
}
