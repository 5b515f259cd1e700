/* SPDX-License-Identifier: Apache-2.0 */
/* Collects messages to sidecars, and sends them. */
#include "node/outbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/log.h"
#include "lib/units.h"
#include "node/sidecar_link.h"

#define DONE '-' /* in place of the part: the message was processed */
#define PROOF 'p'
#define NEWS 'n'
/*
 * Bytes. The kernel gives at most twice net.core.wmem_max: room for some 450 messages that the
 * sidecar has not read yet.
 */
#define SEND_BUFFER ((size_t)2 * 1024 * 1024)

void outbox_init(struct outbox *o)
{
	*o = (struct outbox){ .messages = STRBUF_INIT(OUTBOX_BYTES_MAX), .cut = OUTBOX_PARTS };
}

void outbox_release(struct outbox *o)
{
	strbuf_release(&o->messages);
}

/* One message of the batch, and where the next one begins. */
struct entry {
	char *part;
	bool proof;
	const char *pod_uid, *message;
	char *next;
};

static struct entry entry_at(char *p)
{
	struct entry e = { .part = p, .proof = p[1] == PROOF, .pod_uid = p + 2 };

	e.message = e.pod_uid + strlen(e.pod_uid) + 1;
	e.next = p + (e.message - p) + strlen(e.message) + 1;
	return e;
}

static void outbox_drop(struct outbox *o, enum outbox_part part)
{
	o->dropped++;
	if (part != OUTBOX_NEEDED && part < o->cut)
		o->cut = part;
}

void outbox_add(struct outbox *o, enum outbox_part part, bool proof, const char *pod_uid,
		const char *message)
{
	const char marks[] = { (char)('0' + part), proof ? PROOF : NEWS };
	size_t before = o->messages.len,
	       len = sizeof(marks) + strlen(pod_uid) + strlen(message) + 2;
	size_t room = OUTBOX_BYTES_MAX - (part == OUTBOX_NEEDED ? 0 : OUTBOX_RESERVE);

	if (before + len > room) {
		outbox_drop(o, part);
		return;
	}
	strbuf_add(&o->messages, marks, sizeof(marks));
	strbuf_add(&o->messages, pod_uid, strlen(pod_uid) + 1);
	strbuf_add(&o->messages, message, strlen(message) + 1);
	if (!strbuf_failed(&o->messages))
		return;
	outbox_drop(o, part);
	o->messages.failed = false;
	strbuf_truncate(&o->messages, before);
}

void outbox_add_once(struct outbox *o, enum outbox_part part, bool proof, const char *pod_uid,
		     const char *message)
{
	char *p = o->messages.data, *end = p + o->messages.len;

	while (o->messages.len && p < end) {
		struct entry e = entry_at(p);

		if (strcmp(e.pod_uid, pod_uid) == 0 && strcmp(e.message, message) == 0)
			return;
		p = e.next;
	}
	outbox_add(o, part, proof, pod_uid, message);
}

static int connect_pod(struct node *n, const char *pod_uid, int *ret_fd, struct err *err)
{
	size_t room = unread_room(&n->unread, pod_uid);
	char pods[512];

	if (!room)
		return err_set(err, EAGAIN, "the sidecar does not read what it was sent");
	snprintf(pods, sizeof(pods), "%s%s/pods", n->options->root, n->options->kubelet);
	int rc = sidecar_link_open(pods, n->options->proc, pod_uid, 0, ret_fd, err);
	/* The kernel doubles the number. */
	if (rc >= 0)
		setsockopt(*ret_fd, SOL_SOCKET, SO_SNDBUF,
			   &(int){ (int)(MIN(room, SEND_BUFFER) / 2) }, sizeof(int));
	return rc;
}

/*
 * Returns the first of the parts that do not fit into the socket's buffer together with those
 * before them.
 */
static enum outbox_part first_left_out(const struct outbox *o, int fd, const struct entry *first,
				       const char *end)
{
	size_t costs[OUTBOX_PARTS] = { 0 }, room = sidecar_link_room(fd);
	enum outbox_part part = OUTBOX_NEEDED;

	for (char *p = first->part; p < end;) {
		struct entry e = entry_at(p);
		unsigned int of = (unsigned int)(e.part[0] - '0');

		if (of < OUTBOX_PARTS && strcmp(e.pod_uid, first->pod_uid) == 0)
			costs[of] += sidecar_link_cost(strlen(e.message));
		p = e.next;
	}
	while (part < o->cut && (part == OUTBOX_NEEDED || costs[part] <= room)) {
		room -= MIN(costs[part], room);
		part++;
	}
	return part;
}

static bool send_kept(const char *message, void *arg)
{
	const int *fd = arg;

	return sidecar_link_send(*fd, message, -1, NULL) == 0;
}

/*
 * Connects to the pod's sidecar, and sends the backlog first: its messages are older than those of
 * the caller, and the sidecar reads the kernel's lines in their order. *ret_fd is as in
 * sidecar_link_open.
 */
static int outbox_reach(struct node *n, const char *pod_uid, int *ret_fd)
{
	struct err err = { 0 };
	int rc = connect_pod(n, pod_uid, ret_fd, &err);

	if (rc >= 0)
		backlog_send(&n->backlog, pod_uid, send_kept, ret_fd);
	else if (rc != -ENOENT && rc != -ECONNREFUSED)
		log_warning_limited("pod %s: %s", pod_uid, err_text(&err));
	return rc;
}

/* Keeps or drops the message, whose sidecar cannot be reached for the reason rc. */
static void keep_or_drop(struct outbox *o, struct node *n, const struct entry *e, int rc)
{
	if ((rc == -ECONNREFUSED || rc == -EAGAIN) && e->proof)
		backlog_add(&n->backlog, e->pod_uid, e->message, now_boottime_ns());
	else if (rc != -ENOENT && rc != -ECONNREFUSED)
		o->dropped++;
}

/*
 * Sends all messages to the pod of the first one, and marks them as processed, so that they are not
 * sent twice.
 */
static void send_to_pod(struct outbox *o, struct node *n, const struct entry *first,
			const char *end)
{
	int fd = -1, rc = outbox_reach(n, first->pod_uid, &fd);
	enum outbox_part left_out = rc >= 0 ? first_left_out(o, fd, first, end) : OUTBOX_PARTS;

	for (char *p = first->part; p < end;) {
		struct entry e = entry_at(p);

		p = e.next;
		if (e.part[0] == DONE || strcmp(e.pod_uid, first->pod_uid) != 0)
			continue;
		if (rc < 0)
			keep_or_drop(o, n, &e, rc);
		else if ((e.part[0] - '0' < (int)left_out || e.part[0] - '0' == OUTBOX_REST) &&
			 sidecar_link_send(fd, e.message, -1, NULL) == 0)
			o->sent++;
		else
			o->dropped++;
		e.part[0] = DONE;
	}
	if (fd >= 0)
		unread_keep(&n->unread, first->pod_uid, fd);
}

void outbox_flush(struct outbox *o, struct node *n)
{
	char *p = o->messages.data, *end = p + o->messages.len;

	while (o->messages.len && p < end) {
		struct entry e = entry_at(p);

		if (e.part[0] != DONE)
			send_to_pod(o, n, &e, end);
		p = e.next;
	}
	strbuf_reset(&o->messages);
	o->cut = OUTBOX_PARTS;
}

void outbox_flush_logged(struct outbox *o, struct node *n, const char *what)
{
	/* Those that found no room in the batch were counted before. */
	outbox_flush(o, n);
	if (o->dropped > o->logged)
		log_warning_limited("%s: %" PRIu64 " messages to sidecars were dropped, %" PRIu64
				    " since the start",
				    what, o->dropped - o->logged, o->dropped);
	o->logged = o->dropped;
}

void outbox_flush_half(struct outbox *o, struct node *n, const char *what)
{
	if (o->messages.len > OUTBOX_BYTES_MAX / 2)
		outbox_flush_logged(o, n, what);
}

void outbox_send_backlog(struct node *n)
{
	char pod_uid[POD_UID_MAX + 1];

	backlog_expire(&n->backlog, now_boottime_ns());
	backlog_begin_round(&n->backlog);
	while (backlog_next(&n->backlog, pod_uid)) {
		int fd = -1;

		outbox_reach(n, pod_uid, &fd);
		if (fd >= 0)
			unread_keep(&n->unread, pod_uid, fd);
	}
	unread_room(&n->unread, "");
}
