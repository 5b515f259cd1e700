/* SPDX-License-Identifier: Apache-2.0 */
/* Text in columns, as kubectl prints it. Cells are made fit for a terminal: others wrote them. */
#ifndef AFTERGLOW_PLUGIN_TABLE_H
#define AFTERGLOW_PLUGIN_TABLE_H

#include <stddef.h>

#include "lib/strbuf.h"

#define TABLE_COLUMNS_MAX 16
#define TABLE_CELL_MAX 256 /* bytes; what is longer is cut */

struct table {
	size_t columns;
	char **cells; /* row by row */
	size_t n, capacity;
	bool failed;
};

/* A table whose first row is the headings; columns is at most TABLE_COLUMNS_MAX. */
void table_init(struct table *table, const char *const *headings, size_t columns);
void table_release(struct table *table);

/* One row; a NULL or empty cell is printed as nothing. */
void table_row(struct table *table, const char *const *cells);

/* The last column is not filled up. Without memory out has failed. */
void table_print(const struct table *table, struct strbuf *out);

/* Appends text with control characters and broken UTF-8 replaced. */
void add_printable(struct strbuf *out, const char *text);

#endif
