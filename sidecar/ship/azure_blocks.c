/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a large file in blocks. Azure keeps uncommitted blocks for a week. The name of each of our
 * blocks contains its place and its MD5. A run that follows a run that died therefore asks Azure
 * which blocks are there and sends the others, without any note of ours; and it never uses a block
 * of another file or of other content. At the end, Put Block List makes the blob out of all blocks
 * at once.
 */
#define OPENSSL_SUPPRESS_DEPRECATED /* see object.c */
#include <openssl/md5.h>
#include <string.h>

#include "lib/base64.h"
#include "sidecar/ship/azure.h"
#include "sidecar/ship/object_parts.h"

/* Azure may need longer to put the blocks together than to receive a block. */
#define COMMIT_STALL_S 120
#define XML_TEXT_BYTES ((size_t)2 << 20)

struct upload_of_blocks {
	struct parts parts;
	struct azure_blocks blocks;
};

/* --- Blocks --- */

static int azure_blocks_cut(struct upload_of_blocks *u, int64_t wanted, struct fault *fault)
{
	if (parts_cut(&u->parts, wanted, fault) < 0)
		return -1;
	u->blocks = (struct azure_blocks){ .size = u->parts.item->size,
					   .part = u->parts.size,
					   .n = u->parts.n,
					   .ids = calloc(u->parts.n, sizeof(*u->blocks.ids)) };
	return u->blocks.ids ?
		       0 :
		       fault_set(fault, FAULT_MEMORY, "%s: out of memory", u->parts.item->name);
}

/* If the list cannot be read, for example with a token that may only write, all blocks are sent. */
static int find_blocks(struct upload_of_blocks *u, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	const struct object_request request = {
		.http.method = "GET",
		.key = u->parts.key,
		.params = { { "blocklisttype", "uncommitted" }, { "comp", "blocklist" } },
	};

	if (object_call(u->parts.store, &request, &t, fault) < 0)
		return fault->kind == FAULT_PROTOCOL ? 0 : -1;
	if (t->answer.status >= 500)
		return object_refused(u->parts.store, &t->answer, fault);
	if (t->answer.status == 200)
		azure_read_blocks(strbuf_str(&t->answer.body), t->answer.body.len, &u->blocks,
				  NULL);
	for (size_t i = 0; i < u->parts.n; i++)
		u->parts.there[i] = *u->blocks.ids[i];
	return 0;
}

static bool block_is_there(struct parts *p, size_t i, const struct object_digest *digest)
{
	char *id = ((struct upload_of_blocks *)p)->blocks.ids[i], wanted[AZURE_BLOCK_ID_MAX];

	azure_block_id(digest->md5_text, p->size, i, wanted);
	const bool is_there = strcmp(id, wanted) == 0;
	memcpy(id, wanted, sizeof(wanted));
	return is_there;
}

static void block_address(const struct parts *p, size_t i, char *, struct object_request *request)
{
	request->params[0] =
		(struct object_param){ "blockid",
				       ((const struct upload_of_blocks *)p)->blocks.ids[i] };
	request->params[1] = (struct object_param){ "comp", "block" };
}

static const struct parts_service azure_parts = { .is_there = block_is_there,
						  .address = block_address };

/*
 * --- The end
 * --------------------------------------------------------------------------------------------
 */

static void add_list(const struct azure_blocks *blocks, struct strbuf *xml)
{
	strbuf_adds(xml, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
	for (size_t i = 0; i < blocks->n; i++)
		strbuf_addf(xml, "<Uncommitted>%s</Uncommitted>", blocks->ids[i]);
	strbuf_adds(xml, "</BlockList>");
}

static int azure_blocks_commit(struct upload_of_blocks *u, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf xml = STRBUF_INIT(XML_TEXT_BYTES);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	unsigned char digest[MD5_DIGEST_LENGTH];
	char md5[MD5_TEXT_MAX];

	add_list(&u->blocks, &xml);
	if (strbuf_failed(&xml))
		return fault_set(fault, FAULT_MEMORY, "%s: out of memory", u->parts.item->name);
	/* Azure compares it with the data that it receives. */
	MD5((const unsigned char *)strbuf_str(&xml), xml.len, digest);
	base64_encode(digest, sizeof(digest), md5);
	/* clang-format off */
	const struct object_request request = {
		.http = { .method = "PUT", .body = strbuf_str(&xml), .len = (int64_t)xml.len, .stall_s = COMMIT_STALL_S },
		.key = u->parts.key, .md5 = md5, .params = { { "comp", "blocklist" } }, .creates = u->parts.item,
	};
	/* clang-format on */
	if (object_call(u->parts.store, &request, &t, fault) < 0)
		return -1;
	return t->answer.status == u->parts.store->service->stored ?
		       0 :
		       object_refused(u->parts.store, &t->answer, fault);
}

int azure_put_blocks(struct object_store *o, const struct item *item, const char *key,
		     struct fault *fault)
{
	struct upload_of_blocks u = {
		.parts = { .service = &azure_parts, .store = o, .item = item, .key = key }
	};
	int r = azure_blocks_cut(&u, o->store.context->options->azure_block, fault);

	if (r == 0)
		r = find_blocks(&u, fault);
	if (r == 0)
		r = parts_send(&u.parts, fault);
	if (r == 0)
		r = object_check_sha256(item, &u.parts.sha256, fault);
	if (r == 0)
		r = azure_blocks_commit(&u, fault);
	parts_release(&u.parts);
	free(u.blocks.ids);
	return r;
}
