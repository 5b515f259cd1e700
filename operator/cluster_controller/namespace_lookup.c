/* SPDX-License-Identifier: Apache-2.0 */
/* What planning asks the API server of a namespace. */
#include "operator/cluster_controller/namespace_lookup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "operator/injection/pod_security.h"
#include "operator/raycluster/store_claim.h"

#define CLAIM_PRESENT_NS (60 * NS_PER_SEC)
#define CLAIM_ABSENT_NS (10 * NS_PER_SEC)
/* A namespace's Pod Security level: for new pods it counts at once, but it seldom changes. */
#define SECURITY_NS (30 * NS_PER_SEC)

/* Not there, or not ours to read: an answer as well. */
static bool is_answer(const struct client_response *response)
{
	return response->status == 200 || response->status == 403 || response->status == 404;
}

static void on_namespace(void *arg, struct client_response *response)
{
	struct namespace_lookup *l = arg;

	if (!is_answer(response)) {
		l->done(l->arg, response->retry_after_ns, &response->err);
		return;
	}
	pod_security_judge(l->namespace, response->status == 200 ? json_get(response->object, "metadata.labels") : NULL,
			   l->known->kernel_log_refused);
	l->known->security_until_ns = now_boottime_ns() + SECURITY_NS;
	namespace_lookup_start(l);
}

static void on_claim(void *arg, struct client_response *response)
{
	struct namespace_lookup *l = arg;

	if (!is_answer(response)) {
		l->done(l->arg, response->retry_after_ns, &response->err);
		return;
	}
	struct known_claim *claim = known_state_of_claim(l->known, l->policy->store.claim);

	if (!claim) {
		l->done(l->arg, 0, &(struct err){ .code = ENOMEM, .text = "observing" });
		return;
	}
	if (response->status == 403)
		log_warning("namespace %s: claim %s counts as absent: %s", l->namespace, l->policy->store.claim,
			    err_text(&response->err));
	claim->trouble = store_claim_trouble(response->status == 200 ? response->object : NULL, now_realtime_ns());
	claim->until_ns = now_boottime_ns() + (claim->trouble ? CLAIM_ABSENT_NS : CLAIM_PRESENT_NS);
	namespace_lookup_start(l);
}

static void on_job(void *arg, struct client_response *response)
{
	struct namespace_lookup *l = arg;

	if (!is_answer(response)) {
		l->done(l->arg, response->retry_after_ns, &response->err);
		return;
	}
	if (response->status == 200)
		l->job = TAKE_PTR(response->object);
	else if (response->status == 403)
		l->job_refused = response->err;
	l->job_name[0] = '\0';
	namespace_lookup_start(l);
}

/* Without memory it is not, and the answer's place is asked for again. */
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
		r = client_get(l->client, resource_find("v1", "PersistentVolumeClaim"), l->namespace, l->policy->store.claim,
			       on_claim, l, &err);
	else if (l->policy->recording.kernel_log && now >= l->known->security_until_ns)
		r = client_get(l->client, resource_find("v1", "Namespace"), NULL, l->namespace, on_namespace, l, &err);
	else if (*l->job_name)
		r = client_get(l->client, resource_find("batch/v1", "Job"), l->namespace, l->job_name, on_job, l, &err);
	else
		l->done(l->arg, 0, NULL);
	if (r < 0)
		l->done(l->arg, 0, &err);
}
