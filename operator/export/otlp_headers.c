/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the headers that the administrator puts into a file. */
#include "operator/export/otlp_headers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/fileio.h"

/* The characters of a name by RFC 9110. */
#define TOKEN \
	"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

void otlp_headers_release(struct otlp_headers *headers)
{
	free(headers->text);
	*headers = (struct otlp_headers){ 0 };
}

/* Returns the text without blanks around it. It is a part of line. */
static char *trimmed(char *line)
{
	size_t len;

	line += strspn(line, " \t\r");
	len = strlen(line);
	while (len && strchr(" \t\r", line[len - 1]))
		line[--len] = '\0';
	return line;
}

static bool is_header(const char *line)
{
	size_t name = strspn(line, TOKEN);

	if (name == 0 || line[name] != ':' ||
	    strncasecmp(line, "Content-", strlen("Content-")) == 0)
		return false;
	for (const char *s = line + name; *s; s++)
		if (((unsigned char)*s < ' ' && *s != '\t') || *s == 0x7f)
			return false;
	return line[name + 1 + strspn(line + name + 1, " \t")];
}

static int take_lines(struct otlp_headers *headers, struct err *err)
{
	size_t n = 1;
	char *rest = headers->text, *line;

	headers->lines[0] = "Content-Type: application/json";
	for (int number = 1; (line = strsep(&rest, "\n")); number++) {
		line = trimmed(line);
		if (!*line || *line == '#')
			continue;
		if (!is_header(line) || n > OTLP_HEADERS_MAX)
			return err_set(
				err, EINVAL,
				"line %d of the file of headers is no NAME: VALUE, or there are more than %d",
				number, OTLP_HEADERS_MAX);
		headers->lines[n++] = line;
	}
	return 0;
}

int otlp_headers_read(const char *path, struct otlp_headers *ret_headers, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(OTLP_HEADERS_FILE_MAX);
	struct otlp_headers headers = { 0 };
	int r = path ? file_read(AT_FDCWD, path, &text, err) : 0;

	if (r < 0)
		return err_wrap(err, "the file of headers");
	headers.text = strdup(strbuf_str(&text));
	r = headers.text ? take_lines(&headers, err) : err_set(err, ENOMEM, "headers");
	if (r < 0)
		otlp_headers_release(&headers);
	else
		*ret_headers = headers;
	return r;
}
