/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves our launcher out of a report's processes. */
#include <string.h>

#include "sidecar/report/report.h"

static bool is_launcher(const char *name, int64_t own)
{
	return strcmp(name, "afterglow-launch") == 0 && own <= REPORT_LAUNCHER_OWN_MAX;
}

void report_leave_out_launcher(struct report *r)
{
	struct components *c = &r->components;
	size_t n = 0, n_components = 0;

	for (size_t i = 0; i < r->n_top; i++)
		if (!is_launcher(r->top[i].name, process_own(&r->top[i])))
			r->top[n++] = r->top[i];
	r->n_processes -= (uint32_t)MIN(r->n_top - n, (size_t)r->n_processes);
	r->n_top = n;
	for (size_t i = 0; i < c->n; i++)
		if (!is_launcher(c->list[i].name, c->list[i].largest))
			c->list[n_components++] = c->list[i];
	c->n = n_components;
}
