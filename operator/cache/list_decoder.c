/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the bytes of a list into its items.
 *
 * A state machine over single bytes finds where values begin and end; cJSON parses
 * each value.
 */
#include "operator/cache/list_decoder.h"

#include <errno.h>
#include <string.h>

#include "operator/kube/projection.h"
#include "operator/kube/salvage.h"

/*
 * The most that the buffer keeps between items, because one huge object must not hold 16 MiB for
 * ever.
 */
#define TEXT_KEEP ((size_t)256 << 10)

enum state {
	BEFORE_LIST, /* '{' */
	BEFORE_NAME, /* '"' or '}' */
	IN_NAME,
	BEFORE_COLON,
	BEFORE_VALUE,
	IN_VALUE,
	AFTER_VALUE, /* ',' or '}' */
	BEFORE_ITEM, /* '{' or ']' */
	AFTER_ITEM, /* ',' or ']' */
	AFTER_LIST,
};

enum member { OTHER, METADATA, ITEMS };

void list_decoder_init(struct list_decoder *d)
{
	*d = (struct list_decoder){ .state = BEFORE_LIST, .text = STRBUF_INIT(LIST_ITEM_MAX) };
}

void list_decoder_release(struct list_decoder *d)
{
	strbuf_release(&d->text);
	cJSON_Delete(d->metadata);
	const char *const *fields = d->fields;
	list_decoder_init(d);
	d->fields = fields;
}

static void forget_text(struct list_decoder *d)
{
	if (d->text.cap > TEXT_KEEP)
		strbuf_release(&d->text);
	strbuf_reset(&d->text);
}

static bool list_decoder_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int unexpected(char c, struct err *err)
{
	return err_set(err, EPROTO, "not a list: unexpected byte 0x%02x", (unsigned char)c);
}

static int parse_text(struct list_decoder *d, bool item, cJSON **ret_json, struct err *err)
{
	int r;

	if (strbuf_failed(&d->text))
		return err_set(err, EFBIG, "list item of more than 16 MiB");
	if (item)
		r = salvage_text(strbuf_str(&d->text), d->text.len, d->fields, ret_json, err);
	else
		r = project_text(strbuf_str(&d->text), d->text.len, NULL, ret_json, err);
	if (r < 0)
		err_wrap(err, "list item");
	return r;
}

/*
 * --- Values
 * -----------------------------------------------------------------------------------------------
 */

static int end_value(struct list_decoder *d, list_item_fn fn, void *arg, struct err *err)
{
	cJSON *json = NULL;
	bool item = d->member == ITEMS && d->has_items;
	int r = d->member == OTHER ? 0 : parse_text(d, item, &json, err);

	forget_text(d);
	d->state = item ? AFTER_ITEM : AFTER_VALUE;
	if (r < 0 || d->member == OTHER)
		return r;
	if (item) {
		r = fn(arg, json);
		return r < 0 ? err_set(err, -r, "list item refused") : 0;
	}
	if (d->member == METADATA) {
		cJSON_Delete(d->metadata);
		d->metadata = json;
		return 0;
	}
	r = cJSON_IsNull(json) ? 0 : err_set(err, EPROTO, "not a list: items is no array");
	d->has_items = true;
	cJSON_Delete(json);
	return r;
}

/*
 * Returns 1 if c is the last byte of the value, 0 if it belongs to the value, 2 if it comes after
 * it, and a negative value if it is invalid.
 */
static int step_value(struct list_decoder *d, char c)
{
	if (c == '\0')
		return -EPROTO;
	if (d->in_string) {
		bool ends = c == '"' && !d->escaped;
		d->escaped = c == '\\' && !d->escaped;
		d->in_string = !ends;
		return ends && d->nesting == 0;
	}
	if (d->nesting == 0 && (c == ',' || c == '}' || c == ']' || list_decoder_is_blank(c)))
		return 2;
	if (c == '"')
		d->in_string = true;
	else if (c == '{' || c == '[')
		d->nesting++;
	else if (c == '}' || c == ']')
		return --d->nesting == 0;
	return 0;
}

/* Returns how many bytes from `at` on belong to the value. *ret_ended: the value is complete. */
static int take_value(struct list_decoder *d, const char *at, const char *end, bool *ret_ended,
		      struct err *err)
{
	const char *p = at;
	int r = 0;

	while (p < end && r == 0) {
		r = step_value(d, *p);
		if (r < 0)
			return unexpected(*p, err);
		if (r != 2)
			p++;
	}
	*ret_ended = r > 0;
	if (d->member != OTHER)
		strbuf_add(&d->text, at, (size_t)(p - at));
	return strbuf_failed(&d->text) ? err_set(err, EFBIG, "list item of more than 16 MiB") :
					 (int)(p - at);
}

/*
 * --- Between values
 * ---------------------------------------------------------------------------------------
 */

static void begin_value(struct list_decoder *d)
{
	d->nesting = 0;
	d->in_string = d->escaped = false;
	d->state = IN_VALUE;
}

static int step_name(struct list_decoder *d, char c)
{
	static const char *const names[] = { [METADATA] = "metadata", [ITEMS] = "items" };

	if (c != '"') {
		if (d->text.len < 64) /* no name that we know is longer */
			strbuf_addc(&d->text, c);
		return c ? 0 : -EPROTO;
	}
	d->member = OTHER;
	for (int i = METADATA; i <= ITEMS; i++)
		if (strcmp(strbuf_str(&d->text), names[i]) == 0)
			d->member = i;
	forget_text(d);
	d->state = BEFORE_COLON;
	return d->member == ITEMS && d->has_items ? -EPROTO : 0;
}

/*
 * Handles the byte before a value. Returns 1 if it was consumed, which is so only for the bracket
 * around the items.
 */
static int step_before_value(struct list_decoder *d, char c)
{
	if (d->member == ITEMS && c == '[') {
		d->has_items = true;
		d->state = BEFORE_ITEM;
		return 1;
	}
	begin_value(d);
	return c == ',' || c == '}' || c == ']' ? -EPROTO : 0;
}

static int list_decoder_go(struct list_decoder *d, enum state state)
{
	d->state = (int)state;
	return 1;
}

/*
 * Takes one byte outside of values. Returns 1 if it was consumed, 0 if not, and a negative value if
 * it is invalid.
 */
static int step_between(struct list_decoder *d, char c)
{
	if (d->state == IN_NAME) {
		int r = step_name(d, c);
		return r < 0 ? r : 1;
	}
	if (list_decoder_is_blank(c))
		return 1;
	switch ((enum state)d->state) {
	case BEFORE_LIST:
		return c == '{' ? list_decoder_go(d, BEFORE_NAME) : -EPROTO;
	case BEFORE_NAME:
		return c == '"' ? list_decoder_go(d, IN_NAME) :
		       c == '}' ? list_decoder_go(d, AFTER_LIST) :
				  -EPROTO;
	case BEFORE_COLON:
		return c == ':' ? list_decoder_go(d, BEFORE_VALUE) : -EPROTO;
	case BEFORE_VALUE:
		return step_before_value(d, c);
	case AFTER_VALUE:
		return c == ',' ? list_decoder_go(d, BEFORE_NAME) :
		       c == '}' ? list_decoder_go(d, AFTER_LIST) :
				  -EPROTO;
	case BEFORE_ITEM:
		if (c == '{')
			begin_value(d);
		return c == '{' ? 0 : c == ']' ? list_decoder_go(d, AFTER_VALUE) : -EPROTO;
	case AFTER_ITEM:
		return c == ',' ? list_decoder_go(d, BEFORE_ITEM) :
		       c == ']' ? list_decoder_go(d, AFTER_VALUE) :
				  -EPROTO;
	default:
		return -EPROTO;
	}
}

int list_decoder_feed(struct list_decoder *d, const void *data, size_t len, list_item_fn fn,
		      void *arg, struct err *err)
{
	const char *p = data, *end = p + len;
	bool ended = false;
	int r = 0;

	if (d->failed)
		return err_set(err, -d->failed, "the list failed before");
	while (p < end && r >= 0) {
		if (d->state != IN_VALUE) {
			r = step_between(d, *p);
			if (r < 0)
				unexpected(*p, err);
			p += r > 0;
			continue;
		}
		r = take_value(d, p, end, &ended, err);
		p += MAX(r, 0);
		if (r >= 0 && ended)
			r = end_value(d, fn, arg, err);
	}
	return d->failed = MIN(r, 0);
}

int list_decoder_finish(const struct list_decoder *d, struct err *err)
{
	if (d->failed)
		return err_set(err, -d->failed, "the list failed before");
	if (d->state != AFTER_LIST)
		return err_set(err, EPROTO, "the list broke off");
	return d->has_items ? 0 : err_set(err, EPROTO, "not a list: it has no items");
}
