/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the settings of the export. */
#include "operator/export/otlp_settings.h"

#include <errno.h>
#include <string.h>

#include "operator/kube/kubeconfig.h"

int otlp_settings_set_endpoint(struct otlp_settings *settings, const char *url, struct err *err)
{
	const char *host = strstr(url, "://");

	if (!*url) {
		settings->endpoint = NULL;
		return 0;
	}
	if (!host || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) ||
	    !host[3] || host[3] == '/' || strlen(url) > OTLP_ENDPOINT_MAX || !is_plain(url) ||
	    strpbrk(url, "?#"))
		return err_set(
			err, EINVAL,
			"must be http://HOST:PORT or https://HOST:PORT, perhaps with a path, of at most %d bytes",
			OTLP_ENDPOINT_MAX);
	/* A password in the URL would appear in the list of processes and in the log. */
	if (strchr(url, '@'))
		return err_set(
			err, EINVAL,
			"must not hold credentials: put a header into the file of --otlp-headers");
	settings->endpoint = url;
	return 0;
}

static size_t name_len(const char *attribute)
{
	return strcspn(attribute, "=");
}

/*
 * Returns the index of the attribute whose name is the first len bytes of name; n_attributes if
 * there is none.
 */
static size_t find(const struct otlp_settings *settings, const char *name, size_t len)
{
	for (size_t i = 0; i < settings->n_attributes; i++)
		if (name_len(settings->attributes[i]) == len &&
		    memcmp(settings->attributes[i], name, len) == 0)
			return i;
	return settings->n_attributes;
}

int otlp_settings_add_attribute(struct otlp_settings *settings, const char *attribute,
				struct err *err)
{
	size_t len = name_len(attribute), at = find(settings, attribute, len);

	if (len == 0 || !attribute[len] || strlen(attribute) > OTLP_ATTRIBUTE_MAX)
		return err_set(err, EINVAL, "must be NAME=VALUE, of at most %d bytes",
			       OTLP_ATTRIBUTE_MAX);
	if (at == OTLP_ATTRIBUTES_MAX)
		return err_set(err, ENOSPC, "may be given %d times", OTLP_ATTRIBUTES_MAX);
	settings->attributes[at] = attribute;
	if (at == settings->n_attributes)
		settings->n_attributes++;
	return 0;
}

bool otlp_settings_has(const struct otlp_settings *settings, const char *name)
{
	return find(settings, name, strlen(name)) < settings->n_attributes;
}
