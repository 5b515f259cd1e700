/* SPDX-License-Identifier: Apache-2.0 */
/* From a manifest to the order of sending. */
#include "sidecar/ship/plan.h"

#include <errno.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "sidecar/ship/store_url.h"

/* The earlier, the more it is worth when time or space runs out. */
static const char *const first[] = { "report.txt", "report.json", "report.html" };

static unsigned int rank(const char *name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(first); i++)
		if (strcmp(name, first[i]) == 0)
			return i;
	return strncmp(name, "core", 4) == 0 ? ARRAY_SIZE(first) + 1 : ARRAY_SIZE(first);
}

static bool valid_digest(const char *digest)
{
	return digest && strlen(digest) == SHA256_TEXT_MAX - 1 &&
	       strspn(digest, "0123456789abcdef") == SHA256_TEXT_MAX - 1;
}

static int read_item(const cJSON *file, struct plan_item *item, struct err *err)
{
	const char *name = json_str(file, "name"), *digest = json_str(file, "sha256");
	const cJSON *size = json_get(file, "sizeBytes");
	int r = name ? store_path_check(name, err) : err_set(err, EINVAL, "a file without a name");

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
	return item->name ? 0 : err_set(err, ENOMEM, "%s", name);
}

static bool has(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->n; i++)
		if (strcmp(plan->items[i].name, name) == 0)
			return true;
	return false;
}

/* Keeps the order of equals. Bundles have some dozen files. */
static void insert(struct plan *plan, struct plan_item item)
{
	size_t at = plan->n++;

	while (at > 0 && rank(plan->items[at - 1].name) > rank(item.name)) {
		plan->items[at] = plan->items[at - 1];
		at--;
	}
	plan->items[at] = item;
}

static int read_files(const cJSON *files, struct plan *plan, struct err *err)
{
	int n = cJSON_GetArraySize(files);
	const cJSON *file;

	if (!cJSON_IsArray(files))
		return err_set(err, EINVAL, "\"files\" is no list");
	if (n > PLAN_FILES_MAX)
		return err_set(err, EFBIG, "more than %d files", PLAN_FILES_MAX);
	plan->items = calloc((size_t)n + 1, sizeof(*plan->items));
	if (!plan->items)
		return err_set(err, ENOMEM, "manifest");
	cJSON_ArrayForEach(file, files) {
		struct plan_item item = { 0 };
		int r = read_item(file, &item, err);

		if (r < 0)
			return r;
		if (has(plan, item.name)) {
			r = err_set(err, EINVAL, "%s is listed twice", item.name);
			free(item.name);
			return r;
		}
		insert(plan, item);
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
		free(plan->items[i].name);
	free(plan->items);
	*plan = (struct plan){ 0 };
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
