/* SPDX-License-Identifier: Apache-2.0 */
/* What a Ray expert would say next, and the numbers it rests on. Never advice without evidence. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"
#include "sidecar/report/report.h"

#define DOMINANT 0.5 /* one process with this share of the usage is the story */
#define ALIKE_MIN 3 /* this many of one name, together dominant, are parallelism */
#define SHMEM_DOMINANT 0.5
#define HEADROOM 1.25 /* what is advised over what was needed */

static bool is_memory_death(enum failure_class c)
{
	return c == FAILURE_KERNEL_OOM_CONTAINER || c == FAILURE_KERNEL_OOM_POD || c == FAILURE_KERNEL_OOM_NODE ||
	       c == FAILURE_KERNEL_OOM_PROCESS || c == FAILURE_RAY_MEMORY_MONITOR;
}

/* "ray::leak" is the task leak; other names stand as they are. */
static const char *task_name(const char *name)
{
	return strncmp(name, "ray::", 5) == 0 && strcmp(name, "ray::IDLE") != 0 ? name + 5 : NULL;
}

static void one_process(struct report *r, double share)
{
	const struct process *p = &r->top[0];
	const char *task = task_name(p->name);
	char rate[SIZE_TEXT_MAX], growth[64] = "", needed[SIZE_TEXT_MAX];

	if (p->growth != GROWTH_UNKNOWN && p->growth > 0)
		snprintf(growth, sizeof(growth), " and grew by %s/s until the end",
			 size_format((uint64_t)p->growth, rate));
	snprintf(r->diagnosis, sizeof(r->diagnosis),
		 "One process, %s, held %.0f %% of the memory%s: a leak or one oversized task, not parallelism.", p->name,
		 MIN(share, 1.0) * 100, growth);
	if (r->memory.limit <= 0)
		return;
	size_format((uint64_t)((double)r->memory.limit * HEADROOM), needed);
	if (task)
		snprintf(r->advice, sizeof(r->advice),
			 "find what %s keeps; if it needs that much: @ray.remote(memory=%.1e), and a limit of %s or more",
			 task, (double)process_own(p), needed);
	else
		snprintf(r->advice, sizeof(r->advice), "find what %s keeps; if it needs that much: a limit of %s or more",
			 p->name, needed);
}

static void many_alike(struct report *r, size_t count, int64_t total)
{
	const struct process *p = &r->top[0];
	char each[SIZE_TEXT_MAX], all[SIZE_TEXT_MAX];

	snprintf(r->diagnosis, sizeof(r->diagnosis),
		 "%zu copies of %s held %s together, up to %s each: parallelism, not a leak of one.", count, p->name,
		 size_format((uint64_t)total, all), size_format((uint64_t)process_own(p), each));
	if (task_name(p->name))
		snprintf(r->advice, sizeof(r->advice),
			 "fewer at a time: @ray.remote(memory=%.1e) or a higher num_cpus for %s",
			 (double)process_own(p) * HEADROOM, task_name(p->name));
}

void report_diagnose(struct report *r)
{
	char shmem[SIZE_TEXT_MAX];
	int64_t alike = 0;
	size_t count = 0;
	double usage = (double)r->memory.usage;

	r->diagnosis[0] = r->advice[0] = '\0';
	if (!is_memory_death(r->verdict.class) || r->memory.usage <= 0)
		return;
	if (r->memory.shmem > 0 && (double)r->memory.shmem >= SHMEM_DOMINANT * usage) {
		snprintf(r->diagnosis, sizeof(r->diagnosis),
			 "Shared memory (the object store in /dev/shm) held %s, %.0f %% of the memory: objects, not heap.",
			 size_format((uint64_t)r->memory.shmem, shmem), 100.0 * (double)r->memory.shmem / usage);
		return;
	}
	for (size_t i = 0; i < r->n_top; i++)
		if (strcmp(r->top[i].name, r->top[0].name) == 0) {
			alike += process_own(&r->top[i]);
			count++;
		}
	if (!r->n_top)
		return;
	if ((double)process_own(&r->top[0]) >= DOMINANT * usage)
		one_process(r, (double)process_own(&r->top[0]) / usage);
	else if (count >= ALIKE_MIN && (double)alike >= DOMINANT * usage)
		many_alike(r, count, alike);
}
