/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a review is read. */
#include "operator/webhook/review_budget.h"

#include "lib/strmap.h"
#include "lib/units.h"
#include "operator/kube/json_shape.h"

void review_budget_init(struct review_budget *budget)
{
	budget->all = (struct budget){ NS_PER_SEC / REVIEW_COSTLY_RATE, REVIEW_COSTLY_BURST, 0 };
	for (size_t i = 0; i < REVIEW_BUDGETS; i++)
		budget->of_namespaces[i] =
			(struct budget){ NS_PER_SEC / REVIEW_COSTLY_NAMESPACE_RATE,
					 REVIEW_COSTLY_NAMESPACE_BURST, 0 };
}

enum review_size review_size(const char *text, size_t len)
{
	struct json_shape shape;

	if (len > REVIEW_BYTES_MAX)
		return REVIEW_TOO_LARGE;
	json_shape(text, len, &shape);
	if (shape.values > REVIEW_VALUES_MAX || shape.depth > JSON_DEPTH_MAX)
		return REVIEW_TOO_LARGE;
	return len > REVIEW_COSTLY_BYTES || shape.values > REVIEW_COSTLY_VALUES ? REVIEW_COSTLY :
										  REVIEW_USUAL;
}

bool review_budget_take(struct review_budget *budget, const char *name_space, int64_t now_ns)
{
	/*
	 * Nobody outside knows this hash, so a namespace cannot be named to share another's budget.
	 */
	struct budget *own = &budget->of_namespaces[strmap_hash(name_space) % REVIEW_BUDGETS];
	struct budget before = *own;

	if (!budget_take(own, now_ns))
		return false;
	if (budget_take(&budget->all, now_ns))
		return true;
	*own = before;
	return false;
}
