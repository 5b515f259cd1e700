/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how deep and how wide JSON text is. */
#include "operator/kube/json_shape.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/macros.h"

/* The path to a value is shown with at most this many levels. */
#define LEVELS 6
#define NAME_MAX_SHOWN 24

/* The position of the walk in one of the outermost arrays or objects. */
struct level {
	const char *name; /* the member whose value is being read; NULL in an array */
	size_t len;
	size_t index;
	bool is_array;
};

struct walk {
	struct level levels[LEVELS];
	const char *string; /* the last string, without its quotes */
	size_t string_len;
	struct json_shape shape;
	size_t depth;
};

static void add_level(const struct level *level, bool first, char *path)
{
	size_t len = strlen(path), room = JSON_SHAPE_PATH_MAX - len;

	if (level->is_array)
		snprintf(path + len, room, "[%zu]", level->index);
	else
		snprintf(path + len, room, "%s%.*s", first ? "" : ".",
			 (int)MIN(level->len, (size_t)NAME_MAX_SHOWN), level->name);
}

static void note_path(struct walk *w)
{
	for (size_t i = 0; i < LEVELS; i++)
		if (w->levels[i].is_array || w->levels[i].name)
			add_level(&w->levels[i], i == 0, w->shape.path);
	if (strlen(w->shape.path) + sizeof("...") <= JSON_SHAPE_PATH_MAX)
		memcpy(w->shape.path + strlen(w->shape.path), "...", sizeof("..."));
}

static void json_shape_enter(struct walk *w, bool is_array)
{
	w->shape.values++;
	if (w->depth < LEVELS)
		w->levels[w->depth] = (struct level){ .is_array = is_array };
	w->depth++;
	w->shape.depth = MAX(w->shape.depth, w->depth);
	if (w->depth == JSON_DEPTH_MAX + 1 && !w->shape.path[0])
		note_path(w);
}

static struct level *json_shape_current(struct walk *w)
{
	return w->depth > 0 && w->depth <= LEVELS ? &w->levels[w->depth - 1] : NULL;
}

static void json_shape_take_mark(struct walk *w, char c)
{
	struct level *level = json_shape_current(w);

	if (c == '{' || c == '[')
		json_shape_enter(w, c == '[');
	else if ((c == '}' || c == ']') && w->depth > 0)
		w->depth--;
	else if (c == ',')
		w->shape.values++;
	if (level && c == ',')
		level->index++;
	if (level && c == ':' && !level->is_array) {
		level->name = w->string;
		level->len = w->string_len;
	}
}

/* Returns what follows the string that begins at p, or end if the string has no end. */
static const char *json_shape_skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\' && p + 1 < end;
	return p < end ? p + 1 : end;
}

void json_shape(const char *text, size_t len, struct json_shape *ret_shape)
{
	struct walk w = { .string = "", .shape = { .values = 1 } };
	const char *p = text, *end = text + len;

	while (p < end) {
		if (*p != '"') {
			json_shape_take_mark(&w, *p++);
			continue;
		}
		w.string = p + 1;
		p = json_shape_skip_string(p, end);
		w.string_len = (size_t)(p - w.string) - (p > w.string);
	}
	*ret_shape = w.shape;
}
