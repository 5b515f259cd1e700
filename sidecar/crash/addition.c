/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a file to a committed bundle without blocking the event loop. */
#include "sidecar/crash/addition.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#include "lib/fileio.h"
#include "lib/loop/background.h"
#include "lib/units.h"
#include "sidecar/store/extend.h"

#define FINISH_WITHIN_NS (200 * NS_PER_MS) /* enough for a disk that answers */
/* More than one, because the process that removes the file may itself be killed */
#define UNDO_TRIES 3
#define TO_UNDO_MAX 64 /* each keeps a descriptor; a container has a handful */

struct addition {
	struct event_base *base;
	char *bundle;
	char file[NAME_MAX + 1];
	int fd;
	addition_room_fn ask_room;
	uint64_t room;
	struct background work; /* begins or commits it */
	bool begins;
	const struct strbuf *text; /* written together with sha256, in the child that commits */
	const char *sha256;
	struct err result;
	addition_done_fn done;
	void *arg;
	struct addition *next; /* the next addition whose file has to be removed */
	unsigned int undo_tries;
	bool undone;
};

/*
 * Only one process at a time removes abandoned files, from a disk that may not answer. Each that
 * begins or commits a file has just seen the disk accept the bundle.
 */
static struct background undoing = { .errand = { .fd = -1 } };
/* The additions whose files are to be removed, oldest first; `undoing` works on the first. */
static struct addition *to_undo;
static unsigned int n_beginning;
static void (*taken_back)(void *arg);
static void *taken_back_arg;

static void addition_free(struct addition *a)
{
	background_cancel(&a->work);
	closep(&a->fd);
	free(a->bundle);
	free(a);
}

int addition_fd(const struct addition *a)
{
	return a->fd;
}

uint64_t addition_room(const struct addition *a)
{
	return a->room;
}

/* --- Beginning --- */

struct begun {
	struct err err;
	uint64_t room;
};

/*
 * The errand that creates the hidden file. If the parent does not take the file over, the errand
 * removes it again, because a hidden file that stays would keep the bundle in the spool.
 */
static void addition_child_begin(int fd, void *arg)
{
	const struct addition *a = arg;
	struct begun begun = { .room = UINT64_MAX };
	struct extension *e = NULL;
	struct statvfs fs = { 0 };
	int file = -1;
	char taken;

	if (a->ask_room) {
		statvfs(a->bundle, &fs);
		begun.room = a->ask_room((uint64_t)fs.f_bavail * fs.f_frsize,
					 (uint64_t)fs.f_blocks * fs.f_frsize, a->arg);
	}
	if (begun.room > 0)
		extend_begin(a->bundle, a->file, &e, &file, &begun.err);
	else
		err_set(&begun.err, ENOSPC, "no room beside the bundles");
	if (!errand_send(fd, &begun, sizeof(begun), file) ||
	    errand_receive(fd, &taken, sizeof(taken)) == 0)
		extend_abort(e);
}

static void on_begun(const void *data, size_t len, int *passed_fd, void *arg)
{
	struct addition *a = arg;
	const struct begun *begun = data;

	if (len != sizeof(*begun) || a->work.answered)
		return;
	a->work.answered = true;
	a->result = begun->err;
	a->room = begun->room;
	a->fd = TAKE_FD(*passed_fd);
	if (a->fd >= 0)
		errand_send(a->work.errand.fd, "", 1, -1);
	else if (!a->result.code)
		err_set(&a->result, EMFILE, "%s", a->bundle);
	shutdown(a->work.errand.fd, SHUT_WR);
}

/* --- Removing abandoned additions --- */

static void addition_undo(int fd, void *arg)
{
	const struct addition *a = arg;

	extend_discard(a->bundle, a->file);
	if (fd >= 0)
		errand_send(fd, "", 1, -1);
}

static void on_undone(const void *, size_t, int *, void *)
{
	to_undo->undone = true;
}

static void drop_first(void)
{
	struct addition *a = to_undo;

	to_undo = a->next;
	addition_free(a);
}

static void undo_next(void);

static void on_undo_over(bool, void *)
{
	undo_next();
	if (taken_back)
		taken_back(taken_back_arg);
}

/*
 * Starts to remove the first file that is still there. A file that no process could remove is left
 * to the next sidecar.
 */
static void undo_next(void)
{
	while (to_undo && !undoing.event) {
		struct addition *a = to_undo;

		if (a->undone || a->undo_tries++ == UNDO_TRIES) {
			drop_first();
		} else if (background_start(&undoing, a->base, addition_undo, a, INT64_MAX,
					    on_undone, on_undo_over, NULL, NULL) < 0) {
			/* The pod may have no more processes, so it is done here. */
			addition_undo(-1, a);
			drop_first();
		} else {
			/*
			 * Closing a file may hang as well. It cannot hang here, because the errand
			 * has the last copy.
			 */
			closep(&a->fd);
			a->fd = -1;
		}
	}
}

/* Puts it behind the removals that a slow disk keeps busy. */
static void take_back(struct addition *a)
{
	struct addition **end = &to_undo;
	size_t n = 0;

	for (; *end; end = &(*end)->next)
		n++;
	if (n >= TO_UNDO_MAX) {
		addition_free(a); /* the next sidecar removes the file */
		return;
	}
	*end = a;
	undo_next();
}

void addition_on_taken_back(void (*fn)(void *arg), void *arg)
{
	taken_back = fn;
	taken_back_arg = arg;
}

bool addition_is_undoing(void)
{
	return to_undo != NULL;
}

void addition_finish(void)
{
	int64_t until = now_boottime_ns() + FINISH_WITHIN_NS;

	while (background_await(&undoing, MAX(until - now_boottime_ns(), (int64_t)0)))
		;
	background_cancel(&undoing);
	while (to_undo)
		drop_first();
}

/*
 * While a file of that name is being removed, a new one must not be created: the removal would hit
 * the new file.
 */
static bool is_being_taken_back(const char *bundle, const char *file)
{
	for (const struct addition *a = to_undo; a; a = a->next)
		if (strcmp(a->bundle, bundle) == 0 && strcmp(a->file, file) == 0)
			return true;
	return false;
}

bool addition_is_beginning(void)
{
	return n_beginning > 0;
}

/* Without an answer its process was killed, and what that has begun is removed. */
static void addition_end(bool in_time, void *arg)
{
	struct addition *a = arg;
	struct err result = a->result;
	addition_done_fn done = a->done;
	void *done_arg = a->arg;

	if (a->work.answered)
		addition_free(a);
	else {
		err_set(&result, in_time ? ECHILD : ETIMEDOUT,
			in_time ? "%s: the child that adds it" :
				  "%s: the filesystem does not answer",
			a->bundle);
		take_back(a);
	}
	done(&result, done_arg);
}

static void on_begin_over(bool in_time, void *arg)
{
	struct addition *a = arg;

	a->begins = false;
	n_beginning--;
	if (a->fd >= 0)
		a->done(&a->result, a->arg);
	else
		addition_end(in_time, a);
}

int addition_begin(struct event_base *base, const char *bundle, const char *file,
		   addition_room_fn room, int64_t within_ns, addition_done_fn begun, void *arg,
		   struct addition **ret_addition, struct err *err)
{
	struct addition *a;
	int rc;

	if (is_being_taken_back(bundle, file))
		return err_set(err, EBUSY, "%s: the %s before is being taken back", bundle, file);
	a = calloc(1, sizeof(*a));
	if (!a)
		return err_set(err, ENOMEM, "extend %s", bundle);
	*a = (struct addition){ .base = base,
				.bundle = strdup(bundle),
				.fd = -1,
				.ask_room = room,
				.work = BACKGROUND_FOR(a->result),
				.done = begun,
				.arg = arg };
	snprintf(a->file, sizeof(a->file), "%s", file);
	rc = !a->bundle ? err_set(err, ENOMEM, "extend %s", bundle) :
			  background_start(&a->work, base, addition_child_begin, a, within_ns,
					   on_begun, on_begin_over, a, err);
	if (rc < 0) {
		addition_free(a);
		return rc;
	}
	a->begins = true;
	n_beginning++;
	*ret_addition = a;
	return 0;
}

/* --- Committing --- */

static int write_and_commit(const struct addition *a, struct err *err)
{
	struct extension *e;
	int fd;

	if (extend_resume(a->bundle, a->file, &e, &fd, err) < 0)
		return -err->code;
	if (a->text && fd_write_all(fd, a->text->data, a->text->len, err) < 0) {
		extend_abort(e);
		return -err->code;
	}
	return extend_commit(e, a->sha256, err);
}

static void addition_child_commit(int fd, void *arg)
{
	struct err err = { 0 };

	write_and_commit(arg, &err);
	errand_send(fd, &err, sizeof(err), -1);
}

int addition_commit(struct addition *a, const struct strbuf *text, const char *sha256,
		    int64_t within_ns, addition_done_fn done, void *arg, struct err *err)
{
	a->text = text;
	a->sha256 = sha256;
	int rc = background_start(&a->work, a->base, addition_child_commit, a, within_ns, NULL,
				  addition_end, a, err);
	a->text = NULL;
	a->sha256 = NULL;
	if (rc < 0)
		return rc;
	a->done = done;
	a->arg = arg;
	/*
	 * The child has its own copy. Closing the last copy may hang, so that is left to the child.
	 */
	closep(&a->fd);
	a->fd = -1;
	return 0;
}

void addition_abort(struct addition *a)
{
	if (!a)
		return;
	background_cancel(&a->work);
	n_beginning -= a->begins;
	take_back(a);
}
