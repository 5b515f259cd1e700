/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what each policy governs, and finds what overrides it, for its status. */
#pragma once

#include "operator/cache/store.h"
#include "operator/policy/policy_book.h"

#define POLICY_COUNT_CLUSTERS 8 /* each costs up to three milliseconds, as its owner likes */

/*
 * Computes the tallies of all policies, over several calls: each looks at POLICY_COUNT_CLUSTERS
 * clusters. Returns whether that was the last call; the next one begins anew. What changes
 * in between is counted or not. pods: indexed by "namespace/cluster".
 */
bool policy_count_some(struct policy_book *book, const struct store *pods);
/* The next count begins anew. */
void policy_count_drop(struct policy_book *book);
