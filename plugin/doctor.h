/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cluster grants Afterglow, what each gap costs, and how to close it. Pure: the answers of the API server come in as
 * values, text goes out.
 */
#ifndef AFTERGLOW_PLUGIN_DOCTOR_H
#define AFTERGLOW_PLUGIN_DOCTOR_H

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/* Each is the answer to one question, or NULL: we may not ask it, or got no answer. Lists are Kubernetes' List objects. */
struct doctor_facts {
	const cJSON *crds;     /* CustomResourceDefinitions */
	const cJSON *operators; /* Deployments app.kubernetes.io/name=afterglow, of all namespaces */
	const cJSON *webhooks; /* MutatingWebhookConfigurations app.kubernetes.io/name=afterglow */
	const cJSON *pods;     /* Pods ray.io/is-ray-node=yes */
	const cJSON *claims;   /* PersistentVolumeClaims */
	const cJSON *nodes;
	const cJSON *node_agents; /* Pods app.kubernetes.io/name=afterglow-node, of all namespaces; there may be none */
};

/* How many of them are of that kind. */
struct doctor_result {
	unsigned good, gaps, broken, unknown;
};

/* A line or a block for each finding, the worst last, and a line that sums them up. */
struct doctor_result doctor(const struct doctor_facts *facts, struct strbuf *out);

#endif
