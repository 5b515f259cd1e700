/* SPDX-License-Identifier: Apache-2.0 */
/* Queues log records that wait to be exported. */
#include "operator/export/export_queue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void item_free(struct export_item *item)
{
	if (!item)
		return;
	cJSON_Delete(item->record);
	free(item->namespace);
	free(item->key);
	free(item);
}

void export_queue_release(struct export_queue *queue)
{
	export_queue_drop(queue, queue->share.n);
	namespace_share_release(&queue->share);
}

/* Takes record. */
static struct export_item *item_new(const char *namespace, const char *name, cJSON *record,
				    int64_t ready_ns)
{
	struct export_item *item = calloc(1, sizeof(*item));

	if (!item) {
		cJSON_Delete(record);
		return NULL;
	}
	*item = (struct export_item){ .record = record,
				      .ready_ns = ready_ns,
				      .namespace = strdup(namespace) };
	if (!record || !item->namespace || asprintf(&item->key, "%s/%s", namespace, name) < 0) {
		item->key = NULL;
		item_free(TAKE_PTR(item));
	}
	return item;
}

bool export_queue_add(struct export_queue *queue, const char *namespace, const char *name,
		      cJSON *record, int64_t ready_ns)
{
	struct export_item *item = item_new(namespace, name, record, ready_ns);

	if (!item ||
	    !namespace_share_add(&queue->share, namespace, EXPORT_QUEUE_MAX, EXPORT_QUEUE_MAX)) {
		item_free(item);
		return false;
	}
	if (queue->last)
		queue->last->next = item;
	else
		queue->first = item;
	queue->last = item;
	return true;
}

size_t export_queue_ready(const struct export_queue *queue, int64_t now_ns)
{
	size_t n = 0;

	for (const struct export_item *item = queue->first;
	     item && n < EXPORT_BATCH_MAX && item->ready_ns <= now_ns; item = item->next)
		n++;
	return n;
}

void export_queue_drop(struct export_queue *queue, size_t n)
{
	assert(n <= queue->share.n);
	for (; n > 0; n--) {
		struct export_item *item = queue->first;

		queue->first = item->next;
		if (!queue->first)
			queue->last = NULL;
		namespace_share_remove(&queue->share, item->namespace);
		item_free(item);
	}
}
