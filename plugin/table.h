/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a table in columns, as kubectl does. Cells may come from tenants, so control characters in
 * them are replaced.
 */
#pragma once

#include <stddef.h>

#include <cjson/cJSON.h>

#include "lib/macros.h"
#include "lib/strbuf.h"

#define TABLE_COLUMNS_MAX 16
#define TABLE_CELL_MAX 256 /* bytes; longer cells are cut */

struct table {
	size_t columns;
	char **cells; /* row by row */
	size_t n, capacity;
	bool failed; /* there was no memory */
};

/* Begins with a row of headings; columns is at most TABLE_COLUMNS_MAX. */
void table_init(struct table *table, const char *const *headings, size_t columns);
void table_release(struct table *table);

/* Adds a row, which is copied. A NULL or empty cell is left blank. */
void table_row(struct table *table, const char *const *cells);

/*
 * Appends the table, without blanks at the ends of lines. If there was no memory, out fails
 * (lib/strbuf.h).
 */
void table_print(const struct table *table, struct strbuf *out);

/* Appends text with control characters and broken UTF-8 replaced. NULL: none. */
void add_printable(struct strbuf *out, const char *text);
/* The same between two texts of ours. */
void add_between(struct strbuf *out, const char *before, const char *text, const char *after);

/* Appends what a command prints as JSON, with the version of its schema (docs/kubectl.md). */
void document_print(cJSON *json, const char *kind, struct strbuf *out);

/* Appends the JSON with line breaks, and a final one. */
void json_print(const cJSON *json, struct strbuf *out);
