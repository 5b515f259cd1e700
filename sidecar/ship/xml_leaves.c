/* SPDX-License-Identifier: Apache-2.0 */
/* Parses XML with expat, within the bounds of xml_leaves.h. */
#include "sidecar/ship/xml_leaves.h"

#include <errno.h>
#include <expat.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct walk {
	XML_Parser parser;
	xml_leaf_fn fn;
	void *arg;
	const char *refused; /* the reason; NULL while nothing is wrong */
	unsigned int depth;
	size_t path_len[XML_DEPTH_MAX + 1];
	bool leaf; /* the innermost open element contains no other element so far */
	char path[XML_PATH_MAX];
	char text[XML_TEXT_MAX];
	size_t text_len;
};

static void xml_leaves_refuse(struct walk *w, const char *why)
{
	w->refused = why;
	XML_StopParser(w->parser, XML_FALSE);
}

static void on_start(void *arg, const XML_Char *name, const XML_Char **)
{
	struct walk *w = arg;
	size_t at = w->path_len[w->depth], len = strlen(name);

	if (w->depth == XML_DEPTH_MAX || at + 1 + len >= sizeof(w->path)) {
		xml_leaves_refuse(w, "nested too deep");
		return;
	}
	at += (size_t)snprintf(w->path + at, sizeof(w->path) - at, "%s%s", w->depth ? "/" : "",
			       name);
	w->path_len[++w->depth] = at;
	w->leaf = true;
	w->text_len = 0;
}

static void on_text(void *arg, const XML_Char *text, int len)
{
	struct walk *w = arg;

	if (!w->leaf)
		return;
	if ((size_t)len >= sizeof(w->text) - w->text_len) {
		xml_leaves_refuse(w, "a text is too long");
		return;
	}
	memcpy(w->text + w->text_len, text, (size_t)len);
	w->text_len += (size_t)len;
}

static const char *xml_leaves_trimmed(struct walk *w)
{
	char *start = w->text;

	while (w->text_len > 0 && (unsigned char)w->text[w->text_len - 1] <= ' ')
		w->text_len--;
	w->text[w->text_len] = '\0';
	return start + strspn(start, " \t\r\n");
}

static void on_end(void *arg, const XML_Char *)
{
	struct walk *w = arg;

	if (w->refused)
		return;
	if (w->fn(w->path, w->leaf ? xml_leaves_trimmed(w) : NULL, w->arg) != 0)
		XML_StopParser(w->parser, XML_FALSE);
	w->leaf = false;
	w->path[w->path_len[--w->depth]] = '\0';
}

static void on_doctype(void *arg, const XML_Char *, const XML_Char *, const XML_Char *, int)
{
	xml_leaves_refuse(arg, "it has a document type");
}

int xml_leaves(const char *xml, size_t len, xml_leaf_fn fn, void *arg, struct err *err)
{
	struct walk w = { .fn = fn, .arg = arg };

	if (len > INT_MAX)
		return err_set(err, EFBIG, "XML");
	w.parser = XML_ParserCreate(NULL);
	if (!w.parser)
		return err_set(err, ENOMEM, "XML");
	XML_SetUserData(w.parser, &w);
	XML_SetElementHandler(w.parser, on_start, on_end);
	XML_SetCharacterDataHandler(w.parser, on_text);
	XML_SetStartDoctypeDeclHandler(w.parser, on_doctype);
	enum XML_Status status = XML_Parse(w.parser, xml, (int)len, XML_TRUE);
	enum XML_Error error = XML_GetErrorCode(w.parser);
	XML_ParserFree(w.parser);
	if (w.refused)
		return err_set(err, EINVAL, "XML: %s", w.refused);
	/* fn ended the parsing. */
	if (status == XML_STATUS_ERROR && error == XML_ERROR_ABORTED)
		return 0;
	return status == XML_STATUS_OK ? 0 :
					 err_set(err, EINVAL, "XML: %s", XML_ErrorString(error));
}
