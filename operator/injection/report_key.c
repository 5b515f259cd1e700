/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a pod the key with which its sidecar signs. */
#include "operator/injection/report_key.h"

#include <openssl/rand.h>

#include "lib/json.h"
#include "operator/injection/inject.h"

void report_key_new(char ret_key[static REPORT_KEY_LEN + 1])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[REPORT_KEY_LEN / 2];

	*ret_key = '\0';
	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		ret_key[2 * i] = digits[bytes[i] >> 4];
		ret_key[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_key[REPORT_KEY_LEN] = '\0';
}

void report_key_annotate(cJSON *pod, const char *key)
{
	if (*key && inject_is_done(json_get(pod, "spec")))
		json_set_str(json_object_at(json_object_at(pod, "metadata"), "annotations"),
			     REPORT_KEY_ANNOTATION, key);
}

const char *report_key_of(const cJSON *pod)
{
	const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
		json_get(pod, "metadata.annotations"), REPORT_KEY_ANNOTATION));

	return key && *key ? key : NULL;
}
