/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the parts of a file. */
#include "sidecar/ship/object_parts.h"

#include <string.h>

struct sending;

/* A part that is being sent. */
struct part_call {
	struct sending *sending;
	struct object_call call;
	char sha256[SHA256_TEXT_MAX], md5[MD5_TEXT_MAX], number[PART_NUMBER_MAX];
	size_t part;
	int64_t sent;
	bool busy;
};

struct sending {
	struct parts *parts;
	struct part_call calls[HTTP_PARALLEL];
};

int parts_cut(struct parts *p, int64_t wanted, struct fault *fault)
{
	while ((p->item->size + wanted - 1) / wanted > OBJECT_PARTS_MAX)
		wanted *= 2;
	p->size = wanted;
	p->n = (size_t)((p->item->size + wanted - 1) / wanted);
	free(p->there);
	p->there = calloc(p->n, sizeof(*p->there));
	return p->there ? 0 : fault_set(fault, FAULT_MEMORY, "parts: out of memory");
}

void parts_release(struct parts *p)
{
	free(p->there);
}

int64_t part_bytes(const struct parts *p, size_t i)
{
	return MIN(p->size, p->item->size - (int64_t)i * p->size);
}

static void sending_tell_progress(const struct sending *s)
{
	const struct parts *p = s->parts;
	int64_t sum = 0;

	for (size_t i = 0; i < p->n; i++)
		sum += p->there[i] ? part_bytes(p, i) : 0;
	progress_kept(p->store->store.context->progress, sum);
	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		sum += s->calls[i].busy ? s->calls[i].sent : 0;
	progress_sent(p->store->store.context->progress, sum);
}

static void on_part_sent(void *arg, int64_t sent)
{
	struct part_call *c = arg;

	c->sent = sent;
	sending_tell_progress(c->sending);
}

/*
 * An earlier run may have read the part wrong, so what the store has is compared with what is read
 * now.
 */
static int part_start(struct sending *s, struct part_call *c, size_t i, struct fault *fault)
{
	struct parts *p = s->parts;
	const int64_t offset = (int64_t)i * p->size, len = part_bytes(p, i);
	struct object_digest d = { .file = &p->sha256, .wants_sha256 = p->service->wants_sha256 };

	if (object_read(p->store->store.context, p->store->http, p->item, offset, len, &d, fault) <
	    0)
		return -1;
	p->there[i] = p->service->is_there(p, i, &d);
	if (p->there[i]) {
		sending_tell_progress(s);
		return 0;
	}
	c->sending = s;
	c->part = i;
	c->sent = 0;
	memcpy(c->md5, d.md5_text, sizeof(c->md5));
	memcpy(c->sha256, d.sha256, sizeof(c->sha256));
	/* clang-format off */
	struct object_request request = {
		.http = { .method = "PUT", .fd = p->item->fd, .offset = offset, .len = len, .unasked = p->any_taken,
			  .on_sent = on_part_sent, .arg = c },
		.key = p->key, .md5 = c->md5, .sha256 = c->sha256,
	};
	/* clang-format on */
	p->service->address(p, i, c->number, &request);
	c->busy = object_start(p->store, &request, &c->call, fault) == 0;
	if (!c->busy)
		object_call_release(&c->call);
	return c->busy ? 0 : -1;
}

/* Waits until the request of any part has ended, with success or not. */
static int part_finish(struct sending *s, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct parts *p = s->parts;
	int r = http_wait(p->store->http, &t, fault);
	struct part_call *c = t ? t->request->arg : NULL;

	if (!c) {
		/* Without memory no answer can be read any more, so all requests are dropped. */
		http_cancel(s->parts->store->http);
		for (size_t i = 0; i < HTTP_PARALLEL; i++) {
			if (s->calls[i].busy)
				object_call_release(&s->calls[i].call);
			s->calls[i].busy = false;
		}
		return -1;
	}
	c->busy = false;
	if (r == 0 && t->answer.status != p->store->service->stored)
		r = object_refused(p->store, &t->answer, fault);
	else if (r == 0 && p->service->on_taken)
		r = p->service->on_taken(p, c->part, &t->answer, fault);
	if (r == 0) {
		p->any_taken = true;
		p->there[c->part] = true;
		sending_tell_progress(s);
	}
	object_call_release(&c->call);
	return r;
}

/* Finds a call that is busy, or one that is not. */
static struct part_call *call_find(struct sending *s, bool busy)
{
	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		if (s->calls[i].busy == busy)
			return &s->calls[i];
	return NULL;
}

int parts_send(struct parts *p, struct fault *fault)
{
	_cleanup_free_ struct sending *s = calloc(1, sizeof(*s));
	struct fault later;
	size_t next = 0;
	int r = 0;

	if (!s)
		return fault_set(fault, FAULT_MEMORY, "parts: out of memory");
	s->parts = p;
	sha256_begin(&p->sha256);
	for (;;) {
		struct part_call *idle = call_find(s, false);

		/*
		 * After a fault the other requests may still succeed. Each one leaves the next try
		 * a part less to send.
		 */
		if (r == 0 && next < p->n && idle) {
			r = part_start(s, idle, next++, fault);
		} else if (call_find(s, true)) {
			if (part_finish(s, r == 0 ? fault : &later) < 0)
				r = -1;
		} else {
			return r;
		}
	}
}
