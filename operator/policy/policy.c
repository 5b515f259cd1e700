/* SPDX-License-Identifier: Apache-2.0 */
/* The policy: defaults, and the YAML file over them. */
#include "operator/policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/oom.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/yaml.h"

#define POLICY_FILE_MAX ((size_t)1 << 20)
#define POLICY_URL_MAX 512
#define POLICY_ARN_MAX 2048 /* IAM's own */
/* As in sidecar/record/hooks.h. */
#define HOOK_COMMANDS_MAX 8
#define HOOK_COMMAND_MAX 2048
#define PULL_SECRETS_MAX 8

/* A setter takes a value that is neither null nor "", into the field; false: it is not what the key wants. */
typedef bool policy_setter(const cJSON *value, void *field);

static bool set_string(const cJSON *value, void *field)
{
	char *copy;

	if (!cJSON_IsString(value))
		return false;
	copy = strdup(value->valuestring);
	if (!copy) {
		oom_note();
		return false;
	}
	free(*(char **)field);
	*(char **)field = copy;
	return true;
}

static bool set_pull_policy(const cJSON *value, void *field)
{
	const char *s = cJSON_GetStringValue(value);

	if (!s || (strcmp(s, "Always") && strcmp(s, "IfNotPresent") && strcmp(s, "Never")))
		return false;
	return set_string(value, field);
}

static bool set_core_dumps(const cJSON *value, void *field)
{
	static const char *const names[] = {
		[CORE_DUMPS_SUMMARY] = "Summary",
		[CORE_DUMPS_OFF] = "Off",
		[CORE_DUMPS_FULL] = "Full",
	};
	/* Off without quotes is false in YAML. */
	const char *s = cJSON_IsFalse(value) ? "Off" : cJSON_GetStringValue(value);

	for (size_t i = 0; s && i < ARRAY_SIZE(names); i++)
		if (strcmp(s, names[i]) == 0) {
			*(enum core_dumps *)field = (enum core_dumps)i;
			return true;
		}
	return false;
}

/* Ray takes whole numbers here as text; YAML's 0 and "0" are both fine. */
static bool set_cpus(const cJSON *value, void *field)
{
	char text[24];
	cJSON copy = { .type = cJSON_String, .valuestring = text };

	if (cJSON_IsNumber(value))
		snprintf(text, sizeof(text), "%.0f", value->valuedouble);
	else if (cJSON_IsString(value) && strlen(value->valuestring) < sizeof(text))
		snprintf(text, sizeof(text), "%s", value->valuestring);
	else
		return false;
	if (text[strspn(text, "0123456789")] ||
	    (cJSON_IsNumber(value) && value->valuedouble != strtod(text, NULL)))
		return false;
	return set_string(&copy, field);
}

static bool set_bytes(const cJSON *value, void *field)
{
	if (cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < 9e18) {
		*(int64_t *)field = (int64_t)value->valuedouble;
		return true;
	}
	return cJSON_IsString(value) && quantity_parse(value->valuestring, field, NULL) == 0;
}

static bool set_fraction(const cJSON *value, void *field)
{
	if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0) || value->valuedouble > 1)
		return false;
	*(double *)field = value->valuedouble;
	return true;
}

/* As the sidecar's --warn-at takes it: a recorder that refuses its options records nothing. */
static bool set_warn_at(const cJSON *value, void *field)
{
	return cJSON_IsNumber(value) && value->valuedouble >= 0.05 && set_fraction(value, field);
}

static bool set_milliseconds(const cJSON *value, void *field)
{
	if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0) || value->valuedouble > 3600e3)
		return false;
	*(int64_t *)field = (int64_t)value->valuedouble;
	return true;
}

/* Letters of a URL without a query; what comes after the scheme begins with a host or bucket. */
static bool is_url(const char *s, const char *scheme)
{
	size_t len = strlen(scheme);

	return strncmp(s, scheme, len) == 0 && s[len] && s[len] != '/' && strlen(s) <= POLICY_URL_MAX &&
	       !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/[]@%+,=")];
}

static bool set_store_url(const cJSON *value, void *field)
{
	const char *s = cJSON_GetStringValue(value);

	return s && (is_url(s, "s3://") || is_url(s, "webhdfs://") || is_url(s, "webhdfss://")) && set_string(value, field);
}

static bool set_endpoint(const cJSON *value, void *field)
{
	const char *s = cJSON_GetStringValue(value);

	return s && (is_url(s, "https://") || is_url(s, "http://")) && set_string(value, field);
}

/* arn:aws:iam::123456789012:role/PATH/NAME; other makers of S3 leave fields out. */
static bool set_role_arn(const cJSON *value, void *field)
{
	const char *s = cJSON_GetStringValue(value), *role = s ? strstr(s, ":role/") : NULL;

	return role && role[strlen(":role/")] && strncmp(s, "arn:", 4) == 0 && strlen(s) <= POLICY_ARN_MAX &&
	       !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/+=,.@_-")] &&
	       set_string(value, field);
}

static bool set_audience(const cJSON *value, void *field)
{
	const char *s = cJSON_GetStringValue(value);

	for (const char *p = s; p && *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			return false;
	return s && strlen(s) <= POLICY_URL_MAX && set_string(value, field);
}

/* What kube-apiserver takes begins at ten minutes; a day is what the kubelet renews after at the latest. */
static bool set_token_expiry(const cJSON *value, void *field)
{
	if (!cJSON_IsNumber(value) || !(value->valuedouble >= 600) || value->valuedouble > 86400)
		return false;
	*(int64_t *)field = (int64_t)value->valuedouble;
	return true;
}

static bool set_count(const cJSON *value, void *field)
{
	if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0) || value->valuedouble > 1e6)
		return false;
	*(int64_t *)field = (int64_t)value->valuedouble;
	return true;
}

/* As the sidecar's --keep-days takes them. */
static bool set_days(const cJSON *value, void *field)
{
	return cJSON_IsNumber(value) && value->valuedouble <= 36500 && set_count(value, field);
}

static bool set_bool(const cJSON *value, void *field)
{
	if (!cJSON_IsBool(value))
		return false;
	*(bool *)field = cJSON_IsTrue(value);
	return true;
}

static bool set_hold(const cJSON *value, void *field)
{
	if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0) || value->valuedouble > POLICY_HOLD_MAX_S)
		return false;
	*(int64_t *)field = (int64_t)value->valuedouble;
	return true;
}

/* One moment's commands: texts, as many and as long as the sidecar takes. */
static bool are_commands(const cJSON *list)
{
	const cJSON *item;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > HOOK_COMMANDS_MAX)
		return false;
	cJSON_ArrayForEach(item, list)
		if (!cJSON_IsString(item) || !*item->valuestring || strlen(item->valuestring) > HOOK_COMMAND_MAX)
			return false;
	return true;
}

static bool set_json(const cJSON *value, void *field)
{
	cJSON *copy = cJSON_Duplicate(value, true);

	if (!copy)
		return false;
	cJSON_Delete(*(cJSON **)field);
	*(cJSON **)field = copy;
	return true;
}

static bool set_hooks(const cJSON *value, void *field)
{
	const cJSON *item;

	if (!cJSON_IsObject(value))
		return false;
	cJSON_ArrayForEach(item, value)
		if ((strcmp(item->string, "atThreshold") != 0 && strcmp(item->string, "atDeath") != 0) ||
		    !(cJSON_IsNull(item) || are_commands(item)))
			return false;
	return set_json(value, field);
}

/* {requests: {NAME: QUANTITY}, limits: ...}. What a quantity is the API server knows. */
static bool set_resources(const cJSON *value, void *field)
{
	const cJSON *part, *quantity;

	if (!cJSON_IsObject(value))
		return false;
	cJSON_ArrayForEach(part, value) {
		if ((strcmp(part->string, "requests") != 0 && strcmp(part->string, "limits") != 0) || !cJSON_IsObject(part))
			return false;
		cJSON_ArrayForEach(quantity, part)
			if (!cJSON_IsString(quantity) && !cJSON_IsNumber(quantity))
				return false;
	}
	return set_json(value, field);
}

static bool set_names(const cJSON *value, void *field)
{
	const cJSON *item;

	if (!cJSON_IsArray(value) || cJSON_GetArraySize(value) > PULL_SECRETS_MAX)
		return false;
	cJSON_ArrayForEach(item, value)
		if (!cJSON_IsString(item) || !*item->valuestring || strlen(item->valuestring) > 253)
			return false;
	return set_json(value, field);
}

/* headroom is the one key with two forms; its field is the policy itself. */
static bool set_headroom(const cJSON *value, void *field)
{
	struct policy *p = field;
	const char *s = cJSON_GetStringValue(value);
	double percent;
	char *end;

	if (!s || !strchr(s, '%')) {
		p->headroom_fraction = 0;
		return set_bytes(value, &p->headroom_bytes);
	}
	percent = strtod(s, &end);
	if (strcmp(end, "%") || !(percent >= 0) || percent > 90)
		return false;
	p->headroom_fraction = percent / 100;
	p->headroom_bytes = 0;
	return true;
}

static const struct {
	const char *key;
	policy_setter *set;
	size_t offset;
	const char *wants;
} policy_keys[] = {
#define KEY(key, set, field, wants) { key, set, offsetof(struct policy, field), wants }
	KEY("sidecarImage", set_string, sidecar_image,
	    "an image reference such as \"registry/afterglow:0.1.0\""),
	KEY("sidecarImagePullPolicy", set_pull_policy, sidecar_image_pull_policy,
	    "Always, IfNotPresent or Never"),
	KEY("sidecarResources", set_resources, sidecar_resources, "requests and limits, as of a container"),
	KEY("sidecarImagePullSecrets", set_names, sidecar_pull_secrets, "a list of at most 8 names of Secrets"),
	KEY("storeClaim", set_string, store_claim, "the name of a PersistentVolumeClaim"),
	KEY("storeURL", set_store_url, store_url, "s3://BUCKET/PREFIX, webhdfs://HOST:PORT/PATH or webhdfss://HOST:PORT/PATH"),
	KEY("storeS3Endpoint", set_endpoint, store_s3_endpoint, "an address such as \"https://minio.example:9000\""),
	KEY("storeS3Region", set_string, store_s3_region, "a region such as \"eu-central-1\""),
	KEY("storeS3PathStyle", set_bool, store_s3_path_style, "true or false"),
	KEY("storeS3RoleARN", set_role_arn, store_s3_role_arn, "a role such as \"arn:aws:iam::123456789012:role/failures\""),
	KEY("storeS3STSEndpoint", set_endpoint, store_s3_sts_endpoint, "an address such as \"https://minio.example:9000\""),
	KEY("storeS3TokenAudience", set_audience, store_s3_token_audience, "a word such as \"sts.amazonaws.com\""),
	KEY("storeS3TokenExpiry", set_token_expiry, store_s3_token_expiry, "seconds from 600 to 86400"),
	KEY("storeWebHDFSUser", set_string, store_webhdfs_user, "the name of an HDFS user"),
	KEY("storeCredentialsSecret", set_string, store_credentials_secret, "the name of a Secret"),
	KEY("storeCASecret", set_string, store_ca_secret, "the name of a Secret with ca.crt"),
	KEY("storeKeepDays", set_days, store_keep_days, "days from 0 (for ever) to 36500"),
	KEY("storeKeepBundles", set_count, store_keep_bundles, "a number from 0 (all) to 1000000"),
	KEY("storeKeepMax", set_bytes, store_keep_max, "a quantity such as \"100Gi\", or 0 for no bound"),
	KEY("spoolMax", set_bytes, spool_max, "a quantity such as \"768Mi\""),
	KEY("clusterDomain", set_string, cluster_domain, "a DNS domain such as \"cluster.local\""),
	KEY("headNumCPUs", set_cpus, head_num_cpus, "a whole number such as \"0\", or null for all of them"),
	KEY("workerMemoryLimit", set_bytes, worker_memory_limit, "a quantity such as \"8Gi\""),
	KEY("rayMemoryFraction", set_fraction, ray_memory_fraction, "a number from 0 to 1"),
	KEY("objectStoreFraction", set_fraction, object_store_fraction, "a number from 0 to 1"),
	{ "headroom", set_headroom, 0,
	  "a quantity such as \"500Mi\" or a part such as \"10%\", at most 90%" },
	KEY("usageThreshold", set_fraction, usage_threshold, "a number from 0 to 1 (0: Ray's default)"),
	KEY("monitorRefreshMs", set_milliseconds, monitor_refresh_ms, "milliseconds from 0 (off) to 3600000"),
	KEY("warnAt", set_warn_at, warn_at, "a number from 0.05 to 1"),
	KEY("oomGroup", set_bool, oom_group, "true or false"),
	KEY("kernelLog", set_bool, kernel_log, "true or false"),
	KEY("coreDumps", set_core_dumps, core_dumps, "Off, Summary or Full"),
	KEY("redisCleanup", set_bool, redis_cleanup, "true or false"),
	KEY("loginShell", set_bool, login_shell, "true or false"),
	KEY("hooks", set_hooks, hooks,
	    "lists of at most 8 commands, atThreshold: [COMMAND] and atDeath: [COMMAND]"),
	KEY("holdOnFailure", set_hold, hold_on_failure, "seconds from 0 (off) to 86400"),
#undef KEY
};

int policy_set_string(char **field, const char *value, struct err *err)
{
	char *copy = value && *value ? strdup(value) : NULL;

	if (value && *value && !copy)
		return err_set(err, ENOMEM, "policy");
	free(*field);
	*field = copy;
	return 0;
}

int policy_init(struct policy *ret_policy, struct err *err)
{
	struct policy p = {
		.cluster_domain = strdup("cluster.local"),
		.head_num_cpus = strdup("0"),
		.ray_memory_fraction = 1,
		.object_store_fraction = 0.3, /* Ray's own default proportion */
		.headroom_fraction = 0.1,
		.monitor_refresh_ms = -1,
		.warn_at = 0.8,
		.redis_cleanup = true,
	};

	if (!p.cluster_domain || !p.head_num_cpus) {
		policy_release(&p);
		return err_set(err, ENOMEM, "policy");
	}
	*ret_policy = p;
	return 0;
}

void policy_release(struct policy *p)
{
	free(p->sidecar_image);
	free(p->sidecar_image_pull_policy);
	free(p->store_claim);
	free(p->store_url);
	free(p->store_s3_endpoint);
	free(p->store_s3_region);
	free(p->store_s3_role_arn);
	free(p->store_s3_sts_endpoint);
	free(p->store_s3_token_audience);
	free(p->store_webhdfs_user);
	free(p->store_credentials_secret);
	free(p->store_ca_secret);
	free(p->cluster_domain);
	free(p->head_num_cpus);
	cJSON_Delete(p->sidecar_resources);
	cJSON_Delete(p->sidecar_pull_secrets);
	cJSON_Delete(p->hooks);
	*p = (struct policy){ 0 };
}

/* null and "" mean "as if the key were not there", except for headNumCPUs, where null is an answer. */
static bool set_key(struct policy *p, size_t i, const cJSON *value)
{
	bool empty = cJSON_IsNull(value) || (cJSON_IsString(value) && !*value->valuestring);

	if (empty && policy_keys[i].set == set_cpus)
		return policy_set_string(&p->head_num_cpus, NULL, NULL) == 0;
	return empty || policy_keys[i].set(value, (char *)p + policy_keys[i].offset);
}

static int apply_item(struct policy *p, const cJSON *item, const char *name, int line, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(policy_keys); i++) {
		if (strcmp(policy_keys[i].key, item->string))
			continue;
		if (set_key(p, i, item))
			return 0;
		return err_set(err, EINVAL, "%s:%d: %s must be %s", name, line, item->string,
			       policy_keys[i].wants);
	}
	return err_set(err, EINVAL, "%s:%d: there is no key \"%.60s\"", name, line, item->string);
}

/* A key that says nothing where it stands is a mistake somewhere else. */
static int check_store(const struct policy *p, const char *name, struct err *err)
{
	bool s3 = p->store_url && strncmp(p->store_url, "s3://", 5) == 0, hdfs = p->store_url && !s3;
	const struct {
		const char *key;
		bool given, fits;
		const char *needs;
	} rules[] = {
		{ "storeClaim", p->store_claim != NULL, !p->store_url, "no storeURL: one store" },
		{ "storeS3Endpoint", p->store_s3_endpoint != NULL, s3, "a storeURL s3://BUCKET/PREFIX" },
		{ "storeS3Region", p->store_s3_region != NULL, s3, "a storeURL s3://BUCKET/PREFIX" },
		{ "storeS3PathStyle", p->store_s3_path_style, s3, "a storeURL s3://BUCKET/PREFIX" },
		{ "storeS3RoleARN", p->store_s3_role_arn != NULL, s3, "a storeURL s3://BUCKET/PREFIX" },
		{ "storeS3RoleARN", p->store_s3_role_arn != NULL, !p->store_credentials_secret, "no storeCredentialsSecret: one way in" },
		{ "storeS3STSEndpoint", p->store_s3_sts_endpoint != NULL, p->store_s3_role_arn, "a storeS3RoleARN" },
		{ "storeS3TokenAudience", p->store_s3_token_audience != NULL, p->store_s3_role_arn, "a storeS3RoleARN" },
		{ "storeS3TokenExpiry", p->store_s3_token_expiry != 0, p->store_s3_role_arn, "a storeS3RoleARN" },
		{ "storeWebHDFSUser", p->store_webhdfs_user != NULL, hdfs, "a storeURL webhdfs://HOST:PORT/PATH" },
		{ "storeCredentialsSecret", p->store_credentials_secret != NULL, p->store_url, "a storeURL" },
		{ "storeCASecret", p->store_ca_secret != NULL, p->store_url, "a storeURL" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].given && !rules[i].fits)
			return err_set(err, EINVAL, "%s: %s goes with %s", name, rules[i].key, rules[i].needs);
	return 0;
}

/* Checks what no key can check alone. */
static int check(const struct policy *p, const char *name, struct err *err)
{
	double together = p->object_store_fraction + p->headroom_fraction;

	if (together > 0.95)
		return err_set(err, EINVAL,
			       "%s: objectStoreFraction and headroom together take %.0f %% of the limit; "
			       "at most 95 %% leave memory for tasks",
			       name, together * 100);
	return check_store(p, name, err);
}

static int apply_all(struct policy *p, const cJSON *json, const char *text, size_t len, const char *name,
		     struct err *err)
{
	const cJSON *item;
	int r;

	if (cJSON_IsNull(json))
		return 0;
	if (!cJSON_IsObject(json))
		return err_set(err, EINVAL, "%s: not a mapping of keys to values", name);
	cJSON_ArrayForEach(item, json) {
		r = apply_item(p, item, name, yaml_line(text, len, item->string), err);
		if (r < 0)
			return r;
	}
	return check(p, name, err);
}

int policy_parse(const char *text, size_t len, const char *name, struct policy *ret_policy, struct err *err)
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
