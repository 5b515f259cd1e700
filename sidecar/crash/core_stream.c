/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a core that comes as a stream to a file. */
#include "sidecar/crash/core_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/loop/child.h"
#include "lib/units.h"

/* Of one core; up to four are taken at a time, and the volume is 256 MiB larger than the spool. */
#define FILE_MAX ((uint64_t)64 << 20)
#define FILE_MIN ((uint64_t)4 << 20) /* with less room than this a core is not taken */
/* Shorter than the two minutes after which the node agent gives up */
#define WITHIN_NS (110 * NS_PER_SEC)
#define ANSWER_MAX 4096
#define ERRORS_MAX 4096

struct core_stream {
	struct child *child;
	int file;
	core_stream_done_fn done;
	void *arg;
};

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

int core_stream_open(const char *directory, uint64_t *ret_room, struct err *err)
{
	struct statvfs fs;

	if (statvfs(directory, &fs) < 0)
		return err_set(err, errno, "%s", directory);
	uint64_t room = MIN((uint64_t)fs.f_bavail * fs.f_frsize / 4, FILE_MAX);
	if (room < FILE_MIN)
		return err_set(err, ENOSPC, "%s", directory);
	*ret_room = room;
	return new_file(directory, err);
}

static int64_t left_out(const struct child_result *r)
{
	_cleanup_json_ cJSON *json = NULL;

	json_parse(r->output, r->output_len, &json, NULL);
	return MAX(json_int(json, "leftOut", 0), (int64_t)0);
}

static void core_stream_on_received(const struct child_result *r, void *arg)
{
	const struct core_stream s = *(struct core_stream *)arg;
	const char *why = r->errors[0] ? r->errors : "afterglow-pack failed";

	free(arg);
	s.done(s.file, left_out(r),
	       r->exited_well ? NULL :
	       r->timed_out   ? "it took too long" :
				why,
	       s.arg);
}

int core_stream_start(struct event_base *base, int file, uint64_t room, int pipe_fd,
		      core_stream_done_fn done, void *arg, struct core_stream **ret_stream,
		      struct err *err)
{
	char path[PATH_MAX], max[24];
	const char *argv[] = { "afterglow-pack", "--mode", "receive",	  "--core-fd", "3",
			       "--out-fd",	 "4",	   "--max-bytes", max,	       NULL };
	struct child_work work = { .path = path,
				   .argv = argv,
				   .fds = { pipe_fd, file },
				   .n_fds = 2,
				   .output_max = ANSWER_MAX,
				   .errors_max = ERRORS_MAX,
				   .no_new_privs = true,
				   .within_ns = WITHIN_NS };
	struct core_stream *s = calloc(1, sizeof(*s));
	int rc = s ? child_beside(argv[0], path, err) : err_set(err, ENOMEM, "core");

	snprintf(max, sizeof(max), "%" PRIu64, room);
	if (rc >= 0) {
		*s = (struct core_stream){ .file = file, .done = done, .arg = arg };
		rc = child_start(base, &work, core_stream_on_received, s, &s->child, err);
	}
	if (rc >= 0)
		*ret_stream = s;
	else
		free(s);
	return rc;
}

int core_stream_cancel(struct core_stream *s)
{
	int file = s ? s->file : -1;

	child_cancel(s ? s->child : NULL);
	free(s);
	return file;
}
