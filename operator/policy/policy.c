/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a policy: defaults, copies, and the YAML file over the defaults. */
#include "operator/policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/oom.h"
#include "lib/s3_encryption.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/kube/yaml.h"
#include "operator/policy/policy_internal.h"

#define POLICY_FILE_MAX ((size_t)1 << 20)

int policy_set_string(char **field, const char *value, struct err *err)
{
	char *copy = value && *value ? strdup(value) : NULL;

	if (value && *value && !copy)
		return err_set(err, ENOMEM, "policy");
	free(*field);
	*field = copy;
	return 0;
}

/*
 * The default, as in the chart, for a policy object that sets retention but leaves one of its
 * values out.
 */
#define RETENTION_AGE_NS (30 * 86400 * NS_PER_SEC)
#define RETENTION_COUNT 1000

int policy_init(struct policy *ret_policy, struct err *err)
{
	struct policy p = {
		.cluster_domain = strdup("cluster.local"),
		.memory.head_num_cpus = strdup("0"),
		.memory.ray_memory_fraction = 1,
		.memory.object_store_fraction = 0.3, /* Ray's own default proportion */
		.memory.headroom_fraction = 0.1,
		.memory.monitor_refresh_ms = -1,
		.recording.enabled = true,
		.recording.warn_at = 0.8,
		.redis_cleanup = true,
		.retention = { .max_age_ns = RETENTION_AGE_NS, .max_count = RETENTION_COUNT },
	};

	if (!p.cluster_domain || !p.memory.head_num_cpus) {
		policy_release(&p);
		return err_set(err, ENOMEM, "policy");
	}
	*ret_policy = p;
	return 0;
}

static bool copy_key(struct policy *to, const struct policy_key *key, const struct policy *from)
{
	return key->offset == POLICY_NO_MEMBER ||
	       key->type->copy((char *)to + key->offset, (const char *)from + key->offset);
}

void policy_release(struct policy *p)
{
	static const struct policy nothing = { 0 };

	for (size_t i = 0; i < policy_n_keys; i++)
		copy_key(p, &policy_keys[i], &nothing);
	*p = nothing;
}

int policy_copy(const struct policy *from, struct policy *ret_policy, struct err *err)
{
	_cleanup_(policy_release) struct policy p = { 0 };

	for (size_t i = 0; i < policy_n_keys; i++)
		if (!copy_key(&p, &policy_keys[i], from))
			return err_set(err, ENOMEM, "policy");
	*ret_policy = p;
	p = (struct policy){ 0 };
	return 0;
}

int policy_copy_block(struct policy *to, enum policy_block block, const struct policy *from,
		      struct err *err)
{
	for (size_t i = 0; i < policy_n_keys; i++)
		if (policy_keys[i].block == block && !copy_key(to, &policy_keys[i], from))
			return err_set(err, ENOMEM, "policy");
	return 0;
}

struct memory_modes policy_memory_modes(const struct policy *p, enum memory_mode by_default)
{
	enum memory_mode mode = p->memory.mode, budgets = p->memory.budgets;

	if (budgets == MEMORY_MODE_UNSET)
		budgets = mode == MEMORY_MODE_UNSET ? by_default : mode;
	if (mode == MEMORY_MODE_UNSET)
		mode = MEMORY_MODE_APPLY;
	return (struct memory_modes){ .settings = mode, .budgets = MAX(budgets, mode) };
}

const char *policy_block_name(enum policy_block block)
{
	static const char *const names[] = {
		[POLICY_MEMORY] = "memory",
		[POLICY_RECORDING] = "recording",
		[POLICY_STORE] = "store",
		[POLICY_RETENTION] = "retention",
	};

	return names[block];
}

static int apply_item(struct policy *p, const cJSON *item, const char *name, int line,
		      struct err *err)
{
	const struct policy_key *key = policy_key_find(item->string);

	if (!key)
		return err_set(err, EINVAL, "%s:%d: there is no key \"%.60s\"", name, line,
			       item->string);
	if (!policy_set_key(p, key, item))
		return err_set(err, EINVAL, "%s:%d: %s must be %s", name, line, key->key,
			       key->wants);
	return 0;
}

/*
 * A key that has no effect in its place is refused, because it was probably meant for another
 * place.
 */
static int policy_check_store(const struct policy *p, const char *name, struct err *err)
{
	bool s3 = p->store.url && strncmp(p->store.url, "s3://", 5) == 0;
	bool azure = p->store.url && strncmp(p->store.url, "azure://", 8) == 0,
	     hdfs = p->store.url && !s3 && !azure;
	const struct {
		const char *key;
		bool given, fits;
		const char *needs;
		/* clang-format off */
	} rules[] = {
		{ "storeClaim", p->store.claim != NULL, !p->store.url, "no storeURL: one store" },
		{ "storeS3Endpoint", p->store.s3_endpoint != NULL, s3, "a storeURL s3://BUCKET/PREFIX" },
		{ "storeS3Region", p->store.s3_region != NULL, s3, "a storeURL s3://BUCKET/PREFIX" },
		{ "storeS3PathStyle", p->store.s3_path_style, s3, "a storeURL s3://BUCKET/PREFIX" },
		{ "storeS3Encryption", p->store.s3_encryption != NULL, s3, "a storeURL s3://BUCKET/PREFIX" },
		{ "storeS3KMSKeyID", p->store.s3_kms_key_id != NULL, s3_encryption_is_kms(p->store.s3_encryption), "a storeS3Encryption aws:kms" },
		{ "storeS3BucketKey", p->store.s3_bucket_key, s3_encryption_is_kms(p->store.s3_encryption), "a storeS3Encryption aws:kms" },
		{ "storeS3RoleARN", p->store.s3_role_arn != NULL, s3, "a storeURL s3://BUCKET/PREFIX" },
		{ "storeS3RoleARN", p->store.s3_role_arn != NULL, !p->store.credentials_secret, "no storeCredentialsSecret: one way in" },
		{ "storeS3STSEndpoint", p->store.s3_sts_endpoint != NULL, p->store.s3_role_arn, "a storeS3RoleARN" },
		{ "storeS3TokenAudience", p->store.s3_token_audience != NULL, p->store.s3_role_arn, "a storeS3RoleARN" },
		{ "storeS3TokenExpiry", p->store.s3_token_expiry != 0, p->store.s3_role_arn, "a storeS3RoleARN" },
		{ "storeAzureEndpoint", p->store.azure_endpoint != NULL, azure, "a storeURL azure://ACCOUNT/CONTAINER/PREFIX" },
		{ "storeWebHDFSUser", p->store.webhdfs_user != NULL, hdfs, "a storeURL webhdfs://HOST:PORT/PATH" },
		{ "storeCoresPrefix", p->store.cores_prefix != NULL, p->store.url, "a storeURL" },
		{ "storeCredentialsSecret", p->store.credentials_secret != NULL, p->store.url, "a storeURL" },
		{ "storeCASecret", p->store.ca_secret != NULL, p->store.url, "a storeURL" },
		{ "storeProxy", p->store.proxy != NULL, p->store.url, "a storeURL" },
		{ "storeNoProxy", p->store.no_proxy != NULL, p->store.proxy, "a storeProxy" },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].given && !rules[i].fits)
			return err_set(err, EINVAL, "%s: %s goes with %s", name, rules[i].key,
				       rules[i].needs);
	return 0;
}

int policy_check(const struct policy *p, const char *name, struct err *err)
{
	double together = p->memory.object_store_fraction + p->memory.headroom_fraction;

	if (together > 0.95)
		return err_set(
			err, EINVAL,
			"%s: objectStoreFraction and headroom together take %.0f %% of the limit; "
			"at most 95 %% leave memory for tasks",
			name, together * 100);
	return policy_check_store(p, name, err);
}

static int apply_all(struct policy *p, const cJSON *json, const char *text, size_t len,
		     const char *name, struct err *err)
{
	int r;

	if (cJSON_IsNull(json))
		return 0;
	if (!cJSON_IsObject(json))
		return err_set(err, EINVAL, "%s: not a mapping of keys to values", name);
	json_each(item, json) {
		r = apply_item(p, item, name, yaml_line(text, len, item->string), err);
		if (r < 0)
			return r;
	}
	return policy_check(p, name, err);
}

int policy_parse(const char *text, size_t len, const char *name, struct policy *ret_policy,
		 struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;
	_cleanup_(policy_release) struct policy p = { 0 };
	size_t lost = oom_count();
	int r = yaml_to_json(text, len, &json, err);

	if (r < 0)
		return err_wrap(err, "%s", name);
	r = policy_init(&p, err);
	if (r == 0)
		r = apply_all(&p, json, text, len, name, err);
	if (oom_count() != lost)
		return err_set(err, ENOMEM, "%s", name);
	if (r < 0)
		return r;
	*ret_policy = p;
	p = (struct policy){ 0 };
	return 0;
}

int policy_load(const char *path, struct policy *ret_policy, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(POLICY_FILE_MAX);
	int r = file_read(AT_FDCWD, path, &text, err);

	if (r < 0)
		return r;
	return policy_parse(strbuf_str(&text), text.len, path, ret_policy, err);
}
