/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a line for each setting: the pod's value, and which policy or chart value decided it. */
#include "plugin/policy_explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "plugin/pod_sidecar.h"
#include "plugin/policy_origin.h"
#include "plugin/table.h"

#define VALUE_MAX TABLE_CELL_MAX
#define HOLD_MAX_S 86400 /* limit of the annotation; the operator ignores a longer time */

/* --- What the pod has ----------------------------------------------------------------------------------- */

static void read_enabled(const cJSON *pod, const char *, char value[static VALUE_MAX])
{
	snprintf(value, VALUE_MAX, "%s", pod_sidecar(pod) ? "true" : "false");
}

static void read_option(const cJSON *pod, const char *option, char value[static VALUE_MAX])
{
	const char *text = pod_sidecar_value(pod_sidecar(pod), option);

	snprintf(value, VALUE_MAX, "%s", text ? text : "");
}

static void read_flag(const cJSON *pod, const char *option, char value[static VALUE_MAX])
{
	snprintf(value, VALUE_MAX, "%s", pod_sidecar_has_flag(pod_sidecar(pod), option) ? "true" : "false");
}

/* The sidecar gets no option if cores are Summary, its default. */
static void read_cores(const cJSON *pod, const char *option, char value[static VALUE_MAX])
{
	const char *text = pod_sidecar_value(pod_sidecar(pod), option);

	snprintf(value, VALUE_MAX, "%s", !text ? "Summary" : strcmp(text, "full") == 0 ? "Full" : "Off");
}

static void read_count(const cJSON *pod, const char *option, char value[static VALUE_MAX])
{
	int n = 0;

	json_each(arg, json_get(pod_sidecar(pod), "args"))
		n += cJSON_IsString(arg) && strcmp(arg->valuestring, option) == 0;
	snprintf(value, VALUE_MAX, "%d command%s", n, n == 1 ? "" : "s");
}

/* The operator gives no option for a bound or a time that is 0. */
static void read_number(const cJSON *pod, const char *option, char value[static VALUE_MAX])
{
	const char *text = pod_sidecar_value(pod_sidecar(pod), option);

	snprintf(value, VALUE_MAX, "%s", text ? text : "0 (not set)");
}

static void read_size(const cJSON *pod, const char *option, char value[static VALUE_MAX])
{
	const char *text = pod_sidecar_value(pod_sidecar(pod), option);
	char *end;
	unsigned long long bytes = text ? strtoull(text, &end, 10) : 0;

	if (bytes && !*end)
		snprintf(value, VALUE_MAX, "%s", SIZE_TEXT(bytes));
	else
		read_number(pod, option, value);
}

static void read_resources(const cJSON *pod, const char *, char value[static VALUE_MAX])
{
	const cJSON *resources = json_get(pod_sidecar(pod), "resources");

	snprintf(value, VALUE_MAX, "memory %.60s, limit %.60s",
		 json_str_or(resources, "requests.memory", "none"),
		 json_str_or(resources, "limits.memory", "none"));
}

static void read_store(const cJSON *pod, const char *option, char value[static VALUE_MAX])
{
	const char *store = pod_sidecar_value(pod_sidecar(pod), option);
	const cJSON *volume = json_find(json_get(pod, "spec.volumes"), "name", "afterglow-store");
	const char *claim = json_str(volume, "persistentVolumeClaim.claimName");

	if (claim)
		snprintf(value, VALUE_MAX, "claim %.200s", claim);
	else
		snprintf(value, VALUE_MAX, "%s", store ? store : "none: bundles stay in the pod");
}

static const struct setting {
	enum origin_block block;
	const char *field, *chart, *annotation;
	void (*read)(const cJSON *pod, const char *option, char value[static VALUE_MAX]);
	const char *option;
} settings[] = {
#define SETTING(block, ...) { ORIGIN_##block, __VA_ARGS__ },
#include "plugin/policy_settings.def"
#undef SETTING
};

/* --- Who decided ---------------------------------------------------------------------------------------- */

/* Returns the object as it is now, or NULL if it is gone or we may not read it. */
static const cJSON *object_of(const struct policy_facts *facts, const struct policy_origin *origin)
{
	return object_named(origin->is_cluster_wide ? facts->cluster_policies : facts->policies,
			    origin->name);
}

static bool is_unchanged(const cJSON *object, const struct policy_origin *origin)
{
	return json_int(object, "metadata.generation", -1) == origin->generation;
}

/*
 * Returns whether the operator obeys the value. If it ignores it, the policy or the chart decides.
 */
static bool is_heeded(const struct setting *s, const char *value)
{
	char *end;

	if (s->read != read_number)
		return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
	return *value >= '0' && *value <= '9' && strtol(value, &end, 10) <= HOLD_MAX_S && !*end;
}

/*
 * Returns the value of an annotation, or NULL if no annotation decides. The pod's annotation hides
 * the RayCluster's even when it is ignored.
 */
static const char *annotated(const struct policy_facts *facts, const struct setting *s,
			     char text[static VALUE_MAX])
{
	const char *annotation = s->annotation, *name = json_str(facts->cluster, "metadata.name");
	const char *value = annotation_of(facts->pod, annotation);

	if (value && !is_heeded(s, value))
		return NULL;
	if (value) {
		snprintf(text, VALUE_MAX, "annotation %s: \"%.60s\" of the pod", annotation, value);
		return text;
	}
	value = annotation_of(facts->cluster, annotation);
	if (!value || !is_heeded(s, value))
		return NULL;
	snprintf(text, VALUE_MAX, "annotation %s: \"%.60s\" of RayCluster/%.100s", annotation, value, name ? name : "?");
	return text;
}

static const char *by_policy(const struct policy_facts *facts, const struct setting *s, const struct policy_origin *origin, char text[static VALUE_MAX])
{
	const cJSON *object = object_of(facts, origin);
	char path[128];

	snprintf(path, sizeof(path), "spec.%s", s->field);
	if (!object || !is_unchanged(object, origin))
		snprintf(text, VALUE_MAX, "%s/%.150s, as it was then", policy_origin_kind(origin), origin->name);
	else if (json_get(object, path))
		snprintf(text, VALUE_MAX, "%s/%.150s, %s", policy_origin_kind(origin), origin->name, path);
	else
		snprintf(text, VALUE_MAX, "default: %s/%.150s leaves it out", policy_origin_kind(origin), origin->name);
	return text;
}

static const char *decided_by(const struct policy_facts *facts, const struct policy_origins *origins, const struct setting *s,
			      char text[static VALUE_MAX])
{
	const struct policy_origin *origin = policy_origin_of(origins, s->block);
	const char *annotation = s->annotation ? annotated(facts, s, text) : NULL;

	if (annotation)
		return annotation;
	if (origin)
		return by_policy(facts, s, origin, text);
	if (origins->is_whole)
		snprintf(text, VALUE_MAX, "chart, %s", s->chart);
	else
		snprintf(text, VALUE_MAX, "not known: the annotation " POLICY_ANNOTATION " cannot be understood");
	return text;
}

/* --- Printing ------------------------------------------------------------------------------------------- */

cJSON *policy_explain_json(const struct policy_facts *facts)
{
	/* Without a sidecar the only setting is the one that says why there is none. */
	size_t n = pod_sidecar(facts->pod) ? ARRAY_SIZE(settings) : 1;
	cJSON *json = cJSON_CreateObject(), *list = json_array_at(json, "settings");
	struct policy_origins origins;
	char value[VALUE_MAX], by[VALUE_MAX];

	policy_origins_parse(annotation_of(facts->pod, POLICY_ANNOTATION), &origins);
	for (size_t i = 0; i < n; i++) {
		cJSON *item = cJSON_CreateObject();

		settings[i].read(facts->pod, settings[i].option, value);
		json_set_str(item, "setting", settings[i].field);
		json_set_str(item, "value", value);
		json_set_str(item, "decidedBy", decided_by(facts, &origins, &settings[i], by));
		json_append(list, item);
	}
	return json;
}

static void print_settings(const struct policy_facts *facts, struct strbuf *out)
{
	_cleanup_json_ cJSON *json = policy_explain_json(facts);
	struct table table;

	table_init(&table, (const char *const[]){ "SETTING", "VALUE", "DECIDED BY" }, 3);
	json_each(item, json_get(json, "settings"))
		table_row(&table, (const char *const[]){ json_str(item, "setting"), json_str(item, "value"),
							 json_str(item, "decidedBy") });
	table_print(&table, out);
	table_release(&table);
}

/* The memory settings apply to the RayCluster, before pods exist. */
static void print_memory(const struct policy_origins *origins, struct strbuf *out)
{
	const struct policy_origin *origin = policy_origin_of(origins, ORIGIN_MEMORY);

	strbuf_adds(out, "\nThe memory budgets of its RayCluster are decided by ");
	if (origin)
		strbuf_addf(out, "%s/%s.", policy_origin_kind(origin), origin->name);
	else
		strbuf_adds(out, "the chart, memory.");
	strbuf_adds(out, " Values in the RayCluster itself take precedence.\n");
}

static void print_object(const struct policy_facts *facts, const struct policy_origin *origin, struct strbuf *out)
{
	bool may_read = origin->is_cluster_wide ? facts->cluster_policies : facts->policies;
	const cJSON *object = object_of(facts, origin);

	strbuf_addf(out, "%s/%s, generation %" PRId64 "%s: ", policy_origin_kind(origin), origin->name, origin->generation,
		    origin->locks ? ", which locks blocks against RayPolicies" : "");
	if (!may_read)
		strbuf_adds(out, "you may not read it.\n");
	else if (!object)
		strbuf_adds(out, "it was deleted since. New pods are made without it.\n");
	else if (is_unchanged(object, origin))
		strbuf_adds(out, "it has not changed since.\n");
	else
		strbuf_addf(out, "it has changed since, to generation %" PRId64 ". New pods get its new settings.\n",
			    json_int(object, "metadata.generation", 0));
}

static void print_origins(const struct policy_facts *facts, const struct policy_origins *origins, struct strbuf *out)
{
	if (!origins->n && origins->is_whole) {
		strbuf_adds(out, "No RayPolicy and no ClusterRayPolicy applied when this pod was made.\n");
		return;
	}
	strbuf_adds(out, "The pod was made by these policies:\n");
	for (size_t i = 0; i < origins->n; i++) {
		strbuf_adds(out, "  ");
		print_object(facts, &origins->of[i], out);
	}
	if (!origins->is_whole)
		strbuf_adds(out, "  and perhaps others: the rest of the annotation " POLICY_ANNOTATION " cannot be understood.\n");
}

static void print_absence(const cJSON *pod, struct strbuf *out)
{
	const char *reason = annotation_of(pod, "afterglow.dev/sidecar");

	if (pod_sidecar(pod))
		return;
	add_between(
		out, reason ? "The pod has no sidecar (" : "The pod has no sidecar", reason,
		reason ?
			").\n\n" :
			", and no reason is recorded: it may be older than the installation, or the API server did not ask the webhook.\n\n");
}

void policy_explain(const struct policy_facts *facts, struct strbuf *out)
{
	struct policy_origins origins;

	policy_origins_parse(annotation_of(facts->pod, POLICY_ANNOTATION), &origins);
	print_absence(facts->pod, out);
	print_settings(facts, out);
	print_memory(&origins, out);
	print_origins(facts, &origins, out);
}
