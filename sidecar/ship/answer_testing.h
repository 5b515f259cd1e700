/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of what stores answer: tables of answers, each with the fault that the store's parser
 * has to explain it by.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sidecar/ship/http.h"

/* The caller releases the body. */
static inline struct http_answer answer_of(int status, const char *body)
{
	struct http_answer a = { .status = status, .length = -1, .body = STRBUF_INIT(1 << 20) };

	strbuf_adds(&a.body, body);
	return a;
}

struct fault_row {
	int status;
	const char *body;
	int64_t clock_off_s;
	enum fault_kind kind;
	const char *says; /* is part of the fault's text */
};

static inline void check_faults(const struct fault_row *rows, size_t n,
				int (*explain)(const struct http_answer *answer,
					       struct fault *fault))
{
	for (size_t i = 0; i < n; i++) {
		struct http_answer a = answer_of(rows[i].status, rows[i].body);
		struct fault fault = { 0 };

		a.clock_off_s = rows[i].clock_off_s;
		assert_int_equal(explain(&a, &fault), -1);
		if (fault.kind != rows[i].kind || !strstr(fault.text, rows[i].says) ||
		    strpbrk(fault.text, "\n\t"))
			fail_msg("row %zu: %s: %s", i, fault_kind_name(fault.kind), fault.text);
		strbuf_release(&a.body);
	}
}
