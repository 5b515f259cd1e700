/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the exporter against a collector that answers from a script. */
#include "operator/export/exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "operator/failures/story.h"
#include "operator/kube/testing.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct bed {
	struct fake_server server;
	struct metrics metrics;
	struct otlp_settings settings;
	struct exporter *exporter;
	const char *marks; /* the present metadata of each failure; NULL: all are gone */
	cJSON *view;
	bool flushed;
};

static const cJSON *find_failure(void *arg, const char *key)
{
	struct bed *bed = arg;

	(void)key;
	cJSON_Delete(bed->view);
	bed->view = bed->marks ? cJSON_Parse(bed->marks) : NULL;
	return bed->view;
}

static void open_bed_for(struct bed *bed, const struct exchange *script, size_t n, unsigned hold_ms,
			 unsigned flush_ms)
{
	struct exporter_options options = {
		.settings = &bed->settings,
		.metrics = &bed->metrics,
		.find_failure = find_failure,
		.arg = bed,
		.hold_ms = hold_ms,
		.flush_ms = flush_ms,
	};

	fake_server_start(&bed->server, script, n);
	options.base = bed->server.base;
	bed->settings.endpoint = bed->server.url;
	assert_int_equal(exporter_new(&options, &bed->exporter, &(struct err){ 0 }), 0);
}

static void open_bed(struct bed *bed, const struct exchange *script, size_t n, unsigned hold_ms)
{
	open_bed_for(bed, script, n, hold_ms, 0);
}

static void close_bed(struct bed *bed)
{
	exporter_free(bed->exporter);
	fake_server_stop(&bed->server);
	metrics_release(&bed->metrics);
	cJSON_Delete(bed->view);
}

static void add(struct bed *bed, const char *name)
{
	_cleanup_json_ cJSON *failure = cJSON_CreateObject();
	cJSON *metadata = json_object_at(failure, "metadata"),
	      *spec = json_object_at(failure, "spec");

	json_set_str(metadata, "namespace", "ml");
	json_set_str(metadata, "name", name);
	json_set_str(spec, "class", "Segfault");
	json_set_str(spec, "verdict", "SIGSEGV");
	exporter_add(bed->exporter, failure);
}

static double value_of(struct bed *bed, const char *series)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT((size_t)1 << 20);
	char line[128];

	exporter_metrics(bed->exporter);
	metrics_render(&bed->metrics, &text);
	snprintf(line, sizeof(line), "\nafterglow_otlp_records_%s ", series);
	const char *at = strstr(strbuf_str(&text), line);
	return at ? strtod(at + strlen(line), NULL) : -1;
}
#define RESULT(bed, result) value_of(bed, "total{result=\"" result "\"}")

/* Turns the loop until that many records have that result. */
static void turn_until_result(struct bed *bed, const char *series, double n)
{
	struct timeval patience = { .tv_sec = 60 };

	event_base_loopexit(bed->server.base, &patience);
	while (value_of(bed, series) < n && event_base_loop(bed->server.base, EVLOOP_ONCE) == 0 &&
	       !event_base_got_exit(bed->server.base))
		;
	assert_true(value_of(bed, series) == n);
}

static size_t occurrences(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

static void failures_that_come_together_go_out_in_one_request_with_their_incident(void **state)
{
	const struct exchange script[] = { { .asked = "/v1/logs", .status = 200, .body = "{}" } };
	struct bed bed = { .marks =
				   "{\"metadata\":{\"labels\":{\"" INCIDENT_LABEL "\":\"i-1\"}}}" };
	(void)state;

	open_bed_for(&bed, script, 1, 600000, 60000);
	assert_true(RESULT(&bed, "sent") == 0 && RESULT(&bed, "rejected") == 0 &&
		    RESULT(&bed, "refused") == 0 && RESULT(&bed, "dropped") == 0);
	add(&bed, "a");
	add(&bed, "b");
	exporter_flush(bed.exporter, NULL, NULL);
	turn_until_result(&bed, "total{result=\"sent\"}", 2);
	assert_int_equal(occurrences(strbuf_str(&bed.server.bodies), "\"log.record.uid\""), 2);
	assert_int_equal(occurrences(strbuf_str(&bed.server.bodies), "{\"stringValue\":\"i-1\"}"),
			 2);
	_cleanup_json_ cJSON *body = cJSON_Parse(strbuf_str(&bed.server.bodies));
	assert_int_equal(cJSON_GetArraySize(json_get(body, "resourceLogs")), 2);
	assert_true(value_of(&bed, "waiting") == 0);
	close_bed(&bed);
}

static void a_collector_that_is_away_or_busy_gets_the_same_later(void **state)
{
	const struct exchange script[] = {
		{ .asked = "/v1/logs", .status = 0 },
		{ .asked = "/v1/logs",
		  .status = 503,
		  .body = "busy",
		  .header = "Retry-After",
		  .value = "1" },
		{ .asked = "/v1/logs", .status = 200, .body = "" },
	};
	struct bed bed = { 0 };
	(void)state;

	open_bed(&bed, script, 3, 1);
	add(&bed, "a");
	turn_until_result(&bed, "total{result=\"sent\"}", 1);
	assert_int_equal(bed.server.at, 3);
	assert_int_equal(occurrences(strbuf_str(&bed.server.bodies), "\"ml/a\""), 3);
	close_bed(&bed);
}

static void what_the_collector_rejects_or_refuses_is_counted_and_not_sent_again(void **state)
{
	const struct exchange script[] = {
		{ .asked = "/v1/logs",
		  .status = 200,
		  .body = "{\"partialSuccess\":{\"rejectedLogRecords\":\"1\"}}" },
		{ .asked = "/v1/logs", .status = 400, .body = "no" },
		{ .asked = "/v1/logs",
		  .status = 302,
		  .body = "",
		  .header = "Location",
		  .value = "/elsewhere" },
		{ .asked = "/v1/logs", .status = 200, .body = "{}" },
	};
	struct bed bed = { 0 };
	(void)state;

	open_bed(&bed, script, 4, 1);
	add(&bed, "a");
	turn_until_result(&bed, "total{result=\"rejected\"}", 1);
	assert_true(RESULT(&bed, "sent") == 0);
	add(&bed, "c");
	turn_until_result(&bed, "total{result=\"refused\"}", 1);
	add(&bed, "d");
	turn_until_result(&bed, "total{result=\"refused\"}", 2);
	add(&bed, "e");
	turn_until_result(&bed, "total{result=\"sent\"}", 1);
	assert_int_equal(occurrences(strbuf_str(&bed.server.bodies), "\"log.record.uid\""), 4);
	close_bed(&bed);
}

static void an_answer_without_end_takes_no_memory_and_is_an_answer(void **state)
{
	static char large[256 << 10];
	const struct exchange script[] = { { .asked = "/v1/logs", .status = 200, .body = large } };
	struct bed bed = { 0 };
	(void)state;

	memset(large, '[', sizeof(large) - 1);
	open_bed(&bed, script, 1, 1);
	add(&bed, "a");
	turn_until_result(&bed, "total{result=\"sent\"}", 1);
	close_bed(&bed);
}

static void what_comes_while_too_many_wait_is_dropped_and_counted(void **state)
{
	struct bed bed = { 0 };
	(void)state;

	open_bed(&bed, NULL, 0, 600000);
	for (int i = 0; i < 600; i++)
		add(&bed, "a");
	assert_true(value_of(&bed, "waiting") == 500 && RESULT(&bed, "dropped") == 100);
	close_bed(&bed);
}

static void on_flushed(void *arg)
{
	((struct bed *)arg)->flushed = true;
}

static void at_the_end_what_is_held_is_sent_at_once(void **state)
{
	const struct exchange script[] = { { .asked = "/v1/logs", .status = 200, .body = "{}" } };
	struct bed bed = { 0 };
	(void)state;

	open_bed_for(&bed, script, 1, 600000, 60000);
	add(&bed, "a");
	exporter_flush(bed.exporter, on_flushed, &bed);
	assert_false(bed.flushed);
	turn_until(bed.server.base, &bed.flushed);
	assert_true(RESULT(&bed, "sent") == 1);
	close_bed(&bed);
}

/* The collector accepts the request and does not answer. */
static void the_end_does_not_wait_for_a_collector_that_hangs(void **state)
{
	struct bed bed = { 0 };
	(void)state;

	open_bed_for(&bed, NULL, 0, 1, 100);
	/* The loop ends when the request has come, because its script is over. */
	add(&bed, "a");
	event_base_dispatch(bed.server.base);
	exporter_flush(bed.exporter, on_flushed, &bed);
	turn_until(bed.server.base, &bed.flushed);
	assert_true(RESULT(&bed, "sent") == 0);
	close_bed(&bed);
}

static void headers_come_from_the_file_as_it_is_by_then(void **state)
{
	const struct exchange script[] = {
		{ .asked = "/v1/logs", .status = 200, .body = "{}" },
		{ .asked = "/v1/logs", .status = 200, .body = "{}" },
	};
	struct bed bed = { 0 };
	char path[64];
	(void)state;

	snprintf(path, sizeof(path), "/tmp/afterglow-exporter-test-%d", (int)getpid());
	assert_int_equal(file_put(AT_FDCWD, path, "Authorization: Bearer one\n", 26, 0600, NULL),
			 0);
	bed.settings.headers_file = path;
	open_bed(&bed, script, 2, 1);
	add(&bed, "a");
	turn_until_result(&bed, "total{result=\"sent\"}", 1);
	assert_int_equal(file_put(AT_FDCWD, path, "Authorization: Bearer two\n", 26, 0600, NULL),
			 0);
	add(&bed, "b");
	turn_until_result(&bed, "total{result=\"sent\"}", 2);
	assert_string_equal(strbuf_str(&bed.server.tokens), "Bearer one\nBearer two\n");
	unlink(path);
	close_bed(&bed);
}

static void files_that_are_not_there_keep_it_from_starting(void **state)
{
	struct metrics metrics = { 0 };
	struct otlp_settings settings = { .endpoint = "http://127.0.0.1:1",
					  .ca_file = "/nonexistent/ca.crt" };
	struct event_base *base = event_base_new();
	struct exporter_options options = { .base = base,
					    .settings = &settings,
					    .metrics = &metrics };
	struct exporter *exporter;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(exporter_new(&options, &exporter, &err), -ENOENT);
	assert_non_null(strstr(err_text(&err), "--otlp-ca"));
	event_base_free(base);
	metrics_release(&metrics);
}

static void without_an_exporter_nothing_happens(void **state)
{
	(void)state;
	exporter_add(NULL, NULL);
	exporter_metrics(NULL);
	exporter_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			failures_that_come_together_go_out_in_one_request_with_their_incident),
		cmocka_unit_test(a_collector_that_is_away_or_busy_gets_the_same_later),
		cmocka_unit_test(
			what_the_collector_rejects_or_refuses_is_counted_and_not_sent_again),
		cmocka_unit_test(an_answer_without_end_takes_no_memory_and_is_an_answer),
		cmocka_unit_test(what_comes_while_too_many_wait_is_dropped_and_counted),
		cmocka_unit_test(at_the_end_what_is_held_is_sent_at_once),
		cmocka_unit_test(the_end_does_not_wait_for_a_collector_that_hangs),
		cmocka_unit_test(headers_come_from_the_file_as_it_is_by_then),
		cmocka_unit_test(files_that_are_not_there_keep_it_from_starting),
		cmocka_unit_test(without_an_exporter_nothing_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
