/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a large file in blocks. Azure keeps uncommitted blocks for a week. The name of each of our blocks contains its place and
 * its MD5. A run that follows a run that died therefore asks Azure which blocks are there and sends the others, without any note
 * of ours; and it never uses a block of another file or of other content. At the end, Put Block List makes the blob out of all
 * blocks at once.
 */
#include <stdio.h>
#include <string.h>

#include "sidecar/ship/azure.h"

/* Azure may need longer to put the blocks together than to receive a block. */
#define COMMIT_STALL_S 120
#define XML_TEXT_BYTES ((size_t)2 << 20)

struct upload_of_blocks;

struct sending {
	struct upload_of_blocks *upload;
	struct azure_call call;
	char md5[MD5_TEXT_MAX];
	size_t block;
	int64_t sent;
	bool busy;
};

struct upload_of_blocks {
	struct azure *azure;
	const struct item *item;
	const char *key;
	struct azure_blocks blocks;
	bool *sent;	      /* for each block, whether the store has it with the right content */
	bool any_taken;	      /* the store has accepted a block of this run */
	struct sha256 sha256; /* of the file up to the next block */
	struct sending sending[HTTP_PARALLEL];
	size_t busy;
};

/* --- Blocks that are there already ----------------------------------------------------------- */

static int azure_blocks_cut(struct upload_of_blocks *u, int64_t wanted, struct fault *fault)
{
	struct azure_blocks *b = &u->blocks;

	while ((u->item->size + wanted - 1) / wanted > AZURE_BLOCKS_MAX)
		wanted *= 2;
	*b = (struct azure_blocks){ .size = u->item->size, .part = wanted };
	b->n = (size_t)((b->size + b->part - 1) / b->part);
	b->ids = calloc(b->n, sizeof(*b->ids));
	u->sent = calloc(b->n, sizeof(*u->sent));
	return b->ids && u->sent ? 0 : fault_set(fault, FAULT_MEMORY, "%s: out of memory", u->item->name);
}

/* If the list cannot be read, for example with a token that may only write, all blocks are sent. */
static int find_blocks(struct upload_of_blocks *u, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	const struct azure_request request = {
		.method = "GET", .key = u->key, .params = { { "blocklisttype", "uncommitted" }, { "comp", "blocklist" } },
	};

	if (azure_call(u->azure, &request, &t, fault) < 0)
		return fault->kind == FAULT_PROTOCOL ? 0 : -1;
	if (t->answer.status >= 500)
		return azure_fault(&t->answer, &u->azure->place, fault);
	if (t->answer.status == 200)
		azure_read_blocks(strbuf_str(&t->answer.body), t->answer.body.len, &u->blocks, NULL);
	return 0;
}

/* --- Blocks --------------------------------------------------------------------------------------------- */

static void azure_blocks_tell_progress(const struct upload_of_blocks *u)
{
	int64_t sum = 0;

	for (size_t i = 0; i < u->blocks.n; i++)
		sum += u->sent[i] ? azure_block_size(&u->blocks, i) : 0;
	progress_kept(u->azure->store.context->progress, sum);
	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		sum += u->sending[i].busy ? u->sending[i].sent : 0;
	progress_sent(u->azure->store.context->progress, sum);
}

static void on_block_sent(void *arg, int64_t sent)
{
	struct sending *s = arg;

	s->sent = sent;
	azure_blocks_tell_progress(s->upload);
}

static int start_block(struct upload_of_blocks *u, size_t i, const char *md5, struct fault *fault)
{
	struct sending *s = u->sending;
	struct azure_request request = {
		.method = "PUT", .key = u->key, .fd = u->item->fd, .offset = (int64_t)i * u->blocks.part,
		.len = azure_block_size(&u->blocks, i), .unasked = u->any_taken, .on_sent = on_block_sent,
	};

	while (s->busy)
		s++;
	s->upload = u;
	s->block = i;
	s->sent = 0;
	snprintf(s->md5, sizeof(s->md5), "%s", md5);
	request.md5 = s->md5;
	request.arg = s;
	request.params[0] = (struct azure_param){ "blockid", u->blocks.ids[i] };
	request.params[1] = (struct azure_param){ "comp", "block" };
	if (azure_start(u->azure, &request, &s->call, fault) < 0) {
		azure_call_release(&s->call);
		return -1;
	}
	s->busy = true;
	u->busy++;
	return 0;
}

/* Without memory no answer can be read any more, so all requests are dropped. */
static void azure_blocks_drop_all(struct upload_of_blocks *u)
{
	http_cancel(u->azure->http);
	for (size_t i = 0; i < HTTP_PARALLEL; i++) {
		if (u->sending[i].busy)
			azure_call_release(&u->sending[i].call);
		u->sending[i].busy = false;
	}
	u->busy = 0;
}

/* Waits until the request of any block has ended, with success or not. */
static int finish_block(struct upload_of_blocks *u, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	int r = http_wait(u->azure->http, &t, fault);
	struct sending *s = t ? t->request->arg : NULL;

	if (!s) {
		azure_blocks_drop_all(u);
		return -1;
	}
	s->busy = false;
	u->busy--;
	if (r == 0 && t->answer.status != 201)
		r = azure_fault(&t->answer, &u->azure->place, fault);
	if (r == 0) {
		u->any_taken = true;
		u->sent[s->block] = true;
		azure_blocks_tell_progress(u);
	}
	azure_call_release(&s->call);
	return r;
}

/* Reads each block, even one that the store has, for the digest of the whole file. */
static int send_block(struct upload_of_blocks *u, size_t i, struct fault *fault)
{
	struct object_digest d = { .file = &u->sha256, .wants_md5 = true };
	char id[AZURE_BLOCK_ID_MAX];

	if (object_read(u->azure->store.context, u->azure->http, u->item, (int64_t)i * u->blocks.part,
			azure_block_size(&u->blocks, i), &d, fault) < 0)
		return -1;
	azure_block_id(d.md5_text, u->blocks.part, i, id);
	u->sent[i] = strcmp(u->blocks.ids[i], id) == 0;
	if (u->sent[i]) {
		azure_blocks_tell_progress(u);
		return 0;
	}
	memcpy(u->blocks.ids[i], id, sizeof(id));
	if (u->busy == HTTP_PARALLEL && finish_block(u, fault) < 0)
		return -1;
	return start_block(u, i, d.md5_text, fault);
}

static int send_blocks(struct upload_of_blocks *u, struct fault *fault)
{
	struct fault later;
	int r = 0;

	sha256_begin(&u->sha256);
	for (size_t i = 0; r == 0 && i < u->blocks.n; i++)
		r = send_block(u, i, fault);
	/*
	 * After a fault the other requests may still succeed. Each one leaves the next try a block
	 * less to send.
	 */
	while (u->busy > 0)
		if (finish_block(u, r == 0 ? fault : &later) < 0)
			r = -1;
	return r;
}

/* --- The end -------------------------------------------------------------------------------------------- */

static void add_list(const struct upload_of_blocks *u, struct strbuf *xml)
{
	strbuf_adds(xml, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
	for (size_t i = 0; i < u->blocks.n; i++)
		strbuf_addf(xml, "<Uncommitted>%s</Uncommitted>", u->blocks.ids[i]);
	strbuf_adds(xml, "</BlockList>");
}

static int azure_blocks_commit(struct upload_of_blocks *u, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf xml = STRBUF_INIT(XML_TEXT_BYTES);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct azure_blob_headers headers;
	char md5[MD5_TEXT_MAX];
	struct azure_request request = {
		.method = "PUT", .key = u->key, .md5 = md5, .params = { { "comp", "blocklist" } }, .headers = { headers.type, headers.meta },
		.stall_s = COMMIT_STALL_S,
	};

	azure_blob_headers(u->item, &headers);
	add_list(u, &xml);
	if (strbuf_failed(&xml))
		return fault_set(fault, FAULT_MEMORY, "%s: out of memory", u->item->name);
	if (azure_md5(strbuf_str(&xml), xml.len, md5) < 0)
		return fault_set(fault, FAULT_MEMORY, "%s: no MD5", u->item->name);
	request.body = strbuf_str(&xml);
	request.len = (int64_t)xml.len;
	if (azure_call(u->azure, &request, &t, fault) < 0)
		return -1;
	return t->answer.status == 201 ? 0 : azure_fault(&t->answer, &u->azure->place, fault);
}

int azure_put_blocks(struct azure *azure, const struct item *item, const char *key, struct fault *fault)
{
	struct upload_of_blocks *u = calloc(1, sizeof(*u));

	if (!u)
		return fault_set(fault, FAULT_MEMORY, "%s: out of memory", item->name);
	u->azure = azure;
	u->item = item;
	u->key = key;
	int r = azure_blocks_cut(u, azure->store.context->options->azure_block, fault);
	if (r == 0)
		r = find_blocks(u, fault);
	if (r == 0)
		r = send_blocks(u, fault);
	if (r == 0)
		r = object_check_sha256(item, &u->sha256, fault);
	if (r == 0)
		r = azure_blocks_commit(u, fault);
	free(u->blocks.ids);
	free(u->sent);
	free(u);
	return r;
}
