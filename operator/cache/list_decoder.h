/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a list, cut anywhere by the network, become its items, one after
 * the other: a list of a thousand pods never stands in memory as a whole. Pure.
 *
 *	{"kind":"PodList","metadata":{"resourceVersion":"10","continue":""},"items":[{...},{...}]}
 *
 * An item that is too deep or too wide to be read comes as a remnant (salvage.h).
 * An item may be 16 MiB long. The decoder fails for good, and the caller lists
 * again, when one is longer, or when the bytes are no such list.
 */
#ifndef AFTERGLOW_OPERATOR_CACHE_LIST_DECODER_H
#define AFTERGLOW_OPERATOR_CACHE_LIST_DECODER_H

#include "lib/err.h"
#include "lib/json.h"
#include "lib/strbuf.h"

#define LIST_ITEM_MAX ((size_t)16 << 20)

/* Takes item. Negative stops the feeding; feed then returns the same. */
typedef int (*list_item_fn)(void *arg, cJSON *item);

struct list_decoder {
	const char *const *fields; /* set after init: of items these only (projection.h); NULL: all */
	int state;
	size_t nesting; /* in the value that is being read */
	bool in_string, escaped;
	int member; /* of the list, whose value is being read */
	struct strbuf text; /* the name or value that is being read */
	cJSON *metadata; /* of the list, once it was read */
	bool has_items; /* "items" was there, be it null as Go prints an empty slice */
	int failed; /* sticky, negative errno */
};

void list_decoder_init(struct list_decoder *d);
void list_decoder_release(struct list_decoder *d);

/* Takes the next bytes and calls fn for each item that they complete. -EFBIG, -EPROTO, -ENOMEM, or what fn returned. */
int list_decoder_feed(struct list_decoder *d, const void *data, size_t len, list_item_fn fn, void *arg, struct err *err);

/* After the last byte: whether that was a whole list. -EPROTO. */
int list_decoder_finish(const struct list_decoder *d, struct err *err);

#endif
