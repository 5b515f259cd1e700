/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the Secret of the webhook's certificates. */
#include "operator/webhook/certificate_content.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "operator/webhook/x509.h"

static const struct {
	const char *name;
	size_t at;
} texts[] = {
	{ "ca.crt", offsetof(struct certificate_content, bundle) },
	{ "ca.key", offsetof(struct certificate_content, ca_key) },
	{ "next-ca.crt", offsetof(struct certificate_content, next_ca) },
	{ "next-ca.key", offsetof(struct certificate_content, next_key) },
	{ "tls.crt", offsetof(struct certificate_content, leaf) },
	{ "tls.key", offsetof(struct certificate_content, leaf_key) },
};

static const struct {
	const char *name;
	size_t at;
} times[] = {
	{ CERTIFICATE_PUBLISHED_ANNOTATION, offsetof(struct certificate_content, published_ns) },
	{ CERTIFICATE_REPLACED_ANNOTATION, offsetof(struct certificate_content, replaced_ns) },
};

static char **certificate_content_text_at(const struct certificate_content *content, size_t i)
{
	return (char **)((char *)content + texts[i].at);
}

static int64_t *time_at(const struct certificate_content *content, size_t i)
{
	return (int64_t *)((char *)content + times[i].at);
}

void certificate_content_release(struct certificate_content *content)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		pem_free_key(*certificate_content_text_at(content, i));
	*content = (struct certificate_content){ 0 };
}

int certificate_content_copy(const struct certificate_content *content,
			     struct certificate_content *ret_copy)
{
	struct certificate_content copy = *content;
	bool complete = true;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *text = *certificate_content_text_at(content, i);

		*certificate_content_text_at(&copy, i) = text ? strdup(text) : NULL;
		complete &= !text == !*certificate_content_text_at(&copy, i);
	}
	if (!complete) {
		certificate_content_release(&copy);
		return -ENOMEM;
	}
	*ret_copy = copy;
	return 0;
}

void certificate_content_move(struct certificate_content *content, struct certificate_content *from)
{
	if (content == from)
		return;
	certificate_content_release(content);
	*content = *from;
	*from = (struct certificate_content){ 0 };
}

/*
 * --- base64
 * -----------------------------------------------------------------------------------------------
 */

char *certificate_base64(const char *text)
{
	return base64_text(text, strlen(text));
}

char *certificate_unbase64(const char *base64)
{
	size_t len = strnlen(base64, BASE64_MAX(X509_PEM_MAX));
	char *text = len < BASE64_MAX(X509_PEM_MAX) ? malloc(len / 4 * 3 + 1) : NULL;
	int n = text ? base64_decode(base64, len, text) : -1;

	if (n <= 0 || memchr(text, '\0', (size_t)n)) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

/*
 * --- The object
 * -------------------------------------------------------------------------------------------
 */

static void overwrite(cJSON *value)
{
	if (cJSON_IsString(value))
		OPENSSL_cleanse(value->valuestring, strlen(value->valuestring));
}

void certificate_secret_free(cJSON *secret)
{
	cJSON *value;

	cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(secret, "data"))
		overwrite(value);
	cJSON_Delete(secret);
}

int certificate_content_read(cJSON *secret, struct certificate_content *ret_content,
			     struct err *err)
{
	_cleanup_content_ struct certificate_content content = { 0 };
	cJSON *data = cJSON_GetObjectItemCaseSensitive(secret, "data");
	const cJSON *annotations = json_get(secret, "metadata.annotations");

	if (!cJSON_IsObject(secret))
		return err_set(err, EPROTO, "the answer is no Secret");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cJSON *value = cJSON_GetObjectItemCaseSensitive(data, texts[i].name);

		if (cJSON_IsString(value))
			*certificate_content_text_at(&content, i) =
				certificate_unbase64(value->valuestring);
		overwrite(value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(annotations, times[i].name);

		if (!cJSON_IsString(value) ||
		    time_parse(value->valuestring, time_at(&content, i), NULL) < 0)
			*time_at(&content, i) = 0;
	}
	certificate_content_move(ret_content, &content);
	return 0;
}

static void certificate_content_add_text(cJSON *data, const char *name, const char *text,
					 bool merge)
{
	char *base64 = text ? certificate_base64(text) : NULL;

	if (text && !base64)
		oom_note();
	if (base64 || merge)
		json_set_str(data, name, base64);
	pem_free_key(base64);
}

cJSON *certificate_content_secret(const struct certificate_content *content, bool merge)
{
	size_t lost = oom_count();
	cJSON *secret = cJSON_CreateObject(), *metadata = json_object_at(secret, "metadata");

	json_set_str(secret, "apiVersion", "v1");
	json_set_str(secret, "kind", "Secret");
	if (!merge)
		/* The type cannot be changed later */
		json_set_str(secret, "type", "kubernetes.io/tls");
	json_set_str(json_object_at(metadata, "labels"), "app.kubernetes.io/managed-by",
		     "afterglow");
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		int64_t t = *time_at(content, i);

		if (t || merge)
			json_set_str(json_object_at(metadata, "annotations"), times[i].name,
				     t ? TIME_TEXT(t) : NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		certificate_content_add_text(json_object_at(secret, "data"), texts[i].name,
					     *certificate_content_text_at(content, i), merge);
	if (oom_count() == lost)
		return secret;
	certificate_secret_free(secret);
	return NULL;
}
