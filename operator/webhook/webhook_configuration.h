/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the bundles of a MutatingWebhookConfiguration, and makes the patch that sets them. Pure. */
#pragma once

#include "lib/json.h"
#include "operator/webhook/x509.h"

#define WEBHOOK_CONFIGURATION_MAX 64 /* webhooks in one object; more are left alone */

/*
 * Reads all different certificates of its webhooks, in their order, and whether one of the webhooks
 * has others than the first. Returns -ENOENT if it has no webhook at all.
 */
int webhook_configuration_read(const cJSON *object, struct x509_bundle *ret_published,
			       bool *ret_uneven, struct err *err);

/*
 * Makes a strategic merge patch that gives each webhook of object the bundle, and fails with 409 if
 * the object has changed meanwhile. Returns NULL if there is no memory.
 */
cJSON *webhook_configuration_patch(const cJSON *object, const char *bundle);
