/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements `afterglow-sidecar prune`: removes what exceeds the limits of a directory
 * of bundles. It is a process of its own, because the directory may be on a file server
 * that hangs. Several may run at the same time; the second then finds nothing to remove.
 */
#include "sidecar/prune.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/spool/inventory.h"

#define BUNDLES_MAX 100000
#define STALE_NS (24 * 3600 * NS_PER_SEC) /* no shipper works on one file for so long */

struct prune {
	const char *directory, *below;
	struct quota quota;
};

static int parse_count(const char *option, const char *text, int64_t *ret_count, struct err *err)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < 0)
		return err_set(err, EINVAL, "%s takes a whole number from 0 on, not %.100s", option, text);
	*ret_count = n;
	return 0;
}

static int parse(char **argv, struct prune *ret_prune, struct err *err)
{
	struct prune p = { .below = "" };
	int64_t seconds = 0;
	const struct {
		const char *name;
		int64_t *target;
	} counts[] = { { "--keep-bytes", &p.quota.bytes }, { "--keep-bundles", &p.quota.count }, { "--keep-seconds", &seconds } };

	for (; argv[0] && argv[0][0] == '-'; argv += 2) {
		bool known = strcmp(argv[0], "--below") == 0;

		if (!argv[1])
			return err_set(err, EINVAL, "%s takes a value", argv[0]);
		if (known)
			p.below = argv[1];
		for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
			if (strcmp(argv[0], counts[i].name) == 0) {
				known = true;
				if (parse_count(argv[0], argv[1], counts[i].target, err) < 0)
					return -err->code;
			}
		if (!known)
			return err_set(err, EINVAL, "prune: unknown option %s (see --help)", argv[0]);
	}
	if (!argv[0] || argv[1])
		return err_set(err, EINVAL, "prune takes one directory: afterglow-sidecar prune [OPTION...] DIR");
	if (p.below[0] == '/' || strstr(p.below, ".."))
		return err_set(err, EINVAL, "--below takes a path below DIR, not %.100s", p.below);
	p.directory = argv[0];
	p.quota.age_ns = MIN(seconds, INT64_MAX / NS_PER_SEC) * NS_PER_SEC;
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

static void drop_all(const struct prune *p, int fd, const struct inventory *inv, const enum drop *drops)
{
	size_t n[DROP_COUNT] = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < inv->n; i++) {
		enum drop dropped = drops[i];

		if (dropped == DROP_NOTHING)
			continue;
		if (inventory_drop_at_least(fd, inv->paths[i], &dropped, &err) < 0) {
			/* Mostly: another pruner was first. */
			log_warning_limited("prune: %s", err_text(&err));
			continue;
		}
		n[dropped]++;
		if (dropped == DROP_BUNDLE)
			inventory_remove_empty(fd, inv->paths[i], components(p->below), STALE_NS);
	}
	printf("{\"bundles\":%zu,\"dropped\":{\"core\":%zu,\"files\":%zu,\"bundle\":%zu}}\n", inv->n + inv->left_out, n[DROP_CORE],
	       n[DROP_FILES], n[DROP_BUNDLE]);
}

int prune_run(char **argv, struct err *err)
{
	_cleanup_inventory_ struct inventory inv = { .n = 0 };
	_cleanup_free_ enum drop *drops = NULL;
	_cleanup_close_ int fd = -1;
	struct prune p;

	if (parse(argv, &p, err) < 0)
		return -err->code;
	fd = open(p.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "prune: open %s", p.directory);
	if (inventory_read(fd, p.below, BUNDLES_MAX, &inv, err) < 0)
		return err->code == ENOENT ? 0 : err_wrap(err, "%s", p.directory);
	drops = calloc(inv.n + 1, sizeof(*drops));
	if (!drops)
		return err_set(err, ENOMEM, "prune");
	quota_plan(inv.stored, inv.n, &p.quota, now_realtime_ns(), 0, DROP_BUNDLE, drops);
	drop_all(&p, fd, &inv, drops);
	inventory_remove_stale(fd, p.below, STALE_NS);
	return 0;
}
