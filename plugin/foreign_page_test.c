/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the frame around a page that a tenant may have written. */
#include "plugin/foreign_page.h"

#include "plugin/testing.h"

static void nothing_of_the_page_is_markup_outside_of_its_frame(void **state)
{
	static const char evil[] =
		"\"></iframe><script>alert(1)</script><img src=x onerror=\"alert(2)\">&quot;><b>";
	_cleanup_strbuf_ struct strbuf html = STRBUF_INIT(1 << 10), out = STRBUF_INIT(1 << 16);
	(void)state;

	strbuf_adds(&html, evil);
	foreign_page("a<script>\"", false, &html, &out);
	assert_null(strstr(strbuf_str(&out), "<script"));
	assert_null(strstr(strbuf_str(&out), "<img"));
	assert_null(strstr(strbuf_str(&out), "<b>"));
	assert_non_null(strstr(strbuf_str(&out), "RayFailure a&lt;script&gt;&quot;"));
	/* What was an entity there is the same entity in the frame. */
	assert_non_null(strstr(strbuf_str(&out), "&amp;quot;&gt;&lt;b&gt;\"></iframe>\n</body>"));
}

static void the_frame_has_no_rights_and_the_policy_is_in_force_before_it(void **state)
{
	_cleanup_strbuf_ struct strbuf html = STRBUF_INIT(1 << 10), out = STRBUF_INIT(1 << 16);
	const char *policy, *frame;
	(void)state;

	strbuf_adds(&html, "<p>killed</p>");
	foreign_page("f", false, &html, &out);
	policy = strstr(strbuf_str(&out), "default-src 'none'");
	frame = strstr(strbuf_str(&out),
		       "<iframe sandbox referrerpolicy=\"no-referrer\" srcdoc=\"&lt;p&gt;killed");
	assert_true(policy && frame && policy < frame);
	assert_null(strstr(strbuf_str(&out), "allow-"));
	strbuf_reset(&out);
	foreign_page("1-Segfault", true, &html, &out);
	assert_non_null(strstr(strbuf_str(&out), "Bundle 1-Segfault is from a directory"));
	assert_non_null(
		strstr(strbuf_str(&out),
		       "<iframe sandbox referrerpolicy=\"no-referrer\" srcdoc=\"&lt;p&gt;killed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_of_the_page_is_markup_outside_of_its_frame),
		cmocka_unit_test(the_frame_has_no_rights_and_the_policy_is_in_force_before_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
