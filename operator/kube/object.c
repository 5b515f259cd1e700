/* SPDX-License-Identifier: Apache-2.0 */
/* The bare shape of a Kubernetes object, and a hash of text. */
#include "operator/kube/object.h"

#include <openssl/evp.h>

#include "lib/json.h"

cJSON *object_new(const char *api_version, const char *kind, const char *ns, const char *name)
{
	cJSON *object = cJSON_CreateObject(), *metadata;

	json_set_str(object, "apiVersion", api_version);
	json_set_str(object, "kind", kind);
	metadata = json_object_at(object, "metadata");
	json_set_str(metadata, "namespace", ns);
	json_set_str(metadata, "name", name);
	return object;
}

void sha256_hex(const char *text, size_t len, size_t n, char *ret_hex)
{
	unsigned char digest[EVP_MAX_MD_SIZE] = { 0 };

	EVP_Digest(text, len, digest, NULL, EVP_sha256(), NULL);
	for (size_t i = 0; i < n; i++)
		ret_hex[i] = "0123456789abcdef"[i % 2 ? digest[i / 2] & 15 : digest[i / 2] >> 4];
	ret_hex[n] = '\0';
}
