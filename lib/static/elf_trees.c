/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libelf.a and libdw.a of Debian 13 call, and no archive there has (lib/eu-search.c of
 * elfutils 0.192). Their tree begins with its root. The lock behind that stays as it is, because
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

void eu_search_tree_fini(void **tree, void (*free_node)(void *)) __attribute__((alias("eu_tdestroy")));
