/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the bytes of a watch into events. */
#include "operator/cache/watch_decoder.h"

#include <errno.h>
#include <string.h>

#include "operator/kube/json_shape.h"
#include "operator/kube/projection.h"
#include "operator/kube/salvage.h"

/*
 * The most that the line buffer keeps between lines, because one huge object must not hold 16 MiB
 * for ever.
 */
#define LINE_KEEP ((size_t)256 << 10)

void watch_decoder_init(struct watch_decoder *d)
{
	*d = (struct watch_decoder){ .line = STRBUF_INIT(WATCH_LINE_MAX) };
}

void watch_decoder_release(struct watch_decoder *d)
{
	strbuf_release(&d->line);
}

static enum watch_event_type type_from_name(const char *name)
{
	static const char *const names[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (enum watch_event_type)i;
	return WATCH_UNKNOWN;
}

static bool watch_decoder_is_blank(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
			return false;
	return true;
}

/*
 * Returns the fields to keep. A Status, and any other object that is not of the kind, is kept
 * whole.
 */
static const char *const *watch_decoder_fields_of(const struct watch_decoder *d,
						  enum watch_event_type type)
{
	return type == WATCH_ADDED || type == WATCH_MODIFIED || type == WATCH_DELETED ? d->fields : NULL;
}

static bool watch_decoder_is_named(const char *name, size_t len, const char *wanted)
{
	return strlen(wanted) == len && memcmp(name, wanted, len) == 0;
}

/* A line this short cannot contain an object that is too wide to be read. */
#define SURELY_NARROW (2 * JSON_VALUES_MAX)

/* Returns the object of an event of that type; NULL if it cannot be read this way. */
typedef cJSON *(*take_fn)(const struct watch_decoder *d, struct skim *s, enum watch_event_type type);

static cJSON *take_whole(const struct watch_decoder *d, struct skim *s, enum watch_event_type type)
{
	return project_next(s, watch_decoder_fields_of(d, type));
}

/* The slower way. What is wrong with the object must not make the whole line invalid. */
static cJSON *take_salvaged(const struct watch_decoder *d, struct skim *s, enum watch_event_type type)
{
	const char *at = s->at;
	cJSON *object = NULL;

	if (type > WATCH_DELETED || skim_peek(s) != '{')
		return NULL;
	skim_skip(s);
	if (!s->failed)
		salvage_text(at, (size_t)(s->at - at), watch_decoder_fields_of(d, type), &object,
			     NULL);
	return object;
}

/*
 * Reads {"type":"ADDED","object":{...}} in one pass, as all servers write it. For any other form it
 * returns false and changes nothing.
 */
static bool read_members(const struct watch_decoder *d, const char *line, size_t len, take_fn take, struct watch_event *ret_event)
{
	_cleanup_json_ cJSON *type = NULL, *object = NULL;
	const char *name;
	size_t name_len;
	struct skim s;

	skim_init(&s, line, len);
	for (skim_object(&s); skim_member(&s, &name, &name_len);)
		if (!type && watch_decoder_is_named(name, name_len, "type")) {
			type = skim_take(&s);
			ret_event->type = cJSON_IsString(type) ? type_from_name(type->valuestring) : WATCH_UNKNOWN;
		} else if (type && !object && watch_decoder_is_named(name, name_len, "object")) {
			object = take(d, &s, ret_event->type);
			if (!object)
				return false;
		} else {
			return false;
		}
	if (!skim_ended(&s) || !cJSON_IsString(type) || !cJSON_IsObject(object))
		return false;
	ret_event->object = TAKE_PTR(object);
	return true;
}

static bool read_event(const struct watch_decoder *d, const char *line, size_t len, struct watch_event *ret_event)
{
	bool narrow = d->fields || len <= SURELY_NARROW;

	return (narrow && read_members(d, line, len, take_whole, ret_event)) || read_members(d, line, len, take_salvaged, ret_event);
}

static int parse_event(const struct watch_decoder *d, const char *line, size_t len, struct watch_event *ret_event,
		       struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;
	int r = json_parse(line, len, &json, err);

	if (r < 0)
		return err_wrap(err, "watch event");
	const char *type = json_str(json, "type");
	cJSON *object = json_get(json, "object");
	if (!type || !cJSON_IsObject(object))
		return err_set(err, EPROTO, "watch event without type or object");
	ret_event->type = type_from_name(type);
	ret_event->object = cJSON_DetachItemViaPointer(json, object);
	if (watch_decoder_fields_of(d, ret_event->type))
		project(ret_event->object, d->fields);
	return 0;
}

static int decode_line(const struct watch_decoder *d, const char *line, size_t len, watch_event_fn fn, void *arg,
		       struct err *err)
{
	struct watch_event event = { 0 };
	int r = 0;

	if (watch_decoder_is_blank(line, len))
		return 0;
	if (memchr(line, '\0', len)) /* cJSON would take the NUL for the end */
		return err_set(err, EPROTO, "watch event holds a NUL byte");
	if (!read_event(d, line, len, &event))
		r = parse_event(d, line, len, &event, err);
	if (r < 0)
		return r;
	r = fn(arg, &event);
	cJSON_Delete(event.object);
	return r < 0 ? err_set(err, -r, "watch event refused") : 0;
}

/* Joins the end of a line with its beginning, if that came earlier. */
static int finish_line(struct watch_decoder *d, const char *data, size_t len, watch_event_fn fn, void *arg,
		       struct err *err)
{
	if (d->line.len == 0)
		return len > WATCH_LINE_MAX ? err_set(err, EFBIG, "watch event of more than 16 MiB")
					    : decode_line(d, data, len, fn, arg, err);
	strbuf_add(&d->line, data, len);
	if (strbuf_failed(&d->line))
		return err_set(err, EFBIG, "watch event of more than 16 MiB");
	int r = decode_line(d, strbuf_str(&d->line), d->line.len, fn, arg, err);
	if (d->line.cap > LINE_KEEP)
		strbuf_release(&d->line);
	d->line.max = WATCH_LINE_MAX;
	strbuf_reset(&d->line);
	return r;
}

int watch_decoder_feed(struct watch_decoder *d, const void *data, size_t len, watch_event_fn fn, void *arg,
		       struct err *err)
{
	const char *p = data, *end = p + len;
	const char *newline;

	if (d->failed)
		return err_set(err, -d->failed, "the watch failed before");
	while (p < end && (newline = memchr(p, '\n', (size_t)(end - p)))) {
		int r = finish_line(d, p, (size_t)(newline - p), fn, arg, err);
		if (r < 0)
			return d->failed = r;
		p = newline + 1;
	}
	if (p < end) {
		strbuf_add(&d->line, p, (size_t)(end - p));
		if (strbuf_failed(&d->line))
			return d->failed = err_set(err, EFBIG, "watch event of more than 16 MiB");
	}
	return 0;
}
