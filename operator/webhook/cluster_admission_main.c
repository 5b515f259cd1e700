/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster-admission [POLICY.yaml] runs the admission of clusters for tests in other languages. Each
 * line of stdin is {"old", "object", "user", "mode"}, each line of stdout {"object", "warnings"};
 * object is null if nothing is changed.
 */
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "operator/webhook/cluster_admission.h"

/* Apply if no mode is named; "Default" is what the policy says. */
static enum memory_mode mode_of(const char *name, enum memory_mode by_policy)
{
	if (!name || strcmp(name, "Apply") == 0)
		return MEMORY_MODE_APPLY;
	if (strcmp(name, "Warn") == 0)
		return MEMORY_MODE_WARN;
	return strcmp(name, "Off") == 0 ? MEMORY_MODE_OFF : by_policy;
}

static int cluster_admission_main_answer(const char *line, size_t len, const struct policy *policy,
					 struct err *err)
{
	_cleanup_(cluster_admission_release) struct cluster_admission admission = { 0 };
	_cleanup_json_ cJSON *input = NULL, *output = cJSON_CreateObject();
	_cleanup_free_ char *text = NULL;
	struct policy by_mode = *policy;
	struct cluster_request req;
	int r = json_parse(line, len, &input, err);

	if (r < 0)
		return r;
	req = (struct cluster_request){ .old = json_get(input, "old"),
					.object = json_get(input, "object"),
					.user = json_str(input, "user") };
	by_mode.memory.mode = mode_of(json_str(input, "mode"), policy->memory.mode);
	r = cluster_admit(&req, &by_mode, &admission, err);
	if (r < 0)
		return r;
	json_set(output, "object",
		 admission.object ? TAKE_PTR(admission.object) : cJSON_CreateNull());
	json_set(output, "warnings", TAKE_PTR(admission.warnings));
	text = cJSON_PrintUnformatted(output);
	puts(text ? text : "null");
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_(policy_release) struct policy policy = { 0 };
	_cleanup_free_ char *line = NULL;
	struct err err = { 0 };
	size_t size = 0;
	ssize_t len;
	int r = argc > 1 ? policy_load(argv[1], &policy, &err) : policy_init(&policy, &err);

	while (r == 0 && (len = getline(&line, &size, stdin)) > 0)
		r = cluster_admission_main_answer(line, (size_t)len, &policy, &err);
	if (r < 0)
		fprintf(stderr, "cluster-admission: %s\n", err_text(&err));
	return r < 0;
}
