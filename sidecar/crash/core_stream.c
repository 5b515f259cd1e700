/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a core that comes as a stream to a file. */
#include "sidecar/crash/core_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/loop/child.h"
#include "lib/loop/errand.h"
#include "lib/units.h"

/* Of one core; up to four are taken at a time, and the volume is 256 MiB larger than the spool. */
#define FILE_MAX ((uint64_t)64 << 20)
#define FILE_MIN ((uint64_t)4 << 20) /* with less room than this a core is not taken */
/* Shorter than the two minutes after which the node agent gives up */
#define WITHIN_NS (110 * NS_PER_SEC)
#define OPEN_WITHIN_NS (1500 * NS_PER_MS) /* the launcher waits for 2 s after the end of its command */
#define ANSWER_MAX 4096
#define ERRORS_MAX 4096

struct core_stream {
	struct child *child;
	int file;
	core_stream_done_fn done;
	void *arg;
};

/*
 * The errand that opens files. Only one process at a time waits for a disk that does not answer,
 * however many cores come.
 */
static struct errand disk = ERRAND_NONE;

static uint64_t room_in(const char *directory)
{
	struct statvfs fs;

	return statvfs(directory, &fs) < 0 ? 0 : MIN((uint64_t)fs.f_bavail * fs.f_frsize / 4, FILE_MAX);
}

static void core_stream_ask_room(const void *directory, void *out)
{
	uint64_t room = room_in(directory);

	memcpy(out, &room, sizeof(room));
}

static int set_no_answer(const char *directory, struct err *err)
{
	return err_set(err, ETIMEDOUT, "%s: the filesystem does not answer", directory);
}

int core_stream_has_room(const char *directory, struct err *err)
{
	uint64_t room;

	if (!errand_call(&disk, core_stream_ask_room, directory, &room, sizeof(room),
			 OPEN_WITHIN_NS))
		return set_no_answer(directory, err);
	return room < FILE_MIN ? err_set(err, ENOSPC, "%s", directory) : 0;
}

/* Makes a file. Not every filesystem can make one without a name. */
static int new_file(const char *directory, struct err *err)
{
	char path[PATH_MAX];
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/.core.XXXXXX", directory);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "%s", path);
	unlink(path);
	return fd;
}

struct opening {
	const char *directory;
	int pipe_fd; /* the pipe, which an errand that hangs must not keep open */
	int file; /* the opened file; -1: there is none */
	bool answered;
	struct opened {
		uint64_t room;
		struct err err;
	} opened;
};

/* The body of the errand. */
static void core_stream_open_file(int fd, void *arg)
{
	const struct opening *o = arg;
	struct opened opened = { .room = 0 };
	int file;

	close(o->pipe_fd);
	file = new_file(o->directory, &opened.err);
	opened.room = room_in(o->directory);
	errand_send(fd, &opened, sizeof(opened), file);
}

static bool on_opened(const void *data, size_t len, int passed_fd, void *arg)
{
	struct opening *o = arg;

	if (len != sizeof(o->opened) || o->answered) {
		closep(&passed_fd);
		return false;
	}
	memcpy(&o->opened, data, len);
	o->file = passed_fd;
	o->answered = true;
	return false; /* we wait for its end, so that the next core does not find it busy */
}

static int open_within_time(const char *directory, int pipe_fd, uint64_t *ret_room, struct err *err)
{
	struct opening o = { .directory = directory, .pipe_fd = pipe_fd, .file = -1 };

	if (errand_start(&disk, core_stream_open_file, &o, err) < 0)
		return -err->code;
	errand_wait(&disk, OPEN_WITHIN_NS, on_opened, &o);
	if (!o.answered)
		return set_no_answer(directory, err);
	if (o.file < 0) {
		*err = o.opened.err;
		return err->code ? -err->code : err_set(err, EMFILE, "%s", directory);
	}
	*ret_room = o.opened.room;
	return o.file;
}

static int64_t left_out(const struct child_result *r)
{
	_cleanup_json_ cJSON *json = NULL;

	json_parse(r->output, r->output_len, &json, NULL);
	return MAX(json_int(json, "leftOut", 0), (int64_t)0);
}

static void core_stream_on_received(const struct child_result *r, void *arg)
{
	struct core_stream *s = arg;
	int file = TAKE_FD(s->file);
	core_stream_done_fn done = s->done;
	void *done_arg = s->arg;

	free(s);
	if (r->exited_well) {
		done(file, left_out(r), NULL, done_arg);
		return;
	}
	closep(&file);
	done(-1, 0, r->timed_out ? "it took too long" : r->errors[0] ? r->errors : "afterglow-pack failed", done_arg);
}

int core_stream_start(struct event_base *base, const char *directory, int pipe_fd, core_stream_done_fn done, void *arg,
		      struct core_stream **ret_stream, struct err *err)
{
	char path[PATH_MAX], max[24];
	const char *argv[] = { "afterglow-pack", "--mode", "receive", "--core-fd", "3", "--out-fd", "4", "--max-bytes", max, NULL };
	struct child_work work = { .path = path, .argv = argv, .n_fds = 2, .output_max = ANSWER_MAX, .errors_max = ERRORS_MAX,
				   .no_new_privs = true, .within_ns = WITHIN_NS };
	struct core_stream *s;
	uint64_t room = 0;
	int rc;

	if (child_beside(argv[0], path, err) < 0)
		return -err->code;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, ENOMEM, "core");
	*s = (struct core_stream){ .file = open_within_time(directory, pipe_fd, &room, err), .done = done, .arg = arg };
	rc = s->file;
	if (rc >= 0) {
		snprintf(max, sizeof(max), "%" PRIu64, MAX(room, FILE_MIN));
		work.fds[0] = pipe_fd;
		work.fds[1] = s->file;
		rc = child_start(base, &work, core_stream_on_received, s, &s->child, err);
	}
	if (rc < 0) {
		closep(&s->file);
		free(s);
		return rc;
	}
	*ret_stream = s;
	return 0;
}

void core_stream_cancel(struct core_stream *s)
{
	if (!s)
		return;
	child_cancel(s->child);
	closep(&s->file);
	free(s);
}
