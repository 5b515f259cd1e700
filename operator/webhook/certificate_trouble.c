/* SPDX-License-Identifier: Apache-2.0 */
/* Reports trouble with the webhook's certificates. */
#include "operator/webhook/certificate_trouble.h"

#include <stdarg.h>
#include <string.h>

#include "lib/log.h"

void trouble_say(struct certificate_trouble *trouble, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	trouble->now = true;
	if (strcmp(text, trouble->reported) == 0)
		return;
	snprintf(trouble->reported, sizeof(trouble->reported), "%s", text);
	log_warning("webhook certificates: %s", text);
}

void trouble_secret(struct certificate_trouble *trouble, const struct client_response *response,
		    const char *verb, const char *namespace, const char *name)
{
	if (response->status == 403)
		trouble_say(
			trouble,
			"this operator may not %s the Secret %s in namespace %s. A Role there must allow its service account to get"
			" and patch the secret %s, and to create secrets",
			verb, name, namespace, name);
	else
		trouble_say(trouble, "Secret %s/%s: %s", namespace, name, err_text(&response->err));
}

void trouble_configuration(struct certificate_trouble *trouble,
			   const struct client_response *response, const char *verb,
			   const char *name)
{
	if (response->status == 403)
		trouble_say(
			trouble,
			"this operator may not %s the MutatingWebhookConfiguration %s. A ClusterRole must allow its service account"
			" to get and patch mutatingwebhookconfigurations of that name",
			verb, name);
	else if (response->status == 404)
		trouble_say(
			trouble,
			"there is no MutatingWebhookConfiguration %s: the API server calls no webhook of this operator. The Helm"
			" chart makes it, and --webhook-configuration must have its name",
			name);
	else
		trouble_say(trouble, "MutatingWebhookConfiguration %s: %s", name,
			    err_text(&response->err));
}

void trouble_settle(struct certificate_trouble *trouble)
{
	if (trouble->now || !trouble->reported[0])
		return;
	trouble->reported[0] = '\0';
	log_info("webhook certificates: recovered");
}
