/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: whatever a manifest says, no name leaves the bundle and no size is nonsense. */
#include "sidecar/ship/plan.h"

#include <stdlib.h>
#include <string.h>

#include "sidecar/ship/store_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan plan;
	struct store_url url;
	_cleanup_free_ char *text = strndup((const char *)data, size);

	if (plan_parse((const char *)data, size, &plan, NULL) == 0) {
		for (size_t i = 0; i < plan.n; i++)
			if (store_path_check(plan.items[i].name, NULL) < 0 || plan.items[i].size < 0 ||
			    strlen(plan.items[i].sha256) != SHA256_TEXT_MAX - 1)
				abort();
		plan_release(&plan);
	}
	if (text && store_url_parse(text, &url, NULL) == 0 && url.kind != STORE_DIRECTORY && strstr(url.path, "/../"))
		abort();
	return 0;
}
