/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what the tasks of a cluster have needed: while its pods run their sidecars know it, then
 * the ConfigMap in which the operator keeps it (operator/failures/kept_memory.h), then bundles.
 */
#include "plugin/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/memory_needs.h"
#include "lib/strmap.h"
#include "plugin/bundle.h"
#include "plugin/failure_items.h"
#include "plugin/local.h"
#include "plugin/memory_advice.h"
#include "plugin/pod_sidecar.h"
#include "plugin/reads.h"
#include "plugin/sidecar_http.h"
#include "plugin/table.h"
#include "plugin/terminal.h"

#define BUNDLES_MAX 8 /* a pod that reads it for each, so about half a minute in all */
/* bytes of task-memory.json, far above the sidecar's own limit */
#define NEEDS_MAX ((size_t)1 << 20)
#define SAVED_MAX ((size_t)16 << 20)
#define NEEDS_FILE "task-memory.json"
#define CONTAINER_KEY_MAX 400 /* of "pod@machine/container" */
#define CLUSTER_MAX 64 /* a label, and a NUL */

/* What was found. */
struct found {
	cJSON *answers; /* for memory_advice */
	char cluster[CLUSTER_MAX]; /* "": not known */
};

/* Takes needs over. run: which run of a command they are of; NULL: they are of a container. */
static void answer_add(cJSON *answers, const char *group, const char *run, cJSON *needs)
{
	cJSON *answer = cJSON_CreateObject();

	json_set_str(answer, "group", group);
	json_set(answer, "ofCommand", cJSON_CreateBool(run != NULL));
	json_set(answer, "needs", needs);
	json_append(answers, answer);
}

/*
 * --- Pods that run
 * -------------------------------------------------------------------------------------
 */

static void needs_take(void *arg, const cJSON *pod, cJSON *memory)
{
	struct found *found = arg;
	cJSON *container;

	cJSON_ArrayForEach(container, json_get(memory, "containers")) {
		cJSON *needs = cJSON_DetachItemFromObjectCaseSensitive(container, "needs");

		if (needs)
			answer_add(found->answers,
				   label_of(pod, "ray.io/group") ?: json_str(pod, "metadata.name"),
				   NULL, needs);
	}
	snprintf(found->cluster, CLUSTER_MAX, "%s", label_of(pod, "ray.io/cluster") ?: "");
	cJSON_Delete(memory);
}

static int pods_running(const struct options *o, const char *what, struct found *found,
			struct err *err)
{
	_cleanup_json_ cJSON *pods = NULL;
	struct kubectl kubectl = kubectl_of(o);
	int r = read_pods_of(o, what, &pods, err);

	if (r == 0)
		sidecars_ask_memory(&kubectl, pods, NULL, needs_take, found);
	return r;
}

/*
 * --- What the operator has kept
 * ------------------------------------------------------------------------
 */

/*
 * Returns the cluster that is meant and ended last, other than `but`; the caller owns it. NULL:
 * none is kept.
 */
static cJSON *cluster_kept(const cJSON *configmap, const char *what, const char *but,
			   const char **ret_name)
{
	const char *cluster = cluster_named(what);
	cJSON *found = NULL;

	json_each(value, json_get(configmap, "data")) {
		const char *text = cJSON_GetStringValue(value);
		_cleanup_json_ cJSON *kept = NULL;

		if (!text || strcmp(value->string, but) == 0 ||
		    json_parse(text, strlen(text), &kept, NULL) < 0)
			continue;
		if (cluster ? strcmp(cluster, value->string) != 0 :
			      strcasecmp(what, failure_str(kept, "owner")) != 0)
			continue;
		if (found &&
		    strcmp(failure_str(found, "endedAt"), failure_str(kept, "endedAt")) > 0)
			continue;
		cJSON_Delete(found);
		found = TAKE_PTR(kept);
		*ret_name = value->string;
	}
	return found;
}

static void kept_read(const struct options *o, const char *what, const char *but,
		      struct found *found)
{
	_cleanup_json_ cJSON *configmap = NULL, *kept = NULL;
	const char *name = NULL;

	read_objects(o, "configmap", NULL, KEPT_MEMORY_CONFIGMAP, true, &configmap, NULL);
	kept = cluster_kept(configmap, what, but, &name);
	json_each(group, json_get(kept, "groups"))
		answer_add(found->answers, failure_str(group, "group"), NULL,
			   cJSON_Duplicate(json_get(group, "needs"), true));
	snprintf(found->cluster, CLUSTER_MAX, "%s", name ?: "");
}

/*
 * --- Bundles
 * -------------------------------------------------------------------------------------------
 */

static int bundle_needs(const struct options *o, const cJSON *failure, const cJSON *pods,
			cJSON **ret_needs, struct err *err)
{
	static const char *const of_cgroup[] = { "workingSetBytes", "anonBytes", "fileBytes",
						 "shmemBytes", "kernelBytes" };
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(NEEDS_MAX);
	struct kubectl kubectl = kubectl_of(o);
	int r = o->store ? local_bundle_file(failure, NEEDS_FILE, &text, err) :
			   bundle_read(&kubectl, failure, pods, o->image, NEEDS_FILE, &text, err);

	if (r == 0)
		r = json_parse(strbuf_str(&text), text.len, ret_needs, err);
	/* Others shared the cgroup of the command, so what it held says nothing of the command. */
	if (r == 0 && json_bool(failure, "spec.memory.shared", false))
		for (size_t i = 0; i < ARRAY_SIZE(of_cgroup); i++)
			cJSON_DeleteItemFromObjectCaseSensitive(json_get(*ret_needs, "peaks"),
								of_cgroup[i]);
	return r;
}

/*
 * A later bundle of a container has what an earlier one has, and more. seen: containers of later
 * ones.
 */
static bool is_newest_of_container(const cJSON *failure, struct strmap *seen)
{
	char key[CONTAINER_KEY_MAX];
	void *before = NULL;

	snprintf(key, sizeof(key), "%.300s/%.63s", failure_str(failure, "spec.pod"),
		 failure_str(failure, "spec.container"));
	return strmap_put(seen, key, seen, &before) == 0 && !before;
}

static void bundles_take(const struct options *o, const struct items *items, const cJSON *pods,
			 cJSON *answers)
{
	/*
	 * The name of a job stays the same with each of its clusters: only the last one is meant.
	 */
	const char *cluster =
		items->n ? failure_str(items->all[items->n - 1].failure, "spec.cluster") : "";
	struct strmap seen = STRMAP_INIT;
	int taken = 0;

	for (size_t i = items->n; i > 0 && (o->store || taken < BUNDLES_MAX); i--) {
		const cJSON *failure = items->all[i - 1].failure;
		struct err err = { 0 };
		cJSON *needs = NULL;

		if (!is_newest_of_container(failure, &seen) ||
		    strcmp(failure_str(failure, "spec.cluster"), cluster) != 0)
			continue;
		taken++;
		if (bundle_needs(o, failure, pods, &needs, &err) < 0)
			stderr_note("%s: %s\n", failure_str(failure, "metadata.name"),
				    err_text(&err));
		else
			answer_add(answers,
				   json_str_or(failure, "spec.group",
					       failure_str(failure, "spec.container")),
				   json_str(failure, "spec.run"), needs);
	}
	strmap_release(&seen, NULL);
}

/* Below a directory WHAT may be a cluster, a command, or the name of a bundle. */
static void items_keep(struct items *items, const char *what)
{
	size_t kept = 0;

	for (size_t i = 0; i < items->n; i++) {
		const cJSON *failure = items->all[i].failure;

		if (strcmp(failure_str(failure, "spec.cluster"), what) == 0 ||
		    strcmp(failure_str(failure, "spec.container"), what) == 0 ||
		    strcmp(failure_str(failure, "metadata.name"), what) == 0)
			items->all[kept++] = items->all[i];
	}
	items->n = kept;
}

static int bundles_read(const struct options *o, const char *what, cJSON *answers, struct err *err)
{
	struct failure_filter filter = { .cluster = o->store ? NULL : cluster_named(what) };
	_cleanup_json_ cJSON *failures = NULL, *pods = NULL;
	int r = read_failures(o, &failures, err);

	if (r == 0 && !o->store)
		r = read_ray_pods(o, NULL, NULL, &pods, err);
	if (r < 0)
		return r;
	filter.owner = filter.cluster || o->store ? NULL : what;
	struct items items = failure_items_of(failures, &filter);
	if (o->store && what)
		items_keep(&items, what);
	bundles_take(o, &items, pods, answers);
	free(items.all);
	return 0;
}

/*
 * --- The command
 * ---------------------------------------------------------------------------------------
 */

static int saved_read(const char *path, cJSON **ret_needs, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(SAVED_MAX);
	_cleanup_json_ cJSON *json = NULL;
	int r = file_read(AT_FDCWD, path, &text, err);

	if (r == 0)
		r = json_parse(strbuf_str(&text), text.len, &json, err);
	if (r < 0)
		return err_wrap(err, "%s", path);
	if (strcmp(failure_str(json, "kind"), "MemoryNeeds") != 0)
		return err_set(err, EPROTO, "%s was not written by `memory --output json`", path);
	*ret_needs = TAKE_PTR(json);
	return 0;
}

static int needs_find(const struct options *o, const char *what, cJSON **ret_needs,
		      char ret_cluster[static CLUSTER_MAX], struct err *err)
{
	_cleanup_json_ cJSON *answers = cJSON_CreateArray();
	struct found found = { .answers = answers };
	int r = 0;

	if (what && fnmatch("?*.json", what, 0) == 0)
		return saved_read(what, ret_needs, err);
	if (!o->store)
		r = pods_running(o, what, &found, err);
	if (r == 0 && !o->store && !cJSON_GetArraySize(answers))
		kept_read(o, what, "", &found);
	if (r == 0 && !cJSON_GetArraySize(answers))
		r = bundles_read(o, what, answers, err);
	if (r < 0)
		return r;
	if (!cJSON_GetArraySize(answers))
		return err_set(
			err, EPROTO, "%s knows what %.253s needs",
			o->store ?
				"no bundle" :
				"no running Ray pod with a sidecar, no ended one, and no bundle,",
			what ? what : "a task");
	snprintf(ret_cluster, CLUSTER_MAX, "%s", found.cluster);
	*ret_needs = memory_advice(answers);
	return *ret_needs ? 0 : err_set(err, ENOMEM, "memory");
}

/* The run before of the same job, as the operator has kept it; NULL: there is none. */
static cJSON *needs_before(const struct options *o, const char *cluster)
{
	_cleanup_json_ cJSON *answers = cJSON_CreateArray();
	struct found found = { .answers = answers };

	if (!*cluster || cluster_named(o->argument))
		return NULL;
	kept_read(o, o->argument, cluster, &found);
	return cJSON_GetArraySize(answers) ? memory_advice(answers) : NULL;
}

int memory_command(const struct options *o, struct strbuf *out, struct err *err)
{
	_cleanup_json_ cJSON *now = NULL, *before = NULL;
	char cluster[CLUSTER_MAX] = "", other[CLUSTER_MAX];
	int r = needs_find(o, o->argument, &now, cluster, err);

	if (r == 0 && o->second)
		r = needs_find(o, o->second, &before, other, err);
	else if (r == 0)
		before = needs_before(o, cluster);
	if (r < 0)
		return r;
	if (o->output) {
		if (before)
			json_set(now, "before", TAKE_PTR(before));
		document_print(now, "MemoryNeeds", out);
	} else
		memory_advice_text(now, before, out);
	return 0;
}
