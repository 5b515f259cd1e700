/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the types of policy_keys.def: each checks, sets and copies its values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/s3_encryption.h"
#include "lib/units.h"
#include "operator/policy/policy_internal.h"

/* The limit of sidecar/ending/hooks.h. */
#define HOOK_COMMAND_MAX 2048
#define OBJECT_NAME_MAX 253

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define LETTERS LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/*
 * --- Copies
 * ---------------------------------------------------------------------------------------------
 */

static bool copy_string(void *to, const void *from)
{
	const char *text = *(char *const *)from;
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		oom_note();
	free(*(char **)to);
	*(char **)to = copy;
	return !text || copy;
}

static bool copy_json(void *to, const void *from)
{
	const cJSON *json = *(cJSON *const *)from;
	cJSON *copy = json ? cJSON_Duplicate(json, true) : NULL;

	cJSON_Delete(*(cJSON **)to);
	*(cJSON **)to = copy;
	return !json || copy;
}

#define COPY_PLAIN(name, type) \
	static bool name(void *to, const void *from) \
	{ \
		*(type *)to = *(const type *)from; \
		return true; \
	}
COPY_PLAIN(copy_bool, bool)
COPY_PLAIN(copy_int64, int64_t)
COPY_PLAIN(copy_double, double)
COPY_PLAIN(copy_unsigned, unsigned)
#undef COPY_PLAIN

/*
 * --- Texts
 * ----------------------------------------------------------------------------------------------
 */

static bool put_string(const char *text, void *member)
{
	return !member || copy_string(member, &text);
}

/* Accepts a text of these letters only (NULL: of any), at most as long as the key allows. */
static const char *policy_values_text_of(const struct policy_key *key, const cJSON *value,
					 const char *letters)
{
	const char *s = cJSON_GetStringValue(value);
	size_t len = s ? strlen(s) : 0;

	return s && (double)len >= key->min && (double)len <= key->max &&
			       (!letters || !s[strspn(s, letters)]) ?
		       s :
		       NULL;
}

static bool policy_values_set_text(const struct policy_key *key, const cJSON *value, void *member)
{
	const char *s = policy_values_text_of(key, value, key->type->letters);

	return s && (!key->type->fits || key->type->fits(s)) && put_string(s, member);
}

/* The name of an object, which is a DNS subdomain, or of a bucket. */
static bool is_name(const char *s)
{
	return strspn(s, LOWER DIGITS) && strspn(s + strlen(s) - 1, LOWER DIGITS);
}

/*
 * Checks the path by the sidecar's rule: reports are in a directory named after the namespace,
 * whose name never begins with '_'.
 */
static bool is_cores_prefix(const char *s)
{
	return !*s ||
	       (s[0] == '_' && !strstr(s, "/.") && !strstr(s, "//") && s[strlen(s) - 1] != '/');
}

/* Kubernetes refuses paths that contain "..". */
static bool is_host_path(const char *s)
{
	return s[0] == '/' && !strstr(s, "..");
}

/* The name of an Azure container has no hyphen at an end or beside another one. */
static bool is_container(const char *s)
{
	return *s != '-' && s[strlen(s) - 1] != '-' && !strstr(s, "--");
}

/* Checks a URL without a query: a host or bucket follows the scheme. */
static bool is_url(const char *s, const char *scheme)
{
	size_t len = strlen(scheme);

	return strncmp(s, scheme, len) == 0 && s[len] && s[len] != '/';
}

static bool is_webhdfs_url(const char *s)
{
	return is_url(s, "webhdfs://") || is_url(s, "webhdfss://");
}

/* Returns whether the text is ACCOUNT/CONTAINER. */
static bool names_container(const char *s)
{
	const char *slash = strchr(s, '/');

	return slash && slash[1] && slash[1] != '/';
}

static bool is_store_url(const char *s)
{
	if (is_url(s, "azure://"))
		return names_container(s + strlen("azure://"));
	return is_url(s, "s3://") || is_webhdfs_url(s);
}

/* A URL with a user would show a password to everybody. */
static bool is_endpoint(const char *s)
{
	return !strchr(s, '@') && (is_url(s, "https://") || is_url(s, "http://"));
}

/*
 * Accepts arn:aws:iam::123456789012:role/PATH/NAME. Other services with S3's interface leave fields
 * out.
 */
static bool is_role_arn(const char *s)
{
	const char *role = strstr(s, ":role/");

	return role && role[strlen(":role/")] && strncmp(s, "arn:", 4) == 0;
}

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f)
			return false;
	return true;
}

/* Ray expects a whole number as text here. Both 0 and "0" are accepted. */
static bool set_cpus(const struct policy_key *key, const cJSON *value, void *member)
{
	const char *s = policy_values_text_of(key, value, DIGITS);
	char text[24];

	if (cJSON_IsNumber(value)) {
		snprintf(text, sizeof(text), "%.0f", value->valuedouble);
		s = !text[strspn(text, DIGITS)] && value->valuedouble == strtod(text, NULL) ? text :
											      NULL;
	}
	return s && put_string(s, member);
}

/*
 * --- Choices
 * --------------------------------------------------------------------------------------------
 */

/*
 * Returns the index of value among names, which end with NULL; -1 if it is none of them. In YAML,
 * Off without quotes is false.
 */
static int policy_values_choice(const cJSON *value, const char *const *names)
{
	const char *s = cJSON_IsFalse(value) ? "Off" : cJSON_GetStringValue(value);

	for (int i = 0; s && names[i]; i++)
		if (strcmp(s, names[i]) == 0)
			return i;
	return -1;
}

static bool set_word(const struct policy_key *key, const cJSON *value, void *member)
{
	return cJSON_IsString(value) && policy_values_choice(value, key->type->names) >= 0 &&
	       put_string(value->valuestring, member);
}

/* Sets an enum to the index of the name. */
static bool set_choice(const struct policy_key *key, const cJSON *value, void *member)
{
	int i = policy_values_choice(value, key->type->names);

	if (i >= 0)
		*(unsigned *)member = (unsigned)i;
	return i >= 0;
}

static bool set_boolean(const struct policy_key *, const cJSON *value, void *member)
{
	if (!cJSON_IsBool(value))
		return false;
	*(bool *)member = cJSON_IsTrue(value);
	return true;
}

/*
 * --- Numbers
 * --------------------------------------------------------------------------------------------
 */

static bool policy_values_in_range(const struct policy_key *key, const cJSON *value)
{
	return cJSON_IsNumber(value) && value->valuedouble >= key->min &&
	       value->valuedouble <= key->max;
}

static bool set_number(const struct policy_key *key, const cJSON *value, void *member)
{
	if (!policy_values_in_range(key, value))
		return false;
	*(double *)member = value->valuedouble;
	return true;
}

static bool set_integer(const struct policy_key *key, const cJSON *value, void *member)
{
	if (!policy_values_in_range(key, value) ||
	    (double)(int64_t)value->valuedouble != value->valuedouble)
		return false;
	*(int64_t *)member = (int64_t)value->valuedouble;
	return true;
}

static bool set_count(const struct policy_key *key, const cJSON *value, void *member)
{
	int64_t n;

	if (!set_integer(key, value, &n))
		return false;
	*(unsigned *)member = (unsigned)n;
	return true;
}

static bool set_quantity(const struct policy_key *key, const cJSON *value, void *member)
{
	const char *s = policy_values_text_of(key, value, NULL);

	if (cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < 9e18) {
		*(int64_t *)member = (int64_t)value->valuedouble;
		return true;
	}
	return s && quantity_parse(s, member, NULL) == 0;
}

static bool set_age(const struct policy_key *key, const cJSON *value, void *member)
{
	const char *s = policy_values_text_of(key, value, NULL);

	return s && retention_parse_age(s, member, NULL) == 0;
}

/* headroom is the only key with two forms and two members. */
static struct policy *policy_of_headroom(const void *member)
{
	return (struct policy *)((const char *)member -
				 offsetof(struct policy, memory.headroom_fraction));
}

static bool copy_headroom(void *to, const void *from)
{
	policy_of_headroom(to)->memory.headroom_fraction =
		policy_of_headroom(from)->memory.headroom_fraction;
	policy_of_headroom(to)->memory.headroom_bytes =
		policy_of_headroom(from)->memory.headroom_bytes;
	return true;
}

static bool set_headroom(const struct policy_key *key, const cJSON *value, void *member)
{
	struct policy *p = policy_of_headroom(member);
	const char *s = cJSON_GetStringValue(value);
	char *end;

	if (!s || !strchr(s, '%')) {
		if (!set_quantity(key, value, &p->memory.headroom_bytes))
			return false;
		p->memory.headroom_fraction = 0;
		return true;
	}
	double percent = strtod(s, &end);
	if (s[strspn(s, DIGITS ".%")] || strcmp(end, "%") || !(percent >= 0) || percent > 90)
		return false;
	p->memory.headroom_fraction = percent / 100;
	p->memory.headroom_bytes = 0;
	return true;
}

/*
 * --- Trees
 * ----------------------------------------------------------------------------------------------
 */

/* Checks a list of texts, each of which is not empty and at most as long as that. */
static bool are_texts(const struct policy_key *key, const cJSON *list, size_t len_max)
{
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > (int)key->max)
		return false;
	json_each(item, list)
		if (!cJSON_IsString(item) || !*item->valuestring ||
		    strlen(item->valuestring) > len_max)
			return false;
	return true;
}

static bool set_hooks(const struct policy_key *key, const cJSON *value, void *member)
{
	if (!cJSON_IsObject(value))
		return false;
	json_each(item, value)
		if ((strcmp(item->string, "atThreshold") != 0 &&
		     strcmp(item->string, "atDeath") != 0) ||
		    !(cJSON_IsNull(item) || are_texts(key, item, HOOK_COMMAND_MAX)))
			return false;
	return copy_json(member, &value);
}

/* Parses a quantity to thousandths. Returns false if it is none. */
static bool amount_of(const cJSON *value, int64_t *ret_milli)
{
	if (cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < 9e15) {
		*ret_milli = (int64_t)(value->valuedouble * 1000);
		return true;
	}
	return cJSON_IsString(value) && strlen(value->valuestring) <= 40 &&
	       quantity_parse_milli(value->valuestring, ret_milli, NULL) == 0;
}

static bool are_amounts(const cJSON *part)
{
	static const char *const names[] = { "cpu", "memory", "ephemeral-storage", NULL };
	cJSON name = { .type = cJSON_String };
	int64_t milli;

	if (!cJSON_IsObject(part))
		return false;
	json_each(item, part) {
		name.valuestring = item->string;
		if (policy_values_choice(&name, names) < 0 || !amount_of(item, &milli))
			return false;
	}
	return true;
}

/*
 * Checks {requests: {NAME: QUANTITY}, limits: ...}. The API server refuses a pod with requests
 * above its limits.
 */
static bool policy_values_set_resources(const struct policy_key *, const cJSON *value, void *member)
{
	const cJSON *limit;
	int64_t asked, most;

	if (!cJSON_IsObject(value))
		return false;
	json_each(item, value)
		if ((strcmp(item->string, "requests") != 0 &&
		     strcmp(item->string, "limits") != 0) ||
		    !are_amounts(item))
			return false;
	json_each(item, json_get(value, "requests")) {
		limit = cJSON_GetObjectItemCaseSensitive(json_get(value, "limits"), item->string);
		if (limit && amount_of(item, &asked) && amount_of(limit, &most) && asked > most)
			return false;
	}
	return copy_json(member, &value);
}

static bool policy_values_set_names(const struct policy_key *key, const cJSON *value, void *member)
{
	return are_texts(key, value, OBJECT_NAME_MAX) && copy_json(member, &value);
}

/*
 * --- The table
 * ------------------------------------------------------------------------------------------
 */

/*
 * A word becomes part of a command line in every Ray pod. So it has no blanks and no dollar, which
 * Kubernetes would replace.
 */
#define WORD_LETTERS LETTERS DIGITS "._@/-"
#define PATH_LETTERS LETTERS DIGITS "._~/-"
#define URL_LETTERS LETTERS DIGITS "-._~:/[]@%+,="
/* clang-format off */
#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define TYPE(name, set_fn, copy_fn, ...) \
	static const struct policy_type type_##name = { .set = set_fn, .copy = copy_fn, __VA_ARGS__ };
#define TEXT(name, text_letters, text_fits) \
	TYPE(name, policy_values_set_text, copy_string, .letters = text_letters, .fits = text_fits)
#define WORD(name, ...) TYPE(name, set_word, copy_string, .names = NAMES(__VA_ARGS__))
TEXT(TEXT, NULL, NULL)
TEXT(NAME, LOWER DIGITS "-.", is_name)
TEXT(WORD, WORD_LETTERS, NULL)
TEXT(PATH, PATH_LETTERS, NULL)
TEXT(CORES_PREFIX, PATH_LETTERS, is_cores_prefix)
TEXT(HOST_PATH, PATH_LETTERS, is_host_path)
TEXT(BUCKET, LOWER DIGITS ".-", is_name)
TEXT(STORE_URL, URL_LETTERS, is_store_url)
TEXT(WEBHDFS_URL, URL_LETTERS, is_webhdfs_url)
TEXT(ENDPOINT, URL_LETTERS, is_endpoint)
TEXT(ROLE_ARN, LETTERS DIGITS ":/+=,.@_-", is_role_arn)
TEXT(ACCOUNT, LOWER DIGITS, NULL)
TEXT(CONTAINER, LOWER DIGITS "-", is_container)
TEXT(KMS_KEY, LETTERS DIGITS ":/_-", NULL)
TEXT(PRINTABLE, NULL, is_printable)
WORD(ENCRYPTION, S3_ENCRYPTIONS)
WORD(PULL_POLICY, "Always", "IfNotPresent", "Never")
WORD(STORE_TYPE, "claim", "s3", "azure", "webhdfs")
TYPE(CORE_DUMPS, set_choice, copy_unsigned,
     .names = NAMES([CORE_DUMPS_SUMMARY] = "Summary", [CORE_DUMPS_OFF] = "Off",
		    [CORE_DUMPS_FULL] = "Full"))
/* policy_set_key takes "" for absent. */
TYPE(MEMORY_MODE, set_choice, copy_unsigned,
     .names = NAMES([MEMORY_MODE_UNSET] = "", [MEMORY_MODE_APPLY] = "Apply",
		    [MEMORY_MODE_WARN] = "Warn", [MEMORY_MODE_OFF] = "Off"))
TYPE(CPUS, set_cpus, copy_string)
TYPE(BOOLEAN, set_boolean, copy_bool)
TYPE(NUMBER, set_number, copy_double)
TYPE(INTEGER, set_integer, copy_int64)
TYPE(COUNT, set_count, copy_unsigned)
TYPE(QUANTITY, set_quantity, copy_int64)
TYPE(AGE, set_age, copy_int64)
TYPE(HEADROOM, set_headroom, copy_headroom)
TYPE(HOOKS, set_hooks, copy_json)
TYPE(RESOURCES, policy_values_set_resources, copy_json)
TYPE(NAMES, policy_values_set_names, copy_json)
/* clang-format on */

#define POLICY_OPERATOR POLICY_BLOCKS
/* clang-format off */
const struct policy_key policy_keys[] = {
#define POLICY_KEY(block, key, field, type, member, min, max, wants) \
	{ POLICY_##block, key, field, &type_##type, offsetof(struct policy, member), min, max, wants },
#define POLICY_FIELD(block, field, type, min, max, wants) \
	{ POLICY_##block, NULL, field, &type_##type, POLICY_NO_MEMBER, min, max, wants },
#include "operator/policy/policy_keys.def"
#undef POLICY_KEY
#undef POLICY_FIELD
};
/* clang-format on */
const size_t policy_n_keys = ARRAY_SIZE(policy_keys);

const struct policy_key *policy_key_find(const char *key)
{
	for (size_t i = 0; i < policy_n_keys; i++)
		if (policy_keys[i].key && strcmp(policy_keys[i].key, key) == 0)
			return &policy_keys[i];
	return NULL;
}

const struct policy_key *policy_field_find(const char *field)
{
	for (size_t i = 0; i < policy_n_keys; i++)
		if (policy_keys[i].field && strcmp(policy_keys[i].field, field) == 0)
			return &policy_keys[i];
	return NULL;
}

/* This is the only key for which "nothing" is a valid value. */
static bool set_nothing(const struct policy_key *key, void *member)
{
	return key->type != &type_CPUS || copy_string(member, &(const char *){ NULL });
}

bool policy_set_key(struct policy *p, const struct policy_key *key, const cJSON *value)
{
	void *member = key->offset == POLICY_NO_MEMBER ? NULL : (char *)p + key->offset;

	if (cJSON_IsNull(value) || (cJSON_IsString(value) && !*value->valuestring))
		return set_nothing(key, member);
	return key->type->set(key, value, member);
}
