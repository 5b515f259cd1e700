/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the deaths of one session of Ray into incidents. */
#include "plugin/local_incidents.h"

#include <stdlib.h>
#include <string.h>

#include "lib/incident.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "plugin/failure_items.h"

static int by_session(const void *left, const void *right)
{
	return strcmp(failure_str(*(cJSON *const *)left, "spec.raySession"),
		      failure_str(*(cJSON *const *)right, "spec.raySession"));
}

/* Whether it is known where and when a command of a cluster died, and of what. */
static bool is_of_session(const cJSON *failure)
{
	return *failure_str(failure, "spec.raySession") && *failure_str(failure, "spec.run") &&
	       failure_ended_ns(failure) &&
	       failure_class_from_name(failure_str(failure, "spec.class")) >= 0;
}

/* A cluster without Kubernetes has no pods: the run of a command stands for one. */
static struct incident_death death_of_failure(const cJSON *failure)
{
	const cJSON *spec = json_get(failure, "spec"), *error = json_get(spec, "rayError");

	return (struct incident_death){
		.name = failure_str(failure, "spec.bundle"),
		.class = (enum failure_class)failure_class_from_name(
			failure_str(failure, "spec.class")),
		.ended_ns = failure_ended_ns(failure),
		.pod = failure_str(failure, "spec.pod"),
		.uid = failure_str(failure, "spec.run"),
		.container = failure_str(failure, "spec.container"),
		.node = failure_str(failure, "spec.node"),
		.process = failure_str(failure, "spec.process.name"),
		.ended_by = "",
		.ip = "",
		.ray_node = failure_str(failure, "spec.rayNodeID"),
		.worker = failure_str(failure, "spec.process.workerID"),
		.pid = json_int(spec, "process.pid", 0),
		.names = { json_str_or(error, "nodeID", ""), json_str_or(error, "workerID", ""), "",
			   json_int(error, "pid", 0) },
		.restart = -1,
		.exit_code = json_int(spec, "exitCode", -1),
		.head = json_bool(spec, "rayHead", false),
		.ray = true,
		.lives = json_bool(spec, "containerLives", false),
		.signaled = json_str(spec, "process.signal") || json_str(spec, "signal"),
	};
}

/* Writes what the operator would write into the status of the failure. */
static void place_write(cJSON *failure, const struct incident_death *death, const cJSON *cause,
			const struct incident_death *first, size_t consequences)
{
	cJSON *status = failure != cause || consequences ? json_object_at(failure, "status") : NULL,
	      *caused_by;
	char text[INCIDENT_TEXT_MAX];

	if (status)
		json_set_str(status, "incident", failure_str(cause, "metadata.name"));
	if (status && failure == cause)
		json_set_int(status, "consequences", (int64_t)consequences);
	if (failure == cause)
		return;
	caused_by = json_object_at(status, "causedBy");
	json_set_str(caused_by, "name", failure_str(cause, "metadata.name"));
	json_set_str(caused_by, "class", failure_class_name(first->class));
	json_set_str(caused_by, "pod", first->pod);
	json_set_str(caused_by, "container", first->container);
	json_set_str(status, "causedByText", incident_text(first, death, "command", text));
}

static void session_join(cJSON *const *failures, size_t n)
{
	_cleanup_free_ struct incident_death *deaths = calloc(n, sizeof(*deaths));
	_cleanup_free_ struct incident_place *places = calloc(n, sizeof(*places));

	for (size_t i = 0; deaths && i < n; i++)
		deaths[i] = death_of_failure(failures[i]);
	if (!deaths || !places || incident_join(deaths, n, places) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		place_write(failures[i], &deaths[i], failures[places[i].first],
			    &deaths[places[i].first], places[i].consequences);
}

void local_incidents_join(cJSON *failures)
{
	_cleanup_free_ cJSON **list =
		calloc((size_t)cJSON_GetArraySize(failures) + 1, sizeof(*list));
	cJSON *failure;
	size_t n = 0;

	cJSON_ArrayForEach(failure, failures)
		if (list && is_of_session(failure))
			list[n++] = failure;
	if (n)
		qsort(list, n, sizeof(cJSON *), by_session);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && by_session(&list[end], &list[first]) == 0;)
			end++;
		session_join(list + first, end - first);
	}
}
