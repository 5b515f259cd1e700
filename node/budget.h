/* SPDX-License-Identifier: Apache-2.0 */
/* How often something may be done: a token bucket. Pure. */
#ifndef AFTERGLOW_NODE_BUDGET_H
#define AFTERGLOW_NODE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	int64_t spacing_ns; /* between two, on average */
	unsigned int burst; /* so many at once after a quiet time */
	int64_t due_ns; /* 0 in the beginning */
};

/* Takes one. False: it is used up. */
bool budget_take(struct budget *b, int64_t now_ns);

#endif
