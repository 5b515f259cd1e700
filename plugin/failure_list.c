/* SPDX-License-Identifier: Apache-2.0 */
/* Lists RayFailures: sorted by the time of their end, filtered, grouped. */
#include "plugin/failure_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/strmap.h"
#include "lib/units.h"
#include "plugin/table.h"

#define INCIDENT_KEY_MAX 512

static const char *failure_list_age_of(int64_t at_ns, int64_t now_ns,
				       char buf[static DURATION_TEXT_MAX])
{
	if (!at_ns)
		return "";
	return duration_format(MAX(now_ns - at_ns, (int64_t)0) / NS_PER_SEC * NS_PER_SEC, buf);
}

static const char *exit_of(const cJSON *failure, char *buf, size_t size)
{
	if (!cJSON_IsNumber(json_get(failure, "spec.exitCode")))
		return "";
	snprintf(buf, size, "%" PRId64, json_int(failure, "spec.exitCode", 0));
	return buf;
}

/*
 * Adds a row. Its first cell is the namespace; without namespaces the row begins with the second
 * cell.
 */
static void failure_list_add_row(struct table *table, const struct item *item, bool namespaces,
				 int64_t now_ns)
{
	char exit_code[24], age[DURATION_TEXT_MAX];
	const char *cells[] = {
		failure_str(item->failure, "metadata.namespace"),
		failure_str(item->failure, "spec.pod"),
		failure_str(item->failure, "spec.class"),
		failure_str(item->failure, "spec.confidence"),
		exit_of(item->failure, exit_code, sizeof(exit_code)),
		failure_str(item->failure, "spec.memoryText"),
		failure_str(item->failure, "status.causedByText"),
		failure_list_age_of(item->ended_ns, now_ns, age),
		failure_str(item->failure, "metadata.name"),
	};

	table_row(table, namespaces ? cells : cells + 1);
}

size_t failure_list(const cJSON *list, const struct failure_filter *filter, bool namespaces,
		    int64_t now_ns, struct strbuf *out)
{
	const char *place = json_str(list, "heading");
	const char *const headings[] = {
		"NAMESPACE", place ? place : "POD", "CLASS", "CONFIDENCE", "EXIT",
		"MEMORY",    "CAUSED BY",	    "AGE",   "NAME"
	};
	struct items items = failure_items_of(list, filter);
	struct table table;

	table_init(&table, namespaces ? headings : headings + 1,
		   ARRAY_SIZE(headings) - !namespaces);
	for (size_t i = 0; i < items.n; i++)
		failure_list_add_row(&table, &items.all[i], namespaces, now_ns);
	if (items.n)
		table_print(&table, out);
	table_release(&table);
	free(items.all);
	return items.n;
}

cJSON *failure_list_json(const cJSON *list, const struct failure_filter *filter)
{
	cJSON *json = cJSON_CreateObject(), *array = json_array_at(json, "items");
	struct items items = failure_items_of(list, filter);

	for (size_t i = 0; i < items.n; i++)
		json_append(array, cJSON_Duplicate(items.all[i].failure, true));
	free(items.all);
	return json;
}

/*
 * --- By signature
 * ------------------------------------------------------------------------------------------
 */

cJSON *failure_list_signatures_json(const cJSON *list, const struct failure_filter *filter)
{
	cJSON *json = cJSON_CreateObject(), *array = json_array_at(json, "signatures");
	struct items items = failure_items_of(list, filter);
	size_t n;
	_cleanup_free_ struct failure_group *groups = failure_groups(&items, &n);

	while (n-- > 0) {
		cJSON *group = cJSON_CreateObject();

		json_set_str(group, "signature", groups[n].signature);
		json_set_int(group, "failures", (int64_t)groups[n].n);
		json_set_int(group, "pods", (int64_t)groups[n].pods);
		json_set_str(group, "firstAt", json_str(groups[n].first->failure, "spec.endedAt"));
		json_set_str(group, "lastAt", json_str(groups[n].last->failure, "spec.endedAt"));
		json_set_str(group, "example",
			     failure_str(groups[n].last->failure, "metadata.name"));
		json_append(array, group);
	}
	free(items.all);
	return json;
}

static const char *age_at(const cJSON *group, const char *name, int64_t now_ns,
			  char buf[static DURATION_TEXT_MAX])
{
	int64_t at_ns;

	return failure_list_age_of(json_time(group, name, &at_ns) ? at_ns : 0, now_ns, buf);
}

size_t failure_list_signatures(const cJSON *list, const struct failure_filter *filter,
			       int64_t now_ns, struct strbuf *out)
{
	const char *whose = json_str(list, "heading") ? "COMMANDS" : "PODS";
	const char *const headings[] = {
		"FAILURES", whose, "FIRST", "LAST", "SIGNATURE", "EXAMPLE"
	};
	_cleanup_json_ cJSON *json = failure_list_signatures_json(list, filter);
	const cJSON *groups = json_get(json, "signatures");
	struct table table;

	table_init(&table, headings, ARRAY_SIZE(headings));
	json_each(group, groups) {
		char count[24], pods[24], first[DURATION_TEXT_MAX], age[DURATION_TEXT_MAX];

		snprintf(count, sizeof(count), "%" PRId64, json_int(group, "failures", 0));
		snprintf(pods, sizeof(pods), "%" PRId64, json_int(group, "pods", 0));
		table_row(&table, (const char *const[]){ count, pods,
							 age_at(group, "firstAt", now_ns, first),
							 age_at(group, "lastAt", now_ns, age),
							 json_str(group, "signature"),
							 json_str(group, "example") });
	}
	if (json_first(groups))
		table_print(&table, out);
	table_release(&table);
	return (size_t)cJSON_GetArraySize(groups);
}

/*
 * --- Incidents
 * ---------------------------------------------------------------------------------------------
 */

static const char *incident_of(const cJSON *failure)
{
	return json_str_or(failure, "status.incident", "");
}

/* Returns whether this failure is the first cause of the incident: no other failure caused it. */
static bool is_first(const cJSON *failure, const char *id)
{
	if (!*incident_of(failure) || json_get(failure, "status.causedBy"))
		return false;
	return id ? strcmp(incident_of(failure), id) == 0 :
		    json_int(failure, "status.consequences", 0) > 0;
}

struct incident {
	const cJSON *first;
	cJSON *followed;
};

static const char *incident_key(const cJSON *failure, char key[static INCIDENT_KEY_MAX])
{
	snprintf(key, INCIDENT_KEY_MAX, "%.255s/%.255s", failure_str(failure, "metadata.namespace"),
		 incident_of(failure));
	return key;
}

cJSON *failure_list_incidents_json(const cJSON *list, const struct failure_filter *filter,
				   const char *id)
{
	cJSON *json = cJSON_CreateObject(), *incidents = json_array_at(json, "incidents");
	struct items items = failure_items_of(list, filter);
	_cleanup_free_ struct incident *all = calloc(items.n + 1, sizeof(*all));
	struct strmap by_key = STRMAP_INIT;
	char key[INCIDENT_KEY_MAX];

	/*
	 * Each failure stands in one incident: in all of equal names, many would be duplicated very
	 * often.
	 */
	for (size_t i = 0; all && i < items.n; i++) {
		const cJSON *first = items.all[i].failure;

		if (!is_first(first, id) || strmap_get(&by_key, incident_key(first, key)) ||
		    strmap_put(&by_key, key, &all[i], NULL) < 0)
			continue;
		cJSON *incident = cJSON_CreateObject();
		json_set_str(incident, "incident", incident_of(first));
		json_set(incident, "first", cJSON_Duplicate(first, true));
		all[i] = (struct incident){ first, json_array_at(incident, "followed") };
		json_append(incidents, incident);
	}
	for (size_t i = 0; i < items.n; i++) {
		const cJSON *failure = items.all[i].failure;
		const struct incident *its = strmap_get(&by_key, incident_key(failure, key));

		if (its && its->first != failure)
			json_append(its->followed, cJSON_Duplicate(failure, true));
	}
	strmap_release(&by_key, NULL);
	free(items.all);
	return json;
}

static void add_member(const cJSON *failure, const cJSON *first, struct strbuf *out)
{
	int64_t ended = failure_ended_ns(failure), after = ended - failure_ended_ns(first);

	strbuf_adds(out, failure == first ? "  first  " : "  then   ");
	if (failure != first && ended && ended != after)
		strbuf_addf(out, "%c%-10s", after < 0 ? '-' : '+',
			    DURATION_TEXT(after < 0 ? -after : after));
	else
		strbuf_addf(out, "%11s", "");
	add_between(out, "", failure_str(failure, "spec.class"), "  ");
	add_between(out, "", failure_str(failure, "spec.pod"), "  ");
	add_between(out, "", failure_str(failure, "metadata.name"), "\n");
}

static void add_incident(const cJSON *incident, int64_t now_ns, struct strbuf *out)
{
	const cJSON *first = json_get(incident, "first");
	char age[DURATION_TEXT_MAX];

	add_between(out, "Incident ", incident_of(first), "");
	if (!json_str(first, "spec.run")) {
		add_between(out, ", namespace ", failure_str(first, "metadata.namespace"), "");
		add_between(out, ", cluster ", failure_str(first, "spec.cluster"), "");
	}
	strbuf_addf(out, ", %s ago\n  ", failure_list_age_of(failure_ended_ns(first), now_ns, age));
	add_between(out, "", failure_str(first, "spec.verdict"), "\n");
	add_member(first, first, out);
	json_each(other, json_get(incident, "followed"))
		add_member(other, first, out);
}

size_t failure_list_incidents(const cJSON *list, const struct failure_filter *filter,
			      const char *id, int64_t now_ns, struct strbuf *out)
{
	_cleanup_json_ cJSON *json = failure_list_incidents_json(list, filter, id);
	const cJSON *all = json_get(json, "incidents");

	json_each(incident, all) {
		strbuf_adds(out, incident == all->child ? "" : "\n");
		add_incident(incident, now_ns, out);
	}
	return (size_t)cJSON_GetArraySize(all);
}

/*
 * Returns the newest failure with that text at path, or with one that goes on with '-' or '@' if
 * `begins`; NULL: there is none.
 */
static const cJSON *failure_newest(const cJSON *list, const char *path, const char *text,
				   bool begins)
{
	const cJSON *found = NULL;
	size_t len = strlen(text);

	json_each(failure, json_get(list, "items")) {
		const char *its = failure_str(failure, path);

		if (len && strncasecmp(its, text, len) == 0 &&
		    (begins ? its[len] == '-' || its[len] == '@' : !its[len]) &&
		    (!found || failure_ended_ns(failure) >= failure_ended_ns(found)))
			found = failure;
	}
	return found;
}

/* What a job or a cluster failed of is what ended first. */
static const cJSON *failure_first_cause(const cJSON *list, const cJSON *failure)
{
	json_each(other, json_get(list, "items"))
		if (json_is(other, "metadata.name", json_str(failure, "status.causedBy.name")) &&
		    json_is(other, "metadata.namespace",
			    failure_str(failure, "metadata.namespace")) &&
		    strcmp(incident_of(other), incident_of(failure)) == 0)
			return other;
	return failure;
}

const cJSON *failure_find(const cJSON *list, const char *name)
{
	static const struct {
		const char *prefix, *path;
		bool of_many, begins;
	} rows[] = {
		{ "rf/", "metadata.name", .of_many = false },
		{ "rayfailure/", "metadata.name", .of_many = false },
		{ "pod/", "spec.pod", .of_many = false },
		{ "", "spec.ownerText", .of_many = true },
		{ "raycluster/", "spec.cluster", .of_many = true },
		{ "", "spec.podIP", .of_many = false },
		{ "", "spec.rayNodeID", .of_many = false },
		{ "", "spec.process.workerID", .of_many = false },
		{ "pod/", "spec.pod",
		  .begins =
			  true }, /* of "demo-head-x7k2p" who types "demo-head", of "ray@node1" who types "ray" */
	};

	const char *slash = strchr(name, '/');
	char held[512];

	/* `kubectl get -o name` writes the kind as "rayjob.ray.io". */
	snprintf(held, sizeof(held), "%.*s%s", slash ? (int)strcspn(name, "./") : 0, name,
		 slash ? slash : name);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = strlen(rows[i].prefix);
		const char *rest = strncasecmp(held, rows[i].prefix, len) == 0 ? held + len : held;
		const cJSON *found = failure_newest(list, rows[i].path, rest, rows[i].begins);

		if (found)
			return rows[i].of_many ? failure_first_cause(list, found) : found;
	}
	return NULL;
}
