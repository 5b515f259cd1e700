/* SPDX-License-Identifier: Apache-2.0 */
/* Collects messages to sidecars, and sends them. */
#include "node/outbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "node/sidecar_link.h"

void outbox_init(struct outbox *o)
{
	*o = (struct outbox){ .messages = STRBUF_INIT(OUTBOX_BYTES_MAX) };
}

void outbox_release(struct outbox *o)
{
	strbuf_release(&o->messages);
}

/* The mark of each message in the batch. */
enum { MARK_NEWS = 'n', MARK_PROOF = 'p', MARK_DONE = '-' };

static void add(struct outbox *o, char mark, const char *pod_uid, const char *message)
{
	size_t before = o->messages.len;

	strbuf_addc(&o->messages, mark);
	strbuf_add(&o->messages, pod_uid, strlen(pod_uid) + 1);
	strbuf_add(&o->messages, message, strlen(message) + 1);
	if (!strbuf_failed(&o->messages))
		return;
	o->dropped++;
	o->messages.failed = false;
	strbuf_truncate(&o->messages, before);
}

void outbox_add(struct outbox *o, const char *pod_uid, const char *message)
{
	add(o, MARK_NEWS, pod_uid, message);
}

void outbox_add_proof(struct outbox *o, const char *pod_uid, const char *message)
{
	add(o, MARK_PROOF, pod_uid, message);
}

static bool has(const struct outbox *o, const char *pod_uid, const char *message)
{
	const char *p = strbuf_str(&o->messages), *end = p + o->messages.len;

	while (p < end) {
		const char *there = p + strlen(p) + 1;

		if (strcmp(p + 1, pod_uid) == 0 && strcmp(there, message) == 0)
			return true;
		p = there + strlen(there) + 1;
	}
	return false;
}

void outbox_add_once(struct outbox *o, const char *pod_uid, const char *message)
{
	if (!has(o, pod_uid, message))
		outbox_add(o, pod_uid, message);
}

void outbox_add_proof_once(struct outbox *o, const char *pod_uid, const char *message)
{
	if (!has(o, pod_uid, message))
		outbox_add_proof(o, pod_uid, message);
}

static int connect_pod(const struct node *n, const char *pod_uid, int *ret_fd, struct err *err)
{
	char pods[512];

	snprintf(pods, sizeof(pods), "%s%s/pods", n->options->root, n->options->kubelet);
	return sidecar_link_open(pods, n->options->proc, pod_uid, 0, ret_fd, err);
}

static bool send_kept(const char *message, void *arg)
{
	const int *fd = arg;

	return sidecar_link_send(*fd, message, -1, NULL) == 0;
}

/*
 * Connects to the pod's sidecar, and sends what waits for it: that came before whatever the caller
 * sends, and the sidecar reads the kernel's lines in their order.
 */
static int reach(struct node *n, const char *pod_uid, int *ret_fd)
{
	struct err err = { 0 };
	int rc = connect_pod(n, pod_uid, ret_fd, &err);

	if (rc >= 0)
		backlog_send(&n->backlog, pod_uid, send_kept, ret_fd);
	else if (rc != -ENOENT && rc != -ECONNREFUSED)
		log_warning_limited("pod %s: %s", pod_uid, err_text(&err));
	return rc;
}

/* Marks the message as done. The sidecar: fd, or -1 if rc is the reason why it cannot be reached. */
static void send_one(struct outbox *o, struct node *n, char *p, int fd, int rc)
{
	const char *message = p + strlen(p) + 1;

	if (fd >= 0 && sidecar_link_send(fd, message, -1, NULL) == 0)
		o->sent++;
	else if (fd < 0 && rc == -ECONNREFUSED && p[0] == MARK_PROOF)
		backlog_add(&n->backlog, p + 1, message, now_boottime_ns());
	else if (fd >= 0 || (rc != -ENOENT && rc != -ECONNREFUSED))
		o->dropped++;
	p[0] = MARK_DONE;
}

/* Sends all messages to the pod of `first`, from `first` on. */
static void send_to_pod(struct outbox *o, struct node *n, char *first, const char *end)
{
	const char *pod_uid = first + 1;
	_cleanup_close_ int fd = -1;
	int rc = reach(n, pod_uid, &fd);

	for (char *p = first; p < end;) {
		char *message = p + strlen(p) + 1;

		if (p[0] != MARK_DONE && strcmp(p + 1, pod_uid) == 0)
			send_one(o, n, p, fd, rc);
		p = message + strlen(message) + 1;
	}
}

void outbox_flush(struct outbox *o, struct node *n)
{
	char *end = o->messages.data + o->messages.len;

	for (char *p = o->messages.data; o->messages.len && p < end;) {
		if (p[0] != MARK_DONE)
			send_to_pod(o, n, p, end);
		p += strlen(p) + 1;
		p += strlen(p) + 1;
	}
	strbuf_reset(&o->messages);
}

void outbox_send_backlog(struct node *n)
{
	char pod_uid[POD_UID_MAX + 1];

	backlog_expire(&n->backlog, now_boottime_ns());
	backlog_begin_round(&n->backlog);
	while (backlog_next(&n->backlog, pod_uid)) {
		_cleanup_close_ int fd = -1;

		reach(n, pod_uid, &fd);
	}
}
