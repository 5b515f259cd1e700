/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements `afterglow-sidecar prune`: removes what exceeds the limits of a directory
 * of bundles. It is a process of its own, because the directory may be on a file server
 * that hangs. Several may run at the same time; the second then finds nothing to remove.
 */
#include "sidecar/prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/command_line.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/spool/inventory.h"

#define BUNDLES_MAX 100000

struct prune {
	const char *below;
	struct quota quota;
	int64_t seconds;
};

static const struct option_row rows[] = {
	{ "--keep-bytes", "N", OPTION_COUNT, offsetof(struct prune, quota.bytes),
	  .max = INT64_MAX },
	{ "--keep-bundles", "N", OPTION_COUNT, offsetof(struct prune, quota.count),
	  .max = INT64_MAX },
	{ "--keep-seconds", "N", OPTION_COUNT, offsetof(struct prune, seconds), .max = INT64_MAX },
	{ "--below", "PATH", OPTION_ANY, offsetof(struct prune, below), .help = "" },
};

static int prune_parse(char **argv, struct prune *ret_prune, const char **ret_directory,
		       struct err *err)
{
	static const struct option_table table = OPTION_TABLE(rows, 0);
	struct prune p = { .below = "" };
	int n = options_take(&table, 0, argv, &p, err);

	if (n < 0)
		return err_wrap(err, "prune");
	if (!argv[n] || argv[n + 1])
		return err_set(
			err, EINVAL,
			"prune takes one directory: afterglow-sidecar prune [OPTION...] DIR");
	if (p.below[0] == '/' || strstr(p.below, ".."))
		return err_set(err, EINVAL, "--below takes a path below DIR, not %.100s", p.below);
	p.quota.age_ns = MIN(p.seconds, INT64_MAX / NS_PER_SEC) * NS_PER_SEC;
	*ret_directory = argv[n];
	*ret_prune = p;
	return 0;
}

static unsigned int components(const char *path)
{
	unsigned int n = *path != '\0';

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static void drop_all(const struct prune *p, int fd, const struct inventory *inv,
		     const enum drop *drops)
{
	size_t n[DROP_COUNT] = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < inv->n; i++) {
		enum drop dropped = drops[i];

		if (dropped == DROP_NOTHING)
			continue;
		if (inventory_drop_at_least(fd, inv->stored[i].path, &dropped, &err) < 0) {
			/* Mostly: another pruner was first. */
			log_warning_limited("prune: %s", err_text(&err));
			continue;
		}
		n[dropped]++;
		if (dropped == DROP_BUNDLE)
			inventory_remove_empty(fd, inv->stored[i].path, components(p->below),
					       INVENTORY_STALE_NS);
	}
	printf("{\"bundles\":%zu,\"dropped\":{\"core\":%zu,\"files\":%zu,\"bundle\":%zu}}\n",
	       inv->n + inv->left_out, n[DROP_CORE], n[DROP_FILES], n[DROP_BUNDLE]);
}

int prune_run(char **argv, struct err *err)
{
	_cleanup_inventory_ struct inventory inv = { .n = 0 };
	_cleanup_free_ enum drop *drops = NULL;
	_cleanup_close_ int fd = -1;
	const char *directory = NULL;
	struct prune p;

	if (prune_parse(argv, &p, &directory, err) < 0)
		return -err->code;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "prune: open %s", directory);
	if (inventory_read(fd, p.below, BUNDLES_MAX, &inv, err) < 0)
		return err->code == ENOENT ? 0 : err_wrap(err, "%s", directory);
	drops = calloc(inv.n + 1, sizeof(*drops));
	if (!drops)
		return err_set(err, ENOMEM, "prune");
	quota_plan(inv.stored, inv.n, &p.quota, now_realtime_ns(), 0, DROP_BUNDLE, drops);
	drop_all(&p, fd, &inv, drops);
	inventory_remove_stale(fd, p.below, INVENTORY_STALE_NS, INVENTORY_STALE_NS);
	return 0;
}
