/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of an HTTP resource such as /metrics. Each answer has a reference to a rendering of it,
 * so that many clients which do not read their answers cost the memory of a few renderings.
 *
 * A request gets a new rendering if nobody reads an older one. Otherwise it may get the newest one:
 * while that is younger than a second, or while SHARED_TEXT_MAX renderings are being read, and the
 * first of them for less than SHARED_TEXT_READ_NS. After that time a further rendering is made, and
 * the connections that still read the first one are ended.
 */
#pragma once

#include <event2/buffer.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/strbuf.h"

#define SHARED_TEXT_MAX 4 /* renderings that are being read at a time */
/* Prometheus gives up an answer after 10 s, unless it is told otherwise. */
#define SHARED_TEXT_READ_NS ((int64_t)10 * 1000 * 1000 * 1000)

struct shared_text;

/* Appends the text to out, whose ceiling is that of shared_text_new; nothing if it cannot. */
typedef void (*shared_text_fn)(void *arg, struct strbuf *out);

/* Returns NULL if there is no memory. max is in bytes. */
struct shared_text *shared_text_new(size_t max, shared_text_fn render, void *arg);
/* Renderings that are still being read stay until they are read. NULL is allowed. */
void shared_text_free(struct shared_text *text);

/*
 * Appends the text, by reference, to the body of an answer to the connection fd. fd is watched
 * until that part of the body has been sent or freed. now_ns is boot time. Returns 0, or -ENOMEM if
 * there is no text, because it has more than max bytes or because there is no memory.
 */
int shared_text_add(struct shared_text *text, int fd, int64_t now_ns, struct evbuffer *body);
