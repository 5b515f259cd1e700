/* SPDX-License-Identifier: Apache-2.0 */
/* Log records that wait to be exported. */
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
	export_queue_drop(queue, queue->n);
	strmap_release(&queue->namespaces, free);
}

/* Takes note of one more of a namespace. False: it has enough, or there is no memory. */
static bool count_in(struct export_queue *queue, const char *namespace)
{
	size_t *n = strmap_get(&queue->namespaces, namespace);

	if (queue->n >= EXPORT_QUEUE_MAX || (n && *n >= EXPORT_QUEUE_MAX - queue->n))
		return false;
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n || strmap_put(&queue->namespaces, namespace, n, NULL) < 0) {
			free(n);
			return false;
		}
	}
	++*n;
	queue->n++;
	return true;
}

static void count_out(struct export_queue *queue, const char *namespace)
{
	size_t *n = strmap_get(&queue->namespaces, namespace);

	queue->n--;
	if (n && --*n == 0)
		free(strmap_remove(&queue->namespaces, namespace));
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

	if (!item || !count_in(queue, namespace)) {
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
	assert(n <= queue->n);
	for (; n > 0; n--) {
		struct export_item *item = queue->first;

		queue->first = item->next;
		if (!queue->first)
			queue->last = NULL;
		count_out(queue, item->namespace);
		item_free(item);
	}
}
