/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the page of all failures. How it looks in a browser is tested in e2e/cases/browser. */
#include "plugin/page.h"

#include "plugin/testing.h"

#define OOM(name, end) \
	"{'metadata':{'namespace':'ml','name':'" name "'},'spec':{'pod':'worker-1','cluster':'demo','class':'KernelOOMContainer'," \
	"'confidence':'certain','endedAt':'" end "','exitCode':137,'verdict':'out of memory','signature':'v1:KernelOOMContainer:ray::f'," \
	"'evidence':[{'source':'cgroup','text':'memory.events counts it'}],'missing':[{'what':'the kernel log'}]}}"

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

	assert_int_equal(make("{'items':[" OOM("b", "2026-11-22T11:00:00Z") "," OOM("a", "2026-11-22T10:00:00Z")
			      ",{'metadata':{'namespace':'ml','name':'c'},'spec':{'pod':'head','class':'Segfault','verdict':'crashed'}}]}", &all, &out), 3);
	/* The failure without a time is not in the timeline. */
	assert_int_equal(count(&out, "<circle "), 2);
	has(&out, "cx=\"210.0\"");
	has(&out, "cx=\"980.0\"");
	has(&out, "<tr data-group=\"v1:KernelOOMContainer:ray::f\"><td>2</td><td>2026-11-22T11:00:00Z</td>");
	has(&out, "<tr data-group=\"Segfault\"><td>1</td>");
	assert_int_equal(count(&out, "<details data-failure="), 3);
	assert_true(strstr(strbuf_str(&out), "<dd>b</dd>") < strstr(strbuf_str(&out), "<dd>a</dd>"));
	has(&out, "<option value=\"KernelOOMContainer\">KernelOOMContainer</option>");
	assert_int_equal(count(&out, "<option value=\"ml\">"), 1);
	has(&out, "<dt>evidence</dt><dd>cgroup: memory.events counts it</dd><dt>missing</dt><dd>the kernel log</dd>");
	has(&out, "of 3 failures, as of 2026-11-22T12:00:00");
}

static void text_of_tenants_stays_text(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	(void)state;

	make("{'items':[{'metadata':{'namespace':'ml','name':'x'},'spec':{'endedAt':'" AT_NOON "','pod':'</script><script>alert(1)</script>',"
	     "'class':'</text><img src=x>','cluster':'\\\"><b>','verdict':'<b>','signature':'\\\" onclick=\\\"x','node':'&amp;'}}]}", &all, &out);
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
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT((size_t)64 << 20), list = STRBUF_INIT((size_t)8 << 20);
	(void)state;

	strbuf_adds(&list, "{'items':[");
	for (int i = 0; i <= PAGE_FAILURES_MAX; i++)
		strbuf_addf(&list, "%s{'metadata':{'name':'n%d'},'spec':{'endedAt':'2026-11-22T%02d:%02d:%02dZ'}}", i ? "," : "", i, i / 3600, i / 60 % 60,
			    i % 60);
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
		cmocka_unit_test(text_of_tenants_stays_text),
		cmocka_unit_test(no_failures_are_a_page_that_says_so),
		cmocka_unit_test(filters_narrow_the_page),
		cmocka_unit_test(only_the_newest_of_very_many_are_on_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
