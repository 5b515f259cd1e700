/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files of a container by shell patterns, through the descriptor of its root. */
#pragma once

#include <stdbool.h>

/*
 * Called with the path (from the root, without a leading '/') of each match. It returns false to
 * end the search.
 */
typedef bool (*root_glob_fn)(const char *path, void *arg);

/*
 * pattern is an absolute path; its components may hold *, ? and [...]; '*' does
 * not match a leading dot. Matches come in the order of the directories. The
 * search is bounded, because a hostile container may have millions of entries.
 * Returns whether it was complete.
 */
bool root_glob(int root_fd, const char *pattern, root_glob_fn fn, void *arg);
