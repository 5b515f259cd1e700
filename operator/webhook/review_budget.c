/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a review is read. */
#include "operator/webhook/review_budget.h"

#include "lib/strmap.h"
#include "operator/kube/json_shape.h"

void review_budget_init(struct review_budget *budget)
{
	rate_limit_init(&budget->all, REVIEW_COSTLY_RATE, REVIEW_COSTLY_BURST);
	for (size_t i = 0; i < REVIEW_BUDGETS; i++)
		rate_limit_init(&budget->of_namespaces[i], REVIEW_COSTLY_NAMESPACE_RATE,
				REVIEW_COSTLY_NAMESPACE_BURST);
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
	/* Nobody outside knows this hash, so a namespace cannot be named to share another's budget. */
	struct rate_limit *own = &budget->of_namespaces[strmap_hash(name_space) % REVIEW_BUDGETS];
	struct rate_limit before = *own;

	if (rate_limit_take(own, now_ns) > 0)
		return false;
	if (rate_limit_take(&budget->all, now_ns) == 0)
		return true;
	*own = before;
	return false;
}
