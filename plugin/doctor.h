/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which rights and facilities a cluster grants Afterglow, what each gap costs, and how to
 * close it. Pure: it turns the answers of the API server into text.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/*
 * Answers of the API server, each a Kubernetes List. NULL: the user has no right to read it, or no
 * answer came. The caller owns them.
 */
struct doctor_facts {
	const cJSON *crds; /* CustomResourceDefinitions */
	/* Deployments app.kubernetes.io/name=afterglow, of all namespaces */
	const cJSON *operators;
	const cJSON *webhooks; /* MutatingWebhookConfigurations app.kubernetes.io/name=afterglow */
	const cJSON *pods; /* Pods ray.io/is-ray-node=yes */
	const cJSON *claims; /* PersistentVolumeClaims */
	const cJSON *nodes; /* Nodes */
	/* Pods app.kubernetes.io/name=afterglow-node, of all namespaces; may be empty */
	const cJSON *node_agents;
};

/* The number of findings of each kind. */
struct doctor_result {
	unsigned good, gaps, broken, unknown;
};

/*
 * Appends a line or a block for each finding, the worst last, and a line that sums them up. Unless
 * it is NULL, also appends {level, what, costs, fix} of each to the array findings.
 */
struct doctor_result doctor(const struct doctor_facts *facts, cJSON *findings, struct strbuf *out);
