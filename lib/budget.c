/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how often something is done. */
#include "lib/budget.h"

#include "lib/macros.h"

int64_t budget_wait(struct budget *b, int64_t now_ns)
{
	int64_t due = MAX(b->due_ns, now_ns);
	int64_t wait = due - now_ns - (int64_t)(b->burst - 1) * b->spacing_ns;

	if (wait > 0)
		return wait;
	b->due_ns = due + b->spacing_ns;
	return 0;
}

bool budget_take(struct budget *b, int64_t now_ns)
{
	return budget_wait(b, now_ns) == 0;
}
