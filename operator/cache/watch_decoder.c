/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the bytes of a watch into events. */
#include "operator/cache/watch_decoder.h"

#include <errno.h>
#include <string.h>

#include "operator/kube/salvage.h"
#include "operator/kube/skim.h"

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

static bool watch_decoder_is_named(const char *name, size_t len, const char *wanted)
{
	return strlen(wanted) == len && memcmp(name, wanted, len) == 0;
}

/*
 * The text of the object is found first and read then: what is wrong with an object that a tenant
 * made must not make the whole line invalid. A Status, and any other object that is not of the
 * kind, is kept whole.
 */
static int read_event(const struct watch_decoder *d, const char *line, size_t len,
		      struct watch_event *ret_event, struct err *err)
{
	_cleanup_json_ cJSON *type = NULL;
	const char *name, *object = NULL;
	size_t name_len, object_len = 0;
	struct skim s;

	skim_init(&s, line, len);
	for (skim_object(&s); skim_member(&s, &name, &name_len);) {
		bool is_object =
			skim_peek(&s) == '{' && watch_decoder_is_named(name, name_len, "object");
		const char *value = s.at;

		if (!type && watch_decoder_is_named(name, name_len, "type"))
			type = skim_take(&s);
		else
			skim_skip(&s);
		if (is_object) {
			object = value;
			object_len = (size_t)(s.at - value);
		}
	}
	if (!skim_ended(&s) || !cJSON_IsString(type) || !object)
		return err_set(err, EPROTO, "no watch event: not JSON with a type and an object");
	ret_event->type = type_from_name(type->valuestring);
	int r = ret_event->type <= WATCH_DELETED ?
			salvage_text(object, object_len, d->fields, &ret_event->object, err) :
			json_parse(object, object_len, &ret_event->object, err);
	return r < 0 ? err_wrap(err, "watch event") : 0;
}

static int decode_line(const struct watch_decoder *d, const char *line, size_t len,
		       watch_event_fn fn, void *arg, struct err *err)
{
	struct watch_event event = { 0 };

	if (watch_decoder_is_blank(line, len))
		return 0;
	if (memchr(line, '\0', len)) /* cJSON would take the NUL for the end */
		return err_set(err, EPROTO, "watch event holds a NUL byte");
	int r = read_event(d, line, len, &event, err);
	if (r < 0)
		return r;
	r = fn(arg, &event);
	cJSON_Delete(event.object);
	return r < 0 ? err_set(err, -r, "watch event refused") : 0;
}

/* Joins the end of a line with its beginning, if that came earlier. */
static int finish_line(struct watch_decoder *d, const char *data, size_t len, watch_event_fn fn,
		       void *arg, struct err *err)
{
	if (d->line.len == 0)
		return len > WATCH_LINE_MAX ?
			       err_set(err, EFBIG, "watch event of more than 16 MiB") :
			       decode_line(d, data, len, fn, arg, err);
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

int watch_decoder_feed(struct watch_decoder *d, const void *data, size_t len, watch_event_fn fn,
		       void *arg, struct err *err)
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
