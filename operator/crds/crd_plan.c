/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how to handle a CRD that another Helm release installed. */
#include "operator/crds/crd_plan.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "operator/kube/client.h"
#include "operator/kube/object.h"

#define CHART_LABEL "helm.sh/chart"
#define CHART_PREFIX "afterglow-"
#define VERSION_LABEL "app.kubernetes.io/version"
#define DIGEST_ANNOTATION "afterglow.dev/spec-sha256"

/*
 * Reads a number of at most nine digits, without a leading zero. Returns what follows it, or NULL.
 */
static const char *crd_plan_read_number(const char *text, unsigned long *ret_number)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > 9 || (digits > 1 && *text == '0'))
		return NULL;
	*ret_number = strtoul(text, NULL, 10);
	return text + digits;
}

static bool read_numbers(const char *text, unsigned long ret_numbers[static 3])
{
	for (int i = 0; i < 3 && text; i++) {
		if (i > 0 && *text++ != '.')
			return false;
		text = crd_plan_read_number(text, &ret_numbers[i]);
	}
	return text && !isalnum((unsigned char)*text) && *text != '_';
}

/*
 * Reads the three numbers of "1.2.3" or "1.2.3-rc.1". Any other text counts as 0.0.0. The chart
 * reads versions by the same rule (afterglow.versionNumbers).
 */
static void read_version(const char *text, unsigned long ret_numbers[static 3])
{
	if (!text || !read_numbers(text, ret_numbers))
		memset(ret_numbers, 0, 3 * sizeof(*ret_numbers));
}

static bool is_newer(const char *version, const char *than)
{
	unsigned long a[3], b[3];

	read_version(version, a);
	read_version(than, b);
	for (int i = 0; i < 3; i++)
		if (a[i] != b[i])
			return a[i] > b[i];
	return false;
}

/*
 * Compares the specs. The digest alone is not enough: the Helm release that owns the CRD may have
 * restored an older spec and left the annotation.
 */
static bool is_equal(const cJSON *live, const cJSON *wanted)
{
	const char *have = object_annotation(live, DIGEST_ANNOTATION),
		   *want = object_annotation(wanted, DIGEST_ANNOTATION);

	return have && want && strcmp(have, want) == 0 &&
	       cJSON_Compare(json_get(live, "spec.versions"), json_get(wanted, "spec.versions"),
			     true);
}

enum crd_step crd_plan(const cJSON *live, const cJSON *wanted)
{
	const char *chart = object_label(live, CHART_LABEL);

	if (!chart || strncmp(chart, CHART_PREFIX, strlen(CHART_PREFIX)) != 0)
		return CRD_FOREIGN;
	if (is_newer(object_label(live, VERSION_LABEL), object_label(wanted, VERSION_LABEL)))
		return CRD_NEWER;
	return is_equal(live, wanted) ? CRD_EQUAL : CRD_UPGRADE;
}

static void copy_mark(cJSON *metadata, const cJSON *wanted, const char *map, const char *name)
{
	const char *value = json_member(json_get(json_get(wanted, "metadata"), map), name);

	if (value)
		json_set_str(json_object_at(metadata, map), name, value);
}

/* Sets absent members to null, because a merge patch removes only those. */
static void remove_absent(cJSON *patch, const cJSON *live, const cJSON *wanted)
{
	json_each(member, live)
		if (!cJSON_GetObjectItemCaseSensitive(wanted, member->string))
			json_set(patch, member->string, cJSON_CreateNull());
}

/* The API server refuses it if live has changed. */
static cJSON *patch_new(const cJSON *live)
{
	cJSON *patch = object_new("apiextensions.k8s.io/v1", "CustomResourceDefinition", NULL,
				  json_str(live, "metadata.name"));

	json_set_str(json_object_at(patch, "metadata"), "resourceVersion",
		     json_str(live, "metadata.resourceVersion"));
	return patch;
}

cJSON *crd_patch(const cJSON *live, const cJSON *wanted)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *patch = patch_new(live);
	cJSON *metadata = json_object_at(patch, "metadata"), *spec = json_object_at(patch, "spec");

	copy_mark(metadata, wanted, "labels", CHART_LABEL);
	copy_mark(metadata, wanted, "labels", VERSION_LABEL);
	copy_mark(metadata, wanted, "annotations", DIGEST_ANNOTATION);
	json_set(spec, "names", cJSON_Duplicate(json_get(wanted, "spec.names"), true));
	remove_absent(json_object_at(spec, "names"), json_get(live, "spec.names"),
		      json_get(wanted, "spec.names"));
	json_set(spec, "versions", cJSON_Duplicate(json_get(wanted, "spec.versions"), true));
	/* In a patch, null would remove the member. */
	return oom_count() == lost ? TAKE_PTR(patch) : NULL;
}

/*
 * The API server owns fields of the status, and Helm's name is the same for all releases. Programs
 * with Helm inside, such as Flux, have names of their own; they also write the chart's label.
 */
static bool is_of_a_release(const cJSON *owner, const char *manager)
{
	return strcmp(manager, CLIENT_FIELD_MANAGER) == 0 || strcmp(manager, "helm") == 0 ||
	       strcmp(manager, "kube-apiserver") == 0 ||
	       cJSON_GetObjectItemCaseSensitive(json_get(owner, "fieldsV1.f:metadata.f:labels"),
						"f:" CHART_LABEL);
}

const char *crd_changed_by(const cJSON *live)
{
	json_each(owner, json_get(live, "metadata.managedFields")) {
		const char *manager = json_str(owner, "manager");

		if (manager && !is_of_a_release(owner, manager) &&
		    json_get(owner, "fieldsV1.f:spec.f:versions"))
			return manager;
	}
	return NULL;
}

int crd_disown(const cJSON *live, cJSON **ret_patch)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *patch = patch_new(live);
	cJSON *others = json_array_at(json_object_at(patch, "metadata"), "managedFields");
	bool found = false;

	json_each(owner, json_get(live, "metadata.managedFields"))
		if (json_is(owner, "manager", CLIENT_FIELD_MANAGER))
			found = true;
		else
			json_append(others, cJSON_Duplicate(owner, true));
	if (oom_count() != lost)
		return -ENOMEM;
	*ret_patch = found ? TAKE_PTR(patch) : NULL;
	return 0;
}
