/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer of the API server means for the operation of a plan that asked for it. Pure. */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_OP_RESULT_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_OP_RESULT_H

#include "operator/kube/client.h"
#include "operator/raycluster/plan.h"

enum verdict {
	WENT_WELL, /* done; or it need not be */
	WENT_WRONG,
	MUST_REPLAN, /* the world is not as the plan saw it */
};
enum verdict op_result_verdict(const struct plan_op *op, const struct client_response *response);

/* Something of that name is there already. (A 409 of a quota that somebody else counts just now says Conflict.) */
bool op_result_is_taken(const struct plan_op *op, const struct client_response *response);
/* The server's own no to a pod, not trouble with the way to it. */
bool op_result_is_refusal(const struct plan_op *op, const struct client_response *response);

/* Of an operation: "create"; whether its object is of the kind; a label, or NULL. */
const char *op_name(const struct plan_op *op);
bool op_is_kind(const struct plan_op *op, const char *kind);
const char *op_label(const struct plan_op *op, const char *name);

#endif
