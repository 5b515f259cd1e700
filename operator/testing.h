/* SPDX-License-Identifier: Apache-2.0 */
/* For the operator's tests: objects as YAML. Include after cmocka.h. */
#pragma once

#include <string.h>

#include "lib/err.h"
#include "operator/kube/yaml.h"

/* Parses YAML; the test fails if it is malformed. */
static inline cJSON *json_of(const char *yaml)
{
	struct err err = { 0 };
	cJSON *json = NULL;

	if (yaml_to_json(yaml, strlen(yaml), &json, &err) < 0)
		fail_msg("%s\n%s", err.text, yaml);
	return json;
}
