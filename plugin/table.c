/* SPDX-License-Identifier: Apache-2.0 */
/* Prints text in columns. */
#include "plugin/table.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/printable.h"

#define GAP 3

void table_init(struct table *table, const char *const *headings, size_t columns)
{
	*table = (struct table){ .columns = MIN(columns, (size_t)TABLE_COLUMNS_MAX) };
	table_row(table, headings);
}

void table_release(struct table *table)
{
	for (size_t i = 0; i < table->n; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){ 0 };
}

static bool make_room(struct table *table)
{
	size_t capacity = MAX(table->capacity * 2, 16 * table->columns);
	char **cells;

	if (table->n + table->columns <= table->capacity)
		return true;
	cells = realloc(table->cells, capacity * sizeof(*cells));
	if (!cells)
		return false;
	table->cells = cells;
	table->capacity = capacity;
	return true;
}

void table_row(struct table *table, const char *const *cells)
{
	char cell[TABLE_CELL_MAX];

	if (table->failed || !make_room(table)) {
		table->failed = true;
		return;
	}
	for (size_t i = 0; i < table->columns; i++) {
		const char *text = cells[i] ? cells[i] : "";

		copy_printable(cell, sizeof(cell), text, strlen(text));
		table->cells[table->n] = strdup(cell);
		table->failed = table->failed || !table->cells[table->n];
		table->n++;
	}
}

/* Returns the width in characters, not bytes. */
static size_t width_of(const char *text)
{
	size_t n = 0;

	for (; text && *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void add_cell(struct strbuf *out, const char *text, size_t width)
{
	size_t have = width_of(text);

	strbuf_adds(out, text);
	for (; have < width; have++)
		strbuf_addc(out, ' ');
}

void table_print(const struct table *table, struct strbuf *out)
{
	size_t widths[TABLE_COLUMNS_MAX] = { 0 };

	if (table->failed) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < table->n; i++)
		widths[i % table->columns] =
			MAX(widths[i % table->columns], width_of(table->cells[i]));
	for (size_t i = 0; i < table->n; i++) {
		bool last = i % table->columns == table->columns - 1;

		add_cell(out, table->cells[i], last ? 0 : widths[i % table->columns] + GAP);
		if (last)
			strbuf_addc(out, '\n');
	}
}

void add_printable(struct strbuf *out, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	char *copy = malloc(len * 4 + 1);

	if (!copy) {
		out->failed = true;
		return;
	}
	copy_printable(copy, len * 4 + 1, text ? text : "", len);
	strbuf_adds(out, copy);
	free(copy);
}

void add_between(struct strbuf *out, const char *before, const char *text, const char *after)
{
	strbuf_adds(out, before);
	add_printable(out, text);
	strbuf_adds(out, after);
}

void document_print(cJSON *json, const char *kind, struct strbuf *out)
{
	json_set_str(json, "apiVersion", "afterglow.dev/v1alpha1");
	json_set_str(json, "kind", kind);
	json_print(json, out);
}

void json_print(const cJSON *json, struct strbuf *out)
{
	_cleanup_free_ char *text = cJSON_Print(json);

	if (text)
		strbuf_addf(out, "%s\n", text);
	out->failed = out->failed || !text;
}
