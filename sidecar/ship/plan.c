/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a manifest, and orders its files for sending. */
#include "sidecar/ship/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/oom.h"

/* The files that are sent first, because they matter most if time or space runs out. */
static const char *const first[] = { "report.txt", "report.json", "report.html" };

static bool is_core(const char *name)
{
	return strncmp(name, "core", 4) == 0;
}

static unsigned int plan_rank(const char *name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(first); i++)
		if (strcmp(name, first[i]) == 0)
			return i;
	return is_core(name) ? ARRAY_SIZE(first) + 1 : ARRAY_SIZE(first);
}

static bool valid_digest(const char *digest)
{
	return digest && strlen(digest) == SHA256_TEXT_MAX - 1 &&
	       strspn(digest, "0123456789abcdef") == SHA256_TEXT_MAX - 1;
}

static int read_item(const cJSON *file, struct plan_item *item, struct err *err)
{
	const char *name = json_str(file, "name"), *path = json_str(file, "path"),
		   *digest = json_str(file, "sha256");
	const cJSON *size = json_get(file, "sizeBytes");
	int r = name ? store_path_check(name, err) : err_set(err, EINVAL, "a file without a name");

	if (r == 0 && path)
		r = store_path_check(path, err);
	if (r < 0)
		return r;
	if (strcmp(name, PLAN_MANIFEST) == 0)
		return err_set(err, EINVAL, "it lists itself");
	if (!cJSON_IsNumber(size) || !(size->valuedouble >= 0 && size->valuedouble <= 9e15))
		return err_set(err, EINVAL, "%s: sizeBytes is no size", name);
	if (!valid_digest(digest))
		return err_set(err, EINVAL, "%s: sha256 is no SHA-256 in lower case", name);
	item->size = (int64_t)size->valuedouble;
	memcpy(item->sha256, digest, sizeof(item->sha256));
	item->name = strdup(name);
	item->path = path ? strdup(path) : NULL;
	return item->name && (item->path || !path) ? 0 : err_set(err, ENOMEM, "%s", name);
}

static bool plan_has(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n; i++)
		if (strcmp(plan->items[i].name, name) == 0)
			return true;
	return false;
}

/* Inserts behind items of equal rank. Bundles have some dozen files. */
static void plan_insert(struct plan *plan, struct plan_item item)
{
	size_t at = plan->n++;

	while (at > 0 && plan_rank(plan->items[at - 1].name) > plan_rank(item.name)) {
		plan->items[at] = plan->items[at - 1];
		at--;
	}
	plan->items[at] = item;
}

static void release_item(struct plan_item *item)
{
	free(item->name);
	free(item->path);
}

static int read_files(const cJSON *files, struct plan *plan, struct err *err)
{
	int n = cJSON_GetArraySize(files);

	if (!cJSON_IsArray(files))
		return err_set(err, EINVAL, "\"files\" is no list");
	if (n > PLAN_FILES_MAX)
		return err_set(err, EFBIG, "more than %d files", PLAN_FILES_MAX);
	plan->items = calloc((size_t)n + 1, sizeof(*plan->items));
	if (!plan->items)
		return err_set(err, ENOMEM, "manifest");
	json_each(file, files) {
		struct plan_item item = { 0 };
		int r = read_item(file, &item, err);

		if (r == 0 && plan_has(plan, item.name))
			r = err_set(err, EINVAL, "%s is listed twice", item.name);
		if (r < 0) {
			release_item(&item);
			return r;
		}
		plan_insert(plan, item);
	}
	return 0;
}

int plan_parse(const char *manifest, size_t len, struct plan *ret_plan, struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;
	struct plan plan = { 0 };
	int r = json_parse(manifest, len, &json, err);

	if (r == 0)
		r = read_files(json_get(json, "files"), &plan, err);
	if (r < 0) {
		plan_release(&plan);
		err_wrap(err, PLAN_MANIFEST);
		return r;
	}
	*ret_plan = plan;
	return 0;
}

void plan_release(struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		release_item(&plan->items[i]);
	free(plan->items);
	*plan = (struct plan){ 0 };
}

int plan_locate(const struct plan_item *item, const char *as, char ret_path[static PLAN_PATH_MAX],
		struct err *err)
{
	char path[PLAN_PATH_MAX];
	size_t own, whole = item->path ? strlen(item->path) : 0;

	snprintf(path, sizeof(path), "/%s/%s", as, item->name);
	own = strlen(path);
	if (item->path &&
	    (whole >= PLAN_PATH_MAX || whole <= own || strcmp(item->path + whole - own, path) != 0))
		return err_set(err, EINVAL, "%s: the path %.200s is no place of this bundle",
			       item->name, item->path);
	snprintf(ret_path, PLAN_PATH_MAX, "%s", item->path ? item->path : path + 1);
	return 0;
}

/* Returns whether the file was changed. A name may occur twice in a JSON object. */
static bool plan_place(cJSON *file, const char *prefix, const char *as)
{
	const char *name = json_str(file, "name");
	char path[PLAN_PATH_MAX];
	bool changed = false;

	for (; cJSON_GetObjectItemCaseSensitive(file, "path"); changed = true)
		cJSON_DeleteItemFromObjectCaseSensitive(file, "path");
	if (!name || !prefix || !is_core(name))
		return changed;
	snprintf(path, sizeof(path), "%s/%s/%s", prefix, as, name);
	json_set_str(file, "path", path);
	return true;
}

static int replace_text(struct strbuf *manifest, const cJSON *json, struct err *err)
{
	_cleanup_free_ char *text = cJSON_Print(json);

	if (!text)
		return err_set(err, ENOMEM, PLAN_MANIFEST);
	strbuf_reset(manifest);
	strbuf_adds(manifest, text);
	return strbuf_failed(manifest) ?
		       err_set(err, EFBIG, PLAN_MANIFEST " is larger than %zu bytes",
			       PLAN_MANIFEST_MAX) :
		       0;
}

int plan_place_cores(struct strbuf *manifest, const char *prefix, const char *as, struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;
	size_t lost = oom_count();
	cJSON *file;
	bool changed = false;
	int r = json_parse(strbuf_str(manifest), manifest->len, &json, err);

	if (r < 0)
		return err_wrap(err, PLAN_MANIFEST);
	cJSON_ArrayForEach(file, json_get(json, "files"))
		changed = plan_place(file, prefix, as) || changed;
	if (oom_count() != lost)
		return err_set(err, ENOMEM, PLAN_MANIFEST);
	return changed ? replace_text(manifest, json, err) : 0;
}

const char *plan_content_type(const char *name)
{
	static const struct {
		const char *end, *type;
	} types[] = {
		{ ".html", "text/html; charset=utf-8" }, { ".json", "application/json" },
		{ ".jsonl", "application/x-ndjson" },	 { ".txt", "text/plain; charset=utf-8" },
		{ ".log", "text/plain; charset=utf-8" }, { ".out", "text/plain; charset=utf-8" },
		{ ".err", "text/plain; charset=utf-8" }, { ".zst", "application/zstd" },
	};
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		size_t end = strlen(types[i].end);

		if (len > end && strcmp(name + len - end, types[i].end) == 0)
			return types[i].type;
	}
	return "application/octet-stream";
}
