/* SPDX-License-Identifier: Apache-2.0 */
/* Makes Events about successful operations. */
#include "operator/raycluster/news.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/strbuf.h"
#include "operator/kube/event.h"
#include "operator/raycluster/pod_state.h"

/* At most this many pods are named. */
#define NAMED_MAX 5
#define NOTE_MAX 1000

static const struct row {
	enum plan_op_kind op;
	const char *kind, *node; /* node is NULL for what is not a pod */
	const char *reason, *words;
} rows[] = {
	{ PLAN_CREATE, "Pod", "head", "CreatedHeadPod", "Created head Pod" },
	{ PLAN_CREATE, "Pod", "worker", "CreatedWorkerPod", "Created worker Pod" },
	{ PLAN_DELETE, "Pod", "head", "DeletedHeadPod", "Deleted head Pod" },
	{ PLAN_DELETE, "Pod", "worker", "DeletedWorkerPod", "Deleted worker Pod" },
	{ PLAN_APPLY, "Service", NULL, "CreatedService", "Created service" },
	{ PLAN_CREATE, "Service", NULL, "CreatedService", "Created service" },
	{ PLAN_APPLY, "Ingress", NULL, "CreatedIngress", "Created ingress" },
	{ PLAN_CREATE, "ServiceAccount", NULL, "CreatedServiceAccount", "Created service account" },
	{ PLAN_CREATE, "Role", NULL, "CreatedRole", "Created role" },
	{ PLAN_CREATE, "RoleBinding", NULL, "CreatedRoleBinding", "Created role binding" },
	{ PLAN_CREATE, "Secret", NULL, "CreatedSecret", "Created secret" },
	{ PLAN_CREATE, "PersistentVolumeClaim", NULL, "CreatedPersistentVolumeClaim",
	  "Created persistent volume claim" },
	{ PLAN_CREATE, "Job", NULL, "CreatedRedisCleanupJob", "Created Redis cleanup Job" },
};

static const struct row *row_of(const struct plan_op *op)
{
	const char *kind = json_str(op->body, "kind");

	for (size_t i = 0; kind && i < ARRAY_SIZE(rows); i++)
		if (rows[i].op == op->kind && strcmp(rows[i].kind, kind) == 0 &&
		    (!rows[i].node ||
		     strcmp(rows[i].node, pod_label(op->body, "ray.io/node-type")) == 0))
			return &rows[i];
	return NULL;
}

static cJSON *news_find(const cJSON *news, const struct row *row, const char *group)
{
	cJSON *item;

	cJSON_ArrayForEach(item, news) {
		if (row->node && json_is(item, "reason", row->reason) &&
		    json_is(item, "group", group))
			return item;
	}
	return NULL;
}

static cJSON *item_new(cJSON *news, const struct row *row, const char *group)
{
	cJSON *item = cJSON_CreateObject();

	json_set_str(item, "reason", row->reason);
	json_set_str(item, "words", row->words);
	json_set_str(item, "group", group);
	json_append(news, item);
	return item;
}

void news_add(cJSON *news, const struct plan_op *op, int status)
{
	/* An object that existed before was not created. */
	bool done = op->kind == PLAN_DELETE ? status / 100 == 2 : status == 201;
	const struct row *row = done ? row_of(op) : NULL;
	const char *namespace = json_str(op->body, "metadata.namespace"),
		   *name = json_str(op->body, "metadata.name");
	char text[512];

	if (!row || !namespace || !name)
		return;
	cJSON *item = news_find(news, row, pod_label(op->body, "ray.io/group"));
	if (!item)
		item = item_new(news, row, pod_label(op->body, "ray.io/group"));
	json_set_int(item, "count", json_int(item, "count", 0) + 1);
	cJSON *names = json_array_at(item, "names");
	snprintf(text, sizeof(text), "%s/%s", namespace, name);
	if (cJSON_GetArraySize(names) < NAMED_MAX)
		json_append(names, cJSON_CreateString(text));
}

/* Makes "Created 3 head Pods" of "Created head Pod". */
static void add_many(struct strbuf *note, const char *words, const char *group, int64_t n)
{
	size_t verb = strcspn(words, " ");

	strbuf_addf(note, "%.*s %lld%ss of group %s:", (int)verb, words, (long long)n, words + verb,
		    group);
}

cJSON *news_event(const cJSON *item, const cJSON *cluster, int64_t now_ns)
{
	_cleanup_strbuf_ struct strbuf note = STRBUF_INIT(NOTE_MAX);
	const char *words = json_str(item, "words"), *reason = json_str(item, "reason");
	int64_t n = json_int(item, "count", 0), named = 0;

	if (n > 1)
		add_many(&note, words, json_str(item, "group"), n);
	else
		strbuf_adds(&note, words);
	json_each(name, json_get(item, "names"))
		strbuf_addf(&note, "%s %s", named++ ? "," : "", name->valuestring);
	if (n > named)
		strbuf_addf(&note, " and %lld more", (long long)(n - named));
	return event_of_cluster(cluster, "Normal", reason, "Reconcile", strbuf_str(&note), now_ns);
}
