/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that libelf.a and libdw.a of Debian 13 call, but that are in no archive of Debian:
 * elfutils 0.192 has them in lib/eu-search.c. A tree there is a structure that begins with the
 * pointer to the tree's root. The lock behind that pointer is not used here, because
 * afterglow-unwind has one thread.
 */
#include <search.h>
#include <stddef.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

void *eu_tsearch(const void *key, void **tree, __compar_fn_t compare)
{
	return tsearch(key, tree, compare);
}

void *eu_tfind(const void *key, void **tree, __compar_fn_t compare)
{
	return tfind(key, tree, compare);
}

void *eu_tdelete(const void *key, void **tree, __compar_fn_t compare)
{
	return tdelete(key, tree, compare);
}

void eu_search_tree_init(void **tree)
{
	*tree = NULL;
}

void eu_tdestroy(void **tree, void (*free_node)(void *))
{
	tdestroy(*tree, free_node);
	*tree = NULL;
}

void eu_search_tree_fini(void **tree, void (*free_node)(void *))
	__attribute__((alias("eu_tdestroy")));
