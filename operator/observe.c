/* SPDX-License-Identifier: Apache-2.0 */
/* What planning is given of one cluster. */
#include "operator/observe.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/pod_spec.h"

#define KEY_MAX 512
#define TOKEN_BYTES 32 /* 44 characters of base64 */

void observation_release(struct observation *o)
{
	free(o->pods);
	free(o->pending);
	cJSON_Delete(o->deaths);
	OPENSSL_cleanse(o->token, sizeof(o->token));
}

/* The pods of the cluster, and which of them must be kept for their evidence. Freed by the caller. */
static int collect_pods(const struct watches *watches, const struct recorder *recorder, const char *key,
			struct observation *o, size_t *ret_n)
{
	const struct store *store = watches_store(watches, WATCH_PODS);
	const struct store_entry *entry;
	size_t n = 0;

	for (entry = NULL; (entry = store_index_next(store, key, entry));)
		n++;
	o->pods = calloc(n + 1, sizeof(*o->pods));
	o->pending = calloc(n + 1, sizeof(*o->pending));
	if (!o->pods || !o->pending)
		return -ENOMEM;
	*ret_n = n;
	n = 0;
	for (entry = NULL; (entry = store_index_next(store, key, entry)); n++) {
		o->pods[n] = store_entry_object(store, entry);
		o->pending[n] = recorder_pending(recorder, o->pods[n]);
	}
	return 0;
}

static const cJSON *find_service(const struct watches *watches, const char *namespace, const char *name)
{
	char key[KEY_MAX];

	if (!name || snprintf(key, sizeof(key), "%s/%s", namespace, name) >= (int)sizeof(key))
		return NULL;
	return store_get(watches_store(watches, WATCH_SERVICES), key);
}

/* --- Deaths on record ----------------------------------------------------------------------------------- */

static const struct store_entry *next_failure(const struct watches *watches, const char *key, const char *group,
					      const struct store_entry *at)
{
	char value[KEY_MAX];

	snprintf(value, sizeof(value), "%s/%s", key, group);
	return store_index_next(watches_store(watches, WATCH_FAILURES), value, at);
}

static void add_deaths(const struct watches *watches, const char *key, const char *group, cJSON *deaths)
{
	const struct store_entry *entry;
	int64_t n = 0;

	for (entry = NULL; (entry = next_failure(watches, key, group, entry));)
		n++;
	if (n > 0)
		json_set_int(deaths, group, n);
}

static cJSON *count_deaths(const struct watches *watches, const char *key, const cJSON *cluster)
{
	cJSON *deaths = cJSON_CreateObject();
	const cJSON *group;

	add_deaths(watches, key, HEAD_GROUP_NAME, deaths);
	cJSON_ArrayForEach(group, json_get(cluster, "spec.workerGroupSpecs"))
		add_deaths(watches, key, group_name(RAY_WORKER, group), deaths);
	return deaths;
}

/* Of Ray's own container, and not for a reason that lies outside of it. The container's name is a part of the failure's. */
static bool died_by_itself(const cJSON *failure, const char *container)
{
	static const char *const others[] = { "Evicted", "Preempted", "PodDeleted", "NodeLost", "Terminated",
					      "KernelOOMProcess", "RayMemoryMonitor", "WorkerCrash" };
	const char *name = json_str(failure, "metadata.name"), *class = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
		json_get(failure, "metadata.labels"), "afterglow.dev/class"));
	char part[KEY_MAX];

	for (size_t i = 0; class && i < ARRAY_SIZE(others); i++)
		if (strcmp(class, others[i]) == 0)
			return false;
	snprintf(part, sizeof(part), "-%s-", container ? container : "");
	return name && strstr(name, part);
}

static size_t collect_head_deaths(const struct watches *watches, const char *key, const cJSON *cluster,
				  int64_t ret_times[static OBSERVE_HEAD_DEATHS_MAX])
{
	const char *container = json_str(ray_container(json_get(cluster, "spec.headGroupSpec.template.spec")), "name");
	const struct store *store = watches_store(watches, WATCH_FAILURES);
	const struct store_entry *entry;
	size_t n = 0;

	for (entry = NULL; n < OBSERVE_HEAD_DEATHS_MAX && (entry = next_failure(watches, key, HEAD_GROUP_NAME, entry));) {
		const cJSON *failure = store_entry_object(store, entry);
		const char *text = json_str(failure, "metadata.creationTimestamp");

		if (text && died_by_itself(failure, container) && time_parse(text, &ret_times[n], NULL) == 0)
			n++;
	}
	return n;
}

static void make_token(char ret_token[static OBSERVE_TOKEN_MAX])
{
	unsigned char bytes[TOKEN_BYTES];

	*ret_token = '\0';
	if (RAND_bytes(bytes, sizeof(bytes)) == 1)
		EVP_EncodeBlock((unsigned char *)ret_token, bytes, sizeof(bytes));
	OPENSSL_cleanse(bytes, sizeof(bytes));
}

int observe_cluster(const struct watches *watches, const struct recorder *recorder, const char *key,
		    const cJSON *cluster, struct observation *o, struct plan_input *ret_in, struct err *err)
{
	_cleanup_free_ char *service = plan_service_name(cluster), *headless = plan_headless_name(cluster);
	const char *namespace = json_str(cluster, "metadata.namespace");

	o->deaths = count_deaths(watches, key, cluster);
	if (!service || !headless || !o->deaths || collect_pods(watches, recorder, key, o, &ret_in->n_pods) < 0)
		return err_set(err, ENOMEM, "observing");
	make_token(o->token);
	ret_in->pods = o->pods;
	ret_in->evidence_pending = o->pending;
	ret_in->service = find_service(watches, namespace, service);
	ret_in->headless = find_service(watches, namespace, headless);
	ret_in->deaths = o->deaths;
	ret_in->head_deaths_ns = o->head_deaths_ns;
	ret_in->n_head_deaths = collect_head_deaths(watches, key, cluster, o->head_deaths_ns);
	ret_in->token = *o->token ? o->token : NULL;
	return 0;
}
