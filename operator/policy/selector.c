/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and matches LabelSelectors, as k8s.io/apimachinery does. */
#include "operator/policy/selector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strmap.h"

#define DIGEST_STEP UINT64_C(0x9e3779b97f4a7c15) /* any odd number */

static void requirement_release(struct selector_requirement *r)
{
	for (size_t i = 0; i < r->n_values; i++)
		free(r->values[i].text);
	free(r->values);
	free(r->key.text);
	*r = (struct selector_requirement){ 0 };
}

void selector_release(struct selector *s)
{
	for (size_t i = 0; i < s->n; i++)
		requirement_release(&s->requirements[i]);
	free(s->requirements);
	*s = (struct selector){ 0 };
}

/*
 * --- Parsing
 * --------------------------------------------------------------------------------------------
 */

static bool selector_fits(const char *text, size_t max)
{
	return text && strlen(text) <= max;
}

static bool selector_text_set(struct selector_text *t, const char *text)
{
	*t = (struct selector_text){ strdup(text), strmap_hash(text) };
	return t->text;
}

static bool selector_text_is(const struct selector_text *t, const char *text, uint64_t hash)
{
	return t->hash == hash && strcmp(t->text, text) == 0;
}

/* Returns the next requirement of the selector, with the key set; NULL if there is no memory. */
static struct selector_requirement *selector_add(struct selector *s, const char *key)
{
	struct selector_requirement *r = &s->requirements[s->n];

	if (!selector_text_set(&r->key, key))
		return NULL;
	s->n++;
	return r;
}

static int selector_add_value(struct selector_requirement *r, const cJSON *value, const char *path,
			      struct err *err)
{
	if (!selector_fits(cJSON_GetStringValue(value), SELECTOR_VALUE_MAX))
		return err_set(err, EINVAL, "%s must be texts of at most %d bytes", path,
			       SELECTOR_VALUE_MAX);
	if (!selector_text_set(&r->values[r->n_values], value->valuestring))
		return err_set(err, ENOMEM, "%s", path);
	r->n_values++;
	return 0;
}

static int reserve_values(struct selector_requirement *r, size_t n, const char *path,
			  struct err *err)
{
	r->values = calloc(n, sizeof(*r->values));
	return r->values ? 0 : err_set(err, ENOMEM, "%s", path);
}

static int selector_add_labels(struct selector *s, const cJSON *labels, const char *path,
			       struct err *err)
{
	char at[128];

	snprintf(at, sizeof(at), "%s.matchLabels", path);
	json_each(item, labels) {
		if (!selector_fits(item->string, SELECTOR_KEY_MAX) || !*item->string)
			return err_set(err, EINVAL, "%s must have keys of 1 to %d bytes", at,
				       SELECTOR_KEY_MAX);
		struct selector_requirement *r = selector_add(s, item->string);
		if (!r || reserve_values(r, 1, at, err) < 0)
			return err_set(err, ENOMEM, "%s", at);
		r->operator= SELECTOR_IN;
		int rc = selector_add_value(r, item, at, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int operator_of(const char *text)
{
	static const char *const names[] = {
		[SELECTOR_IN] = "In",
		[SELECTOR_NOT_IN] = "NotIn",
		[SELECTOR_EXISTS] = "Exists",
		[SELECTOR_DOES_NOT_EXIST] = "DoesNotExist",
	};

	for (size_t i = 0; text && i < ARRAY_SIZE(names); i++)
		if (strcmp(text, names[i]) == 0)
			return (int)i;
	return -1;
}

static int add_values(struct selector_requirement *r, const cJSON *values, const char *path,
		      struct err *err)
{
	bool wants = r->operator== SELECTOR_IN || r->operator== SELECTOR_NOT_IN;
	int n = cJSON_IsArray(values) ? cJSON_GetArraySize(values) : 0, rc = 0;

	if ((n > 0) != wants || n > SELECTOR_VALUES_MAX ||
	    (values && !cJSON_IsArray(values) && !cJSON_IsNull(values)))
		return err_set(err, EINVAL, "%s must be %s", path,
			       wants ? "a list of 1 to 64 values, as the operator is In or NotIn" :
				       "absent, as the operator is Exists or DoesNotExist");
	if (n > 0)
		rc = reserve_values(r, (size_t)n, path, err);
	json_each(item, values)
		if (rc == 0)
			rc = selector_add_value(r, item, path, err);
	return rc;
}

static int add_expression(struct selector *s, const cJSON *item, const char *path, struct err *err)
{
	const char *key = json_str(item, "key");
	int operator= operator_of(json_str(item, "operator"));
	char at[160];

	if (!selector_fits(key, SELECTOR_KEY_MAX) || !*key)
		return err_set(err, EINVAL, "%s.key must be a label's name", path);
	if (operator<0)
		return err_set(err, EINVAL, "%s.operator must be In, NotIn, Exists or DoesNotExist",
			       path);
	struct selector_requirement *r = selector_add(s, key);
	if (!r)
		return err_set(err, ENOMEM, "%s", path);
	r->operator=(enum selector_operator) operator;
	snprintf(at, sizeof(at), "%s.values", path);
	return add_values(r, cJSON_GetObjectItemCaseSensitive(item, "values"), at, err);
}

static int add_expressions(struct selector *s, const cJSON *list, const char *path, struct err *err)
{
	char at[128];
	int i = 0, r = 0;

	json_each(item, list) {
		snprintf(at, sizeof(at), "%s.matchExpressions[%d]", path, i++);
		r = add_expression(s, item, at, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool selector_is_absent(const cJSON *json)
{
	return !json || cJSON_IsNull(json);
}

static int check_form(const cJSON *json, const char *path, struct err *err)
{
	const cJSON *labels = cJSON_GetObjectItemCaseSensitive(json, "matchLabels");
	const cJSON *expressions = cJSON_GetObjectItemCaseSensitive(json, "matchExpressions");

	if (!cJSON_IsObject(json))
		return err_set(err, EINVAL,
			       "%s must be an object with matchLabels or matchExpressions", path);
	json_each(item, json)
		if (item != labels && item != expressions)
			return err_set(err, EINVAL, "%s has a field \"%.60s\" that is not known",
				       path, item->string);
	if (!selector_is_absent(labels) && !cJSON_IsObject(labels))
		return err_set(err, EINVAL, "%s.matchLabels must be an object of labels", path);
	if (!selector_is_absent(expressions) && !cJSON_IsArray(expressions))
		return err_set(err, EINVAL, "%s.matchExpressions must be a list", path);
	if (cJSON_GetArraySize(labels) + cJSON_GetArraySize(expressions) >
	    SELECTOR_REQUIREMENTS_MAX)
		return err_set(err, EINVAL, "%s must have at most %d requirements", path,
			       SELECTOR_REQUIREMENTS_MAX);
	return 0;
}

static void digest_add(struct selector *s, uint64_t part)
{
	s->digest = (s->digest ^ part) * DIGEST_STEP;
}

static void selector_digest(struct selector *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct selector_requirement *r = &s->requirements[i];

		digest_add(s, r->key.hash);
		digest_add(s, (uint64_t)r->operator<< 32 | r->n_values);
		for (size_t j = 0; j < r->n_values; j++)
			digest_add(s, r->values[j].hash);
	}
}

int selector_parse(const cJSON *json, const char *path, struct selector *ret_selector,
		   struct err *err)
{
	_cleanup_(selector_release) struct selector s = { 0 };
	int r = selector_is_absent(json) ? 0 : check_form(json, path, err);

	if (r == 0 && !selector_is_absent(json)) {
		s.requirements = calloc(SELECTOR_REQUIREMENTS_MAX, sizeof(*s.requirements));
		r = s.requirements ?
			    selector_add_labels(&s, json_get(json, "matchLabels"), path, err) :
			    err_set(err, ENOMEM, "%s", path);
	}
	if (r == 0)
		r = add_expressions(&s, json_get(json, "matchExpressions"), path, err);
	if (r < 0)
		return r;
	selector_digest(&s);
	*ret_selector = s;
	s = (struct selector){ 0 };
	return 0;
}

/* --- Matching -------------------------------------------------------------------------------- */

static bool is_among(const struct selector_requirement *r, const char *value, uint64_t hash)
{
	for (size_t i = 0; i < r->n_values; i++)
		if (selector_text_is(&r->values[i], value, hash))
			return true;
	return false;
}

void selector_labels_read(const cJSON *labels, struct selector_labels *ret_labels)
{
	const cJSON *item = labels ? labels->child : NULL;
	size_t n = 0;

	for (; item && item->string && n < SELECTOR_LABELS_MAX; item = item->next) {
		ret_labels->hashes[n] = strmap_hash(item->string);
		ret_labels->value_hashes[n] =
			cJSON_IsString(item) ? strmap_hash(item->valuestring) : 0;
		ret_labels->items[n++] = item;
	}
	ret_labels->n = n;
}

/* Returns the place of the label that the requirement is about; labels->n: there is none. */
static size_t selector_label_of(const struct selector_labels *labels,
				const struct selector_requirement *r)
{
	size_t i = 0;

	while (i < labels->n &&
	       !selector_text_is(&r->key, labels->items[i]->string, labels->hashes[i]))
		i++;
	return i;
}

/* NotIn also selects objects that lack the label. */
static bool selector_holds(const struct selector_requirement *r,
			   const struct selector_labels *labels)
{
	size_t i = selector_label_of(labels, r);
	const cJSON *item = i < labels->n ? labels->items[i] : NULL;
	const char *value = cJSON_GetStringValue(item);

	switch (r->operator) {
	case SELECTOR_IN:
		return value && is_among(r, value, labels->value_hashes[i]);
	case SELECTOR_NOT_IN:
		return !value || !is_among(r, value, labels->value_hashes[i]);
	case SELECTOR_EXISTS:
		return item != NULL;
	case SELECTOR_DOES_NOT_EXIST:
		return item == NULL;
	}
	return false;
}

bool selector_matches(const struct selector *s, const struct selector_labels *labels)
{
	for (size_t i = 0; i < s->n; i++)
		if (!selector_holds(&s->requirements[i], labels))
			return false;
	return true;
}
