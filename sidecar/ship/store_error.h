/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns an error of S3 or of Azure Blob Storage into a fault: what is wrong and what would be
 * right. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sidecar/ship/fault.h"
#include "sidecar/ship/http.h"

/*
 * The error in the answer of a service, in one line. Members are "" if the answer does not have
 * them.
 */
struct store_error {
	char code[64], message[512], region[64]; /* only S3 has region */
};

/* Reads the error in an answer's XML, or else in its headers. */
void store_error_read(const struct http_answer *answer, struct store_error *ret_error);

/*
 * A known error code. The sentence speaks of "the bucket" and "the store" without their names,
 * which the caller puts before it. FAULT_CLOCK has no sentence.
 */
struct store_error_row {
	const char *code;
	enum fault_kind kind;
	const char *sentence;
};

/* The codes of one kind of service. */
struct store_error_table {
	const char *service; /* "S3"; messages put the article "an" before it */
	const char *place; /* what is wrong if a server redirects: "endpoint and region" */
	const struct store_error_row *rows;
	size_t n;
	/* the only error that a wrong clock of ours may cause; NULL: any 400 or 403 */
	const char *clock_code;
};

/* Whether the request failed because our clock and the store's differ too much. */
bool store_error_is_of_clock(const struct store_error_table *table,
			     const struct http_answer *answer, const struct store_error *error);
/* Sets the fault of an answer: by its clock, by its code, or else by its status. Returns -1. */
int store_error_explain(const struct store_error_table *table, const struct http_answer *answer,
			const struct store_error *error, struct fault *fault);
