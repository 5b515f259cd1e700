/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as YAML and as the policy. A policy that is accepted must keep the
 * promises of policy.h; for one that is refused there must be an explanation.
 */
#include "operator/policy/policy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/kube/yaml.h"

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_fraction(double value)
{
	return value >= 0 && value <= 1;
}

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

static void check_policy(const struct policy *p)
{
	CHECK(is_fraction(p->memory.ray_memory_fraction) &&
	      is_fraction(p->memory.object_store_fraction) &&
	      is_fraction(p->memory.usage_threshold) && is_fraction(p->recording.warn_at) &&
	      is_fraction(p->memory.headroom_fraction));
	CHECK(p->memory.object_store_fraction + p->memory.headroom_fraction <= 0.95);
	CHECK(p->memory.headroom_bytes >= 0 && p->memory.worker_memory_limit >= 0 &&
	      p->store.spool_max >= 0 && p->store.keep_max >= 0);
	CHECK(p->recording.hold_on_failure >= 0 &&
	      p->recording.hold_on_failure <= POLICY_HOLD_MAX_S);
	CHECK(p->store.s3_token_expiry == 0 ||
	      (p->store.s3_token_expiry >= 600 && p->store.s3_token_expiry <= 86400));
	CHECK(is_plain(p->store.url) && is_plain(p->store.s3_endpoint) &&
	      is_plain(p->store.s3_sts_endpoint) && is_plain(p->store.s3_role_arn));
	CHECK(!(p->store.url && p->store.claim) &&
	      !(p->store.s3_role_arn && p->store.credentials_secret));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	_cleanup_json_ cJSON *json = NULL;
	struct policy p;
	struct err err = { 0 };
	int r = yaml_to_json(text, size, &json, &err);

	CHECK(r == 0 || (r < 0 && err.code > 0 && *err.text && !json));
	CHECK(yaml_line(text, size, "storeURL") >= 0);
	err = (struct err){ 0 };
	r = policy_parse(text, size, "policy.yaml", &p, &err);
	if (r < 0) {
		CHECK(err.code > 0 && strncmp(err.text, "policy.yaml", 11) == 0);
		return 0;
	}
	check_policy(&p);
	policy_release(&p);
	return 0;
}
