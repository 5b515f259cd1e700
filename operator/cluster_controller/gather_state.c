/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the state of one cluster for planning. */
#include "operator/cluster_controller/gather_state.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/oom.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/story.h"
#include "operator/kube/object.h"
#include "operator/podspec/notes.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/bounds.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/validate.h"

#define KEY_MAX 512
/* Of a cluster; each has GROWING_TEXT_MAX bytes, and a condition's message may have 32768. */
#define GROWING_TEXTS_MAX 16
#define TOKEN_BYTES 32 /* 44 characters in base64 */

void cluster_state_release(struct cluster_state *o)
{
	cJSON_Delete(o->notes);
	free(o->pods);
	free(o->pending);
	free(o->crashes);
	free(o->growing);
	OPENSSL_cleanse(o->token, sizeof(o->token));
}

/*
 * Sets the pods of the cluster, and which of them must be kept for their evidence. The caller frees
 * both.
 */
static int collect_pods(const struct watches *watches, const struct failure_writer *writer,
			const char *key, struct cluster_state *o, size_t *ret_n,
			size_t *ret_labelled)
{
	const struct store *store = watches_store(watches, WATCH_PODS);
	const struct store_entry *entry;
	size_t n = 0;

	for (entry = NULL; (entry = store_index_next(store, key, entry));)
		n++;
	*ret_labelled = n;
	if (n > BOUND_LABELLED)
		n = 0;
	o->pods = calloc(n + 1, sizeof(*o->pods));
	o->pending = calloc(n + 1, sizeof(*o->pending));
	if (!o->pods || !o->pending)
		return -ENOMEM;
	*ret_n = n;
	entry = NULL;
	for (size_t i = 0; i < n && (entry = store_index_next(store, key, entry)); i++) {
		o->pods[i] = store_entry_object(store, entry);
		o->pending[i] = failure_writer_pending(writer, o->pods[i]);
	}
	return 0;
}

/*
 * --- Deaths on record
 * -----------------------------------------------------------------------------------
 */

/*
 * Returns whether Ray's own container ended by itself, and for no outside reason. The name of the
 * container is a part of the failure's name.
 */
static bool died_by_itself(const cJSON *failure, const char *container)
{
	const char *name = json_str(failure, "metadata.name"),
		   *class = object_label(failure, "afterglow.dev/class");
	char part[KEY_MAX];

	if (TEXT_IS_ONE_OF(class, "Evicted", "Preempted", "PodDeleted", "NodeLost", "NodeShutdown",
			   "Terminated", "GCSLost"))
		return false;
	/* A worker that Ray's autoscaler removes ends with exit code 1. */
	if (cJSON_GetObjectItemCaseSensitive(json_get(failure, "metadata.annotations"),
					     FAILURE_DELETED_ANNOTATION))
		return false;
	snprintf(part, sizeof(part), "-%s-", container ? container : "");
	return name && strstr(name, part) && !story_container_lives(failure);
}

static bool take_crash(const cJSON *failure, const char *group, const char *container,
		       int64_t now_ns, struct crash *ret_crash)
{
	int known = failure_class_from_name(object_label(failure, "afterglow.dev/class"));
	const char *made = object_annotation(failure, FAILURE_POD_ANNOTATION);
	struct crash crash = {
		.group = group,
		.class = known < 0 ? NULL : failure_class_name((enum failure_class)known),
	};

	json_time(failure, "metadata.creationTimestamp", &crash.at_ns);
	if (made)
		time_parse(made, &crash.made_ns, NULL);
	if (crash.at_ns < now_ns - CRASH_LOOP_WINDOW_NS || !died_by_itself(failure, container))
		return false;
	snprintf(crash.failure, sizeof(crash.failure), "%s", json_str(failure, "metadata.name"));
	*ret_crash = crash;
	return true;
}

/*
 * Has no views: those of all failures of a group, of which a tenant can make thousands, would take
 * hundreds of megabytes.
 */
static int collect_crashes(const struct watches *watches, const char *key, enum ray_node node,
			   const cJSON *spec, struct cluster_state *o)
{
	const char *group = group_name(node, spec),
		   *container = json_str(ray_container(json_get(spec, "template.spec")), "name");
	const struct store *store = watches_store(watches, WATCH_FAILURES);
	const struct store_entry *entry;
	int64_t now_ns = now_realtime_ns();
	struct crash *crashes;
	size_t most = o->n_crashes + OBSERVE_CRASHES_MAX;
	char value[KEY_MAX];

	snprintf(value, sizeof(value), "%s/%s", key, group);
	entry = store_index_next(store, value, NULL);
	if (!entry)
		return 0;
	crashes = realloc(o->crashes, most * sizeof(*crashes));
	if (!crashes)
		return -ENOMEM;
	o->crashes = crashes;
	for (; entry && o->n_crashes < most; entry = store_index_next(store, value, entry))
		o->n_crashes += take_crash(store_entry_peek(store, entry), group, container, now_ns,
					   &crashes[o->n_crashes]);
	return 0;
}

/* For a cluster that is refused nothing is planned, and its groups may be thousands of one name. */
static int collect_all_crashes(const struct watches *watches, const char *key, const cJSON *cluster,
			       struct cluster_state *o)
{
	if (notes_have(o->notes, NOTE_SPEC_VALID))
		return 0;
	int r = collect_crashes(watches, key, RAY_HEAD, json_get(cluster, "spec.headGroupSpec"), o);

	json_each(group, json_get(cluster, "spec.workerGroupSpecs"))
		if (r == 0)
			r = collect_crashes(watches, key, RAY_WORKER, group, o);
	return r;
}

/*
 * --- Memory that grows
 * --------------------------------------------------------------------------------------
 */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The texts are sorted, because the order of the pods changes. */
static char *gather_state_join(const char **texts, size_t n)
{
	_cleanup_strbuf_ struct strbuf joined =
		STRBUF_INIT(GROWING_TEXTS_MAX * (GROWING_TEXT_MAX + 2));

	qsort(texts, n, sizeof(*texts), compare_texts);
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&joined, "%s%s", i ? "; " : "", texts[i]);
	return n ? strdup(strbuf_str(&joined)) : NULL;
}

static void collect_growing(const struct sidecar_poller *poller, struct cluster_state *o,
			    struct plan_input *in)
{
	const char *texts[GROWING_TEXTS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < in->n_pods; i++) {
		_cleanup_free_ char *key = object_key(o->pods[i]);
		bool heard = true;
		const struct growing *growing =
			key ? sidecar_poller_growing(poller, key, &heard) : NULL;

		in->growing_unheard = in->growing_unheard || !heard;
		for (size_t j = 0; growing && j < growing->n && n < GROWING_TEXTS_MAX; j++)
			texts[n++] = growing->list[j].text;
	}
	o->growing = gather_state_join(texts, n);
	in->growing = o->growing;
}

static void make_seed(char ret_seed[static OBSERVE_SEED_MAX])
{
	unsigned char bytes[OBSERVE_SEED_MAX / 2];

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i + 1 < sizeof(bytes); i++)
		snprintf(ret_seed + 2 * i, 3, "%02x", bytes[i]);
}

static void make_token(char ret_token[static OBSERVE_TOKEN_MAX])
{
	unsigned char bytes[TOKEN_BYTES];

	*ret_token = '\0';
	if (RAND_bytes(bytes, sizeof(bytes)) == 1)
		base64_encode(bytes, sizeof(bytes), ret_token);
	OPENSSL_cleanse(bytes, sizeof(bytes));
}

int gather_state(const struct watches *watches, const struct failure_writer *writer,
		 const struct sidecar_poller *poller, const char *key, const cJSON *cluster,
		 struct cluster_state *o, struct plan_input *ret_in, struct err *err)
{
	_cleanup_free_ char *service = head_service_name(cluster),
			    *headless = headless_service_name(cluster);
	const char *namespace = json_str(cluster, "metadata.namespace");
	size_t lost = oom_count();

	o->notes = cJSON_CreateArray();
	validate_cluster(cluster, o->notes);
	if (!service || !headless ||
	    collect_pods(watches, writer, key, o, &ret_in->n_pods, &ret_in->n_labelled) < 0 ||
	    collect_all_crashes(watches, key, cluster, o) < 0 || oom_count() != lost)
		return err_set(err, ENOMEM, "observing");
	make_token(o->token);
	make_seed(o->seed);
	ret_in->name_seed = o->seed;
	collect_growing(poller, o, ret_in);
	ret_in->notes = o->notes;
	ret_in->pods = o->pods;
	ret_in->evidence_pending = o->pending;
	if (!ret_in->service)
		ret_in->service = watches_service(watches, namespace, service);
	if (!ret_in->headless)
		ret_in->headless = watches_service(watches, namespace, headless);
	ret_in->crashes = o->crashes;
	ret_in->n_crashes = o->n_crashes;
	ret_in->token = *o->token ? o->token : NULL;
	return 0;
}
