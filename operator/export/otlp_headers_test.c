/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the file of headers. */
#include "operator/export/otlp_headers.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"
#include "lib/strbuf.h"

static char path[64];

static int read_text(const char *text, struct otlp_headers *headers, struct err *err)
{
	snprintf(path, sizeof(path), "/tmp/afterglow-otlp-headers-%d", (int)getpid());
	assert_int_equal(file_put(AT_FDCWD, path, text, strlen(text), 0600, NULL), 0);
	int r = otlp_headers_read(path, headers, err);
	unlink(path);
	return r;
}

static void each_line_is_a_header(void **state)
{
	struct otlp_headers headers;
	(void)state;

	assert_int_equal(
		read_text("# of the vendor\n\n  Authorization: Bearer a b \r\nX-Scope-OrgID: ml",
			  &headers, NULL),
		0);
	assert_string_equal(headers.lines[0], "Content-Type: application/json");
	assert_string_equal(headers.lines[1], "Authorization: Bearer a b");
	assert_string_equal(headers.lines[2], "X-Scope-OrgID: ml");
	assert_null(headers.lines[3]);
	otlp_headers_release(&headers);
}

static void without_a_file_there_is_our_own_header_alone(void **state)
{
	struct otlp_headers headers;
	(void)state;

	assert_int_equal(otlp_headers_read(NULL, &headers, NULL), 0);
	assert_null(headers.lines[1]);
	otlp_headers_release(&headers);
}

static void what_is_no_header_is_refused_and_never_quoted(void **state)
{
	static const char *const rows[] = {
		"secret",
		": secret",
		"Name:",
		"Name:  \t",
		"Na me: secret",
		"Content-Type: secret",
		"content-length: secret",
		"A: secret\x01",
	};
	struct otlp_headers headers;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		if (read_text(rows[i], &headers, &err) != -EINVAL)
			fail_msg("%s", rows[i]);
		assert_null(strstr(err_text(&err), "secret"));
		assert_non_null(strstr(err_text(&err), "line 1"));
	}
}

static void headers_are_bounded(void **state)
{
	static char large[OTLP_HEADERS_FILE_MAX + 2];
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1000);
	struct otlp_headers headers;
	struct err err = { 0 };
	(void)state;

	for (int i = 0; i < OTLP_HEADERS_MAX; i++)
		strbuf_adds(&text, "A: b\n");
	assert_int_equal(read_text(strbuf_str(&text), &headers, NULL), 0);
	otlp_headers_release(&headers);
	strbuf_adds(&text, "A: b\n");
	assert_int_equal(read_text(strbuf_str(&text), &headers, &err), -EINVAL);
	memset(large, '\n', sizeof(large) - 1);
	assert_int_equal(read_text(large, &headers, &err), -EFBIG);
	assert_int_equal(otlp_headers_read("/nonexistent", &headers, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_is_a_header),
		cmocka_unit_test(without_a_file_there_is_our_own_header_alone),
		cmocka_unit_test(what_is_no_header_is_refused_and_never_quoted),
		cmocka_unit_test(headers_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
