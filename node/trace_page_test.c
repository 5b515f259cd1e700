/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading the kernel's trace pages: recorded ones of Linux 6.18, constructed ones and
 * hostile ones.
 */
#include "node/trace_page.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "node/signal_record.h"

#define TESTDATA "node/testdata/"

static void load(const char *name, struct strbuf *out)
{
	char path[128];

	snprintf(path, sizeof(path), TESTDATA "%s", name);
	assert_int_equal(file_read(AT_FDCWD, path, out, NULL), 0);
}

static void read_formats(struct signal_formats *f)
{
	_cleanup_strbuf_ struct strbuf signal = STRBUF_INIT(4096), victim = STRBUF_INIT(4096);

	load("signal_generate.format", &signal);
	load("mark_victim.format", &victim);
	assert_true(signal_formats_parse(strbuf_str(&signal), strbuf_str(&victim), f));
}

static size_t read_page(const char *name, struct signal_record *records, size_t max)
{
	_cleanup_strbuf_ struct strbuf page = STRBUF_INIT(8192);
	struct signal_formats f;
	struct trace_page p;
	struct trace_event e;
	size_t n = 0;

	read_formats(&f);
	load(name, &page);
	assert_true(trace_page_open(&p, page.data, page.len));
	assert_false(p.lost);
	while (trace_page_next(&p, &e)) {
		assert_true(n < max);
		assert_true(signal_record_parse(&f, &e, &records[n]));
		n++;
	}
	return n;
}

static const struct signal_record *find(const struct signal_record *records, size_t n, pid_t target,
					int signal)
{
	for (size_t i = 0; i < n; i++)
		if (records[i].target == target && records[i].signal == signal)
			return &records[i];
	return NULL;
}

static void a_recorded_page_has_each_signal_with_its_sender(void **state)
{
	struct signal_record r[64];
	size_t n = read_page("cpu0.page", r, 64);
	const struct signal_record *killed = find(r, n, 15040, SIGKILL),
				   *victim = find(r, n, 15554, SIGKILL);

	(void)state;
	assert_true(n > 10);
	assert_non_null(killed);
	assert_int_equal(killed->kind, RECORD_SIGNAL);
	assert_int_equal(killed->sender, 14898);
	/* The text form of the same buffer had the time 42005.496650. */
	assert_int_equal(killed->time_ns / 1000, 42005496650);
	assert_non_null(victim);
	assert_int_equal(victim->kind, RECORD_OOM_VICTIM);
	assert_int_equal(victim->time_ns / 1000, 42005529462);
	for (size_t i = 1; i < n; i++)
		assert_true(r[i].time_ns >= r[i - 1].time_ns);
}

static void a_process_name_that_looks_like_fields_changes_none(void **state)
{
	struct signal_record r[64];
	size_t n0 = read_page("cpu0.page", r, 32), n = n0 + read_page("cpu1.page", r + n0, 32);
	/* Its target had named itself "foo) sig=9 \npid=1 ". */
	const struct signal_record *record = find(r, n, 15027, SIGTERM);

	(void)state;
	assert_non_null(record);
	assert_int_equal(record->sender, 14898);
	assert_null(find(r, n, 1, SIGKILL));
}

static size_t put(unsigned char *at, uint64_t value, size_t size)
{
	memcpy(at, &value, size);
	return size;
}

static void times_add_up_over_extensions_stamps_and_padding(void **state)
{
	unsigned char page[256] = { 0 };
	size_t n = put(page, 1000, 8) + 8;
	struct trace_page p;
	struct trace_event e;

	(void)state;
	n += put(page + n, 2 | 5 << 5, 4) + 8; /* 8 bytes of data, 5 ns later */
	n += put(page + n, 29 | 1 << 5, 4); /* a discarded event: 8 bytes behind the header */
	n += put(page + n, 8, 4) + 4;
	n += put(page + n, 30 | 7 << 5, 4);
	n += put(page + n, 1, 4);
	n += put(page + n, 0 | 1 << 5, 4); /* data with its length in front of it */
	n += put(page + n, 12, 4);
	n += put(page + n, 0x1122334455667788, 8);
	n += put(page + n, 31 | 9 << 5, 4);
	n += put(page + n, 2, 4);
	n += put(page + n, 1 | 0 << 5, 4) + 4;
	n += put(page + n, 29, 4) + 8; /* padding fills the rest */
	n += put(page + n, 1, 4) + 4;
	put(page + 8, (n - 16) | UINT64_C(1) << 31, 8);
	assert_true(trace_page_open(&p, page, n));
	assert_true(p.lost);
	assert_true(trace_page_next(&p, &e));
	assert_int_equal(e.time_ns, 1005);
	assert_int_equal(e.len, 8);
	assert_true(trace_page_next(&p, &e));
	assert_int_equal(e.time_ns, 1005 + 1 + 7 + (1 << 27) + 1);
	assert_int_equal(e.len, 8);
	assert_int_equal(e.data[0], 0x88);
	assert_true(trace_page_next(&p, &e));
	assert_int_equal(e.time_ns, 9 + (UINT64_C(2) << 27));
	assert_int_equal(e.len, 4);
	assert_false(trace_page_next(&p, &e));
}

static void a_cut_page_ends_where_it_is_cut(void **state)
{
	_cleanup_strbuf_ struct strbuf page = STRBUF_INIT(8192);
	struct trace_page p;
	struct trace_event e;

	(void)state;
	load("cpu0.page", &page);
	for (size_t len = 0; len <= page.len; len++) {
		/* Of exactly this size, so that ASan sees a read beyond its end */
		unsigned char *copy = malloc(MAX(len, (size_t)1));
		size_t n = 0;

		memcpy(copy, page.data, len);
		if (trace_page_open(&p, copy, len))
			while (trace_page_next(&p, &e)) {
				n++;
				assert_true(e.data + e.len <= copy + len);
			}
		assert_true(n < 64);
		assert_true(len >= 16 || n == 0);
		free(copy);
	}
}

static void kernels_that_say_less_are_understood_or_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf signal = STRBUF_INIT(4096);
	struct signal_formats f;

	(void)state;
	load("signal_generate.format", &signal);
	/* The format of Linux 6.1. */
	assert_true(signal_formats_parse(
		strbuf_str(&signal),
		"ID: 7\nformat:\n\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n", &f));
	assert_int_equal(f.victim_id, 7);
	assert_int_equal(f.victim.offset, 8);
	assert_true(signal_formats_parse(strbuf_str(&signal), "", &f));
	assert_int_equal(f.victim_id, -1);
	assert_false(signal_formats_parse("", "", &f));
	assert_false(signal_formats_parse("ID: 70000\n", "", &f));
	assert_int_equal(trace_format_id("name: x\nID: 261\nformat:\n"), 261);
	assert_int_equal(trace_format_id("name: ID: 5\n"), -1);
	assert_int_equal(trace_format_field(strbuf_str(&signal), "comm").size, 16);
	assert_int_equal(trace_format_field(strbuf_str(&signal), "omm").size, 0);
	assert_int_equal(
		trace_format_field("field:__data_loc char[] comm;\toffset:12;\tsize:4;", "comm")
			.offset,
		12);
	assert_int_equal(
		trace_format_field("field:int pid;\toffset:99999999;\tsize:4;", "pid").size, 0);
	assert_int_equal(trace_format_field("field:int pid", "pid").size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recorded_page_has_each_signal_with_its_sender),
		cmocka_unit_test(a_process_name_that_looks_like_fields_changes_none),
		cmocka_unit_test(times_add_up_over_extensions_stamps_and_padding),
		cmocka_unit_test(a_cut_page_ends_where_it_is_cut),
		cmocka_unit_test(kernels_that_say_less_are_understood_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
