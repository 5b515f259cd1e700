/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any text of an object must be read whole, or give a remnant with its name, or an
 * error.
 */
#include "operator/kube/salvage.h"

#include <stdint.h>
#include <stdlib.h>

#include "operator/kube/json_shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const fields[] = { "metadata.name", "metadata.uid", "status.phase",
					      NULL };
	struct json_shape shape;

	json_shape((const char *)data, size, &shape);
	for (int i = 0; i < 2; i++) {
		cJSON *object = NULL;
		struct err err = { 0 };
		int r = salvage_text((const char *)data, size, i ? fields : NULL, &object, &err);

		if ((r == 0) != (object != NULL) || (r < 0) != (err.code != 0))
			abort();
		if (object && salvage_reason(object) && i == 0 &&
		    !json_str(object, "metadata.name"))
			abort();
		cJSON_Delete(object);
	}
	return 0;
}
