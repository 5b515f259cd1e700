/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what the node agent said about the pod. */
#include "sidecar/record/node_words.h"

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/kernel/kernel_log.h"

/* The agent tries every two seconds whether a sidecar listens, and a busy node takes its time. */
#define AWAITED_NS (8 * NS_PER_SEC)
/*
 * The agent tells of one end by several connections, soon after each other: what it read of the
 * kernel log, and of tracefs.
 */
#define SETTLES_NS NS_PER_SEC

void node_words_init(struct node_words *w, const char *pod_uid)
{
	*w = (struct node_words){ .pod_uid = pod_uid };
	strbuf_init(&w->syslog, NODE_SYSLOG_MAX);
}

void node_words_release(struct node_words *w)
{
	kmsg_log_release(&w->log);
	strbuf_release(&w->syslog);
	cJSON_Delete(TAKE_PTR(w->ends));
}

void node_words_await(struct node_words *w)
{
	w->awaited_until_ns = now_boottime_ns() + AWAITED_NS;
}

static void judge_anew(struct node_words *w)
{
	cJSON_Delete(TAKE_PTR(w->ends));
}

void node_words_take(struct node_words *w, const char *text, size_t len)
{
	struct kmsg_record line;

	node_syslog_add(&w->syslog, text, len);
	if (!node_kernel_line_parse(text, len, &line))
		return;
	kmsg_log_add(&w->log, &line);
	judge_anew(w);
}

void node_words_settle(struct node_words *w)
{
	w->awaited_until_ns = MIN(w->awaited_until_ns, now_boottime_ns() + SETTLES_NS);
}

void node_words_note(struct node_words *w, const char *container_id, const struct node_signal *s)
{
	unmet_ends_note(&w->unmet, container_id, s);
	judge_anew(w);
}

void node_words_meet(struct node_words *w, const char *cgroup)
{
	unmet_ends_meet(&w->unmet, cgroup);
	judge_anew(w);
}

static cJSON *judge(const struct node_words *w)
{
	const struct unmet_clocks now = {
		.boottime_ns = now_boottime_ns(),
		.realtime_ns = now_realtime_ns(),
		.log_us = kernel_log_now_us(),
	};
	struct unmet_end ends[UNMET_ENDS_MAX];
	size_t n = unmet_ends_find(&w->unmet, &w->log, w->pod_uid, &now, ends);
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++)
		json_append(list, unmet_end_to_json(&ends[i]));
	return list;
}

cJSON *node_words_to_json(struct node_words *w)
{
	cJSON *json = cJSON_CreateObject();

	if (!w->ends)
		w->ends = judge(w);
	json_set(json, "settled", cJSON_CreateBool(now_boottime_ns() >= w->awaited_until_ns));
	json_set(json, "ends", cJSON_Duplicate(w->ends, true));
	return json;
}
