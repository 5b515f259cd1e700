/* SPDX-License-Identifier: Apache-2.0 */
/* Follows Ray's session logs in a container. */
#include "sidecar/ray/ray_logs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/macros.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "sidecar/ray/ray_files.h"
#include "sidecar/sample/rootfd.h"

/* A little less than the 1 s of the sampler at rest, so that no poll is missed. */
#define POLL_NS (950 * NS_PER_MS)
#define READ_MAX (256 * 1024) /* bytes of one file in one poll */
/* If we are further behind than this, the middle is left out. */
#define BEHIND_MAX (4 * 1024 * 1024)
#define CHUNK 4096

#define KIND(k) (1u << (k))

/*
 * Which files are read, and which events are taken from each. Every event is taken from one file
 * only.
 */
static const struct {
	const char *name;
	unsigned int kinds;
} files[] = {
	{ "events/event_RAYLET.log",
	  KIND(RAY_MEMORY_KILL) | KIND(RAY_WORKER_CRASH) | KIND(RAY_FDS_EXHAUSTED) },
	{ "raylet.out", KIND(RAY_MEMORY_KILL) | KIND(RAY_WORKER_CRASH) | KIND(RAY_FDS_EXHAUSTED) |
				KIND(RAY_NO_ENVIRONMENT) | KIND(RAY_DAEMON_CRASH) |
				KIND(RAY_NODE_LOST) | KIND(RAY_AGENT_FAILED) | KIND(RAY_GCS_LOST) |
				KIND(RAY_GAVE_UP) | KIND(RAY_STOPPED) | KIND(RAY_DISK_FULL) |
				KIND(RAY_OBJECT_REFUSED) | KIND(RAY_ISOLATION) |
				KIND(RAY_SUMMARY) },
	{ "raylet.err", KIND(RAY_FDS_EXHAUSTED) | KIND(RAY_DAEMON_CRASH) | KIND(RAY_GCS_LOST) },
	{ "gcs_server.out", KIND(RAY_FDS_EXHAUSTED) | KIND(RAY_DAEMON_CRASH) | KIND(RAY_NODE_LOST) |
				    KIND(RAY_GAVE_UP) | KIND(RAY_STOPPED) },
	{ "gcs_server.err", KIND(RAY_FDS_EXHAUSTED) | KIND(RAY_DAEMON_CRASH) },
	{ "ray_process_exit.log", KIND(RAY_PROCESS_EXITED) },
	{ "monitor.log", KIND(RAY_FDS_EXHAUSTED) | KIND(RAY_INFEASIBLE) },
	{ "events/event_AUTOSCALER.log", KIND(RAY_INFEASIBLE) }, /* the second autoscaler's */
	{ "dashboard_agent.log", KIND(RAY_FDS_EXHAUSTED) },
};

struct file {
	int fd; /* -1: the file does not exist yet */
	dev_t dev;
	ino_t ino;
	off_t at; /* read up to here */
	struct strbuf line; /* a line whose end has not been read yet */
	struct strbuf record; /* a record to which the next line may belong */
	bool skipping; /* the rest of a line that is too long is being skipped */
};

struct ray_logs {
	int root_fd;
	char by_raylet[512]; /* the directory in raylet's command line, "" if it names none */
	int dir_fd; /* of the logs directory, -1: none */
	dev_t dev;
	ino_t ino;
	bool polled; /* the logs were polled at least once, so what is appended now is new */
	int64_t polled_ns;
	ray_event_fn fn; /* set during a poll */
	void *arg;
	struct file files[ARRAY_SIZE(files)];
};

struct ray_logs *ray_logs_new(int root_fd)
{
	struct ray_logs *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->root_fd = root_fd;
	l->dir_fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		l->files[i].fd = -1;
		strbuf_init(&l->files[i].line, RAY_RECORD_MAX);
		strbuf_init(&l->files[i].record, RAY_RECORD_MAX);
	}
	return l;
}

/* Gives the memory of a quiet file back: most files contain nothing for us. */
static void file_reset(struct file *f)
{
	strbuf_release(&f->line);
	strbuf_release(&f->record);
	strbuf_init(&f->line, RAY_RECORD_MAX);
	strbuf_init(&f->record, RAY_RECORD_MAX);
	f->skipping = false;
}

static void file_close(struct file *f)
{
	closep(&f->fd);
	f->fd = -1;
	file_reset(f);
}

void ray_logs_set_dir(struct ray_logs *l, const char *path)
{
	if ((size_t)snprintf(l->by_raylet, sizeof(l->by_raylet), "%s", path) >=
	    sizeof(l->by_raylet))
		l->by_raylet[0] = '\0';
}

int ray_logs_dir(const struct ray_logs *l)
{
	return l->dir_fd;
}

/* --- Lines and records --- */

static void end_record(struct ray_logs *l, size_t i)
{
	struct file *f = &l->files[i];
	struct ray_event event;

	if (f->record.len && ray_record_parse(strbuf_str(&f->record), f->record.len, &event) &&
	    (files[i].kinds & KIND(event.kind)))
		l->fn(&event, files[i].name, l->arg);
	strbuf_reset(&f->record);
}

/* Appends as much as fits. */
static void add_up_to(struct strbuf *sb, const char *data, size_t len)
{
	strbuf_add(sb, data, MIN(len, sb->max - sb->len));
}

static void end_line(struct ray_logs *l, size_t i)
{
	struct file *f = &l->files[i];

	if (ray_line_begins_record(strbuf_str(&f->line), f->line.len))
		end_record(l, i);
	add_up_to(&f->record, strbuf_str(&f->line), f->line.len);
	add_up_to(&f->record, "\n", 1);
	/* A record in JSON is one line, so there is no need to wait for more. */
	if (f->line.len && strbuf_str(&f->line)[0] == '{')
		end_record(l, i);
	strbuf_reset(&f->line);
	f->skipping = false;
}

static void feed(struct ray_logs *l, size_t i, const char *data, size_t len)
{
	struct file *f = &l->files[i];

	while (len) {
		const char *newline = memchr(data, '\n', len);
		size_t part = newline ? (size_t)(newline - data) : len;

		if (!f->skipping)
			add_up_to(&f->line, data, part);
		f->skipping = f->line.len == f->line.max;
		if (newline)
			end_line(l, i);
		part += newline != NULL;
		data += part;
		len -= part;
	}
}

/* Reads further. Returns false if there was nothing new. */
static bool read_on(struct ray_logs *l, size_t i, off_t size)
{
	struct file *f = &l->files[i];
	char buf[CHUNK];
	size_t total = 0;
	ssize_t n;

	if (size < f->at) { /* it was truncated, or is another file with the same inode number */
		f->at = 0;
		file_reset(f);
	}
	if (size - f->at > BEHIND_MAX) {
		end_record(l, i);
		file_reset(f);
		f->at = size - READ_MAX;
		f->skipping = true; /* until the next line begins */
	}
	while (f->at < size && total < READ_MAX &&
	       (n = pread(f->fd, buf, sizeof(buf), f->at)) > 0) {
		feed(l, i, buf, (size_t)n);
		f->at += n;
		total += (size_t)n;
	}
	return total > 0;
}

/* Ends a record if no further line of it has come. */
static void settle(struct ray_logs *l, size_t i)
{
	struct file *f = &l->files[i];

	end_record(l, i);
	if (!f->line.len)
		file_reset(f);
}

/* --- Files --- */

/* Returns whether the name still belongs to the file that is open. */
static bool is_same(const struct ray_logs *l, size_t i)
{
	struct stat st;
	_cleanup_close_ int fd = ray_file_path(l->dir_fd, files[i].name, &st);

	return fd >= 0 && st.st_ino == l->files[i].ino && st.st_dev == l->files[i].dev;
}

static void open_file(struct ray_logs *l, size_t i)
{
	struct file *f = &l->files[i];
	struct stat st;

	f->fd = ray_file_open(l->dir_fd, files[i].name, &st);
	if (f->fd < 0)
		return;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->at = l->polled ? 0 : st.st_size;
}

static void drain(struct ray_logs *l, size_t i)
{
	struct file *f = &l->files[i];
	struct stat st;

	if (f->fd >= 0 && fstat(f->fd, &st) == 0)
		read_on(l, i, st.st_size);
	if (f->line.len)
		end_line(l, i);
	end_record(l, i);
}

static void poll_file(struct ray_logs *l, size_t i)
{
	struct file *f = &l->files[i];
	struct stat st;

	if (f->fd < 0)
		open_file(l, i);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return;
	if (st.st_size != f->at) {
		read_on(l, i, st.st_size);
		return;
	}
	settle(l, i);
	if (!is_same(l, i)) {
		drain(l, i);
		file_close(f);
		open_file(l, i);
		if (f->fd >= 0 && fstat(f->fd, &st) == 0)
			read_on(l, i, st.st_size);
	}
}

/* --- The directory --- */

static void find_session(struct ray_logs *l)
{
	const char *path = l->by_raylet[0] ? l->by_raylet : RAY_SESSION "/logs";
	_cleanup_close_ int fd = rootfd_open(l->root_fd, path, O_PATH | O_DIRECTORY, NULL);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return; /* the old session stays, because its files may still get new lines */
	if (l->dir_fd >= 0 && st.st_ino == l->ino && st.st_dev == l->dev)
		return;
	for (size_t i = 0; l->dir_fd >= 0 && i < ARRAY_SIZE(files); i++) {
		drain(l, i);
		file_close(&l->files[i]);
	}
	closep(&l->dir_fd);
	l->dir_fd = TAKE_FD(fd);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
}

void ray_logs_poll(struct ray_logs *l, int64_t now_ns, ray_event_fn fn, void *arg)
{
	if (l->polled && now_ns - l->polled_ns < POLL_NS)
		return;
	l->polled_ns = now_ns;
	l->fn = fn;
	l->arg = arg;
	find_session(l);
	for (size_t i = 0; l->dir_fd >= 0 && i < ARRAY_SIZE(files); i++)
		poll_file(l, i);
	l->polled = true;
}

void ray_logs_finish(struct ray_logs *l, int64_t now_ns, ray_event_fn fn, void *arg)
{
	l->polled_ns = now_ns - POLL_NS;
	ray_logs_poll(l, now_ns, fn, arg);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (l->files[i].fd >= 0)
			drain(l, i);
}
