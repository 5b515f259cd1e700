/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a review is read, from its text alone: whoever may create a pod, and whoever
 * reaches the port, chooses how long and how wide it is. All reviews are handled on the one loop
 * of the operator, so none may hold it for more than some 50 ms or take more than some 30 MiB.
 * Pure: time is an argument.
 *
 * A review above the bounds is not read. Of the others, those of the usual size are always read:
 * a Ray pod has 1,000 values and 40 kB. A costly one takes from two budgets, that of its
 * namespace and that of all, so that a tenant who sends many costs the others a part of the
 * loop's time at most. Many namespaces share a budget; only costly reviews meet each other there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/budget.h"

/* The API server keeps objects of 1.5 MiB at most, and an update has two of them. */
#define REVIEW_BYTES_MAX ((size_t)3 << 20)
/* The largest objects that we know of have 20,000. Each costs half a microsecond and 300 bytes. */
#define REVIEW_VALUES_MAX ((size_t)50000)
/* Above one of these a review is costly. */
#define REVIEW_COSTLY_BYTES ((size_t)256 << 10)
#define REVIEW_COSTLY_VALUES ((size_t)5000)
/* Costly reviews in a second, and at once after a rest. */
#define REVIEW_COSTLY_RATE 6
#define REVIEW_COSTLY_BURST 12
#define REVIEW_COSTLY_NAMESPACE_RATE 2
#define REVIEW_COSTLY_NAMESPACE_BURST 6
#define REVIEW_BUDGETS 64

struct review_budget {
	struct budget all, of_namespaces[REVIEW_BUDGETS];
};

enum review_size { REVIEW_USUAL, REVIEW_COSTLY, REVIEW_TOO_LARGE };

void review_budget_init(struct review_budget *budget);

enum review_size review_size(const char *text, size_t len);

/* Returns whether a costly review of the namespace may be read now, and counts it if it may. */
bool review_budget_take(struct review_budget *budget, const char *name_space, int64_t now_ns);
