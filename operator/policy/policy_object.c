/* SPDX-License-Identifier: Apache-2.0 */
/* Parses RayPolicy and ClusterRayPolicy into struct policy. */
#include "operator/policy/policy_object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/s3_encryption.h"
#include "lib/units.h"
#include "operator/policy/policy_internal.h"

#define FIELD_MAX 128
#define DEPTH_MAX 8
#define URL_MAX 512

static bool policy_object_is_absent(const cJSON *value)
{
	return !value || cJSON_IsNull(value) || (cJSON_IsString(value) && !*value->valuestring);
}

/* --- Unknown fields -------------------------------------------------------------------------- */

/* Returns whether the table has fields below this one. */
static bool has_fields(const char *field)
{
	size_t len = strlen(field);

	for (size_t i = 0; i < policy_n_keys; i++)
		if (policy_keys[i].field && strncmp(policy_keys[i].field, field, len) == 0 &&
		    policy_keys[i].field[len] == '.')
			return true;
	return false;
}

static bool policy_object_is_known(const struct policy_object *o, const char *field)
{
	return policy_field_find(field) || strcmp(field, "selector") == 0 ||
	       (o->is_cluster_wide &&
		(strcmp(field, "namespaceSelector") == 0 || strcmp(field, "locked") == 0));
}

static void note_ignored(struct policy_object *o, const char *field)
{
	size_t len = strlen(o->ignored);

	snprintf(o->ignored + len, sizeof(o->ignored) - len, "%sspec.%s", len ? ", " : "", field);
}

/* Finds unknown fields, and values in places where an object has to be. */
static int policy_object_walk(struct policy_object *o, const cJSON *json, const char *path,
			      int depth, struct err *err)
{
	char field[FIELD_MAX];
	int r = 0;

	json_each(item, json) {
		snprintf(field, sizeof(field), "%s%s%s", path, *path ? "." : "", item->string);
		if (policy_object_is_known(o, field) || cJSON_IsNull(item))
			continue;
		if (depth == DEPTH_MAX || !has_fields(field))
			note_ignored(o, field);
		else if (!cJSON_IsObject(item))
			return err_set(err, EINVAL, "spec.%s must be an object", field);
		else
			r = policy_object_walk(o, item, field, depth + 1, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- Its settings ---------------------------------------------------------------------------- */

static int set_fields(struct policy_object *o, const cJSON *spec, struct err *err)
{
	for (size_t i = 0; i < policy_n_keys; i++) {
		const struct policy_key *key = &policy_keys[i];
		const cJSON *value = key->field ? json_get(spec, key->field) : NULL;

		if (value && !policy_set_key(&o->values, key, value))
			return err_set(err, EINVAL, "spec.%s must be %s", key->field, key->wants);
	}
	return 0;
}

static int set_url(struct policy_object *o, const char *url, const char *field, struct err *err)
{
	const struct policy_key *key = policy_key_find("storeURL");
	cJSON value = { .type = cJSON_String, .valuestring = (char *)url };

	return policy_set_key(&o->values, key, &value) ?
		       0 :
		       err_set(err, EINVAL, "spec.%s must make a URL: %s", field, key->wants);
}

/* Parses a URL into its place and the path below it, without slashes around the path. */
static int policy_object_set_place(struct policy_object *o, const char *place, const char *prefix,
				   const char *field, struct err *err)
{
	char url[URL_MAX];

	prefix = prefix ? prefix + strspn(prefix, "/") : "";
	snprintf(url, sizeof(url), "%s/%s", place, prefix);
	for (size_t len = strlen(url); url[len - 1] == '/'; len--)
		url[len - 1] = '\0';
	return set_url(o, url, field, err);
}

static int set_azure(struct policy_object *o, const cJSON *spec, struct err *err)
{
	const char *account = json_str(spec, "store.azure.account"),
		   *container = json_str(spec, "store.azure.container");
	char place[FIELD_MAX];

	if (!account || !*account)
		return err_set(err, EINVAL,
			       "spec.store.azure.account must be given: spec.store.type is azure");
	if (!container || !*container)
		return err_set(
			err, EINVAL,
			"spec.store.azure.container must be given: spec.store.type is azure");
	snprintf(place, sizeof(place), "azure://%s/%s", account, container);
	return policy_object_set_place(o, place, json_str(spec, "store.azure.prefix"),
				       "store.azure", err);
}

static int set_s3(struct policy_object *o, const cJSON *spec, struct err *err)
{
	const char *bucket = json_str(spec, "store.s3.bucket");
	char place[FIELD_MAX];

	if (!bucket || !*bucket)
		return err_set(err, EINVAL,
			       "spec.store.s3.bucket must be given: spec.store.type is s3");
	snprintf(place, sizeof(place), "s3://%s", bucket);
	if (o->values.store.s3_role_arn && o->values.store.credentials_secret)
		return err_set(
			err, EINVAL,
			"spec.store.s3.webIdentity.roleARN and spec.store.credentialsSecret are both given: "
			"one of them must let the sidecar in");
	if (!policy_object_is_absent(json_get(spec, "store.s3.webIdentity")) &&
	    !o->values.store.s3_role_arn)
		return err_set(
			err, EINVAL,
			"spec.store.s3.webIdentity.roleARN must be given: spec.store.s3.webIdentity is");
	if (!policy_object_is_absent(json_get(spec, "store.s3.serverSideEncryption")) &&
	    !o->values.store.s3_encryption)
		return err_set(
			err, EINVAL,
			"spec.store.s3.serverSideEncryption.type must be given: spec.store.s3.serverSideEncryption is");
	if ((o->values.store.s3_kms_key_id || o->values.store.s3_bucket_key) &&
	    !s3_encryption_is_kms(o->values.store.s3_encryption))
		return err_set(
			err, EINVAL,
			"spec.store.s3.serverSideEncryption has kmsKeyID or bucketKey, so its type must be aws:kms "
			"or aws:kms:dsse");
	return policy_object_set_place(o, place, json_str(spec, "store.s3.prefix"), "store.s3",
				       err);
}

static int set_webhdfs(struct policy_object *o, const cJSON *spec, struct err *err)
{
	const char *url = json_str(spec, "store.webhdfs.url");

	if (!url || !*url)
		return err_set(err, EINVAL,
			       "spec.store.webhdfs.url must be given: spec.store.type is webhdfs");
	return set_url(o, url, "store.webhdfs.url", err);
}

/*
 * Refuses a setting that belongs to another type of store: it would have no effect, which nobody
 * intends.
 */
static int check_store_type(const cJSON *spec, const char *type, struct err *err)
{
	static const struct {
		const char *field, *types;
		/* clang-format off */
	} rules[] = {
		{ "store.claim", "claim" },	  { "store.keep", "claim" },
		{ "store.s3", "s3" },		  { "store.azure", "azure" },	{ "store.webhdfs", "webhdfs" },
		{ "store.coresPrefix", "s3, azure or webhdfs" },
		{ "store.proxy", "s3, azure or webhdfs" },
		{ "store.credentialsSecret", "s3, azure or webhdfs" }, { "store.caSecret", "s3, azure or webhdfs" },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (!policy_object_is_absent(json_get(spec, rules[i].field)) &&
		    !strstr(rules[i].types, type))
			return err_set(err, EINVAL,
				       "spec.%s is given, so spec.store.type must be %s, not %s",
				       rules[i].field, rules[i].types, type);
	return 0;
}

static int set_store(struct policy_object *o, const cJSON *spec, struct err *err)
{
	const char *type = json_str(spec, "store.type");

	if (!policy_object_gives(o, POLICY_STORE))
		return 0;
	type = type && *type ? type : "claim";
	int r = check_store_type(spec, type, err);
	if (r == 0 && o->values.store.no_proxy && !o->values.store.proxy)
		r = err_set(err, EINVAL,
			    "spec.store.proxy.url must be given: spec.store.proxy.noProxy is");
	if (r == 0 && strcmp(type, "s3") == 0)
		r = set_s3(o, spec, err);
	else if (r == 0 && strcmp(type, "azure") == 0)
		r = set_azure(o, spec, err);
	else if (r == 0 && strcmp(type, "webhdfs") == 0)
		r = set_webhdfs(o, spec, err);
	return r;
}

/* --- What it applies to ---------------------------------------------------------------------- */

static int set_locked(struct policy_object *o, const cJSON *list, struct err *err)
{
	if (!o->is_cluster_wide || policy_object_is_absent(list))
		return 0;
	unsigned before;
	if (!cJSON_IsArray(list))
		return err_set(
			err, EINVAL,
			"spec.locked must be a list of memory, recording, store and retention");
	json_each(item, list) {
		before = o->locked;
		for (enum policy_block b = 0; b < POLICY_BLOCKS; b++)
			if (cJSON_IsString(item) &&
			    strcmp(item->valuestring, policy_block_name(b)) == 0)
				o->locked |= 1u << b;
		if (o->locked == before)
			return err_set(
				err, EINVAL,
				"spec.locked must be a list of memory, recording, store and retention, each once");
	}
	return 0;
}

static int set_selectors(struct policy_object *o, const cJSON *spec, struct err *err)
{
	int r = selector_parse(cJSON_GetObjectItemCaseSensitive(spec, "selector"), "spec.selector",
			       &o->selector, err);

	if (r == 0 && o->is_cluster_wide)
		r = selector_parse(cJSON_GetObjectItemCaseSensitive(spec, "namespaceSelector"),
				   "spec.namespaceSelector", &o->namespace_selector, err);
	return r;
}

static int check_together(const struct policy_object *o, struct err *err)
{
	if (((o->given | o->locked) & (1u << POLICY_RETENTION)) && !selector_is_empty(&o->selector))
		return err_set(
			err, EINVAL,
			"spec.retention is for whole namespaces, so spec.selector must be empty");
	return policy_check(&o->values,
			    policy_object_gives(o, POLICY_MEMORY) ? "spec.memory" : "spec.store",
			    err);
}

static int set_spec(struct policy_object *o, const cJSON *spec, struct err *err)
{
	if (!cJSON_IsObject(spec))
		return err_set(err, EINVAL, "spec must be an object");

	for (enum policy_block b = 0; b < POLICY_BLOCKS; b++)
		if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(spec, policy_block_name(b))))
			o->given |= 1u << b;

	int r = policy_object_walk(o, spec, "", 0, err);
	if (r == 0)
		r = set_selectors(o, spec, err);
	if (r == 0)
		r = set_locked(o, cJSON_GetObjectItemCaseSensitive(spec, "locked"), err);
	if (r == 0)
		r = set_fields(o, spec, err);
	if (r == 0)
		r = set_store(o, spec, err);
	return r < 0 ? r : check_together(o, err);
}

/*
 * --- Life
 * -----------------------------------------------------------------------------------------------
 */

static bool set_metadata(struct policy_object *o, const cJSON *object)
{
	const char *name = json_str(object, "metadata.name");
	const char *uid = json_str(object, "metadata.uid"),
		   *created = json_str(object, "metadata.creationTimestamp");

	o->is_cluster_wide = json_is(object, "kind", "ClusterRayPolicy");
	o->generation = json_int(object, "metadata.generation", 0);
	if (!created || time_parse(created, &o->created_ns, NULL) < 0)
		o->created_ns = INT64_MAX;
	o->name = name && strlen(name) <= 253 ? strdup(name) : NULL;
	o->uid = strdup(uid ? uid : "");
	return o->name && o->uid;
}

struct policy_object *policy_object_new(const cJSON *object)
{
	struct policy_object *o = calloc(1, sizeof(*o));
	size_t lost = oom_count();

	if (!o || !set_metadata(o, object) || policy_init(&o->values, NULL) < 0) {
		policy_object_free(o);
		return NULL;
	}
	set_spec(o, cJSON_GetObjectItemCaseSensitive(object, "spec"), &o->trouble);
	if (oom_count() != lost || o->trouble.code == ENOMEM) {
		policy_object_free(o);
		return NULL;
	}
	return o;
}

void policy_object_free(struct policy_object *o)
{
	if (!o)
		return;
	free(o->name);
	free(o->uid);
	selector_release(&o->selector);
	selector_release(&o->namespace_selector);
	policy_release(&o->values);
	free(o);
}

const char *policy_object_kind(const struct policy_object *o)
{
	return o->is_cluster_wide ? "ClusterRayPolicy" : "RayPolicy";
}

int policy_object_compare(const struct policy_object *a, const struct policy_object *b)
{
	if (a->created_ns != b->created_ns)
		return a->created_ns < b->created_ns ? -1 : 1;
	return strcmp(a->name, b->name);
}
