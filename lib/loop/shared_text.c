/* SPDX-License-Identifier: Apache-2.0 */
/* Shares the renderings of a text among the answers that contain it. */
#include "lib/loop/shared_text.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/units.h"

#define YOUNG_NS NS_PER_SEC

struct rendering {
	char *text;
	size_t len;
	int64_t made_ns;
	unsigned int readers;
	struct rendering *older;
};

/* An answer whose text has not been sent. */
struct reader {
	struct shared_text *of; /* NULL: that is gone */
	struct rendering *rendering;
	int fd;
	ino_t inode; /* of the socket: when fd is another connection by now, it has another inode */
	struct reader *next, **link;
};

struct shared_text {
	size_t max;
	shared_text_fn render;
	void *arg;
	struct rendering *newest; /* each has readers */
	unsigned int n;
	struct reader *readers;
};

struct shared_text *shared_text_new(size_t max, shared_text_fn render, void *arg)
{
	struct shared_text *text = calloc(1, sizeof(*text));

	if (text)
		*text = (struct shared_text){ .max = max, .render = render, .arg = arg };
	return text;
}

void shared_text_free(struct shared_text *text)
{
	if (!text)
		return;
	for (struct reader *r = text->readers; r; r = r->next)
		r->of = NULL;
	free(text);
}

static void shared_text_forget(struct shared_text *text, const struct rendering *gone)
{
	struct rendering **at = &text->newest;

	while (*at != gone)
		at = &(*at)->older;
	*at = gone->older;
	text->n--;
}

static void shared_text_drop(struct shared_text *text, struct rendering *r)
{
	if (r->readers > 0)
		return;
	if (text)
		shared_text_forget(text, r);
	free(r->text);
	free(r);
}

/* Called by libevent, possibly after the server and text are freed. */
static void shared_text_on_sent(const void *, size_t, void *arg)
{
	struct reader *reader = arg;

	if (reader->of) {
		*reader->link = reader->next;
		if (reader->next)
			reader->next->link = reader->link;
	}
	reader->rendering->readers--;
	shared_text_drop(reader->of, reader->rendering);
	free(reader);
}

static struct rendering *shared_text_render(struct shared_text *text, int64_t now_ns)
{
	struct strbuf out = STRBUF_INIT(text->max);
	struct rendering *r = calloc(1, sizeof(*r));

	if (r)
		text->render(text->arg, &out);
	if (r && out.len > 0) {
		r->len = out.len;
		r->text = strbuf_detach(&out);
	}
	if (!r || !r->text) {
		strbuf_release(&out);
		free(r);
		return NULL;
	}
	r->made_ns = now_ns;
	r->older = text->newest;
	text->newest = r;
	text->n++;
	return r;
}

static struct rendering *shared_text_oldest_of(const struct shared_text *text)
{
	struct rendering *r = text->newest;

	while (r && r->older)
		r = r->older;
	return r;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* The server meets the end of their streams and frees them, and with them their answers. */
static void end_readers(const struct shared_text *text, const struct rendering *of)
{
	for (const struct reader *r = text->readers; r; r = r->next)
		if (r->rendering == of && r->inode != 0 && inode_of(r->fd) == r->inode)
			shutdown(r->fd, SHUT_RDWR);
}

static struct rendering *shared_text_choose(struct shared_text *text, int64_t now_ns)
{
	const struct rendering *oldest = shared_text_oldest_of(text);

	if (text->newest && now_ns - text->newest->made_ns < YOUNG_NS)
		return text->newest;
	if (text->n >= SHARED_TEXT_MAX && now_ns - oldest->made_ns < SHARED_TEXT_READ_NS)
		return text->newest;
	if (text->n >= SHARED_TEXT_MAX)
		end_readers(text, oldest);
	return shared_text_render(text, now_ns);
}

int shared_text_add(struct shared_text *text, int fd, int64_t now_ns, struct evbuffer *body)
{
	struct rendering *rendering = shared_text_choose(text, now_ns);
	struct reader *reader = rendering ? malloc(sizeof(*reader)) : NULL;

	if (reader)
		*reader = (struct reader){
			.of = text,
			.rendering = rendering,
			.fd = fd,
			.inode = inode_of(fd),
			.next = text->readers,
			.link = &text->readers,
		};
	if (!reader || evbuffer_add_reference(body, rendering->text, rendering->len,
					      shared_text_on_sent, reader) < 0) {
		if (rendering)
			shared_text_drop(text, rendering);
		free(reader);
		return -ENOMEM;
	}
	rendering->readers++;
	if (reader->next)
		reader->next->link = &reader->next;
	text->readers = reader;
	return 0;
}
