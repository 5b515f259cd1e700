/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what each policy governs, and finds what overrides it, for its status. */
#pragma once

#include "operator/cache/store.h"
#include "operator/policy/policy_book.h"

/* Computes the tallies of all policies. pods: indexed by "namespace/cluster". */
void policy_count_all(struct policy_book *book, const struct store *pods);
