/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the command line about the export of failures. Pure. */
#ifndef AFTERGLOW_OPERATOR_EXPORT_OTLP_SETTINGS_H
#define AFTERGLOW_OPERATOR_EXPORT_OTLP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

#define OTLP_ENDPOINT_MAX 512 /* bytes of the URL */
#define OTLP_ATTRIBUTES_MAX 32
#define OTLP_ATTRIBUTE_MAX 512 /* bytes of NAME=VALUE */

/* The texts are borrowed from the command line. */
struct otlp_settings {
	const char *endpoint; /* NULL: nothing is exported */
	const char *headers_file, *ca_file; /* NULL: none, and the system's authorities */
	const char
		*attributes[OTLP_ATTRIBUTES_MAX]; /* NAME=VALUE, of the resource; each name once */
	size_t n_attributes;
};

/*
 * Sets the endpoint: http:// or https://, a host, perhaps a port and a path, to which /v1/logs is
 * added. "" counts as no endpoint. Returns -EINVAL if the URL is malformed, or has credentials,
 * which belong into the file of headers.
 */
int otlp_settings_set_endpoint(struct otlp_settings *settings, const char *url, struct err *err);
/*
 * Adds an attribute; the last value of a name counts. Returns -EINVAL if it is not NAME=VALUE, or
 * too long; -ENOSPC: too many.
 */
int otlp_settings_add_attribute(struct otlp_settings *settings, const char *attribute,
				struct err *err);
/* Returns whether there is an attribute of that name. */
bool otlp_settings_has(const struct otlp_settings *settings, const char *name);

#endif
