/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a command line from rayStartParams, as KubeRay does. */
#include "operator/raycluster/start_params.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define COMMAND_MAX 65536

/* Extended resources for which Ray has a name of its own. */
static const struct {
	const char *kubernetes, *ray;
} accelerators[] = {
	{ "aws.amazon.com/neuroncore", "neuron_cores" },
	{ "google.com/tpu", "TPU" },
};

int64_t start_param_port(const cJSON *params, const char *name, int64_t fallback)
{
	const char *text = json_member(params, name);
	long port = text ? strtol(text, NULL, 10) : 0;

	return port > 0 && port < 65536 ? port : fallback;
}

static void set_default(cJSON *params, const char *name, const char *value)
{
	if (!json_member(params, name))
		json_set_str(params, name, value);
}

void start_param_default_int(cJSON *params, const char *name, int64_t value)
{
	if (!json_member(params, name))
		json_set_digits(params, name, value);
}

/* Reads a quantity that may be a YAML number. */
static int64_t start_params_quantity_of(const cJSON *item)
{
	int64_t value;

	if (cJSON_IsNumber(item))
		return item->valuedouble > 0 ? json_number_cut(item->valuedouble + 0.999999) : 0;
	if (!cJSON_IsString(item) || quantity_parse(item->valuestring, &value, NULL) < 0)
		return 0;
	return value;
}

/* Custom resources may be fractions. */
static double parts_of(const cJSON *item)
{
	int64_t milli;

	if (cJSON_IsNumber(item))
		return item->valuedouble;
	if (!cJSON_IsString(item) || quantity_parse_milli(item->valuestring, &milli, NULL) < 0)
		return 0;
	return (double)milli / 1000;
}

static int compare_items(const void *a, const void *b)
{
	return strcmp((*(cJSON *const *)a)->string, (*(cJSON *const *)b)->string);
}

/* The members of an object in the order of their names; the caller frees the array. */
static const cJSON **sorted_items(const cJSON *object, size_t *ret_n)
{
	size_t n = 0, size = (size_t)cJSON_GetArraySize(object);
	const cJSON **items = calloc(size + 1, sizeof(*items));

	if (!items) {
		oom_note();
		return NULL;
	}
	json_each(item, object)
		items[n++] = item;
	qsort(items, n, sizeof(*items), compare_items);
	*ret_n = n;
	return items;
}

/* Adds what no member is called yet. To look each of a thousand up would take too long. */
static void add_member(cJSON *object, const char *name, cJSON *value)
{
	if (!cJSON_AddItemToObject(object, name, value))
		cJSON_Delete(value);
}

/* The text is quoted for the shell, which parses it once more. */
static void set_custom_resources(cJSON *params, const cJSON *custom)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(COMMAND_MAX);
	_cleanup_json_ cJSON *sorted = cJSON_CreateObject();
	_cleanup_free_ const cJSON **items = NULL;
	_cleanup_free_ char *text = NULL;
	size_t n = 0;

	items = sorted_items(custom, &n);
	/* A user's text may have a name twice. */
	for (size_t i = 0; items && i < n; i++)
		if (i + 1 == n || strcmp(items[i]->string, items[i + 1]->string) != 0)
			add_member(sorted, items[i]->string, cJSON_Duplicate(items[i], true));
	text = cJSON_PrintUnformatted(sorted);
	strbuf_addf(&sb, "'%s'", text ? text : "{}");
	if (!strbuf_failed(&sb))
		json_set_str(params, "resources", strbuf_str(&sb));
}

bool resource_is_gpu(const char *name)
{
	size_t len = strlen(name);

	return (len >= 3 && strcasecmp(name + len - 3, "gpu") == 0) ||
	       strncasecmp(name, "nvidia.com/mig-", 15) == 0;
}

/* Returns Ray's parameter for a resource; NULL for a custom resource. */
static const char *param_of_resource(const char *name)
{
	if (strcasecmp(name, "cpu") == 0)
		return "num-cpus";
	if (strcasecmp(name, "memory") == 0)
		return "memory";
	return resource_is_gpu(name) ? "num-gpus" : NULL;
}

static int merge_resources(cJSON *params, const cJSON *resources, struct err *err)
{
	_cleanup_json_ cJSON *custom = cJSON_CreateObject();

	json_each(item, resources) {
		const char *param = param_of_resource(item->string);

		if (param)
			json_set_digits(params, param, start_params_quantity_of(item));
		else if (strchr(item->string, '\''))
			return err_set(err, EINVAL, "the resource name \"%.60s\" holds a quote",
				       item->string);
		else
			add_member(custom, item->string, cJSON_CreateNumber(parts_of(item)));
	}
	if (custom && custom->child)
		set_custom_resources(params, custom);
	return 0;
}

static int merge_labels(cJSON *params, const cJSON *labels, struct err *err)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(COMMAND_MAX);
	_cleanup_free_ const cJSON **items = NULL;
	size_t n = 0;

	if (!labels || !labels->child)
		return 0;
	items = sorted_items(labels, &n);
	for (size_t i = 0; items && i < n; i++) {
		const char *value = cJSON_GetStringValue(items[i]);

		strbuf_addf(&sb, "%s%s=%s", i ? "," : "", items[i]->string, value ? value : "");
	}
	if (!items || strbuf_failed(&sb))
		return err_set(err, ENOMEM, "labels");
	json_set_str(params, "labels", strbuf_str(&sb));
	return 0;
}

int start_params_from_group(const cJSON *group, cJSON **ret_params, struct err *err)
{
	_cleanup_json_ cJSON *params = cJSON_CreateObject();

	json_each(item, json_get(group, "rayStartParams"))
		if (cJSON_IsString(item))
			add_member(params, item->string, cJSON_CreateString(item->valuestring));
	int r = merge_resources(params, json_get(group, "resources"), err);
	if (r == 0)
		r = merge_labels(params, json_get(group, "labels"), err);
	if (r < 0)
		return r;
	*ret_params = TAKE_PTR(params);
	return *ret_params ? 0 : err_set(err, ENOMEM, "rayStartParams");
}

static void add_gpus(cJSON *params, const cJSON *limits)
{
	const cJSON *first = NULL;

	json_each(item, limits)
		if (resource_is_gpu(item->string) && start_params_quantity_of(item) &&
		    (!first || strcmp(item->string, first->string) < 0))
			first = item;
	if (first)
		start_param_default_int(params, "num-gpus", start_params_quantity_of(first));
}

/* Removes the characters that KubeRay removes at both ends. */
static const char *trim_quotes(const char *text, size_t *len)
{
	static const char quotes[] = "'\"` ";
	size_t first = strspn(text, quotes);

	while (*len > first && strchr(quotes, text[*len - 1]))
		--*len;
	*len -= MIN(first, *len);
	return text + first;
}

/*
 * Parses the JSON in a `resources` parameter with any quoting: '{"a":1}', '"{\"a\":1}"', or
 * "{"a":1}". The last is not JSON, and the shell would spoil it, but KubeRay accepts it together
 * with an accelerator. Returns NULL for anything else.
 */
static cJSON *parse_custom_resources(const char *text)
{
	size_t len = text ? strlen(text) : 0;
	cJSON *json = NULL, *inner = NULL;

	if (!len)
		return cJSON_CreateObject();
	if (len > COMMAND_MAX)
		return NULL; /* the command will be refused */
	if (len >= 2 && text[0] == '\'' && text[len - 1] == '\'')
		text++, len -= 2;
	if (json_parse(text, len, &json, NULL) == 0 && cJSON_IsString(json)) {
		(void)json_parse(json->valuestring, strlen(json->valuestring), &inner, NULL);
		cJSON_Delete(json);
		json = inner;
	}
	if (!json) {
		text = trim_quotes(text, &len);
		(void)json_parse(text, len, &json, NULL);
	}
	if (!cJSON_IsObject(json)) {
		cJSON_Delete(json);
		return NULL;
	}
	return json;
}

/* Adds one kind of accelerator from the limits, unless it is in the user's resources. */
static void add_accelerators(cJSON *params, const cJSON *limits)
{
	_cleanup_json_ cJSON *custom = NULL;
	const cJSON *limit = NULL;
	size_t at = 0;

	for (; at < ARRAY_SIZE(accelerators); at++) {
		limit = cJSON_GetObjectItemCaseSensitive(limits, accelerators[at].kubernetes);
		if (start_params_quantity_of(limit))
			break;
	}
	if (at == ARRAY_SIZE(accelerators))
		return;
	custom = parse_custom_resources(json_member(params, "resources"));
	for (size_t i = 0; i < ARRAY_SIZE(accelerators); i++)
		if (!custom || cJSON_GetObjectItemCaseSensitive(custom, accelerators[i].ray))
			return;
	json_set(custom, accelerators[at].ray, cJSON_CreateNumber(parts_of(limit)));
	set_custom_resources(params, custom);
}

static void add_cpus(cJSON *params, const cJSON *resources)
{
	int64_t cpus = start_params_quantity_of(json_get(resources, "limits.cpu"));

	if (!cpus)
		cpus = start_params_quantity_of(json_get(resources, "requests.cpu"));
	if (cpus)
		start_param_default_int(params, "num-cpus", cpus);
}

void start_params_add_defaults(cJSON *params, enum ray_node node, const cJSON *resources,
			       const char *address)
{
	/* Without this parameter the container would end at once. */
	json_set_str(params, "block", "true");
	set_default(params, "dashboard-agent-listen-port", "52365");
	set_default(params, "metrics-export-port", "8080");
	if (node == RAY_HEAD)
		set_default(params, "dashboard-host", "0.0.0.0");
	else
		set_default(params, "address", address);
	add_cpus(params, resources);
	add_gpus(params, json_get(resources, "limits"));
	add_accelerators(params, json_get(resources, "limits"));
}

/* `ray start` takes these as options with a value; all other booleans are flags. */
static bool takes_value(const char *name)
{
	return TEXT_IS_ONE_OF(name, "include-dashboard", "include-log-monitor", "log-color");
}

static void start_params_add_option(struct strbuf *sb, const char *name, const char *value)
{
	bool yes = strcasecmp(value, "true") == 0, no = strcasecmp(value, "false") == 0;

	if ((!yes && !no) || takes_value(name))
		strbuf_addf(sb, " --%s=%s ", name, value);
	else if (yes)
		strbuf_addf(sb, " --%s ", name);
}

char *start_params_command(const cJSON *params, enum ray_node node)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(COMMAND_MAX);
	_cleanup_free_ const cJSON **items = NULL;
	size_t n = 0;

	items = sorted_items(params, &n);
	if (!items)
		return NULL;
	strbuf_adds(&sb, node == RAY_HEAD ? "ray start --head " : "ray start ");
	for (size_t i = 0; i < n; i++)
		start_params_add_option(&sb, items[i]->string, cJSON_GetStringValue(items[i]));
	return strbuf_detach(&sb);
}
