/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the controllers: the parts that each of them needs, on an API server of the test.
 * The parts see only the changes that the test passes; failures wait and are never written.
 */
#pragma once

#include "operator/cache/watches.h"
#include "operator/failure_controller/failure_writer.h"
#include "operator/failure_controller/sidecar_poller.h"
#include "operator/kube/testing_api.h"

struct bed {
	struct fake_api api;
	struct client *client;
	struct metrics metrics;
	struct watches *watches;
	struct event_recorder *recorder;
	struct failure_owners *owners;
	struct failure_writer *writer;
	struct sidecar_poller *poller;
	bool allowed; /* to write */
	unsigned growing; /* how often on_growing was called */
};

static inline bool bed_may_write(void *arg)
{
	return ((struct bed *)arg)->allowed;
}

static inline bool bed_never(void *arg)
{
	(void)arg;
	return false;
}

static inline void bed_ignore(void *arg)
{
	(void)arg;
}

static inline bool bed_wanted(void *arg, const struct ray_failure *failure, const char **ret_why)
{
	(void)arg;
	(void)failure;
	*ret_why = "";
	return true;
}

static inline void bed_on_growing(void *arg, const cJSON *pod)
{
	assert_non_null(pod);
	((struct bed *)arg)->growing++;
}

static inline const cJSON *bed_find_cluster(void *arg, const char *key)
{
	return store_peek(watches_store(((struct bed *)arg)->watches, WATCH_CLUSTERS), key);
}

static inline void bed_new_watches(struct bed *bed)
{
	struct watches_options options = { .base = bed->api.server.base,
					   .client = bed->client,
					   .namespace = "ml",
					   .on_state = bed_ignore,
					   .arg = bed };

	assert_int_equal(watches_new(&options, &bed->watches, &(struct err){ 0 }), 0);
}

static inline void bed_new_event_recorder(struct bed *bed)
{
	struct event_recorder_options options = { .base = bed->api.server.base,
						  .client = bed->client,
						  .may_write = bed_may_write,
						  .arg = bed,
						  .interval_ms = 1 };

	assert_int_equal(event_recorder_new(&options, &bed->recorder, &(struct err){ 0 }), 0);
}

static inline void bed_new_writer(struct bed *bed)
{
	struct failure_owners_options owners = { .client = bed->client,
						 .find_cluster = bed_find_cluster,
						 .arg = bed };
	struct failure_writer_options options = {
		.base = bed->api.server.base,
		.client = bed->client,
		.known = watches_informer(bed->watches, WATCH_FAILURES),
		.pods = watches_informer(bed->watches, WATCH_PODS),
		.metrics = &bed->metrics,
		.is_leader = bed_may_write,
		.may_write = bed_never,
		.wanted = bed_wanted,
		.arg = bed,
	};

	assert_int_equal(failure_owners_new(&owners, &bed->owners, &(struct err){ 0 }), 0);
	options.owners = bed->owners;
	assert_int_equal(failure_writer_new(&options, &bed->writer, &(struct err){ 0 }), 0);
}

static inline void bed_new_poller(struct bed *bed)
{
	struct sidecar_poller_options options = {
		.base = bed->api.server.base,
		.pods = watches_informer(bed->watches, WATCH_PODS),
		.sinks.failures = watches_informer(bed->watches, WATCH_FAILURES),
		.sinks.clusters = watches_informer(bed->watches, WATCH_CLUSTERS),
		.sinks.recorder = bed->recorder,
		.sinks.writer = bed->writer,
		.sinks.metrics = &bed->metrics,
		.may_write = bed_may_write,
		.sinks.on_growing = bed_on_growing,
		.sinks.arg = bed,
		.arg = bed,
	};

	assert_int_equal(sidecar_poller_new(&options, &bed->poller, &(struct err){ 0 }), 0);
}

static inline bool bed_is_synced(void *arg)
{
	const struct bed *bed = arg;

	return watches_synced(bed->watches);
}

/* Call this first. Then set the API server's answers, and call bed_start. */
static inline void bed_init(struct bed *bed)
{
	*bed = (struct bed){ .allowed = true };
	fake_api_start(&bed->api);
	bed->client = fake_client(&bed->api.server, NULL);
}

static inline void bed_start(struct bed *bed)
{
	bed_new_watches(bed);
	bed_new_event_recorder(bed);
	bed_new_writer(bed);
	bed_new_poller(bed);
	watches_start(bed->watches);
	fake_api_turn(&bed->api, bed_is_synced, bed);
}

static inline void bed_release(struct bed *bed)
{
	sidecar_poller_free(bed->poller);
	watches_free(bed->watches);
	client_free(bed->client);
	failure_writer_free(bed->writer);
	failure_owners_free(bed->owners);
	event_recorder_free(bed->recorder);
	metrics_release(&bed->metrics);
	fake_api_stop(&bed->api);
}
