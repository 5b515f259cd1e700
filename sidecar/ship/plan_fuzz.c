/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a manifest. No name may lead out of the bundle, and sizes must be in
 * range.
 */
#include "sidecar/ship/plan.h"

#include <stdlib.h>
#include <string.h>

#include "sidecar/ship/store_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf placed = STRBUF_INIT(PLAN_MANIFEST_MAX);
	char path[PLAN_PATH_MAX];
	struct plan plan;
	struct store_url url;
	_cleanup_free_ char *text = strndup((const char *)data, size);

	if (plan_parse((const char *)data, size, &plan, NULL) == 0) {
		for (size_t i = 0; i < plan.n; i++)
			if ((plan.items[i].path &&
			     store_path_check(plan.items[i].path, NULL) < 0) ||
			    store_path_check(plan.items[i].name, NULL) < 0 ||
			    plan.items[i].size < 0 ||
			    strlen(plan.items[i].sha256) != SHA256_TEXT_MAX - 1)
				abort();
		plan_release(&plan);
	}
	strbuf_add(&placed, (const char *)data, size);
	if (plan_place_cores(&placed, "_cores", "ml/x", NULL) == 0 &&
	    plan_parse(strbuf_str(&placed), placed.len, &plan, NULL) == 0) {
		for (size_t i = 0; i < plan.n; i++)
			if (plan_locate(&plan.items[i], "ml/x", path, NULL) < 0 ||
			    store_path_check(path, NULL) < 0)
				abort();
		plan_release(&plan);
	}
	if (text && store_url_parse(text, &url, NULL) == 0 && url.kind != STORE_DIRECTORY &&
	    strstr(url.path, "/../"))
		abort();
	return 0;
}
