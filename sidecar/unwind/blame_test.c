/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of recognizing functions that only carry out an abort. The rest of blame is compared with
 * gdb in e2e/kernel/unwind_test.py.
 */
#include "sidecar/unwind/blame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct {
	const char *function;
	bool messenger;
} rows[] = {
	{ "abort", true },
	{ "raise", true },
	{ "__GI_abort", true },
	{ "__pthread_kill_internal", true },
	{ "__libc_message_impl", true },
	{ "_int_free_merge_chunk", true },
	{ "tcache_double_free_verify", true },
	{ "tcache_flush", false },
	{ "__assert_fail", true },
	{ "__assert_fail_base", true },
	{ "std::__terminate()", true },
	{ "__gxx_personality_v0", true },
	{ "std::terminate()", true },
	{ "__cxxabiv1::__terminate(void (*)())", true },
	{ "std::__throw_out_of_range_fmt(char const*, ...)", true },
	{ "core::panicking::panic_fmt", true },
	{ "<core::option::Option<u32>>::expect", true },
	{ "core::option::Option<T>::expect", true },
	{ "core::option::expect_failed", true },
	{ "core::result::unwrap_failed", true },
	{ "__rustc::rust_panic", true },
	{ "std::sys_common::backtrace::__rust_end_short_backtrace", true },
	{ "ray::TerminateHandler() [clone .cold]", true },
	{ "ray::RayLog::~RayLog()", true },
	{ "ray::RayLog::IsEnabled()", false },
	{ "google::LogMessage::SendToLog()", true },
	{ "arrow::util::ArrowLog::~ArrowLog()", true },
	{ "_Py_FatalErrorFunc", true },
	{ "fatal_error_exit.constprop.0", true },
	{ "free", true },
	{ "free_all", false },
	{ "malloc", true },
	{ "abort_transaction", false },
	{ "raised", false },
	{ "store::raise", false },
	{ "std::sort(int*, int*)", false },
	{ "main", false },
	{ "", false },
};

static void messengers_are_distinguished_from_similar_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (blame_is_messenger(rows[i].function) != rows[i].messenger)
			fail_msg("%s", rows[i].function);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		messengers_are_distinguished_from_similar_names) };

	return cmocka_run_group_tests_name("blame", tests, NULL, NULL);
}
