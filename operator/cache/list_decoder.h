/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the bytes of a list, which the network may cut anywhere, into its items, one
 * after the other. So a list of a thousand pods is never in memory as a whole. Pure.
 *
 *	{"kind":"PodList","metadata":{"resourceVersion":"10","continue":""},"items":[{...},{...}]}
 *
 * An item that is too deep or too wide to be read comes as a remnant (salvage.h).
 * An item may be 16 MiB long. If an item is longer, or the bytes are not a list, the
 * decoder fails for good, and the caller lists again.
 */
#pragma once

#include "lib/err.h"
#include "lib/json.h"
#include "lib/strbuf.h"

#define LIST_ITEM_MAX ((size_t)16 << 20)

/* Takes item. A negative result stops the decoder, and list_decoder_feed returns it. */
typedef int (*list_item_fn)(void *arg, cJSON *item);

struct list_decoder {
	/* set after init: the only fields of items to keep (projection.h); NULL: all */
	const char *const *fields;
	int state;
	size_t nesting; /* in the value that is being read */
	bool in_string, escaped;
	int member; /* the list's member that is being read */
	struct strbuf text; /* the name or value that is being read */
	cJSON *metadata; /* the list's metadata, when they were read */
	bool has_items; /* the list has "items", perhaps null, as Go prints an empty slice */
	int failed; /* sticky, negative errno */
};

void list_decoder_init(struct list_decoder *d);
void list_decoder_release(struct list_decoder *d);

/*
 * Takes the next bytes and calls fn for each item that they complete. -EFBIG, -EPROTO, -ENOMEM, or
 * what fn returned.
 */
int list_decoder_feed(struct list_decoder *d, const void *data, size_t len, list_item_fn fn,
		      void *arg, struct err *err);

/* Call this after the last byte: returns 0 if the bytes were a whole list, otherwise -EPROTO. */
int list_decoder_finish(const struct list_decoder *d, struct err *err);
