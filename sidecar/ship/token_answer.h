/* SPDX-License-Identifier: Apache-2.0 */
/* What the services that give short-lived credentials to a container answer, and which addresses they may have. Pure. */
#ifndef AFTERGLOW_SIDECAR_SHIP_TOKEN_ANSWER_H
#define AFTERGLOW_SIDECAR_SHIP_TOKEN_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/ship/s3_answer.h"

/*
 * Whether keys may be asked for at uri, and our token sent to it: https anywhere, plain http at the addresses of EKS and
 * ECS and at this machine. Amazon's own SDKs have the same rule.
 */
bool container_uri_is_safe(const char *uri);

/* {"AccessKeyId": ..., "SecretAccessKey": ..., "Token": ...}: the members are freed by sts_credentials_release. */
int container_read_credentials(const char *json, size_t len, struct sts_credentials *ret_credentials, struct err *err);

/* {"access_token": ..., "expires_in": SECONDS}. The caller wipes and frees *ret_token; *ret_seconds is 1 to 86400. */
int google_read_token(const char *json, size_t len, char **ret_token, int64_t *ret_seconds, struct err *err);

/* Whether the endpoint is Google Cloud Storage's own, which takes Google's tokens and its own names of headers. */
bool endpoint_is_google(const char *endpoint);

#endif
