/* SPDX-License-Identifier: Apache-2.0 */
/* Counts RayFailures by namespace, cluster, class and confidence. */
#include "operator/failure_controller/failure_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"

#define PART_MAX "63" /* limit of a namespace's name and of a label's value, in bytes */
#define LABELS_MAX 256

struct failure_count {
	double n;
	int64_t first_ns, last_ns;
};

void failure_counts_release(struct failure_counts *counts)
{
	strmap_release(&counts->series, free);
}

static void drop_the_oldest(struct failure_counts *counts)
{
	const struct failure_count *oldest = NULL;
	struct strmap_pos pos = { 0 };
	const char *labels, *drop = NULL;
	void *value;

	while (strmap_next(&counts->series, &pos, &labels, &value)) {
		const struct failure_count *count = value;

		if (!oldest || count->last_ns < oldest->last_ns) {
			oldest = count;
			drop = labels;
		}
	}
	if (drop) {
		char key[LABELS_MAX];

		/* The copy is needed because the map frees the key when it removes the entry. */
		snprintf(key, sizeof(key), "%s", drop);
		free(strmap_remove(&counts->series, key));
	}
}

static struct failure_count *failure_counts_count_of(struct failure_counts *counts, const char *labels, int64_t now_ns)
{
	struct failure_count *count = strmap_get(&counts->series, labels);

	if (count)
		return count;
	if (counts->series.n >= FAILURE_COUNTS_MAX)
		drop_the_oldest(counts);
	count = calloc(1, sizeof(*count));
	if (count && strmap_put(&counts->series, labels, count, NULL) < 0)
		free(TAKE_PTR(count));
	if (count)
		count->first_ns = now_ns;
	return count;
}

/*
 * Makes a label's value for the text format. The API server refuses these characters today, but an
 * older object may have them.
 */
static const char *failure_counts_clean(const char *text)
{
	return text && !strpbrk(text, "\"\\\n") ? text : "";
}

void failure_counts_add(struct failure_counts *counts, const cJSON *failure, int64_t now_ns)
{
	char labels[LABELS_MAX];

	snprintf(labels, sizeof(labels),
		 "namespace=\"%." PART_MAX "s\",cluster=\"%." PART_MAX "s\",class=\"%." PART_MAX "s\",confidence=\"%.16s\"",
		 failure_counts_clean(json_str(failure, "metadata.namespace")), failure_counts_clean(json_str(failure, "spec.cluster")),
		 failure_counts_clean(json_str(failure, "spec.class")), failure_counts_clean(json_str(failure, "spec.confidence")));
	struct failure_count *count = failure_counts_count_of(counts, labels, now_ns);

	if (!count)
		return;
	count->n++;
	count->last_ns = now_ns;
}

void failure_counts_publish(const struct failure_counts *counts, int64_t now_ns, struct metrics *metrics)
{
	struct strmap_pos pos = { 0 };
	const char *labels;
	void *value;

	metrics_forget(metrics, METRIC_FAILURES);
	while (strmap_next(&counts->series, &pos, &labels, &value)) {
		const struct failure_count *count = value;
		bool is_new = now_ns - count->first_ns < FAILURE_COUNTS_ZERO_NS;

		metrics_set(metrics, METRIC_FAILURES, is_new ? 0 : count->n, "%s", labels);
	}
}
