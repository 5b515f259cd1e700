/* SPDX-License-Identifier: Apache-2.0 */
/* For this folder's tests: fixtures as JSON, and a readable difference. Include after cmocka.h. */
#pragma once

#include <fcntl.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/strbuf.h"
#include "operator/kube/yaml.h"
#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"
#include "operator/testing.h"

#define TESTDATA "operator/raycluster/testdata/"

static inline cJSON *fixture(const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	struct err err = { 0 };
	char path[256];
	cJSON *json = NULL;

	snprintf(path, sizeof(path), TESTDATA "%s", name);
	if (file_read(AT_FDCWD, path, &text, &err) < 0 ||
	    yaml_to_json(strbuf_str(&text), text.len, &json, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	return json;
}

/* Launchers for both machines; each has four bytes. */
static inline const struct launchers *testing_launchers(void)
{
	static struct launchers launchers;

	launchers.n = 2;
	launchers.of[0] = launcher_of("x86_64", "\x7f" "ELF", 4);
	launchers.of[1] = launcher_of("aarch64", "\x7f" "ARM", 4);
	return &launchers;
}

/* Prints each place where the two differ; returns how many. */
static inline int differences(const cJSON *have, const cJSON *want, const char *path)
{
	const cJSON *item;
	char at[1024];
	int n = 0, i = 0;

	if (!have || !want || cJSON_IsObject(have) != cJSON_IsObject(want) ||
	    cJSON_IsArray(have) != cJSON_IsArray(want) ||
	    (!cJSON_IsObject(want) && !cJSON_IsArray(want))) {
		_cleanup_free_ char *a = have ? cJSON_PrintUnformatted(have) : NULL;
		_cleanup_free_ char *b = want ? cJSON_PrintUnformatted(want) : NULL;

		if (have && want && cJSON_Compare(have, want, true))
			return 0;
		print_error("%s\n  have %s\n  want %s\n", path, a ? a : "nothing",
			    b ? b : "nothing");
		return 1;
	}
	cJSON_ArrayForEach(item, want) {
		snprintf(at, sizeof(at), item->string ? "%s.%s" : "%s[%.0s%d]", path,
			 item->string ? item->string : "", i);
		n += differences(item->string ? cJSON_GetObjectItemCaseSensitive(have, item->string)
					      : cJSON_GetArrayItem(have, i),
				 item, at);
		i++;
	}
	i = 0;
	cJSON_ArrayForEach(item, have) {
		snprintf(at, sizeof(at), "%s.%s", path, item->string ? item->string : "[more]");
		if (item->string ? !cJSON_GetObjectItemCaseSensitive(want, item->string)
				 : i >= cJSON_GetArraySize(want))
			n += differences(item, NULL, at);
		i++;
	}
	return n;
}

static inline void assert_json(const cJSON *have, const cJSON *want)
{
	assert_int_equal(differences(have, want, ""), 0);
}
