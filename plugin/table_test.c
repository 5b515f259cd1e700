/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of columns. */
#include "plugin/table.h"

#include "plugin/testing.h"

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	struct strbuf out = STRBUF_INIT(4096);
	struct table table;
	(void)state;

	table_init(&table, (const char *const[]){ "A", "B" }, 2);
	table_row(&table, (const char *const[]){ "long", "x" });
	table_row(&table, (const char *const[]){ NULL, "\xc3\xa9t\xc3\xa9" });
	table_print(&table, &out);
	assert_string_equal(strbuf_str(&out), "A      B\nlong   x\n       \xc3\xa9t\xc3\xa9\n");
	table_release(&table);
	strbuf_release(&out);
}

static void a_cell_cannot_disturb_the_terminal(void **state)
{
	struct strbuf out = STRBUF_INIT(4096);
	struct table table;
	char wide[1000];
	(void)state;

	memset(wide, 'w', sizeof(wide) - 1);
	wide[sizeof(wide) - 1] = '\0';
	table_init(&table, (const char *const[]){ "A" }, 1);
	table_row(&table, (const char *const[]){ "\x1b[2J\nowned" });
	table_row(&table, (const char *const[]){ wide });
	table_print(&table, &out);
	lacks(&out, "\x1b");
	has(&out, "owned\n");
	assert_true(out.len < 2 + 20 + TABLE_CELL_MAX + 1);
	table_release(&table);
	strbuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(a_cell_cannot_disturb_the_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
