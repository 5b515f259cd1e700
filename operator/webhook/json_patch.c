/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a JSON Patch from the difference of two JSON documents. */
#include "operator/webhook/json_patch.h"

#include <errno.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/strbuf.h"

/*
 * The place of a value. Its path is written only for an operation, because nearly all values stay
 * as they are.
 */
struct place {
	const struct place *up; /* NULL: the document itself */
	const char *name; /* NULL: the place is an index */
	int index;
};

struct walk {
	cJSON *patch;
	struct strbuf path; /* the path of the latest operation */
};

/* Adds a name. In a JSON Pointer (RFC 6901) "/" and "~" have to be escaped. */
static void json_patch_add_name(struct strbuf *path, const char *name)
{
	for (; *name; name++)
		if (*name == '~')
			strbuf_adds(path, "~0");
		else if (*name == '/')
			strbuf_adds(path, "~1");
		else
			strbuf_addc(path, *name);
}

static void json_patch_add_place(struct strbuf *path, const struct place *place)
{
	if (!place)
		return;
	json_patch_add_place(path, place->up);
	strbuf_addc(path, '/');
	if (place->name)
		json_patch_add_name(path, place->name);
	else
		strbuf_addf(path, "%d", place->index);
}

static void add_operation(struct walk *w, const struct place *place, const char *op,
			  const cJSON *value)
{
	cJSON *operation = cJSON_CreateObject();

	strbuf_truncate(&w->path, 0);
	json_patch_add_place(&w->path, place);
	json_set_str(operation, "op", op);
	json_set_str(operation, "path", strbuf_str(&w->path));
	if (value)
		json_set(operation, "value", cJSON_Duplicate(value, true));
	json_append(w->patch, operation);
}

static void json_patch_compare(struct walk *w, const struct place *place, const cJSON *before,
			       const cJSON *after);

/*
 * Returns the member of that name. Mostly it is the next one, because a copy has its members in the
 * order of the original.
 */
static const cJSON *json_patch_member(const cJSON *object, const cJSON *at_hand, const char *name)
{
	if (at_hand && strcmp(at_hand->string, name) == 0)
		return at_hand;
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Compares the members. Returns whether both objects have the same members in the same order. */
static bool compare_members(struct walk *w, const struct place *place, const cJSON *before,
			    const cJSON *after)
{
	const cJSON *other, *at_hand = before->child;
	bool same = true;

	json_each(item, after) {
		const struct place here = { .up = place, .name = item->string };

		other = json_patch_member(before, at_hand, item->string);
		same = same && other && other == at_hand;
		at_hand = other ? other->next : at_hand;
		if (other)
			json_patch_compare(w, &here, other, item);
		else
			add_operation(w, &here, "add", item);
	}
	return same && !at_hand;
}

static void compare_objects(struct walk *w, const struct place *place, const cJSON *before,
			    const cJSON *after)
{
	const cJSON *other, *at_hand = after->child;

	if (compare_members(w, place, before, after))
		return;
	json_each(item, before) {
		const struct place here = { .up = place, .name = item->string };

		other = json_patch_member(after, at_hand, item->string);
		at_hand = other ? other->next : at_hand;
		if (!other)
			add_operation(w, &here, "remove", NULL);
	}
}

static void compare_arrays(struct walk *w, const struct place *place, const cJSON *before,
			   const cJSON *after)
{
	const struct place end = { .up = place, .name = "-" };
	const cJSON *old = before->child, *new = after->child;
	struct place here = { .up = place };

	for (; old && new; old = old->next, new = new->next, here.index++)
		json_patch_compare(w, &here, old, new);
	for (; new; new = new->next)
		add_operation(w, &end, "add", new);
	/* After each removal the following items move up, so all removals have the same index. */
	for (; old; old = old->next)
		add_operation(w, &here, "remove", NULL);
}

static void json_patch_compare(struct walk *w, const struct place *place, const cJSON *before,
			       const cJSON *after)
{
	if (cJSON_IsObject(before) && cJSON_IsObject(after))
		compare_objects(w, place, before, after);
	else if (cJSON_IsArray(before) && cJSON_IsArray(after))
		compare_arrays(w, place, before, after);
	else if (!cJSON_Compare(before, after, true))
		add_operation(w, place, "replace", after);
}

int json_patch_diff(const cJSON *before, const cJSON *after, cJSON **ret_patch, struct err *err)
{
	struct walk w = { .patch = cJSON_CreateArray(), .path = STRBUF_INIT(JSON_PATCH_PATH_MAX) };
	size_t lost = oom_count();

	json_patch_compare(&w, NULL, before, after);
	bool too_long = strbuf_failed(&w.path);
	strbuf_release(&w.path);
	if (!w.patch || oom_count() != lost || too_long) {
		cJSON_Delete(w.patch);
		return too_long ?
			       err_set(err, E2BIG, "the path of a change is longer than %zu bytes",
				       JSON_PATCH_PATH_MAX) :
			       err_set(err, ENOMEM, "JSON patch");
	}
	*ret_patch = w.patch;
	return 0;
}
