/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the members of an object that the operator does not read. */
#include "operator/kube/projection.h"

#include <stdint.h>
#include <string.h>

#include "lib/json.h"

/* Only arrays of arrays are nested more deeply, and Kubernetes has none. */
#define NESTING_MAX 64

enum fate { DROP, KEEP, LOOK_BELOW };

/*
 * A place in the object: which fields may still be found below it, and how much of each one's path
 * leads there.
 */
struct place {
	const char *const *fields;
	uint64_t open; /* a bit for each */
	size_t at;
};

static struct place root_of(const char *const *fields)
{
	size_t n = 0;

	while (n < PROJECTION_FIELDS_MAX && fields[n])
		n++;
	return (struct place){ .fields = fields,
			       .open = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX };
}

/* Compares a member's name with the part of a field's path in rest. */
static enum fate projection_compare(const char *rest, const char *name, size_t len)
{
	size_t same = 0;

	while (same < len && rest[same] && rest[same] == name[same])
		same++;
	if (rest[same] == '*' && !rest[same + 1])
		return KEEP;
	if (same < len)
		return DROP;
	return rest[len] == '\0' ? KEEP : rest[len] == '.' ? LOOK_BELOW : DROP;
}

static enum fate fate_of(const struct place *place, const char *name, size_t len,
			 struct place *ret_below)
{
	*ret_below = (struct place){ .fields = place->fields, .at = place->at + len + 1 };
	for (uint64_t left = place->open; left; left &= left - 1) {
		int i = __builtin_ctzll(left);
		enum fate fate = projection_compare(place->fields[i] + place->at, name, len);

		if (fate == KEEP)
			return KEEP;
		if (fate == LOOK_BELOW)
			ret_below->open |= UINT64_C(1) << i;
	}
	return ret_below->open ? LOOK_BELOW : DROP;
}

/* --- Projection of a tree -------------------------------------------------------------------- */

static void project_below(cJSON *value, const struct place *place)
{
	cJSON *child = value->child, *next;
	struct place below;

	for (; child; child = next) {
		next = child->next;
		if (cJSON_IsArray(value)) {
			project_below(child, place);
			continue;
		}
		enum fate fate = fate_of(place, child->string, strlen(child->string), &below);
		if (fate == DROP)
			cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
		else if (fate == LOOK_BELOW)
			project_below(child, &below);
	}
}

void project(cJSON *object, const char *const *fields)
{
	struct place root = root_of(fields);

	if (cJSON_IsObject(object))
		project_below(object, &root);
}

/* --- Projection of a text -------------------------------------------------------------------- */

static cJSON *read_value(struct skim *s, const struct place *place, int nesting);

/* Takes item, which may be NULL. */
static void projection_append(struct skim *s, cJSON *to, const char *name, size_t len, cJSON *item)
{
	if (item && name) {
		item->string = cJSON_malloc(len + 1);
		if (item->string) {
			memcpy(item->string, name, len);
			item->string[len] = '\0';
		}
	}
	/* cJSON links the members of an object in the same way as the items of an array. */
	if (item && (!name || item->string) && cJSON_AddItemToArray(to, item))
		return;
	cJSON_Delete(item);
	s->failed = true;
}

static cJSON *projection_read_object(struct skim *s, const struct place *place, int nesting)
{
	cJSON *object = cJSON_CreateObject();
	const char *name;
	size_t len;

	for (skim_object(s); object && skim_member(s, &name, &len);) {
		struct place below;
		enum fate fate = fate_of(place, name, len, &below);

		if (fate == DROP)
			skim_skip(s);
		else
			projection_append(s, object, name, len,
					  fate == KEEP ? skim_take(s) :
							 read_value(s, &below, nesting));
	}
	return object;
}

static cJSON *read_array(struct skim *s, const struct place *place, int nesting)
{
	cJSON *array = cJSON_CreateArray();

	for (skim_array(s); array && skim_item(s);)
		projection_append(s, array, NULL, 0, read_value(s, place, nesting));
	return array;
}

static cJSON *read_value(struct skim *s, const struct place *place, int nesting)
{
	char c = skim_peek(s);
	cJSON *value;

	if (nesting == NESTING_MAX)
		s->failed = true;
	if (c == '{')
		value = projection_read_object(s, place, nesting + 1);
	else if (c == '[')
		value = read_array(s, place, nesting + 1);
	else
		value = skim_take(s);
	s->failed = s->failed || !value;
	if (s->failed)
		cJSON_Delete(TAKE_PTR(value));
	return value;
}

cJSON *project_next(struct skim *s, const char *const *fields)
{
	if (!fields || skim_peek(s) != '{')
		return skim_take(s);
	struct place root = root_of(fields);
	return read_value(s, &root, 0);
}

/* --- Short texts only ------------------------------------------------------------------------ */

static bool has_member(const cJSON *object, const char *name, size_t len)
{
	json_each(member, object)
		if (strlen(member->string) == len && memcmp(member->string, name, len) == 0)
			return true;
	return false;
}

/* Reads the object, no deeper than the paths are long, and with the first member of each name. */
static cJSON *outline_read(struct skim *s, const struct place *place, size_t text_max)
{
	cJSON *object = cJSON_CreateObject();
	const char *name;
	size_t len;

	for (skim_object(s); object && skim_member(s, &name, &len);) {
		struct place below;
		enum fate fate = fate_of(place, name, len, &below);
		char c = skim_peek(s);
		struct skim value = *s;

		if (fate == LOOK_BELOW && c == '{' && !has_member(object, name, len)) {
			projection_append(s, object, name, len, outline_read(s, &below, text_max));
			continue;
		}
		skim_skip(s);
		if (fate == KEEP && c == '"' && !s->failed &&
		    (size_t)(s->at - value.at) <= text_max && !has_member(object, name, len))
			projection_append(s, object, name, len, skim_take(&value));
	}
	return object;
}

cJSON *project_texts(const char *text, size_t len, const char *const *fields, size_t text_max)
{
	struct place root = root_of(fields);
	struct skim s;

	skim_init(&s, text, len);
	cJSON *object = outline_read(&s, &root, text_max);
	if (!skim_ended(&s))
		cJSON_Delete(TAKE_PTR(object));
	return object;
}

int project_text(const char *text, size_t len, const char *const *fields, cJSON **ret_json,
		 struct err *err)
{
	cJSON *json = NULL;
	struct skim s;
	int r = 0;

	skim_init(&s, text, len);
	if (fields)
		json = project_next(&s, fields);
	if (!json || !skim_ended(&s)) {
		/* The text is invalid, and cJSON says where; or it is only unusual. */
		cJSON_Delete(json);
		r = json_parse(text, len, &json, err);
		if (r == 0 && fields)
			project(json, fields);
	}
	if (r == 0)
		*ret_json = json;
	return r;
}
