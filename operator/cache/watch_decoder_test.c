/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the watch decoder: cuts, ceilings, hostile lines. */
#include "operator/cache/watch_decoder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/kube/salvage.h"

struct seen {
	unsigned n;
	struct strbuf text; /* "ADDED a;" for each event */
	int answer;
};

static int record(void *arg, struct watch_event *event)
{
	struct seen *seen = arg;
	const char *name = json_str(event->object, "metadata.name");

	seen->n++;
	strbuf_addf(&seen->text, "%d %s;", (int)event->type, name ? name : "-");
	return seen->answer;
}

#define SEEN { .text = STRBUF_INIT(4096) }

static const char STREAM[] =
	"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"
	"\r\n"
	"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"b\\n\\u00e4\"}}}\r\n"
	"{\"object\":{\"kind\":\"Status\"},\"type\":\"ERROR\"}\n"
	"{\"type\":\"SOMETHING\",\"object\":{}}\n"
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}\n";
static const char EXPECTED[] = "0 a;1 b\n\xc3\xa4;4 -;5 -;3 -;";

static void a_stream_cut_at_every_offset_gives_the_same_events(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < sizeof(STREAM); cut++) {
		struct watch_decoder d;
		struct seen seen = SEEN;
		struct err err = { 0 };
		watch_decoder_init(&d);
		assert_int_equal(watch_decoder_feed(&d, STREAM, cut, record, &seen, &err), 0);
		assert_int_equal(
			watch_decoder_feed(&d, STREAM + cut,
					   sizeof(STREAM) - 1 - MIN(cut, sizeof(STREAM) - 1),
					   record, &seen, &err),
			0);
		assert_string_equal(strbuf_str(&seen.text), EXPECTED);
		strbuf_release(&seen.text);
		watch_decoder_release(&d);
	}
}

static void a_stream_fed_byte_by_byte_gives_the_same_events(void **state)
{
	struct watch_decoder d;
	struct seen seen = SEEN;
	struct err err = { 0 };
	(void)state;

	watch_decoder_init(&d);
	for (size_t i = 0; i + 1 < sizeof(STREAM); i++)
		assert_int_equal(watch_decoder_feed(&d, STREAM + i, 1, record, &seen, &err), 0);
	assert_string_equal(strbuf_str(&seen.text), EXPECTED);
	strbuf_release(&seen.text);
	watch_decoder_release(&d);
}

static void lines_that_are_no_events_end_the_stream_for_good(void **state)
{
	static const struct {
		const char *line;
		size_t len;
	} rows[] = {
#define ROW(s) { s, sizeof(s) - 1 }
		ROW("x\n"),
		ROW("{\"type\":\"ADDED\"}\n"),
		ROW("{\"type\":7,\"object\":{}}\n"),
		ROW("{\"type\":\"ADDED\",\"object\":[]}\n"),
		ROW("{\"type\":\"ADDED\",\"object\":{}\n"),
		ROW("{\"type\":\"ADDED\",\"object\":{}}{\n"),
		ROW("{\"type\":\"ADDED\",\"object\":{}}\0\n"),
		ROW("\0\n"),
		ROW("[]\n"),
		ROW("null\n"),
		ROW("<html>502 Bad Gateway</html>\n"),
#undef ROW
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct watch_decoder d;
		struct seen seen = SEEN;
		struct err err = { 0 };
		watch_decoder_init(&d);
		assert_true(watch_decoder_feed(&d, rows[i].line, rows[i].len, record, &seen, &err) <
			    0);
		assert_int_not_equal(err.code, 0);
		assert_true(watch_decoder_feed(&d, STREAM, sizeof(STREAM) - 1, record, &seen,
					       &err) < 0);
		assert_int_equal(seen.n, 0);
		strbuf_release(&seen.text);
		watch_decoder_release(&d);
	}
}

/* Feeds one ADDED event of about size bytes in pieces and returns the last result of feed. */
static int feed_large(size_t size, size_t piece, struct seen *seen, struct watch_decoder *d)
{
	static const char head[] =
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"big\"},\"pad\":\"";
	_cleanup_free_ char *pad = malloc(piece);
	struct err err = { 0 };
	int r;

	memset(pad, 'x', piece);
	r = watch_decoder_feed(d, head, sizeof(head) - 1, record, seen, &err);
	for (size_t done = 0; r == 0 && done < size; done += piece)
		r = watch_decoder_feed(d, pad, MIN(piece, size - done), record, seen, &err);
	return r < 0 ? r : watch_decoder_feed(d, "\"}}\n", 4, record, seen, &err);
}

static void an_event_of_15_mib_parses_and_its_buffer_is_given_back(void **state)
{
	struct watch_decoder d;
	struct seen seen = SEEN;
	(void)state;

	watch_decoder_init(&d);
	assert_int_equal(feed_large((size_t)15 << 20, 16384, &seen, &d), 0);
	assert_string_equal(strbuf_str(&seen.text), "0 big;");
	assert_true(d.line.cap < (size_t)1 << 20);
	assert_int_equal(feed_large(10, 5, &seen, &d), 0);
	assert_int_equal(seen.n, 2);
	strbuf_release(&seen.text);
	watch_decoder_release(&d);
}

static void an_event_of_17_mib_is_refused_in_pieces_and_whole(void **state)
{
	static const size_t pieces[] = { 16384, (size_t)17 << 20 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct watch_decoder d;
		struct seen seen = SEEN;
		watch_decoder_init(&d);
		assert_int_equal(feed_large((size_t)17 << 20, pieces[i], &seen, &d), -EFBIG);
		assert_int_equal(seen.n, 0);
		strbuf_release(&seen.text);
		watch_decoder_release(&d);
	}
}

static void nesting_without_end_is_an_error_and_not_a_stack_overflow(void **state)
{
	struct watch_decoder d;
	struct seen seen = SEEN;
	struct err err = { 0 };
	static char deep[200001];
	(void)state;

	memset(deep, '[', 200000);
	deep[200000] = '\n';
	watch_decoder_init(&d);
	assert_true(watch_decoder_feed(&d, deep, sizeof(deep), record, &seen, &err) < 0);
	strbuf_release(&seen.text);
	watch_decoder_release(&d);
}

static int print_name(void *arg, struct watch_event *event)
{
	strbuf_addf(arg, "%d %s%s;", (int)event->type, json_str(event->object, "metadata.name"),
		    salvage_reason(event->object) ? " is a remnant" : "");
	return 0;
}

static void an_event_of_an_object_that_is_too_deep_or_too_wide_has_its_name(void **state)
{
	static const char *const opens[] = { "{\"a\":", "[0,{},\"\\\"]\"," }, *const types[] = {
		"ADDED", "MODIFIED", "DELETED"
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT((size_t)1 << 20),
					       out = STRBUF_INIT(4096);
		struct watch_decoder d;
		struct err err = { 0 };

		strbuf_addf(
			&text,
			"{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"deep\"},\"spec\":",
			types[i]);
		for (int k = 0; k < 1200; k++)
			strbuf_adds(&text, opens[i % 2]);
		strbuf_addc(&text, '1');
		for (int k = 0; k < 1200; k++)
			strbuf_addc(&text, i % 2 ? ']' : '}');
		strbuf_adds(
			&text,
			"}}\n{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n");
		watch_decoder_init(&d);
		assert_int_equal(
			watch_decoder_feed(&d, strbuf_str(&text), text.len, print_name, &out, &err),
			0);
		char expected[64];
		snprintf(expected, sizeof(expected), "%zu deep is a remnant;0 b;", i);
		assert_string_equal(strbuf_str(&out), expected);
		watch_decoder_release(&d);
	}
}

static void a_refusing_callback_stops_the_feed(void **state)
{
	struct watch_decoder d;
	struct seen seen = SEEN;
	struct err err = { 0 };
	(void)state;

	seen.answer = -ECANCELED;
	watch_decoder_init(&d);
	assert_int_equal(watch_decoder_feed(&d, STREAM, sizeof(STREAM) - 1, record, &seen, &err),
			 -ECANCELED);
	assert_int_equal(seen.n, 1);
	strbuf_release(&seen.text);
	watch_decoder_release(&d);
}

static int print(void *arg, struct watch_event *event)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(event->object);

	strbuf_addf(arg, "%d %s\n", (int)event->type, text);
	return 0;
}

static void of_objects_only_the_fields_are_read_and_of_a_status_all(void **state)
{
	static const char *const fields[] = { "metadata.name", NULL };
	static const char stream[] =
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"spec\":[{}]}}\n"
		"{ \"object\":{\"metadata\":{\"name\":\"b\",\"uid\":\"u\"}}, \"type\":\"DELETED\" }\n"
		"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n"
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
	struct watch_decoder d;
	struct err err = { 0 };
	(void)state;

	watch_decoder_init(&d);
	d.fields = fields;
	assert_int_equal(watch_decoder_feed(&d, stream, sizeof(stream) - 1, print, &out, &err), 0);
	assert_string_equal(strbuf_str(&out), "0 {\"metadata\":{\"name\":\"a\"}}\n"
					      "2 {\"metadata\":{\"name\":\"b\"}}\n"
					      "3 {\"metadata\":{\"resourceVersion\":\"7\"}}\n"
					      "4 {\"kind\":\"Status\",\"code\":410}\n");
	watch_decoder_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_cut_at_every_offset_gives_the_same_events),
		cmocka_unit_test(a_stream_fed_byte_by_byte_gives_the_same_events),
		cmocka_unit_test(lines_that_are_no_events_end_the_stream_for_good),
		cmocka_unit_test(an_event_of_15_mib_parses_and_its_buffer_is_given_back),
		cmocka_unit_test(an_event_of_17_mib_is_refused_in_pieces_and_whole),
		cmocka_unit_test(nesting_without_end_is_an_error_and_not_a_stack_overflow),
		cmocka_unit_test(an_event_of_an_object_that_is_too_deep_or_too_wide_has_its_name),
		cmocka_unit_test(a_refusing_callback_stops_the_feed),
		cmocka_unit_test(of_objects_only_the_fields_are_read_and_of_a_status_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
