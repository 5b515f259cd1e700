/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets the API server's answer to an operation. */
#include "operator/cluster_controller/op_result.h"

#include <string.h>

#include "lib/macros.h"
#include "operator/kube/object.h"

enum verdict op_result_verdict(const struct plan_op *op, const struct client_response *response)
{
	if (response->status / 100 == 2)
		return WENT_WELL;
	/* The operation sets a label or an annotation of a pod. The pod counts without it, too. */
	if (op->kind == PLAN_MERGE && op_is_kind(op, "Pod") && response->status / 100 == 4 &&
	    response->status != 429)
		return WENT_WELL;
	if (op_result_is_taken(op, response))
		return WENT_WELL;
	if (response->status == 404 &&
	    (op->kind == PLAN_DELETE || op->kind == PLAN_STATUS || op->kind == PLAN_MERGE))
		return WENT_WELL;
	if (response->status == 409)
		return MUST_REPLAN;
	return WENT_WRONG;
}

bool op_result_is_taken(const struct plan_op *op, const struct client_response *response)
{
	return response->status == 409 && op->kind == PLAN_CREATE &&
	       strcmp(response->reason, "AlreadyExists") == 0;
}

bool op_result_is_refusal(const struct plan_op *op, const struct client_response *response)
{
	return (op->kind == PLAN_CREATE || op->kind == PLAN_DELETE) && op_is_kind(op, "Pod") &&
	       response->status >= 400 && response->status != 409 && response->status != 429;
}

const char *op_name(const struct plan_op *op)
{
	static const char *const names[] = { "apply", "create",	 "delete", "status",
					     "merge", "believe", "event" };

	return (size_t)op->kind < ARRAY_SIZE(names) ? names[op->kind] : "?";
}

bool op_is_kind(const struct plan_op *op, const char *kind)
{
	return json_is(op->body, "kind", kind);
}

const char *op_label(const struct plan_op *op, const char *name)
{
	return object_label(op->body, name);
}
