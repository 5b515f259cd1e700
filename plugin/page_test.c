/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the page of all failures. How it looks in a browser is tested in e2e/cases/browser. */
#include "plugin/page.h"

#include "plugin/testing.h"

#define OOM(name, end) \
	"{'metadata':{'namespace':'ml','name':'" name "'},'spec':{'pod':'worker-1','cluster':'demo','class':'KernelOOMContainer'," \
	"'confidence':'certain','endedAt':'" end "','exitCode':137,'verdict':'out of memory','signature':'v1:KernelOOMContainer:ray::f'," \
	"'bundle':'pvc:c/ml/x','evidence':[{'source':'cgroup','text':'memory.events counts it'}],'missing':[{'what':'the kernel log'}]}}"

#define END_OF(name, time, status) \
	"{'metadata':{'namespace':'ml','name':'" name "'},'spec':{'pod':'p','class':'Killed','endedAt':'2026-11-22T" time "Z'}," \
	"'status':{" status "}}"

static const struct failure_filter all = { 0 };

static size_t make(const char *list, const struct failure_filter *filter, struct strbuf *out)
{
	_cleanup_json_ cJSON *json = json_of(list);

	return page(json, filter, NOON_NS, out);
}

static size_t count(const struct strbuf *out, const char *part)
{
	size_t n = 0;

	for (const char *at = strstr(strbuf_str(out), part); at; at = strstr(at + 1, part))
		n++;
	return n;
}

static void failures_stand_in_the_timeline_in_groups_and_in_the_list(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	(void)state;

	assert_int_equal(
		make("{'items':[" OOM("b", "2026-11-22T11:00:00Z") "," OOM(
			     "a",
			     "2026-11-22T10:00:00Z") ",{'metadata':{'namespace':'ml','name':'c'},'spec':{'pod':'head','class':'Segfault','verdict':'crashed'}}]}",
		     &all, &out),
		3);
	/* The failure without a time is not in the timeline. */
	assert_int_equal(count(&out, " data-of="), 2);
	has(&out, "<path d=\"M210.0 39m-5 0a");
	has(&out, "<path d=\"M980.0 39m-5 0a");
	has(&out,
	    "<tr data-group=\"v1:KernelOOMContainer:ray::f\"><td>2</td><td><time datetime=\"2026-11-22T11:00:00Z\">2026-11-22T11:00:00Z</time></td>");
	has(&out, "<tr data-group=\"Segfault\"><td>1</td>");
	assert_int_equal(count(&out, "<details data-failure="), 3);
	assert_true(strstr(strbuf_str(&out), "<dd>b</dd>") <
		    strstr(strbuf_str(&out), "<dd>a</dd>"));
	has(&out, "<option value=\"KernelOOMContainer\">KernelOOMContainer</option>");
	assert_int_equal(count(&out, "<option value=\"ml\">"), 1);
	has(&out,
	    "<dt>evidence</dt><dd>cgroup: memory.events counts it</dd><dt>missing</dt><dd>the kernel log</dd>");
	has(&out, "<code>kubectl afterglow report a -n ml</code>");
	assert_int_equal(count(&out, "<code>"), 2); /* the third has no bundle */
	has(&out, "<h2>Incidents: 3, the newest first</h2>");
	has(&out, "of 3 failures, as of 2026-11-22T12:00:00");
}

static void consequences_stand_below_their_first_cause(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	(void)state;

	make("{'items':[" END_OF("head", "10:00:00", "'incident':'i1'") "," END_OF("worker", "10:00:09", "'incident':'i1','causedBy':{'name':'head'}") "," END_OF(
		     "driver", "10:00:05",
		     "'incident':'i1','causedBy':{'name':'head'}") "," END_OF("alone", "10:00:07",
									      "'x':1") "," END_OF("orphan",
												  "10:00:08",
												  "'incident':'i2','causedBy':{'name':'gone'}") "," END_OF("again",
																			   "10:00:10",
																			   "'incident':'i1'") ","
																					      "{'metadata':{'namespace':'other','name':'elsewhere'},'spec':{'endedAt':'2026-11-22T10:00:11Z'},"
																					      "'status':{'incident':'i1','causedBy':{'name':'head'}}}]}",
	     &all, &out);
	has(&out, "<h2>Incidents: 5, the newest first</h2>");
	assert_int_equal(count(&out, "<section class=\"incident\">"), 5);
	assert_int_equal(count(&out, "<details data-failure="), 7);
	/*
	 * The newest first; of one incident the first cause, and then what followed in its order.
	 */
	static const char *const order[] = { "elsewhere", "again", "orphan",
					     "alone",	  "head",  "2 other ends followed",
					     "driver",	  "worker" };
	const char *at = strbuf_str(&out);

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		char part[64];

		snprintf(part, sizeof(part), i == 5 ? "<summary>%s" : "<dd>%s</dd>", order[i]);
		at = strstr(at, part);
		if (!at)
			fail_msg("%s is not in its order", order[i]);
	}
}

static void a_report_is_opened_by_a_command_and_never_by_a_link(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	(void)state;

	make("{'items':[{'metadata':{'namespace':'ml','name':'a'},'spec':{'bundle':'/s/a b;reboot/x'}},"
	     "{'metadata':{'namespace':'ml','name':'b'},'spec':{'bundle':'/scratch/team-1/2026.x/1-Segfault'}},"
	     "{'metadata':{'namespace':'ml','name':'c; reboot'},'spec':{'bundle':'pvc:x'}},"
	     "{'metadata':{'namespace':'ml','name':'d'},'spec':{'bundle':'javascript:alert(1)'}}]}",
	     &all, &out);
	assert_int_equal(count(&out, "<a "), 0);
	assert_int_equal(count(&out, "href"), 0);
	has(&out, "<code>afterglow open --store /scratch/team-1/2026.x/1-Segfault</code>");
	has(&out, "<code>kubectl afterglow report d -n ml</code>");
	assert_int_equal(count(&out, "<code>"), 2);
}

static void text_of_tenants_stays_text(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	(void)state;

	make("{'items':[{'metadata':{'namespace':'ml','name':'x'},'spec':{'endedAt':'" AT_NOON
	     "','pod':'</script><script>alert(1)</script>',"
	     "'class':'</text><img src=x>','cluster':'\\\"><b>','verdict':'<b>','signature':'\\\" onclick=\\\"x','node':'&amp;'}}]}",
	     &all, &out);
	assert_int_equal(count(&out, "<script"), 1);
	assert_int_equal(count(&out, "</script"), 1);
	lacks(&out, "<img");
	lacks(&out, "verdict\"><b><");
	lacks(&out, "\" onclick=\"");
	has(&out, "&amp;amp;");
	/* The page runs only its own script and loads nothing. */
	has(&out, "default-src 'none'");
	lacks(&out, "'unsafe-inline'; script-src 'unsafe");
}

static void no_failures_are_a_page_that_says_so(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	(void)state;

	assert_int_equal(make("{'items':[]}", &all, &out), 0);
	has(&out, "There are none.");
	lacks(&out, "<svg");
}

static void filters_narrow_the_page(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	const struct failure_filter killed = { .class = "Killed" };
	(void)state;

	assert_int_equal(make("{'items':[" OOM("a", AT_NOON) "]}", &killed, &out), 0);
}

static void only_the_newest_of_very_many_are_on_it(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT((size_t)64 << 20),
				       list = STRBUF_INIT((size_t)8 << 20);
	(void)state;

	strbuf_adds(&list, "{'items':[");
	for (int i = 0; i <= PAGE_FAILURES_MAX; i++)
		strbuf_addf(
			&list,
			"%s{'metadata':{'name':'n%d'},'spec':{'endedAt':'2026-11-22T%02d:%02d:%02dZ'}}",
			i ? "," : "", i, i / 3600, i / 60 % 60, i % 60);
	strbuf_adds(&list, "]}");
	assert_int_equal(make(strbuf_str(&list), &all, &out), PAGE_FAILURES_MAX);
	has(&out, "Only the newest 5000 are on this page.");
	lacks(&out, "<dd>n0</dd>");
	has(&out, "<dd>n5000</dd>");
	assert_false(strbuf_failed(&out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_stand_in_the_timeline_in_groups_and_in_the_list),
		cmocka_unit_test(consequences_stand_below_their_first_cause),
		cmocka_unit_test(a_report_is_opened_by_a_command_and_never_by_a_link),
		cmocka_unit_test(text_of_tenants_stays_text),
		cmocka_unit_test(no_failures_are_a_page_that_says_so),
		cmocka_unit_test(filters_narrow_the_page),
		cmocka_unit_test(only_the_newest_of_very_many_are_on_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
