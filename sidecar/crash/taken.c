/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers which cores were processed. */
#include "sidecar/crash/taken.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/file_time.h"
#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/strbuf.h"

#define FILE_NAME "cores"
#define FILE_MAX (TAKEN_MAX * (TAKEN_PATH_MAX + 128))

struct taken {
	int dirfd; /* -1: the list is in memory only */
	struct taken_core list[TAKEN_MAX]; /* oldest first */
	size_t n;
};

bool taken_parse_line(const char *line, struct taken_core *ret_core)
{
	struct taken_core core = { 0 };
	char state;
	int end = 0;

	if (sscanf(line, "%c %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNu64 " %n", &state,
		   &core.key.dev, &core.key.ino, &core.key.mtime_ns, &core.key.size, &end) != 5 ||
	    !end || (state != 'R' && state != 'D'))
		return false;
	core.done = state == 'D';
	if (line[end] == '/' && strlen(line + end) < TAKEN_PATH_MAX)
		core.bundle = strdup(line + end);
	*ret_core = core;
	return true;
}

static void taken_load(struct taken *t)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(FILE_MAX);
	_cleanup_free_ char *copy = NULL;
	char *at = NULL;

	if (file_read(t->dirfd, FILE_NAME, &text, NULL) < 0)
		return;
	copy = strdup(strbuf_str(&text));
	for (char *line = copy ? strtok_r(copy, "\n", &at) : NULL; line && t->n < TAKEN_MAX;
	     line = strtok_r(NULL, "\n", &at))
		if (taken_parse_line(line, &t->list[t->n]))
			t->n++;
}

static void taken_save(const struct taken *t)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(FILE_MAX);
	struct err err = { 0 };

	if (t->dirfd < 0)
		return;
	for (size_t i = 0; i < t->n; i++) {
		const struct taken_core *c = &t->list[i];

		strbuf_addf(&text, "%c %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64 " %s\n",
			    c->done ? 'D' : 'R', c->key.dev, c->key.ino, c->key.mtime_ns,
			    c->key.size, c->bundle ? c->bundle : "-");
	}
	/*
	 * The list is written under another name and renamed. If the sidecar is killed here, the
	 * old list is still there.
	 */
	if (strbuf_failed(&text) ||
	    file_write(t->dirfd, FILE_NAME ".new", text.data, text.len, 0600, &err) < 0 ||
	    renameat(t->dirfd, FILE_NAME ".new", t->dirfd, FILE_NAME) < 0)
		log_warning_limited("the list of processed cores cannot be written: %s",
				    err.code ? err_text(&err) : strerror(errno));
}

struct taken *taken_new(int dirfd)
{
	struct taken *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->dirfd = dirfd >= 0 ? fcntl(dirfd, F_DUPFD_CLOEXEC, 3) : -1;
	if (t->dirfd >= 0)
		taken_load(t);
	return t;
}

void taken_free(struct taken *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->list[i].bundle);
	closep(&t->dirfd);
	free(t);
}

bool taken_remembers(const struct taken *t)
{
	return t->dirfd >= 0;
}

struct core_key taken_key(int core_fd)
{
	struct core_key key = { 0 };
	struct stat st;

	if (fstat(core_fd, &st) == 0)
		key = (struct core_key){ .dev = st.st_dev,
					 .ino = st.st_ino,
					 .mtime_ns = file_time_ns(st.st_mtim),
					 .size = (uint64_t)st.st_size };
	return key;
}

const struct taken_core *taken_find(const struct taken *t, const struct core_key *key)
{
	for (size_t i = t->n; i-- > 0;) {
		const struct core_key *k = &t->list[i].key;

		if (k->dev == key->dev && k->ino == key->ino && k->mtime_ns == key->mtime_ns &&
		    k->size == key->size)
			return &t->list[i];
	}
	return NULL;
}

void taken_note(struct taken *t, const struct core_key *key, bool done, const char *bundle)
{
	struct taken_core *c = (struct taken_core *)taken_find(t, key);

	if (!c) {
		if (t->n == TAKEN_MAX) {
			free(t->list[0].bundle);
			memmove(t->list, t->list + 1, (--t->n) * sizeof(t->list[0]));
		}
		c = &t->list[t->n++];
		*c = (struct taken_core){ .key = *key };
	}
	c->done = done;
	if (bundle && bundle[0] == '/' && strlen(bundle) < TAKEN_PATH_MAX &&
	    !strchr(bundle, '\n')) {
		free(c->bundle);
		c->bundle = strdup(bundle);
	}
	taken_save(t);
}
