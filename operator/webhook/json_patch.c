/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of two JSON documents as a JSON Patch. */
#include "operator/webhook/json_patch.h"

#include <errno.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/strbuf.h"

struct walk {
	cJSON *patch;
	struct strbuf path; /* of the value at hand */
};

static void add_operation(struct walk *w, const char *op, const cJSON *value)
{
	cJSON *operation = cJSON_CreateObject();

	json_set_str(operation, "op", op);
	json_set_str(operation, "path", strbuf_str(&w->path));
	if (value)
		json_set(operation, "value", cJSON_Duplicate(value, true));
	json_append(w->patch, operation);
}

/* "/" and "~" have names of their own in a JSON Pointer (RFC 6901). Returns the length to go back to. */
static size_t enter(struct walk *w, const char *name)
{
	size_t len = w->path.len;

	strbuf_addc(&w->path, '/');
	for (; *name; name++)
		if (*name == '~')
			strbuf_adds(&w->path, "~0");
		else if (*name == '/')
			strbuf_adds(&w->path, "~1");
		else
			strbuf_addc(&w->path, *name);
	return len;
}

static void add_operation_below(struct walk *w, const char *name, const char *op, const cJSON *value)
{
	size_t len = enter(w, name);

	add_operation(w, op, value);
	strbuf_truncate(&w->path, len);
}

static void compare(struct walk *w, const cJSON *before, const cJSON *after);

static void compare_below(struct walk *w, const char *name, const cJSON *before, const cJSON *after)
{
	size_t len = enter(w, name);

	compare(w, before, after);
	strbuf_truncate(&w->path, len);
}

/* The member of that name. A copy has its members in the order of the original: it is mostly the one at hand. */
static const cJSON *member(const cJSON *object, const cJSON *at_hand, const char *name)
{
	if (at_hand && strcmp(at_hand->string, name) == 0)
		return at_hand;
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static void compare_objects(struct walk *w, const cJSON *before, const cJSON *after)
{
	const cJSON *item, *other, *at_hand = before->child;

	cJSON_ArrayForEach(item, after) {
		other = member(before, at_hand, item->string);
		at_hand = other ? other->next : at_hand;
		if (other)
			compare_below(w, item->string, other, item);
		else
			add_operation_below(w, item->string, "add", item);
	}
	at_hand = after->child;
	cJSON_ArrayForEach(item, before) {
		other = member(after, at_hand, item->string);
		at_hand = other ? other->next : at_hand;
		if (!other)
			add_operation_below(w, item->string, "remove", NULL);
	}
}

static void compare_arrays(struct walk *w, const cJSON *before, const cJSON *after)
{
	const cJSON *old = before->child, *new = after->child;
	char index[16];
	int n = 0;

	for (; old && new; old = old->next, new = new->next) {
		snprintf(index, sizeof(index), "%d", n++);
		compare_below(w, index, old, new);
	}
	for (; new; new = new->next)
		add_operation_below(w, "-", "add", new);
	/* Each removal moves up what follows: all of them happen at the same place. */
	snprintf(index, sizeof(index), "%d", n);
	for (; old; old = old->next)
		add_operation_below(w, index, "remove", NULL);
}

static void compare(struct walk *w, const cJSON *before, const cJSON *after)
{
	if (cJSON_IsObject(before) && cJSON_IsObject(after))
		compare_objects(w, before, after);
	else if (cJSON_IsArray(before) && cJSON_IsArray(after))
		compare_arrays(w, before, after);
	else if (!cJSON_Compare(before, after, true))
		add_operation(w, "replace", after);
}

int json_patch_diff(const cJSON *before, const cJSON *after, cJSON **ret_patch, struct err *err)
{
	struct walk w = { .patch = cJSON_CreateArray(), .path = STRBUF_INIT(JSON_PATCH_PATH_MAX) };
	size_t lost = oom_count();

	compare(&w, before, after);
	bool too_long = strbuf_failed(&w.path);
	strbuf_release(&w.path);
	if (!w.patch || oom_count() != lost || too_long) {
		cJSON_Delete(w.patch);
		return too_long ? err_set(err, E2BIG, "the path of a change is longer than %zu bytes", JSON_PATCH_PATH_MAX)
				: err_set(err, ENOMEM, "JSON patch");
	}
	*ret_patch = w.patch;
	return 0;
}
