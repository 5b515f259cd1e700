/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps messages for sidecars that do not listen yet. */
#include "node/backlog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept_message {
	struct kept_message *next;
	int64_t since_ns;
	bool had_its_turn; /* in this round */
	char pod_uid[POD_UID_MAX + 1];
	char text[];
};

static size_t backlog_size_of(const struct kept_message *m)
{
	return sizeof(*m) + strlen(m->text) + 1;
}

static bool backlog_is_of(const struct kept_message *m, const char *pod_uid)
{
	return !pod_uid || strcmp(m->pod_uid, pod_uid) == 0;
}

static void backlog_drop(struct backlog *b, struct kept_message **at)
{
	struct kept_message *m = *at;

	b->bytes -= backlog_size_of(m);
	*at = m->next;
	free(m);
}

/* Drops the oldest message of the pod; NULL: of all pods. */
static void drop_oldest(struct backlog *b, const char *pod_uid)
{
	for (struct kept_message **at = &b->first; *at; at = &(*at)->next)
		if (backlog_is_of(*at, pod_uid)) {
			backlog_drop(b, at);
			return;
		}
}

static size_t backlog_bytes_of(const struct backlog *b, const char *pod_uid)
{
	size_t n = 0;

	for (const struct kept_message *m = b->first; m; m = m->next)
		n += backlog_is_of(m, pod_uid) ? backlog_size_of(m) : 0;
	return n;
}

void backlog_release(struct backlog *b)
{
	while (b->first)
		backlog_drop(b, &b->first);
}

void backlog_add(struct backlog *b, const char *pod_uid, const char *message, int64_t now_ns)
{
	size_t len = strlen(message) + 1, size = sizeof(struct kept_message) + len;
	struct kept_message *m = size <= BACKLOG_POD_MAX ? malloc(size) : NULL, **at;

	if (!m)
		return;
	*m = (struct kept_message){ .since_ns = now_ns };
	snprintf(m->pod_uid, sizeof(m->pod_uid), "%s", pod_uid);
	memcpy(m->text, message, len);
	while (backlog_bytes_of(b, m->pod_uid) + size > BACKLOG_POD_MAX)
		drop_oldest(b, m->pod_uid);
	while (b->bytes + size > BACKLOG_MAX)
		drop_oldest(b, NULL);
	for (at = &b->first; *at; at = &(*at)->next)
		;
	*at = m;
	b->bytes += size;
}

void backlog_expire(struct backlog *b, int64_t now_ns)
{
	while (b->first && now_ns - b->first->since_ns > BACKLOG_KEPT_NS)
		backlog_drop(b, &b->first);
}

void backlog_send(struct backlog *b, const char *pod_uid,
		  bool (*send)(const char *message, void *arg), void *arg)
{
	struct kept_message **at = &b->first;

	while (*at) {
		if (!backlog_is_of(*at, pod_uid)) {
			at = &(*at)->next;
			continue;
		}
		if (!send((*at)->text, arg))
			return;
		backlog_drop(b, at);
	}
}

void backlog_begin_round(struct backlog *b)
{
	for (struct kept_message *m = b->first; m; m = m->next)
		m->had_its_turn = false;
}

bool backlog_next(struct backlog *b, char ret_pod_uid[static POD_UID_MAX + 1])
{
	struct kept_message *m = b->first;

	while (m && m->had_its_turn)
		m = m->next;
	if (!m)
		return false;
	memcpy(ret_pod_uid, m->pod_uid, sizeof(m->pod_uid));
	for (; m; m = m->next)
		m->had_its_turn = m->had_its_turn || backlog_is_of(m, ret_pod_uid);
	return true;
}
