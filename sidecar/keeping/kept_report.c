/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the report of a bundle that a previous sidecar wrote. */
#include "sidecar/keeping/kept_report.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/macros.h"

#define PART_MAX ((size_t)64 << 10) /* a report.json may be larger than a message of an errand */

/* The first byte of a message is its type. */
enum { IS_TEXT = 't', IS_JSON = 'j', IS_END = 'e', IS_NONE = 'n' };

struct reading {
	const char *bundle;
	struct strbuf *text, *json;
	enum kept_report found;
};

static void send_parts(int fd, char kind, const struct strbuf *s)
{
	char part[1 + PART_MAX];

	part[0] = kind;
	for (size_t at = 0; at < s->len; at += PART_MAX) {
		size_t len = MIN(PART_MAX, s->len - at);

		memcpy(part + 1, s->data + at, len);
		if (!errand_send(fd, part, 1 + len, -1))
			return;
	}
}

static void read_and_send(int fd, int dirfd, const char *file, char kind, struct strbuf *s)
{
	if (file_read(dirfd, file, s, NULL) == 0)
		send_parts(fd, kind, s);
}

/* The body of the errand. */
static void read_report(int fd, void *arg)
{
	const struct reading *r = arg;
	_cleanup_close_ int dirfd = open(r->bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char end = dirfd < 0 ? IS_NONE : IS_END;

	if (dirfd >= 0) {
		read_and_send(fd, dirfd, "report.txt", IS_TEXT, r->text);
		read_and_send(fd, dirfd, "report.json", IS_JSON, r->json);
	}
	errand_send(fd, &end, sizeof(end), -1);
}

static void on_part(const void *data, size_t len, int *, void *arg)
{
	struct reading *r = arg;
	const char *part = data;

	if (part[0] == IS_TEXT)
		strbuf_add(r->text, part + 1, len - 1);
	else if (part[0] == IS_JSON)
		strbuf_add(r->json, part + 1, len - 1);
	else
		r->found = part[0] == IS_END ? KEPT_REPORT_READ : KEPT_REPORT_NONE;
}

enum kept_report kept_report_read(struct errand *e, const char *bundle, int64_t within_ns,
				  struct strbuf *text, struct strbuf *json)
{
	struct reading r = {
		.bundle = bundle, .text = text, .json = json, .found = KEPT_REPORT_UNKNOWN
	};

	if (!bundle[0])
		return KEPT_REPORT_NONE;
	/*
	 * An errand that is late is killed, because it would wait for ever for a reader of its
	 * messages.
	 */
	if (errand_start(e, read_report, &r, NULL) >= 0 &&
	    !errand_wait_outside_loop(e, within_ns, on_part, &r))
		kill(e->pid, SIGKILL);
	return r.found;
}
