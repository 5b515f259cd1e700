/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the API server for the facts about a namespace that planning needs. */
#include "operator/cluster_controller/namespace_lookup.h"

#include <errno.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "operator/injection/pod_security.h"
#include "operator/podspec/store_claim.h"

#define CLAIM_PRESENT_NS (60 * NS_PER_SEC)
#define CLAIM_ABSENT_NS (10 * NS_PER_SEC)
/*
 * How long a namespace's Pod Security level is remembered. A change takes effect for new pods at
 * once, but changes are rare.
 */
#define SECURITY_NS (30 * NS_PER_SEC)

/*
 * Returns whether the response is an answer, and ends the lookup if it is none. It is one also if
 * the object does not exist or we may not read it.
 */
static bool take_answer(struct namespace_lookup *l, const struct client_response *response)
{
	if (response->status == 200 || response->status == 403 || response->status == 404)
		return true;
	l->done(l->arg, response->retry_after_ns, &response->err);
	return false;
}

static void namespace_lookup_on_namespace(void *arg, struct client_response *response)
{
	struct namespace_lookup *l = arg;

	if (!take_answer(l, response))
		return;
	pod_security_judge(l->namespace,
			   response->status == 200 ? json_get(response->object, "metadata.labels") :
						     NULL,
			   l->known->kernel_log_refused);
	l->known->security_until_ns = now_boottime_ns() + SECURITY_NS;
	namespace_lookup_start(l);
}

static void on_claim(void *arg, struct client_response *response)
{
	struct namespace_lookup *l = arg;

	if (!take_answer(l, response))
		return;
	struct known_claim *claim = known_state_of_claim(l->known, l->policy->store.claim);

	if (!claim) {
		l->done(l->arg, 0, &(struct err){ .code = ENOMEM, .text = "observing" });
		return;
	}
	if (response->status == 403)
		log_warning("namespace %s: claim %s counts as absent: %s", l->namespace,
			    l->policy->store.claim, err_text(&response->err));
	claim->trouble = store_claim_trouble(response->status == 200 ? response->object : NULL,
					     now_realtime_ns());
	claim->until_ns = now_boottime_ns() + (claim->trouble ? CLAIM_ABSENT_NS : CLAIM_PRESENT_NS);
	namespace_lookup_start(l);
}

static struct lookup_object *next_object(struct namespace_lookup *l)
{
	for (size_t i = 0; i < LOOKUP_OBJECT_COUNT; i++)
		if (*l->objects[i].name)
			return &l->objects[i];
	return NULL;
}

static void on_object(void *arg, struct client_response *response)
{
	struct namespace_lookup *l = arg;
	struct lookup_object *wanted = next_object(l);

	if (!take_answer(l, response))
		return;
	if (response->status == 200)
		wanted->object = TAKE_PTR(response->object);
	else if (response->status == 403)
		wanted->refused = response->err;
	wanted->name[0] = '\0';
	namespace_lookup_start(l);
}

static int get_object(struct namespace_lookup *l, const struct lookup_object *wanted,
		      struct err *err)
{
	static const struct {
		const char *api_version, *kind;
	} kinds[LOOKUP_OBJECT_COUNT] = {
		[LOOKUP_JOB] = { "batch/v1", "Job" },
		[LOOKUP_INGRESS] = { "networking.k8s.io/v1", "Ingress" },
		[LOOKUP_GCS_CLAIM] = { "v1", "PersistentVolumeClaim" },
		[LOOKUP_SERVICE] = { "v1", "Service" },
		[LOOKUP_HEADLESS] = { "v1", "Service" },
		[LOOKUP_SERVE] = { "v1", "Service" },
		[LOOKUP_ACCOUNT] = { "v1", "ServiceAccount" },
		[LOOKUP_ROLE] = { "rbac.authorization.k8s.io/v1", "Role" },
		[LOOKUP_BINDING] = { "rbac.authorization.k8s.io/v1", "RoleBinding" },
	};
	size_t i = (size_t)(wanted - l->objects);

	return client_get(l->client, resource_find(kinds[i].api_version, kinds[i].kind),
			  l->namespace, wanted->name, on_object, l, err);
}

void namespace_lookup_release(struct namespace_lookup *l)
{
	for (size_t i = 0; i < LOOKUP_OBJECT_COUNT; i++)
		cJSON_Delete(l->objects[i].object);
}

/*
 * Returns whether it is known whether the claim exists. Without memory for the answer, it is asked
 * for again.
 */
static bool claim_is_known(const struct namespace_lookup *l, int64_t now)
{
	const struct known_claim *claim = known_state_of_claim(l->known, l->policy->store.claim);

	return claim && now < claim->until_ns;
}

void namespace_lookup_start(struct namespace_lookup *l)
{
	int64_t now = now_boottime_ns();
	struct err err = { 0 };
	int r = 0;

	if (l->policy->store.claim && !claim_is_known(l, now))
		r = client_get(l->client, resource_find("v1", "PersistentVolumeClaim"),
			       l->namespace, l->policy->store.claim, on_claim, l, &err);
	else if (policy_needs_privilege(l->policy) && now >= l->known->security_until_ns)
		r = client_get(l->client, resource_find("v1", "Namespace"), NULL, l->namespace,
			       namespace_lookup_on_namespace, l, &err);
	else if (next_object(l))
		r = get_object(l, next_object(l), &err);
	else
		l->done(l->arg, 0, NULL);
	if (r < 0)
		l->done(l->arg, 0, &err);
}
