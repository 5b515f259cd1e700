/* SPDX-License-Identifier: Apache-2.0 */
/* Prints processes in columns. */
#include "plugin/process_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "plugin/table.h"

#define GROWTH_TEXT_MAX (SIZE_TEXT_MAX + 4)

const char *bytes_text(int64_t bytes, char *buf)
{
	buf[0] = '\0';
	return bytes < 0 ? buf : size_format((uint64_t)bytes, buf);
}

static const char *growth_text(int64_t bytes, char buf[static GROWTH_TEXT_MAX])
{
	if (bytes == 0)
		return "";
	snprintf(buf, GROWTH_TEXT_MAX, "%c%s/s", bytes < 0 ? '-' : '+',
		 SIZE_TEXT(bytes < 0 ? -(bytes + 1) : bytes));
	return buf;
}

static void add_process(struct table *table, const cJSON *process)
{
	int64_t rss = json_int(process, "rssBytes", 0),
		shared = json_int(process, "sharedBytes", 0);
	char pid[24], own[SIZE_TEXT_MAX], both[SIZE_TEXT_MAX], growth[GROWTH_TEXT_MAX];

	snprintf(pid, sizeof(pid), "%" PRId64, json_int(process, "pid", 0));
	size_format(
		(uint64_t)MAX(rss - MIN(MAX(shared, (int64_t)0), MAX(rss, (int64_t)0)), (int64_t)0),
		own);
	size_format((uint64_t)MAX(shared, (int64_t)0), both);
	table_row(table, (const char *const[]){
				 "", pid, own, both,
				 growth_text(json_int(process, "growthBytesPerSecond", 0), growth),
				 json_str(process, "name") });
}

void process_table(const cJSON *processes, const char *label, struct strbuf *out)
{
	const char *const headings[] = { label, "PID", "RSS-SHR", "SHR", "GROWTH", "NAME" };
	struct table table;

	table_init(&table, headings, ARRAY_SIZE(headings));
	json_each(process, processes)
		add_process(&table, process);
	table_print(&table, out);
	table_release(&table);
}
