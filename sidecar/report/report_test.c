/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the renderers: text, JSON against docs/report.schema.json, termination message. */
#include "sidecar/report/report.h"

#include <ctype.h>
#include <fcntl.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/digest/report_mac.h"
#include "lib/json.h"
#include "lib/termination_mark.h"
#include "lib/units.h"
#include "sidecar/report/command_words.h"
#include "sidecar/report/diagnose.h"
#include "sidecar/sample/components_testing.h"
#include "sidecar/verdict/classify.h"

#define GIB ((int64_t)1 << 30)
#define COLUMNS 100
/* The largest value of a counter that memcg_parse_value accepts */
#define LARGEST (((int64_t)1 << 60) - 1)

/* --- Reports --- */

static struct report plain_report(void)
{
	struct report r = {
		.id = { .namespace = "ml", .cluster = "demo", .pod = "demo-small-worker-x7k2p",
			.pod_uid = "7a0b1c2d-0000-0000-0000-000000000000", .node = "node-1", .container = "ray-worker" },
		.started_unix_ns = 1795224294324 * NS_PER_MS,
		.ended_unix_ns = 1795224546324 * NS_PER_MS,
		.memory = { .limit = 4 * GIB, .own_limit = 4 * GIB, .usage = 4 * GIB, .peak = 4 * GIB, .anon = 3 * GIB, .file = 1 << 20,
			    .shmem = GIB / 5, .inactive_file = 0, .active_file = 0, .oom_kill = 0, .oom_group_kill = 0 },
		.sample_age_ns = 11 * NS_PER_MS,
		.n_processes = 40,
		.n_top = 2,
		.top = { { .pid = 162, .rss = 3 * GIB, .shared = GIB / 5, .growth = 800 << 20, .name = "ray::leak",
			   .command = "ray::leak" },
			 { .pid = 7, .rss = 1 << 26, .shared = 1 << 24, .growth = GROWTH_UNKNOWN, .name = "raylet" } },
		.bundle = "pvc:ray-failures/ml/demo/demo-small-worker-x7k2p.7a0b1c2d/ray-worker/20261121T012906.324Z-KernelOOMContainer",
	};
	const struct observation seen = {
		.container = "ray-worker", .cgroup_version = 2, .after_known = true, .oom_age_ns = -1,
		.before = r.memory, .after = { .oom = 1, .oom_kill = 4, .oom_group_kill = 1 }, .last = r.memory,
	};

	classify(&seen, &r.verdict);
	r.verdict.missing[0] = (struct missing){ "kernel log", "CAP_SYSLOG" };
	r.verdict.n_missing = 1;
	report_diagnose(&r);
	signature_of(&seen, &r.verdict, r.top[0].name, r.signature);
	return r;
}

/* Makes a report in which only the end is known. */
static struct report empty_report(void)
{
	struct report r = { .id.container = "x", .memory = MEMORY_ABSENT, .sample_age_ns = -1 };
	const struct observation seen = { .container = "x",
					  .before = MEMORY_ABSENT,
					  .after = MEMORY_ABSENT,
					  .last = MEMORY_ABSENT,
					  .oom_age_ns = -1,
					  .container_lives = true };

	classify(&seen, &r.verdict);
	return r;
}

static void fill_text(char *to, size_t size, const char *pattern)
{
	size_t len = strlen(pattern), n = 0;

	for (; n + len < size; n += len)
		memcpy(to + n, pattern, len);
	to[n] = '\0';
}

/* Makes a report with every text as long as possible, filled with the pattern. */
static struct report hostile_report(const char *pattern)
{
	static char long_name[300];
	struct report r = plain_report();

	fill_text(long_name, sizeof(long_name), "very-long-name.");
	r.id = (struct identity){ long_name, long_name, long_name, long_name,
				  long_name, long_name, NULL };
	r.n_top = REPORT_TOP_MAX;
	for (size_t i = 0; i < REPORT_TOP_MAX; i++) {
		r.top[i] = (struct process){ .pid = INT32_MAX,
					     .rss = (int64_t)1 << 57,
					     .shared = (int64_t)1 << 56,
					     .growth = -1000000000000000000 };
		fill_text(r.top[i].name, sizeof(r.top[i].name), pattern);
		fill_text(r.top[i].command, sizeof(r.top[i].command), pattern);
	}
	r.components.n = COMPONENTS_MAX;
	for (size_t i = 0; i < COMPONENTS_MAX; i++) {
		r.components.list[i] = (struct component){ .count = UINT32_MAX,
							   .own = (int64_t)1 << 57,
							   .largest = (int64_t)1 << 57 };
		fill_text(r.components.list[i].name, sizeof(r.components.list[i].name), pattern);
	}
	r.node = (struct ray_node){
		.shm_size = LARGEST, .shm_used = LARGEST, .object_store = LARGEST, .raylet = 1
	};
	r.memory = (struct memory){ .limit = LARGEST,
				    .own_limit = LARGEST,
				    .usage = LARGEST,
				    .peak = LARGEST,
				    .anon = LARGEST,
				    .file = LARGEST,
				    .shmem = LARGEST };
	snprintf(r.signature, sizeof(r.signature), "v1:Segfault:x:");
	memset(r.signature + strlen(r.signature), 'x',
	       sizeof(r.signature) - 1 - strlen(r.signature));
	fill_text(r.verdict.sentence, sizeof(r.verdict.sentence), "word ");
	r.verdict.n_evidence = EVIDENCE_MAX;
	for (size_t i = 0; i < EVIDENCE_MAX; i++) {
		r.verdict.evidence[i].source = "memory.oom_control";
		fill_text(r.verdict.evidence[i].text, EVIDENCE_TEXT_MAX, pattern);
	}
	report_diagnose(&r);
	fill_text(r.diagnosis, sizeof(r.diagnosis), pattern);
	fill_text(r.advice, sizeof(r.advice), pattern);
	fill_text(r.bundle, sizeof(r.bundle), "0123456789/");
	return r;
}

static const char *const patterns[] = { "x",
					"two words ",
					"\"",
					"\\",
					"<&>'",
					"caf\xc3\xa9",
					"\xf0\x9f\x94\xa5",
					"\xe6\xbc\xa2",
					"#afterglow/1 {}",
					"%s%n" };

static bool is_utf8(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		int n = *p < 0x80 ? 0 : *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc2 ? 1 : -1;

		if (n < 0)
			return false;
		for (p++; n > 0; n--, p++)
			if ((*p & 0xc0) != 0x80)
				return false;
	}
	return true;
}

/* --- Text --- */

static void check_lines(const char *text)
{
	assert_true(is_utf8(text));
	for (const char *line = text; *line;) {
		const char *end = strchr(line, '\n');

		assert_non_null(end);
		/*
		 * The bundle's path and the signature are not folded, so that people can copy them.
		 */
		if (end - line > COLUMNS && strncmp(line, "  bundle ", 9) != 0 &&
		    strncmp(line, "  signature ", 12) != 0)
			fail_msg("%d columns: %.*s", (int)(end - line), (int)(end - line), line);
		for (const char *p = line; p < end; p++)
			assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
		line = end + 1;
	}
}

static void the_text_says_the_sentence_first_and_then_what_it_rests_on(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_TEXT_MAX);
	struct report r = plain_report();
	static const char *const parts[] = {
		"Container ray-worker was killed by the kernel: it reached its memory limit of 4.0 GiB.\n",
		"  pod        ml/demo-small-worker-x7k2p of cluster demo on node node-1\n",
		"  when       2026-11-21 01:29:06.324 UTC, 4 min 12 s after its start\n",
		"  exit       137 (SIGKILL)\n",
		"  class      KernelOOMContainer, certain\n",
		"oom_group_kill 0 -> 1\n",
		"  memory     4.0 GiB of 4.0 GiB, 11 ms before the end: anon 3.0 GiB, shmem 204.8 MiB, file 1.0 MiB;\n             peak 4.0 GiB\n",
		"162      2.8 GiB     204.8 MiB   +800.0 MiB/s    ray::leak\n",
		"7        48.0 MiB    16.0 MiB    -               raylet\n",
		"(40 processes in all)\n",
		"  diagnosis  One process, ray::leak, held 70 % of the memory",
		"  try        find what leak keeps",
		"  missing    kernel log (needs ",
		"  signature  v1:KernelOOMContainer:task/leak:memory\n",
		"  bundle     pvc:ray-failures/ml/demo/",
	};
	const char *at;
	(void)state;

	report_to_text(&r, &out);
	assert_false(strbuf_failed(&out));
	at = strbuf_str(&out);
	assert_ptr_equal(strstr(at, parts[0]), at);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *found = strstr(at, parts[i]);

		if (!found)
			fail_msg("not there or not in order: %s\n%s", parts[i], strbuf_str(&out));
		at = found;
	}
	check_lines(strbuf_str(&out));
}

/* Checks the path of cores in report.json. */
static void check_cores_prefix(const struct report *r, const char *expected)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_JSON_MAX);
	_cleanup_json_ cJSON *json = NULL;
	const char *prefix;

	report_to_json(r, &out);
	assert_int_equal(json_parse(strbuf_str(&out), out.len, &json, NULL), 0);
	prefix = json_str(json, "crash.coresPrefix");
	if (expected)
		assert_string_equal(prefix, expected);
	else
		assert_null(prefix);
}

static void a_report_names_the_place_of_a_core_that_lies_apart(void **state)
{
	static const char line[] =
		"  core       below _cores of the same store, if one is kept; MANIFEST.json names its path\n";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_TEXT_MAX);
	struct report r = plain_report();
	(void)state;

	r.cores_prefix = "_cores";
	report_to_text(&r, &out);
	assert_null(strstr(strbuf_str(&out), "_cores"));
	check_cores_prefix(&r, NULL);
	r.crash.known = true;
	strbuf_reset(&out);
	report_to_text(&r, &out);
	assert_non_null(strstr(strbuf_str(&out), line));
	check_lines(strbuf_str(&out));
	check_cores_prefix(&r, "_cores");
	r.keeping.report_only = true;
	strbuf_reset(&out);
	report_to_text(&r, &out);
	assert_null(strstr(strbuf_str(&out), "_cores"));
	check_cores_prefix(&r, NULL);
}

static void memory_is_shown_as_users_compare_it(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_TEXT_MAX);
	struct report r = plain_report();
	static const char *const parts[] = {
		"             kernel 64.0 MiB, swapped out 32.0 MiB; peak 4.0 GiB\n",
		"             as counted by the kernel 4.0 GiB, the kubelet 3.5 GiB, Ray 3.2 GiB\n",
		"             pressure: some tasks waited for memory 12.3 % of the last 10 s, all of them 1.0 %\n",
		"  objects    /dev/shm 1.0 GiB of 2.0 GiB; the object store may have 1.0 GiB\n",
		"  by name    COUNT    RSS-SHR     NAME\n             12       3.0 GiB     ray::load\n"
		"             1        40.0 MiB    raylet\n             7        1.0 GiB     others\n",
	};
	const char *at;
	(void)state;

	r.memory.kernel = 64 << 20;
	r.memory.swap = 32 << 20;
	r.memory.inactive_file = GIB / 2;
	r.memory.active_file = GIB / 4 + GIB / 16;
	r.memory.psi_some = 1230;
	r.memory.psi_full = 100;
	r.node = (struct ray_node){
		.shm_size = 2 * GIB, .shm_used = GIB, .object_store = GIB, .raylet = 31
	};
	for (int i = 0; i < 12; i++)
		components_add(&r.components, "ray::load", "", GIB / 4);
	components_add(&r.components, "raylet", "", 40 << 20);
	r.components.rest_count = 7;
	r.components.rest_own = GIB;
	report_to_text(&r, &out);
	check_lines(strbuf_str(&out));
	at = strbuf_str(&out);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		at = strstr(at, parts[i]);
		if (!at)
			fail_msg("not there or not in order: %s\n%s", parts[i], strbuf_str(&out));
	}
}

static void no_line_but_the_bundles_and_the_signature_is_longer_than_a_hundred_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_TEXT_MAX),
					       table = STRBUF_INIT(REPORT_TEXT_MAX);
		struct report r = hostile_report(patterns[i]);

		report_to_text(&r, &out);
		assert_false(strbuf_failed(&out));
		check_lines(strbuf_str(&out));
		report_process_table(r.top, r.n_top, "[afterglow]   ", &table);
		check_lines(strbuf_str(&table));
	}
}

static void an_empty_report_has_no_empty_claims(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_TEXT_MAX);
	struct report r = empty_report();
	(void)state;

	report_to_text(&r, &out);
	check_lines(strbuf_str(&out));
	assert_non_null(strstr(strbuf_str(&out), "what happened is not known"));
	assert_non_null(strstr(strbuf_str(&out), "no sample was taken"));
	assert_null(strstr(strbuf_str(&out), "(null)"));
	assert_null(strstr(strbuf_str(&out), "exit "));
	assert_null(strstr(strbuf_str(&out), "1970"));
}

static void a_small_buffer_is_no_crash(void **state)
{
	struct report r = hostile_report("two words ");
	(void)state;

	for (size_t max = 0; max < 3000; max += 7) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(max), json = STRBUF_INIT(max);

		report_to_text(&r, &text);
		report_to_json(&r, &json);
		assert_true(strbuf_failed(&text) && text.len <= max);
		assert_true(strbuf_failed(&json) && json.len <= max);
	}
}

/* --- JSON: the part of JSON Schema that docs/report.schema.json uses --- */

static bool has_type(const cJSON *value, const char *type)
{
	if (strcmp(type, "integer") == 0)
		return cJSON_IsNumber(value) &&
		       value->valuedouble == (double)(int64_t)value->valuedouble;
	if (strcmp(type, "number") == 0)
		return cJSON_IsNumber(value);
	return strcmp(type, "object") == 0 ? cJSON_IsObject(value) :
	       strcmp(type, "array") == 0  ? cJSON_IsArray(value) :
	       strcmp(type, "boolean") == 0 ? cJSON_IsBool(value) :
	       strcmp(type, "string") == 0 ? cJSON_IsString(value) :
					     strcmp(type, "null") == 0 && cJSON_IsNull(value);
}

static bool matches(const char *pattern, const char *text)
{
	regex_t regex;
	bool found;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	found = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

static void check_schema(const cJSON *root, const cJSON *schema, const cJSON *value,
			 const char *where)
{
	const cJSON *word, *item;
	bool fits = false;

	cJSON_ArrayForEach(word, schema) {
		const char *name = word->string;

		if (strcmp(name, "$ref") == 0) {
			assert_ptr_equal(strstr(word->valuestring, "#/$defs/"), word->valuestring);
			check_schema(root,
				     cJSON_GetObjectItemCaseSensitive(json_get(root, "$defs"),
								      word->valuestring + 8),
				     value, where);
		} else if (strcmp(name, "const") == 0 || strcmp(name, "enum") == 0) {
			fits = cJSON_Compare(word, value, true);
			if (cJSON_IsArray(word))
				cJSON_ArrayForEach(item, word)
					fits = fits || cJSON_Compare(item, value, true);
			if (!fits)
				fail_msg("%s is none of those allowed", where);
		} else if (strcmp(name, "type") == 0) {
			fits = cJSON_IsString(word) && has_type(value, word->valuestring);
			if (cJSON_IsArray(word))
				cJSON_ArrayForEach(item, word)
					fits = fits || has_type(value, item->valuestring);
			if (!fits)
				fail_msg("%s has the wrong type", where);
		} else if (!cJSON_IsObject(value) &&
			   (strcmp(name, "required") == 0 || strcmp(name, "properties") == 0)) {
			/* These apply to objects. "type" says what other values are allowed. */
		} else if (strcmp(name, "required") == 0) {
			cJSON_ArrayForEach(item, word)
				if (!cJSON_GetObjectItemCaseSensitive(value, item->valuestring))
					fail_msg("%s has no %s", where, item->valuestring);
		} else if (strcmp(name, "properties") == 0) {
			/* All schemas here forbid additional properties. */
			assert_true(cJSON_IsFalse(json_get(schema, "additionalProperties")));
			cJSON_ArrayForEach(item, value) {
				const cJSON *of =
					cJSON_GetObjectItemCaseSensitive(word, item->string);

				if (!of)
					fail_msg("%s has %s, which the schema does not know", where,
						 item->string);
				check_schema(root, of, item, item->string);
			}
		} else if (strcmp(name, "items") == 0) {
			cJSON_ArrayForEach(item, value)
				check_schema(root, word, item, where);
		} else if (strcmp(name, "minimum") == 0 || strcmp(name, "maximum") == 0) {
			if (cJSON_IsNumber(value))
				assert_true(name[1] == 'i' ?
						    value->valuedouble >= word->valuedouble :
						    value->valuedouble <= word->valuedouble);
		} else if (strcmp(name, "minLength") == 0) {
			if (cJSON_IsString(value) &&
			    strlen(value->valuestring) < (size_t)word->valuedouble)
				fail_msg("%s is empty", where);
		} else if (strcmp(name, "pattern") == 0) {
			if (cJSON_IsString(value) &&
			    !matches(word->valuestring, value->valuestring))
				fail_msg("%s: \"%s\" does not look right", where,
					 value->valuestring);
		} else if (!strchr("$td", name[0]) && strcmp(name, "additionalProperties") != 0) {
			fail_msg("this test does not know %s", name);
		}
	}
}

static cJSON *read_schema(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	cJSON *schema = NULL;
	struct err err = { 0 };

	if (file_read(AT_FDCWD, "docs/report.schema.json", &text, &err) < 0 ||
	    json_parse(strbuf_str(&text), text.len, &schema, &err) < 0)
		fail_msg("%s (tests run in the top directory)", err.text);
	return schema;
}

static void check_report(const cJSON *schema, const struct report *r)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_JSON_MAX);
	_cleanup_json_ cJSON *json = NULL;
	struct err err = { 0 };

	report_to_json(r, &out);
	assert_false(strbuf_failed(&out));
	assert_true(is_utf8(strbuf_str(&out)));
	assert_int_equal(json_parse(strbuf_str(&out), out.len, &json, &err), 0);
	check_schema(schema, schema, json, "report");
}

static void every_report_is_what_the_schema_says(void **state)
{
	_cleanup_json_ cJSON *schema = read_schema();
	struct report plain = plain_report(), empty = empty_report();
	(void)state;

	check_report(schema, &plain);
	check_report(schema, &empty);
	empty.error = (struct ray_error){ .name = "NodeDiedError", .ip = "10.0.0.7" };
	snprintf(empty.node.id, sizeof(empty.node.id), "76fd");
	snprintf(empty.node.session, sizeof(empty.node.session),
		 "session_2026-11-27_11-52-09_843279_30");
	empty.verdict.process = (struct verdict_process){
		.name = "ray::f", .pid = 7, .exit_code = -1, .worker_id = "82ab"
	};
	check_report(schema, &empty);
	empty.error.pid = 7;
	snprintf(empty.error.node_id, sizeof(empty.error.node_id), "76fd");
	check_report(schema, &empty);
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		struct report r = hostile_report(patterns[i]);

		check_report(schema, &r);
	}
	for (int signo = 1; signo <= 64; signo++) {
		const struct observation seen = { .container = "c",
						  .status_known = true,
						  .wait_status = signo,
						  .oom_age_ns = -1 };

		classify(&seen, &plain.verdict);
		check_report(schema, &plain);
	}
}

static void what_still_ran_is_in_json_as_the_schema_says(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_JSON_MAX);
	_cleanup_json_ cJSON *schema = read_schema(), *json = NULL;
	struct report r = plain_report();
	(void)state;

	report_to_json(&r, &out);
	assert_null(strstr(strbuf_str(&out), "stillRunning"));
	r.still_running = "24.0 s after the request to stop";
	check_report(schema, &r);
	strbuf_reset(&out);
	report_to_json(&r, &out);
	assert_int_equal(json_parse(strbuf_str(&out), out.len, &json, NULL), 0);
	assert_string_equal(json_str(json, "stillRunning"), r.still_running);
}

static void the_schema_knows_every_class_and_confidence(void **state)
{
	_cleanup_json_ cJSON *schema = read_schema();
	const cJSON *classes = json_get(schema, "properties.class.enum");
	(void)state;

	assert_int_equal(cJSON_GetArraySize(classes), FAILURE_CLASS_COUNT);
	for (int i = 0; i < FAILURE_CLASS_COUNT; i++)
		assert_string_equal(cJSON_GetArrayItem(classes, i)->valuestring,
				    failure_class_name((enum failure_class)i));
	for (int i = 0; i < 3; i++)
		assert_string_equal(
			cJSON_GetArrayItem(json_get(schema, "properties.confidence.enum"), i)
				->valuestring,
			confidence_name((enum confidence)i));
}

static void absent_facts_are_null_and_never_zero(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_JSON_MAX);
	_cleanup_json_ cJSON *json = NULL;
	struct report r = empty_report();
	static const char *const absent[] = { "signature",
					      "exitCode",
					      "signal",
					      "namespace",
					      "cluster",
					      "pod",
					      "podUID",
					      "node",
					      "startedAt",
					      "endedAt",
					      "memory.limitBytes",
					      "memory.usageBytes",
					      "memory.peakBytes",
					      "memory.anonBytes",
					      "memory.fileBytes",
					      "memory.shmemBytes",
					      "memory.sampleAgeMs",
					      "diagnosis",
					      "advice",
					      "bundle",
					      "repeats",
					      "dropped" };
	(void)state;

	report_to_json(&r, &out);
	assert_int_equal(json_parse(strbuf_str(&out), out.len, &json, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		if (!cJSON_IsNull(json_get(json, absent[i])))
			fail_msg("%s is not null", absent[i]);
}

/* --- The termination message --- */

static const char *mark_line(const char *text)
{
	const char *found =
		strncmp(text, TERMINATION_MARK, strlen(TERMINATION_MARK)) == 0 ? text : NULL;

	for (const char *p = strstr(text, "\n" TERMINATION_MARK); p;
	     p = strstr(p + 1, "\n" TERMINATION_MARK))
		found = p + 1;
	return found;
}

static void check_message(const struct report *r, bool final, size_t max, size_t *ret_len,
			  bool *ret_whole)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(TERMINATION_MESSAGE_MAX);
	_cleanup_json_ cJSON *json = NULL;
	const char *line;

	report_to_termination_message(r, final, max, &out);
	assert_false(strbuf_failed(&out));
	assert_true(out.len <= max);
	assert_int_equal(strlen(strbuf_str(&out)), out.len);
	assert_true(is_utf8(strbuf_str(&out)));
	line = mark_line(strbuf_str(&out));
	*ret_len = out.len;
	*ret_whole = line != NULL;
	if (!line)
		return;
	/* The line is complete, and the last one. */
	assert_int_equal(strbuf_str(&out)[out.len - 1], '\n');
	assert_null(memchr(line, '\n', strlen(line) - 1));
	line += strlen(TERMINATION_MARK);
	if (r->id.report_key)
		assert_true(report_mac_holds(r->id.report_key, REPORT_MAC_TERMINATION, line,
					     strlen(line)));
	assert_int_equal(json_parse(line, strlen(line), &json, NULL), 0);
	assert_int_equal(json_bool(json, "final", !final), final);
	assert_true(final == cJSON_IsString(json_get(json, "class")));
	assert_true(cJSON_IsArray(json_get(json, "processes")) &&
		    cJSON_IsArray(json_get(json, "missing")));
	assert_true(cJSON_GetArraySize(json_get(json, "processes")) <= 5);
	assert_null(json_get(json_get(json, "processes")->child, "command"));
}

static void the_message_fits_whatever_the_room_and_its_json_is_whole_or_absent(void **state)
{
	struct report named = plain_report(), hostile = hostile_report("\\");

	memcpy(named.top, hostile.top, sizeof(named.top));
	named.n_top = REPORT_TOP_MAX;
	named.id.report_key = hostile.id.report_key = "00112233445566778899aabbccddeeff";
	const struct report reports[] = { plain_report(),
					  named,
					  empty_report(),
					  hostile,
					  hostile_report("caf\xc3\xa9"),
					  hostile_report("\xf0\x9f\x94\xa5"),
					  hostile_report("#afterglow/1 {}") };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		for (int final = 0; final < 2; final++) {
			bool whole = false, was_whole = false;
			size_t len;

			for (size_t max = 0; max <= TERMINATION_MESSAGE_MAX; max += i < 2 ? 1 : 8) {
				check_message(&reports[i], final, max, &len, &whole);
				/* With more room it is never lost. */
				assert_true(whole || !was_whole);
				was_whole = whole;
			}
			/* Within the kubelet's limit, the usual reports have it. */
			assert_true(whole || i >= 3);
		}
}

static void a_name_that_was_cut_within_a_character_leaves_the_message_utf_8(void **state)
{
	struct report r = plain_report();
	size_t len;
	bool whole;
	(void)state;

	r.id.report_key = "00112233445566778899aabbccddeeff";
	snprintf(r.signature, sizeof(r.signature), "%.6s", "ray::\xc3\xa9");
	check_message(&r, true, TERMINATION_MESSAGE_MAX, &len, &whole);
	assert_true(whole);
}

static void a_message_begins_with_the_sentence(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(TERMINATION_MESSAGE_MAX);
	struct report r = plain_report();
	(void)state;

	report_to_termination_message(&r, true, TERMINATION_MESSAGE_MAX, &out);
	assert_ptr_equal(strstr(strbuf_str(&out), r.verdict.sentence), strbuf_str(&out));
	assert_non_null(strstr(strbuf_str(&out), "\n  PID 162  2.8 GiB  ray::leak\n"));
	assert_non_null(strstr(mark_line(strbuf_str(&out)),
			       "\"signature\":\"v1:KernelOOMContainer:task/leak:memory\""));
	assert_non_null(strstr(mark_line(strbuf_str(&out)), "\"diagnosis\":\"One process"));
	assert_non_null(strstr(mark_line(strbuf_str(&out)), "\"advice\":\""));
}

/*
 * --- Reports of a command
 * -------------------------------------------------------------------------------
 */

/* A command with an exit code of its own, in a cgroup that others share. */
static struct report command_report(void)
{
	struct report r = plain_report();
	const struct observation seen = {
		.container = "train.py", .cgroup_version = 2, .cgroup_shared = true, .status_known = true, .wait_status = 3 << 8,
		.ran_ns = 60 * NS_PER_SEC, .after_known = true, .oom_age_ns = -1, .before = r.memory, .after = r.memory, .last = r.memory,
	};

	r.id = (struct identity){ .container = "train.py" };
	r.of_command = r.memory_shared = true;
	r.diagnosis[0] = r.advice[0] = '\0';
	r.components = (struct components){
		.n = 2,
		.list = { { .count = 3, .own = GIB, .name = "python3 train.py" },
			  { .count = 2, .own = 1 << 20, .name = "afterglow-launch" } }
	};
	report_leave_out_launcher(&r);
	classify(&seen, &r.verdict);
	verdict_add_missing(&r.verdict, "kernel log", "CAP_SYSLOG");
	report_use_command_words(&r);
	return r;
}

static void of_a_command_that_fails_by_itself_two_lines_are_enough(void **state)
{
	struct report r = command_report();
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_TEXT_MAX),
				       whole = STRBUF_INIT(REPORT_TEXT_MAX);

	(void)state;
	report_to_notice(&r, &out);
	assert_non_null(strstr(
		strbuf_str(&out),
		"train.py ended with exit code 3 after 1 min 0 s.\n  class      ApplicationError, certain\n"));
	assert_null(strstr(strbuf_str(&out), "missing"));
	verdict_add_missing(&r.verdict, "the hooks at death", "a launcher");
	strbuf_reset(&out);
	report_to_notice(&r, &out);
	assert_non_null(strstr(strbuf_str(&out), "missing    the hooks at death"));
	/* A crash just before, or anything else that is known, is told in full. */
	verdict_add_evidence(&r.verdict, "core", "SIGSEGV in f");
	strbuf_reset(&out);
	report_to_notice(&r, &out);
	report_to_text(&r, &whole);
	assert_string_equal(strbuf_str(&out), strbuf_str(&whole));
}

static void two_lines_are_enough_for_a_driver_that_fails_and_stops_its_ray(void **state)
{
	struct report r = command_report();
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_TEXT_MAX);

	(void)state;
	r.verdict.confidence = CONFIDENCE_LIKELY;
	verdict_add_evidence(
		&r.verdict, "launcher",
		"raylet (PID 300) ended with exit code 0, before the command by 1.4 s");
	verdict_add_evidence(&r.verdict, "raylet.out", "received SIGTERM");
	report_to_notice(&r, &out);
	assert_non_null(strstr(strbuf_str(&out), "evidence"));
	r.verdict.stopped_its_ray = true;
	strbuf_reset(&out);
	report_to_notice(&r, &out);
	assert_non_null(strstr(strbuf_str(&out), "class      ApplicationError, likely\n"));
	assert_null(strstr(strbuf_str(&out), "evidence"));
	/* A program of the command ended by a signal before: that may be why. */
	struct report also = r;
	verdict_add_evidence(
		&also.verdict, "launcher",
		"loader (PID 310) was ended by SIGKILL, before the container by 2.0 s");
	strbuf_reset(&out);
	report_to_notice(&also, &out);
	assert_non_null(strstr(strbuf_str(&out), "loader (PID 310) was ended by SIGKILL"));
	verdict_add_evidence(&r.verdict, "OOM killer", "oom_kill 0 -> 1");
	strbuf_reset(&out);
	report_to_notice(&r, &out);
	assert_non_null(strstr(strbuf_str(&out), "evidence"));
}

static void a_sample_from_after_a_death_is_called_so(void **state)
{
	struct report r = plain_report();
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_TEXT_MAX);

	(void)state;
	r.verdict.exit_code = -1;
	r.sample_age_ns = -2100 * NS_PER_MS;
	report_to_text(&r, &out);
	assert_non_null(
		strstr(strbuf_str(&out), "4.0 GiB of 4.0 GiB, 2.1 s after the death: anon"));
	assert_null(strstr(strbuf_str(&out), "before the death"));
	strbuf_reset(&out);
	report_to_json(&r, &out);
	assert_non_null(strstr(strbuf_str(&out), "\"sampleAgeMs\":\t0"));
}

static void memory_that_others_share_is_that_of_the_commands_processes(void **state)
{
	struct report r = command_report();
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_TEXT_MAX);

	(void)state;
	report_to_text(&r, &out);
	assert_non_null(strstr(
		strbuf_str(&out),
		"  memory     1.0 GiB in 3 processes, 11 ms before the end\n"
		"             their cgroup, which others share, held 4.0 GiB of 4.0 GiB; peak 4.0 GiB\n"));
	assert_null(strstr(strbuf_str(&out), "kubelet"));
	r.memory.limit = -1;
	strbuf_reset(&out);
	report_to_text(&r, &out);
	assert_null(strstr(strbuf_str(&out), "which others share"));
}

static void advice_has_the_form_of_the_place(void **state)
{
	struct report r = plain_report();

	(void)state;
	r.node = (struct ray_node){ .head = true,
				    .object_store = 3 * GIB,
				    .memory = 3 * GIB,
				    .cpus = 1000,
				    .raylet = 7,
				    .shm_used = 3 * GIB };
	r.diagnosis[0] = r.advice[0] = '\0';
	report_diagnose(&r);
	assert_non_null(strstr(r.advice, "in rayStartParams"));
	r.of_command = true;
	r.diagnosis[0] = r.advice[0] = '\0';
	report_diagnose(&r);
	assert_null(strstr(r.advice, "rayStartParams"));
	assert_non_null(strstr(r.advice, "ray start --object-store-memory=1288490189"));
	r.node.of_driver = true;
	r.diagnosis[0] = r.advice[0] = '\0';
	report_diagnose(&r);
	assert_null(strstr(r.advice, "ray start"));
	assert_null(strstr(r.advice, "keeps tasks off"));
	assert_non_null(strstr(r.advice, "ray.init(object_store_memory=1288490189)"));
	assert_non_null(strstr(r.advice, "ray.init(_memory="));
}

static void our_launcher_is_no_row_and_who_takes_its_name_to_hide_is_one(void **state)
{
	struct report r = plain_report();
	const size_t n = r.n_top;
	(void)state;

	assert_true(n >= 1 && n + 2 <= REPORT_TOP_MAX);
	r.n_processes = (uint32_t)n + 2;
	memmove(&r.top[2], &r.top[0], n * sizeof(r.top[0]));
	r.top[0] = (struct process){ .pid = 99, .rss = GIB, .name = "afterglow-launch" };
	r.top[1] = (struct process){ .pid = 1, .rss = 1 << 18, .name = "afterglow-launch" };
	r.n_top = n + 2;
	r.components = (struct components){
		.n = 2,
		.list = { { .count = 1, .largest = GIB, .name = "afterglow-launch" },
			  { .count = 1, .largest = 1 << 18, .name = "afterglow-launch" } }
	};
	report_leave_out_launcher(&r);
	assert_int_equal(r.n_top, n + 1);
	assert_int_equal(r.n_processes, n + 1);
	assert_int_equal(r.top[0].pid, 99);
	assert_int_not_equal(r.top[1].pid, 1);
	assert_int_equal(r.components.n, 1);
	assert_int_equal(r.components.list[0].largest, GIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_says_the_sentence_first_and_then_what_it_rests_on),
		cmocka_unit_test(a_report_names_the_place_of_a_core_that_lies_apart),
		cmocka_unit_test(memory_is_shown_as_users_compare_it),
		cmocka_unit_test(
			no_line_but_the_bundles_and_the_signature_is_longer_than_a_hundred_columns),
		cmocka_unit_test(an_empty_report_has_no_empty_claims),
		cmocka_unit_test(a_small_buffer_is_no_crash),
		cmocka_unit_test(every_report_is_what_the_schema_says),
		cmocka_unit_test(what_still_ran_is_in_json_as_the_schema_says),
		cmocka_unit_test(the_schema_knows_every_class_and_confidence),
		cmocka_unit_test(absent_facts_are_null_and_never_zero),
		cmocka_unit_test(
			the_message_fits_whatever_the_room_and_its_json_is_whole_or_absent),
		cmocka_unit_test(a_message_begins_with_the_sentence),
		cmocka_unit_test(a_name_that_was_cut_within_a_character_leaves_the_message_utf_8),
		cmocka_unit_test(of_a_command_that_fails_by_itself_two_lines_are_enough),
		cmocka_unit_test(two_lines_are_enough_for_a_driver_that_fails_and_stops_its_ray),
		cmocka_unit_test(a_sample_from_after_a_death_is_called_so),
		cmocka_unit_test(memory_that_others_share_is_that_of_the_commands_processes),
		cmocka_unit_test(our_launcher_is_no_row_and_who_takes_its_name_to_hide_is_one),
		cmocka_unit_test(advice_has_the_form_of_the_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
