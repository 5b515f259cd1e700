/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: for any JSON, reading it with the fields of a pod must give the same as projecting
 * its tree.
 */
#include "operator/kube/projection.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/cache/pod_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ cJSON *tree = NULL, *read = NULL;
	const char *text = (const char *)data;
	int r;

	/* cJSON ends a name at a NUL. Text from the network with a NUL is refused elsewhere. */
	if (memchr(data, '\0', size))
		return 0;
	r = project_text(text, size, pod_fields, &read, NULL);
	if (json_parse(text, size, &tree, NULL) < 0)
		return 0;
	if (r < 0)
		abort();
	project(tree, pod_fields);
	_cleanup_free_ char *expected = cJSON_PrintUnformatted(tree),
			    *actual = cJSON_PrintUnformatted(read);
	if (!expected || !actual || strcmp(expected, actual) != 0)
		abort();
	return 0;
}
