/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of demangling. */
#include "sidecar/unwind/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/macros.h"

static const struct {
	const char *symbol, *expect;
} rows[] = {
	{ "main", "main" },
	{ "_start", "_start" },
	{ "_ZN5store3useEi", "store::use(int)" },
	{ "_ZNK5store5ShelfIiE4takeEm", "store::Shelf<int>::take(unsigned long) const" },
	{ "_ZN5crash5shelf14Shelf$LT$T$GT$4take17h0123456789abcdefE", "crash::shelf::Shelf<T>::take" },
	{ "_RNvNtCs1234_5crash5shelf4open", "crash::shelf::open" },
	{ "_Z", "_Z" },
	{ "_ZN", "_ZN" },
	{ "_RNv", "_RNv" },
	{ "", "" },
	{ "a\x1b[31mb", "a?[31mb" },
	{ "_Z3f\x01\x02i", "f?\?(int)" },
};

static void names_are_as_their_authors_wrote_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[256];

		demangle(rows[i].symbol, out, sizeof(out));
		if (strcmp(out, rows[i].expect) != 0)
			fail_msg("%s: \"%s\"", rows[i].symbol, out);
	}
}

static void a_long_name_is_cut(void **state)
{
	char out[12];

	(void)state;
	demangle("_ZNK5store5ShelfIiE4takeEm", out, sizeof(out));
	assert_string_equal(out, "store::Shel");
}

/* Each argument is a pair of the previous one, so the text doubles with each. */
static void a_name_that_grows_without_end_stops_at_the_size(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char symbol[1024], out[200];
	/* S_ is A, S0_ is A<int, int> */
	size_t n = (size_t)snprintf(symbol, sizeof(symbol), "_Z1f1AIiiE"), last = 0;

	(void)state;
	for (int i = 0; i < 30; i++, last++)
		n += (size_t)snprintf(symbol + n, sizeof(symbol) - n, "S_IS%c_S%c_E", digits[last],
				      digits[last]);
	demangle(symbol, out, sizeof(out));
	assert_int_equal(strlen(out), sizeof(out) - 1);
	assert_memory_equal(out, "f(A<int, int>, A<A<int, int>, A<int, int> >,", 44);
}

static void a_symbol_too_long_for_the_demangler_is_shown_as_it_is(void **state)
{
	static char symbol[20000];
	char out[64];

	(void)state;
	memset(symbol, 'P', sizeof(symbol) - 1);
	memcpy(symbol, "_Z1f", 4);
	demangle(symbol, out, sizeof(out));
	assert_memory_equal(out, "_Z1fPPPP", 8);
	assert_int_equal(strlen(out), sizeof(out) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_as_their_authors_wrote_them),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(a_name_that_grows_without_end_stops_at_the_size),
		cmocka_unit_test(a_symbol_too_long_for_the_demangler_is_shown_as_it_is),
	};

	return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
