/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and patches the bundles of a MutatingWebhookConfiguration. */
#include "operator/webhook/webhook_configuration.h"

#include <errno.h>

#include "lib/oom.h"
#include "operator/webhook/certificate_content.h"

static void webhook_configuration_read_bundle(const cJSON *webhook, struct x509_bundle *bundle)
{
	const char *base64 = json_str(webhook, "clientConfig.caBundle");
	_cleanup_free_ char *text = base64 ? certificate_unbase64(base64) : NULL;

	x509_bundle_read(bundle, text);
}

int webhook_configuration_read(const cJSON *object, struct x509_bundle *ret_published,
			       bool *ret_uneven, struct err *err)
{
	_cleanup_bundle_ struct x509_bundle all = { 0 };
	size_t n = 0, first = 0;
	bool uneven = false;

	json_each(webhook, json_get(object, "webhooks")) {
		_cleanup_bundle_ struct x509_bundle own = { 0 };

		if (n == WEBHOOK_CONFIGURATION_MAX)
			break;
		webhook_configuration_read_bundle(webhook, &own);
		for (size_t i = 0; i < own.n; i++)
			x509_bundle_add(&all, own.certs[i]);
		first = n == 0 ? own.n : first;
		uneven |= own.n != first || all.n != first;
		n++;
	}
	if (n == 0)
		return err_set(err, ENOENT, "the webhook configuration has no webhooks");
	x509_bundle_release(ret_published);
	*ret_published = all;
	all = (struct x509_bundle){ 0 };
	*ret_uneven = uneven;
	return 0;
}

cJSON *webhook_configuration_patch(const cJSON *object, const char *bundle)
{
	size_t lost = oom_count(), n = 0;
	_cleanup_free_ char *base64 = certificate_base64(bundle);
	_cleanup_json_ cJSON *patch = cJSON_CreateObject();
	cJSON *webhooks = json_array_at(patch, "webhooks");
	const char *version = json_str(object, "metadata.resourceVersion");

	if (version)
		json_set_str(json_object_at(patch, "metadata"), "resourceVersion", version);
	json_each(webhook, json_get(object, "webhooks")) {
		const char *name = json_str(webhook, "name");
		cJSON *entry =
			name && n++ < WEBHOOK_CONFIGURATION_MAX ? cJSON_CreateObject() : NULL;

		if (!entry)
			continue;
		json_set_str(entry, "name", name);
		json_set_str(json_object_at(entry, "clientConfig"), "caBundle", base64);
		json_append(webhooks, entry);
	}
	return base64 && oom_count() == lost ? TAKE_PTR(patch) : NULL;
}
