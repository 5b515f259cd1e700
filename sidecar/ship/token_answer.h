/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the answers of the services that give a container short-lived credentials, and decides
 * which addresses of such services are safe. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/ship/s3_answer.h"

/*
 * Whether a request for keys, which carries our token, may be sent to uri: https to any host, plain
 * http only to the addresses of EKS and ECS and to this machine. Amazon's SDKs have the same rule.
 */
bool container_uri_is_safe(const char *uri);

/*
 * Parses {"AccessKeyId": ..., "SecretAccessKey": ..., "Token": ...}. The caller releases the result
 * with sts_credentials_release.
 */
int container_read_credentials(const char *json, size_t len,
			       struct sts_credentials *ret_credentials, struct err *err);

/*
 * Parses {"access_token": ..., "expires_in": SECONDS}, as Google's metadata server and Microsoft
 * Entra answer. The caller wipes and frees *ret_token; *ret_seconds is 1 to 86400, and a longer
 * time counts as a day.
 */
int oauth_read_token(const char *json, size_t len, char **ret_token, int64_t *ret_seconds,
		     struct err *err);

/*
 * Turns {"error": ..., "error_description": ...} into "invalid_client: AADSTS700016: ..."; "" if
 * the answer does not have that form.
 */
#define OAUTH_ERROR_MAX 256
void oauth_read_error(const char *json, size_t len, char ret_text[static OAUTH_ERROR_MAX]);

/*
 * Whether endpoint is Google Cloud Storage, which takes Google's tokens and has header names of its
 * own.
 */
bool endpoint_is_google(const char *endpoint);
