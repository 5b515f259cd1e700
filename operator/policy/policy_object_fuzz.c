/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any JSON as a RayPolicy and a ClusterRayPolicy. One that is accepted must keep the
 * promises of policy.h.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/policy/policy_resolve.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Returns whether a text can be in a command line of every Ray pod: it has no blanks, no control
 * characters, and no dollar, which Kubernetes would replace.
 */
static bool is_plain(const char *text)
{
	for (; text && *text; text++)
		if ((unsigned char)*text <= ' ' || *text == '$' || *text == 0x7f)
			return false;
	return true;
}

static void check_values(const struct policy *p)
{
	CHECK(p->memory.object_store_fraction + p->memory.headroom_fraction <= 0.95);
	CHECK(p->recording.warn_at >= 0.05 && p->recording.warn_at <= 1 &&
	      p->memory.usage_threshold >= 0 && p->memory.usage_threshold <= 1);
	CHECK(p->memory.headroom_bytes >= 0 && p->memory.worker_memory_limit >= 0 &&
	      p->store.spool_max >= 0 && p->store.keep_max >= 0);
	CHECK(p->recording.hold_on_failure >= 0 &&
	      p->recording.hold_on_failure <= POLICY_HOLD_MAX_S && p->retention.max_age_ns >= 0);
	CHECK(is_plain(p->store.claim) && is_plain(p->store.url) &&
	      is_plain(p->store.s3_endpoint) && is_plain(p->store.s3_region) &&
	      is_plain(p->store.webhdfs_user) && is_plain(p->store.credentials_secret) &&
	      is_plain(p->store.ca_secret) && is_plain(p->store.cores_prefix) &&
	      !(p->store.cores_prefix && p->store.cores_prefix[0] != '_'));
	CHECK(!(p->store.url && p->store.claim) &&
	      !(p->store.s3_role_arn && p->store.credentials_secret));
}

static void try_kind(cJSON *json, const char *kind)
{
	struct policy_object *o;
	struct policy_choice choice;
	struct policy base, effective;
	char *origin = NULL;

	json_set_str(json, "kind", kind);
	o = policy_object_new(json);
	if (!o)
		return;
	if (o->trouble.code) {
		CHECK(strncmp(o->trouble.text, "spec", 4) == 0);
	} else {
		struct policy_list one = { &o, 1 }, none = { 0 };

		check_values(&o->values);
		CHECK(policy_init(&base, NULL) == 0);
		policy_choose(o->is_cluster_wide ? &one : &none, o->is_cluster_wide ? &none : &one,
			      json, json, &choice, NULL, NULL);
		CHECK(policy_resolve(&base, &choice, &effective, &origin, NULL) == 0);
		check_values(&effective);
		policy_release(&base);
		policy_release(&effective);
		free(origin);
	}
	policy_object_free(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ cJSON *json = NULL;

	if (json_parse((const char *)data, size, &json, NULL) < 0 || !cJSON_IsObject(json))
		return 0;
	try_kind(json, "RayPolicy");
	try_kind(json, "ClusterRayPolicy");
	return 0;
}
