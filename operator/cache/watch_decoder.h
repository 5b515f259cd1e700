/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the bytes of a watch into events. A watch has a JSON object
 * {"type":...,"object":...} in each line; the network may cut it anywhere. Pure.
 *
 * An object that is too deep or too wide to be read comes as a remnant (salvage.h).
 * A line may be 16 MiB long (etcd takes 1.5 MiB per object, aggregated servers
 * more). If a line is longer, or is not an event, the decoder fails for good, and
 * the caller drops the stream and lists again.
 */
#pragma once

#include "lib/err.h"
#include "lib/json.h"
#include "lib/strbuf.h"

#define WATCH_LINE_MAX ((size_t)16 << 20)

enum watch_event_type {
	WATCH_ADDED,
	WATCH_MODIFIED,
	WATCH_DELETED,
	WATCH_BOOKMARK,
	WATCH_ERROR, /* the object is a metav1.Status */
	WATCH_UNKNOWN, /* a type of a newer server: count it and go on */
};

struct watch_event {
	enum watch_event_type type;
	cJSON *object; /* owned by the decoder; take it with TAKE_PTR to keep it */
};

/* Returns negative to stop feeding; feed then returns the same. */
typedef int (*watch_event_fn)(void *arg, struct watch_event *event);

struct watch_decoder {
	/* Set after init: the only fields of objects to keep (projection.h); NULL: all. */
	const char *const *fields;
	struct strbuf line; /* the start of a line whose end has not come */
	int failed; /* sticky, negative errno */
};

void watch_decoder_init(struct watch_decoder *d);
void watch_decoder_release(struct watch_decoder *d);

/*
 * Takes the next bytes and calls fn for each event that they complete. Returns -EFBIG if a line is
 * too long, -EPROTO or -EINVAL if a line is not an event, and otherwise the result of fn.
 */
int watch_decoder_feed(struct watch_decoder *d, const void *data, size_t len, watch_event_fn fn,
		       void *arg, struct err *err);
