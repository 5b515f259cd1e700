/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the settings in the annotations of a RayCluster and of a pod's template. */
#include "operator/injection/inject_annotations.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX_MAX 1024

/* Returns the annotation. The template's has precedence over the cluster's. */
static const char *inject_annotations_annotation(const cJSON *cluster, const cJSON *template,
						 const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(template, name));

	return text ? text : cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cluster, name));
}

static bool annotation_bool(const cJSON *cluster, const cJSON *template, const char *name,
			    bool fallback)
{
	const char *text = inject_annotations_annotation(cluster, template, name);

	if (!text)
		return fallback;
	return strcmp(text, "true") == 0 || (fallback && strcmp(text, "false") != 0);
}

bool inject_wanted(const cJSON *cluster_annotations, const cJSON *template_annotations)
{
	return annotation_bool(cluster_annotations, template_annotations, INJECT_ANNOTATION, true);
}

bool inject_oom_group(const cJSON *cluster_annotations, const cJSON *template_annotations,
		      const struct policy *policy)
{
	return annotation_bool(cluster_annotations, template_annotations, "afterglow.dev/oom-group",
			       policy->recording.oom_group);
}

const char *inject_prefix(const cJSON *cluster_annotations, const cJSON *template_annotations)
{
	const char *text = inject_annotations_annotation(cluster_annotations, template_annotations,
							 "afterglow.dev/start-prefix");

	return text && strlen(text) <= PREFIX_MAX && text[strspn(text, " \t\n")] ? text : NULL;
}

int64_t inject_hold(const cJSON *cluster_annotations, const cJSON *template_annotations,
		    const struct policy *policy)
{
	const char *text = inject_annotations_annotation(cluster_annotations, template_annotations,
							 "afterglow.dev/hold-on-failure");
	char *end;

	if (!text || *text < '0' || *text > '9')
		return policy->recording.hold_on_failure;
	long seconds = strtol(text, &end, 10);
	return *end || seconds > POLICY_HOLD_MAX_S ? policy->recording.hold_on_failure : seconds;
}
