/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the bundle of the spool that is to be shipped next. */
#include "sidecar/spool/ship_look.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/file_time.h"
#include "lib/log.h"
#include "sidecar/spool/inventory.h"
#include "sidecar/spool/spool.h"
#include "sidecar/store/extend.h"
#include "sidecar/store/manifest.h"

static bool ship_look_same(const struct manifest_identity *a, const struct manifest_identity *b)
{
	return a->inode == b->inode && a->changed_ns == b->changed_ns;
}

static bool ship_look_identify(int spool_fd, const char *path, struct manifest_identity *ret_id,
			       bool *ret_pending)
{
	_cleanup_close_ int fd =
		openat(spool_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstatat(fd, MANIFEST_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret_id = (struct manifest_identity){ st.st_ino, file_time_ns(st.st_mtim) };
	*ret_pending = extend_pending(fd);
	return true;
}

static bool ship_look_is_done(const struct ship_done *done, const struct manifest_identity *id)
{
	for (size_t i = 0; i < done->n; i++)
		if (ship_look_same(&done->list[i], id))
			return true;
	return false;
}

void ship_done_add(struct ship_done *done, const struct manifest_identity *manifest)
{
	if (done->n == SHIP_DONE_MAX)
		memmove(done->list, done->list + 1, --done->n * sizeof(done->list[0]));
	done->list[done->n++] = *manifest;
}

static bool leave_spool(int fd, const char *path)
{
	struct err err = { 0 };
	int rc = inventory_drop(fd, path, DROP_BUNDLE, &err);

	if (rc < 0)
		log_warning_limited("spool: %s", err_text(&err));
	inventory_remove_empty(fd, path, 0, 0);
	return rc >= 0;
}

/*
 * Returns whether the bundle is to be shipped now. A bundle that was shipped and to which nothing
 * more will be added is removed.
 */
static bool ship_look_is_due(const struct ship_done *done, int fd, const char *path,
			     struct manifest_identity *ret_id)
{
	bool pending;

	if (!ship_look_identify(fd, path, ret_id, &pending))
		return false;
	if (!ship_look_is_done(done, ret_id))
		return true;
	if (!pending)
		leave_spool(fd, path);
	return false;
}

/*
 * Chooses the oldest due bundle after q->after, or else the oldest of all, so that a bundle that
 * cannot be shipped does not hold up the others.
 */
static void ship_look_choose(const struct ship_question *q, const struct ship_done *done, int fd,
			     struct ship_look *look)
{
	_cleanup_inventory_ struct inventory inv = { .n = 0 };
	size_t begin = 0;

	if (inventory_read(fd, "", SPOOL_BUNDLES_MAX, &inv, NULL) < 0)
		return;
	for (size_t i = 0; i < inv.n && q->after; i++)
		if (strcmp(inv.stored[i].path, q->after) == 0)
			begin = i + 1;
	for (size_t i = 0; i < inv.n && !look->found; i++) {
		const struct stored *stored = &inv.stored[(begin + i) % inv.n];

		look->found = ship_look_is_due(done, fd, stored->path, &look->manifest);
		look->bytes = stored->core + stored->files + stored->report;
		snprintf(look->path, sizeof(look->path), "%s", stored->path);
	}
}

/*
 * Removes the shipped bundle from the spool. Returns whether it stays and must not be shipped
 * again.
 */
static bool settle_shipped(const struct ship_question *q, int fd)
{
	struct manifest_identity now;
	bool pending = false;

	if (!ship_look_identify(fd, q->shipped, &now, &pending)) {
		/* The previous look may have been killed while it removed the bundle. */
		inventory_finish_drop(fd, q->shipped);
		inventory_remove_empty(fd, q->shipped, 0, 0);
		return false;
	}
	/* A file was added meanwhile, so the bundle is shipped once more. */
	if (!ship_look_same(&now, &q->manifest))
		return false;
	/* A bundle that stays because the spool became read-only is not shipped again. */
	return pending || !leave_spool(fd, q->shipped);
}

void ship_look(const struct ship_question *q, struct ship_look *ret_look)
{
	_cleanup_close_ int fd = open(q->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ship_done done = *q->done;

	*ret_look = (struct ship_look){ .found = false };
	if (fd < 0)
		return;
	ret_look->stays = q->shipped && settle_shipped(q, fd);
	if (ret_look->stays)
		ship_done_add(&done, &q->manifest);
	ship_look_choose(q, &done, fd, ret_look);
}
