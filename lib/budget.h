/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how often something is done: a token bucket. Pure: time is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct budget {
	int64_t spacing_ns; /* the average time between two tokens */
	unsigned int burst; /* how many tokens are there after a quiet time, at least 1 */
	int64_t due_ns; /* private; initialized to 0 */
};

/* Takes a token and returns 0, or returns how many ns it takes until there is one. */
int64_t budget_wait(struct budget *b, int64_t now_ns);
/* Takes a token. Returns false if there is none. */
bool budget_take(struct budget *b, int64_t now_ns);
