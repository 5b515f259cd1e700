/* SPDX-License-Identifier: Apache-2.0 */
/* Collects messages to sidecars, and sends them. */
#include "node/outbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/log.h"
#include "node/sidecar_link.h"

void outbox_init(struct outbox *o)
{
	*o = (struct outbox){ .messages = STRBUF_INIT(OUTBOX_BYTES_MAX) };
}

void outbox_release(struct outbox *o)
{
	strbuf_release(&o->messages);
}

void outbox_add(struct outbox *o, const char *pod_uid, const char *message)
{
	size_t before = o->messages.len;

	strbuf_add(&o->messages, pod_uid, strlen(pod_uid) + 1);
	strbuf_add(&o->messages, message, strlen(message) + 1);
	if (!strbuf_failed(&o->messages))
		return;
	o->dropped++;
	o->messages.failed = false;
	strbuf_truncate(&o->messages, before);
}

void outbox_add_once(struct outbox *o, const char *pod_uid, const char *message)
{
	const char *p = strbuf_str(&o->messages), *end = p + o->messages.len;

	while (p < end) {
		const char *there = p + strlen(p) + 1;

		if (strcmp(p, pod_uid) == 0 && strcmp(there, message) == 0)
			return;
		p = there + strlen(there) + 1;
	}
	outbox_add(o, pod_uid, message);
}

static int connect_pod(const struct node *n, const char *pod_uid, int *ret_fd, struct err *err)
{
	char pods[512];

	snprintf(pods, sizeof(pods), "%s%s/pods", n->options->root, n->options->kubelet);
	return sidecar_link_open(pods, n->options->proc, pod_uid, 0, ret_fd, err);
}

/*
 * Sends all messages to the pod of `first`, from `first` on. It overwrites the first byte of each message that was processed, so that
 * it is not sent twice.
 */
static void send_to_pod(struct outbox *o, const struct node *n, char *first, const char *end)
{
	char pod_uid[64];
	_cleanup_close_ int fd = -1;
	struct err err = { 0 };
	int rc;

	snprintf(pod_uid, sizeof(pod_uid), "%s", first);
	rc = connect_pod(n, pod_uid, &fd, &err);
	if (rc < 0 && rc != -ENOENT && rc != -ECONNREFUSED)
		log_warning_limited("pod %s: %s", pod_uid, err_text(&err));
	for (char *p = first; p < end;) {
		char *message = p + strlen(p) + 1;

		if (strcmp(p, pod_uid) == 0 || p == first) {
			if (fd >= 0 && sidecar_link_send(fd, message, -1, NULL) == 0)
				o->sent++;
			else if (rc != -ENOENT)
				o->dropped++;
			p[0] = '-';
		}
		p = message + strlen(message) + 1;
	}
}

void outbox_flush(struct outbox *o, const struct node *n)
{
	char *end = o->messages.data + o->messages.len;

	for (char *p = o->messages.data; o->messages.len && p < end;) {
		if (p[0] != '-')
			send_to_pod(o, n, p, end);
		p += strlen(p) + 1;
		p += strlen(p) + 1;
	}
	strbuf_reset(&o->messages);
}
