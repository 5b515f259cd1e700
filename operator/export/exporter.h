/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports RayFailures to an OpenTelemetry collector: as log records, by OTLP/HTTP in its JSON
 * encoding.
 *
 * Theory of operation. The failure writer passes each failure that it wrote. The record is held for
 * some seconds, because the incident that the failure belongs to is known a little later, and
 * because deaths come in groups. Then up to EXPORT_BATCH_MAX records go out in a request, of which
 * there is one at a time, on the main loop, so that nothing waits for the collector. A request
 * without an answer, or with an answer that asks for it, is sent again, with growing pauses or
 * after the time that Retry-After names, until it succeeds. Records that arrive while the queue is
 * full are dropped and counted.
 *
 * Only failures that this process wrote are exported, so a restart does not send old failures
 * again. A request whose answer is lost is sent twice; log.record.uid shows the duplicates. Waiting
 * records are lost when the process is killed or loses its Lease.
 */
#ifndef AFTERGLOW_OPERATOR_EXPORT_EXPORTER_H
#define AFTERGLOW_OPERATOR_EXPORT_EXPORTER_H

#include <cjson/cJSON.h>
#include <event2/event.h>

#include "lib/err.h"
#include "operator/export/otlp_settings.h"
#include "operator/kube/metrics.h"

#define EXPORTER_HOLD_MS 5000
/* How long the end of the process waits for the collector, at most. */
#define EXPORTER_FLUSH_MS 5000

struct exporter;

struct exporter_options {
	struct event_base *base;
	const struct otlp_settings *settings;
	struct metrics *metrics;
	/*
	 * Returns the present RayFailure "namespace/name", of which the metadata is enough; NULL if
	 * it is gone.
	 */
	const cJSON *(*find_failure)(void *arg, const char *key);
	void *arg;
	unsigned hold_ms, flush_ms; /* 0: EXPORTER_HOLD_MS, EXPORTER_FLUSH_MS */
};

/*
 * The objects that options point to must outlive the exporter. The files that the settings name
 * must be readable and valid.
 */
int exporter_new(const struct exporter_options *options, struct exporter **ret_exporter,
		 struct err *err);
void exporter_free(struct exporter *exporter); /* NULL is allowed */

/* Queues a whole RayFailure. If exporter is NULL, nothing is exported. */
void exporter_add(struct exporter *exporter, const cJSON *failure);

/*
 * Call this when the process is about to end: sends the waiting records at once. on_flushed is
 * called once, never before this returns: when all is sent, when a request fails, or after
 * EXPORTER_FLUSH_MS.
 */
void exporter_flush(struct exporter *exporter, void (*on_flushed)(void *arg), void *arg);

/* Sets the gauge of waiting records. NULL is allowed. */
void exporter_metrics(const struct exporter *exporter);

#endif
