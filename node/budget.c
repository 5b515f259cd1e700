/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how often something is done. */
#include "node/budget.h"

#include "lib/macros.h"

bool budget_take(struct budget *b, int64_t now_ns)
{
	int64_t due = MAX(b->due_ns, now_ns);

	if (due - now_ns > (int64_t)(b->burst - 1) * b->spacing_ns)
		return false;
	b->due_ns = due + b->spacing_ns;
	return true;
}
