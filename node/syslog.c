/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each sidecar the lines of the node's syslog file, or of its journal, that concern its pod.
 */
#include "node/syslog.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/log.h"
#include "lib/printable.h"
#include "lib/syslog_lines.h"
#include "lib/units.h"
#include "node/journal.h"
#include "node/outbox.h"
#include "node/process_table.h"

#define LOOK_NS NS_PER_SEC
#define READ_MAX (64 * 1024)
/* Bytes of one read; if the file grew by more, the middle is left out. */
#define AT_ONCE_MAX (1 << 20)
#define LINE_MAX_BYTES 2048

static struct {
	struct node *node;
	struct source look;
	struct outbox outbox;
	int fd; /* -1: there is no file */
	struct stat st; /* of the open file */
	char path[256];
	char line[READ_MAX]; /* the beginning of a line whose end has not been read yet */
	size_t len;
	/*
	 * There was no file when the agent started; a file that is missing later is probably being
	 * rotated.
	 */
	bool keeps_no_file;
	struct journal journal;
} syslog_file;

struct one_line {
	const char *text;
	size_t len;
};

static void to_pod(const struct pod_of_process *c, unsigned int, void *arg)
{
	const struct one_line *line = arg;
	const struct syslog_subject subject = { c->pod_uid, NULL, c->container_id };
	char message[LINE_MAX_BYTES + 8] = "syslog ";

	if (!syslog_line_is_of(line->text, line->len, &subject))
		return;
	copy_printable(message + strlen(message), LINE_MAX_BYTES, line->text, line->len);
	outbox_add_once(&syslog_file.outbox, OUTBOX_NEEDED, false, c->pod_uid, message);
}

static void syslog_take_line(const char *text, size_t len)
{
	struct one_line line = { text, len };

	if (syslog_line_is_of_node(text, len))
		process_table_containers(syslog_file.node->processes, to_pod, &line);
}

/* Takes the complete lines from the buffer. If a line fills the whole buffer, it is dropped. */
static void syslog_take_lines(void)
{
	char *at = syslog_file.line, *end = at + syslog_file.len, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		syslog_take_line(at, (size_t)(newline - at));
		at = newline + 1;
	}
	syslog_file.len = (size_t)(end - at);
	memmove(syslog_file.line, at, syslog_file.len);
	if (syslog_file.len == sizeof(syslog_file.line))
		syslog_file.len = 0;
}

static void syslog_read_on(void)
{
	off_t at = lseek(syslog_file.fd, 0, SEEK_CUR);
	ssize_t n;

	if (fstat(syslog_file.fd, &syslog_file.st) < 0)
		return;
	/*
	 * If the file was truncated, it is read from its beginning. If it grew by too much, only
	 * the end is read.
	 */
	if (syslog_file.st.st_size < at) {
		lseek(syslog_file.fd, 0, SEEK_SET);
		syslog_file.len = 0;
	} else if (syslog_file.st.st_size - at > AT_ONCE_MAX) {
		lseek(syslog_file.fd, -AT_ONCE_MAX, SEEK_END);
		syslog_file.len = 0;
	}
	for (int i = 0; i < 2 * AT_ONCE_MAX / READ_MAX; i++) {
		n = read(syslog_file.fd, syslog_file.line + syslog_file.len,
			 sizeof(syslog_file.line) - syslog_file.len);
		if (n <= 0)
			break;
		syslog_file.len += (size_t)n;
		syslog_take_lines();
	}
}

/* Opens the file by the names that the distributions use. */
static int syslog_open_file(bool from_end)
{
	static const char *const names[] = { "syslog", "messages" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(syslog_file.path, sizeof(syslog_file.path), "%s/var/log/%s",
			 syslog_file.node->options->root, names[i]);
		int fd = open(syslog_file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			continue;
		if (fstat(fd, &syslog_file.st) == 0 && S_ISREG(syslog_file.st.st_mode)) {
			if (from_end)
				lseek(fd, 0, SEEK_END);
			return fd;
		}
		close(fd);
	}
	return -1;
}

/*
 * Returns whether logrotate has given the name to a new file. What was written to the old one until
 * then is read first.
 */
static bool is_rotated(void)
{
	struct stat now;

	return stat(syslog_file.path, &now) == 0 &&
	       (now.st_ino != syslog_file.st.st_ino || now.st_dev != syslog_file.st.st_dev);
}

static void syslog_read_file(void)
{
	if (syslog_file.fd >= 0) {
		syslog_read_on();
		if (!is_rotated())
			return;
		close(syslog_file.fd);
		syslog_file.len = 0;
	}
	syslog_file.fd = syslog_open_file(false);
	if (syslog_file.fd >= 0)
		syslog_read_on();
}

static void syslog_on_look(struct source *s, int64_t now_ns)
{
	syslog_read_file();
	/*
	 * A syslog daemon copies the journal to its file, so the journal is read only where there
	 * is no file.
	 */
	if (syslog_file.fd < 0 && syslog_file.keeps_no_file)
		journal_read(&syslog_file.journal, syslog_take_line);
	outbox_flush(&syslog_file.outbox, syslog_file.node);
	s->due_ns = now_ns + LOOK_NS;
}

int syslog_start(struct node *n, struct err *err)
{
	struct err why = { 0 };

	if (!n->options->syslog || !n->processes)
		return 0;
	syslog_file.node = n;
	outbox_init(&syslog_file.outbox);
	syslog_file.fd = syslog_open_file(true);
	syslog_file.keeps_no_file = syslog_file.fd < 0;
	syslog_file.journal.file.fd = -1;
	if (syslog_file.keeps_no_file &&
	    journal_open(&syslog_file.journal, n->options->root, &why) < 0)
		log_info("the node has no syslog file, and no journal is read: %s", err_text(&why));
	syslog_file.look =
		(struct source){ .name = "syslog", .fd = -1, .due_ns = 0, .due = syslog_on_look };
	return loop_add(&n->loop, &syslog_file.look, err);
}

void syslog_stop(void)
{
	if (!syslog_file.node)
		return;
	loop_remove(&syslog_file.node->loop, &syslog_file.look);
	closep(&syslog_file.fd);
	journal_close(&syslog_file.journal);
	outbox_release(&syslog_file.outbox);
	syslog_file.node = NULL;
}
