/* SPDX-License-Identifier: Apache-2.0 */
/* Shows an HTML page that a tenant may have written. */
#include "plugin/foreign_page.h"

#include "lib/html.h"

/* A frame with srcdoc has the policy of the page around it. */
static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline'\">\n"
	"<meta name=\"referrer\" content=\"no-referrer\">\n<title>";
static const char style[] =
	"</title>\n<style>html,body{height:100%;margin:0}body{display:flex;flex-direction:column;font:14px sans-serif}"
	"p{margin:0;padding:.5em 1em;background:#fff3cd;color:#222}iframe{flex:1;border:0}</style>\n</head>\n<body>\n<p>";
static const char note[] =
	" names the bundle from which this report comes. A program that could write into that store may have written it: so it is shown "
	"without scripts, and it can load nothing. <code>kubectl afterglow show</code> prints what the operator found.</p>\n";
static const char local_note[] =
	" is from a directory. Whoever may write there may have written it: so it is shown without scripts, and it can load nothing.</p>\n";
static const char frame[] = "<iframe sandbox referrerpolicy=\"no-referrer\" srcdoc=\"";

void foreign_page(const char *name, bool is_local, const struct strbuf *html, struct strbuf *out)
{
	strbuf_adds(out, head);
	html_adds(out, name);
	strbuf_adds(out, style);
	strbuf_adds(out, is_local ? "Bundle " : "RayFailure ");
	html_adds(out, name);
	strbuf_adds(out, is_local ? local_note : note);
	strbuf_adds(out, frame);
	html_add(out, strbuf_str(html), html->len);
	strbuf_adds(out, "\"></iframe>\n</body>\n</html>\n");
}
