/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets the API server's answer to an operation of a plan. Pure. */
#pragma once

#include "operator/kube/client.h"
#include "operator/raycluster/plan.h"

enum verdict {
	WENT_WELL, /* the operation is done, or not needed */
	WENT_WRONG,
	MUST_REPLAN, /* the plan was made for another state */
};
enum verdict op_result_verdict(const struct plan_op *op, const struct client_response *response);

/*
 * Returns whether an object of that name exists already. (A 409 because a quota is being updated
 * has the reason Conflict.)
 */
bool op_result_is_taken(const struct plan_op *op, const struct client_response *response);
/*
 * Returns whether the server itself refused a pod, as opposed to trouble with the connection to it.
 */
bool op_result_is_refusal(const struct plan_op *op, const struct client_response *response);

/*
 * Describe an operation: its name, such as "create"; whether its object is of that kind; a label of
 * its object, or NULL.
 */
const char *op_name(const struct plan_op *op);
bool op_is_kind(const struct plan_op *op, const char *kind);
const char *op_label(const struct plan_op *op, const char *name);
