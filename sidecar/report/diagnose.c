/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what a Ray expert would say next, and the numbers behind it. It never gives advice without
 * evidence.
 *
 * Theory of operation: causes[] is a list of questions in the order in which an
 * expert asks them; the first that is answered with yes writes the diagnosis.
 * remarks[] are asked afterwards, all of them, and add a sentence each.
 */
#include "sidecar/report/diagnose.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

#define DOMINANT 0.5 /* a process, a name, a kind with this share of the usage is the story */
/* the second has this much of the first, and the third less of the second: two are the story */
#define ONE_OF_TWO 0.7
#define TWO_DOMINANT 0.6 /* with this share together */
#define WORTH_BESIDE 0.25 /* one of the same name with this much of the first is worth a word */
/* one copy with this many times what each of the others has is no copy like them */
#define STANDS_OUT 2.0
#define ZOMBIES_MIN 10 /* fewer hardly fill a limit */
#define ALIKE_MIN 3 /* this many of one name, together dominant, are parallelism */
#define SHMEM_DOMINANT 0.4
#define DRIVER_DOMINANT 0.4
#define KERNEL_DOMINANT 0.3
#define IDLE_DOMINANT 0.3
/*
 * Part of the usage, which is read a moment before the processes. Copies can have this much only
 * where shared memory is counted several times.
 */
#define SHARED 1.25
#define IDLE_WORTH_SAYING 0.15
/* Part of the limit; only if the usage was so high would a higher limit have helped. */
#define FULL 0.9
/* Part of the limit; if the usage was lower, the last sample does not explain this death. */
#define RELEVANT_USAGE 0.5
#define HEADROOM 1.25 /* factor between the need and the advised limit */
#define RESERVE 1.1 /* the same for the memory= of one task */
#define STORE_SHARE 0.3 /* part of the memory that Ray gives to objects by default */
#define FLAT_NS (10 * NS_PER_SEC) /* without growth for this long, the memory counts as constant */
#define AT_START_NS (10 * NS_PER_SEC) /* a process that is younger allocates what it was told to */
#define TABLE_ENTRY_MAX (32 << 10) /* bytes; a table of all possible open files has smaller ones */
#define SLOW_NS (60 * NS_PER_SEC) /* growth over this long is a leak rather than one allocation */

/* --- Words --- */

static void _printf_(3, 4) append(char *text, size_t size, const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + len, size - len, fmt, ap);
	va_end(ap);
}

#define SAY(r, ...) append((r)->diagnosis, sizeof((r)->diagnosis), __VA_ARGS__)
#define ADVISE(r, ...) append((r)->advice, sizeof((r)->advice), __VA_ARGS__)

static double share(const struct report *r, int64_t bytes)
{
	return (double)bytes / (double)r->memory.usage;
}

/* Returns a share in whole percent, at most 100. */
static int percent(const struct report *r, int64_t bytes)
{
	return (int)(MIN(share(r, bytes), 1.0) * 100 + 0.5);
}

/* "ray::leak" becomes "the task leak"; other names stay as they are. */
static const char *task_name(const char *name)
{
	char label[PROCESS_NAME_MAX];

	return component_of(name, "", label) == COMPONENT_TASK ? name + strlen("ray::") : NULL;
}

struct setting {
	char text[80];
};

/*
 * A setting of a node of Ray, in the form that the reader writes it: for a driver that began Ray
 * itself, for `ray start`, or for KubeRay.
 */
static struct setting setting_of(const struct report *r, const char *name, double value)
{
	struct setting s;

	if (r->node.of_driver)
		name = strcmp(name, "memory") == 0 ? "_memory" : "object_store_memory";
	snprintf(s.text, sizeof(s.text),
		 r->node.of_driver ? "ray.init(%s=%.0f)" :
		 r->of_command	   ? "ray start --%s=%.0f" :
				     "%s: \"%.0f\" in rayStartParams",
		 name, value);
	return s;
}
/* A limit in the form in which this place sets it. Slurm's M are MiB. */
static struct setting limit_of(const struct report *r, double bytes)
{
	struct setting s;
	int n = snprintf(s.text, sizeof(s.text), "a limit of %s or more",
			 SIZE_TEXT((int64_t)bytes));

	if (r->of_slurm && n > 0)
		snprintf(s.text + n, sizeof(s.text) - (size_t)n, " (--mem=%.0fM, or --mem-per-cpu)",
			 ceil(bytes / (1 << 20)));
	return s;
}
#define LIMIT(r, bytes) (limit_of(r, bytes).text)
#define SETTING(r, name, value) (setting_of(r, name, value).text)

static bool is_head(const struct report *r)
{
	return r->node.head || (r->id.container && strcmp(r->id.container, "ray-head") == 0);
}

static bool limit_was_reached(const struct report *r)
{
	return r->memory.limit > 0 && (double)r->memory.usage >= FULL * (double)r->memory.limit;
}

static void advise_limit(struct report *r, const char *before)
{
	if (limit_was_reached(r))
		ADVISE(r, "%s%s", before, LIMIT(r, (double)r->memory.limit * HEADROOM));
}

/*
 * A leak may pause, for want of calls or of the processor. One that finds no room stays the same
 * for sure.
 */
static bool has_had_room(const struct trend *t)
{
	return t->flat_ns - t->full_ns >= FLAT_NS;
}

/* Returns whether more is known of the largest process than its size. */
static bool knows_largest(const struct report *r)
{
	return r->n_top > 0 && r->large.pid == r->top[0].pid;
}

/* Returns whether the largest process, which runs no task of Ray's, has just started. */
static bool is_at_its_start(const struct report *r)
{
	return knows_largest(r) && r->large_age_ns > 0 && r->large_age_ns <= AT_START_NS &&
	       !task_name(r->top[0].name);
}

/* How the largest process came to its size. False: that is not known. */
static bool say_growth(struct report *r)
{
	const struct trend *t = &r->trend;
	const struct process *p = &r->top[0];

	if (t->grew_ns > 0 && t->flat_ns < FLAT_NS && t->grew_ns >= SLOW_NS) {
		SAY(r,
		    " and grew for %s until the end, from %s to %s (%s/s): a leak, or results that it piles up",
		    DURATION_TEXT(t->grew_ns), SIZE_TEXT(t->from), SIZE_TEXT(t->to),
		    SIZE_TEXT((int64_t)((double)(t->to - t->from) * (double)NS_PER_SEC /
					(double)t->grew_ns)));
		return true;
	}
	if (t->grew_ns > 0 && t->flat_ns < FLAT_NS &&
	    (double)(t->to - t->from) >= DOMINANT * (double)t->to) {
		SAY(r, " and took %s of it in the last %s", SIZE_TEXT(t->to - t->from),
		    DURATION_TEXT(t->grew_ns + t->flat_ns));
		if (is_at_its_start(r))
			SAY(r, ", %s after it had started: a table of a fixed size,",
			    DURATION_TEXT(r->large_age_ns));
		else
			SAY(r, ":");
		SAY(r, " one oversized task or a fast leak");
		return true;
	}
	if (t->flat_ns >= FLAT_NS) {
		SAY(r, " and had not grown for %s", DURATION_TEXT(t->flat_ns));
		SAY(r,
		    has_had_room(t) ?
			    ": more likely what it needs than a leak" :
			    ", in which there was hardly any room: whether it is a leak is not known");
		return true;
	}
	if (p->growth != GROWTH_UNKNOWN && p->growth > 0)
		SAY(r, " and grew by %s/s until the end", SIZE_TEXT(p->growth));
	return false;
}

/* --- Causes --- */

/* A limit of the stack would have ended it by SIGSEGV; where there is none, the memory ends it. */
static bool endless_stack(struct report *r)
{
	if (!knows_largest(r) || r->large.stack <= 0 || share(r, r->large.stack) < DOMINANT)
		return false;
	SAY(r,
	    "The stack of %s (PID %d) was %s, %d %% of the memory: most likely a recursion that does not end, for which no limit is enough.",
	    r->top[0].name, (int)r->top[0].pid, SIZE_TEXT(r->large.stack),
	    percent(r, r->large.stack));
	ADVISE(r,
	       "find what calls itself: with ulimit -s 8192 it crashes, and the backtrace shows it");
	return true;
}

/* What a small container held explains nothing then. Its page cache was there to be taken back. */
static bool node_of_others(struct report *r)
{
	int64_t own = r->memory.usage - MAX(r->memory.file, 0), others = r->machine.used - own;

	if (r->verdict.class != FAILURE_KERNEL_OOM_NODE || r->memory_shared ||
	    r->machine.total <= 0 || others <= own ||
	    (double)others < DOMINANT * (double)r->machine.total)
		return false;
	SAY(r, "Of the node's %s, others held %s and this container %s%s.",
	    SIZE_TEXT(r->machine.total), SIZE_TEXT(others), SIZE_TEXT(own),
	    r->memory.limit > 0 ? "" : ", which has no memory limit");
	ADVISE(r,
	       r->id.pod ?
		       "memory requests that are as large as what the pods of this node need: the scheduler counts nothing else" :
		       "find what else ran on this machine");
	return true;
}

static bool store_is_too_large(const struct report *r)
{
	return r->memory.limit > 0 &&
	       (double)r->node.object_store > STORE_SHARE * 1.1 * (double)r->memory.limit;
}

#define IN_FORCE " (now \"" /* in front of the budget that advice replaces */

/* Returns what Ray is told for objects, once it has followed our advice. */
static double store_to_be(const struct report *r)
{
	return store_is_too_large(r) ? STORE_SHARE * (double)r->memory.limit :
				       (double)MAX(r->node.object_store, 0);
}

static bool is_promised_too_much(const struct report *r)
{
	const struct ray_node *n = &r->node;

	return r->memory.limit > 0 && n->memory > 0 && n->object_store > 0 &&
	       n->memory + n->object_store > r->memory.limit;
}

/*
 * Returns what Ray offers to memory= on this node, once it has followed our advice
 * (promised_too_much). A task that requests more never runs.
 */
static double offered_to_tasks(const struct report *r)
{
	if (r->node.memory <= 0)
		return HUGE_VAL;
	return is_promised_too_much(r) ? FULL * (double)r->memory.limit - store_to_be(r) :
					 (double)r->node.memory;
}

/*
 * Advises memory= for a task; a budget and a limit with it, if Ray offers less on this node. task:
 * NULL: it is named already. Returns whether that was so.
 */
static bool advise_memory(struct report *r, double need, const char *task)
{
	struct python_size size = python_size(need);
	bool more = (double)size.bytes > offered_to_tasks(r);

	if (more)
		ADVISE(r, "%s" IN_FORCE "%" PRId64 "\"), ",
		       SETTING(r, "memory", (double)size.bytes), r->node.memory);
	ADVISE(r, "@ray.remote(memory=%s)", size.text);
	if (task)
		ADVISE(r, " for %s", task);
	if (more)
		ADVISE(r, ", and %s",
		       LIMIT(r, MAX(HEADROOM * (double)r->memory.limit,
				    ((double)size.bytes + store_to_be(r)) / FULL)));
	return more;
}

static void advise_smaller_store(struct report *r)
{
	ADVISE(r,
	       "%s%s (%.0f %% of the limit; now \"%" PRId64
	       "\"): beyond that Ray spills objects to disk",
	       SETTING(r, "object-store-memory", STORE_SHARE * (double)r->memory.limit),
	       r->of_command && !r->node.of_driver ? ", or object_store_memory of ray.init()" : "",
	       STORE_SHARE * 100, r->node.object_store);
}

static bool runs_ray(const struct report *r)
{
	return r->node.raylet > 0 || r->node.object_store > 0 ||
	       components_of_kind(&r->components, COMPONENT_RAYLET, NULL) > 0 ||
	       components_of_kind(&r->components, COMPONENT_TASK, NULL) > 0 ||
	       components_of_kind(&r->components, COMPONENT_IDLE, NULL) > 0;
}

/* Returns whether most of the shared memory is outside of /dev/shm, where Ray keeps its objects. */
static bool is_outside_shm(const struct report *r)
{
	return r->node.shm_used >= 0 && r->node.shm_used < r->memory.shmem / 2;
}

/* Without Ray there is no object store, so the shared memory belongs to something else. */
static void shared_memory_of_others(struct report *r)
{
	bool outside = is_outside_shm(r);

	SAY(r,
	    "Shared memory (%smemfd, shared mappings%s) held %s, %d %% of the memory: it belongs to no process alone.",
	    outside ? "" : "files in /dev/shm, ", outside ? ", files in other memory volumes" : "",
	    SIZE_TEXT(r->memory.shmem), percent(r, r->memory.shmem));
	if (outside)
		SAY(r, " /dev/shm held %s of it.", SIZE_TEXT(r->node.shm_used));
	ADVISE(r,
	       "find what %sshares memory (torch DataLoader workers, multiprocessing.shared_memory)",
	       outside ? "" : "writes to /dev/shm or ");
	advise_limit(r, "; or ");
}

static bool objects(struct report *r)
{
	int64_t shmem = r->memory.shmem, most = r->components.n ? r->components.list[0].own : 0;
	const struct ray_node *n = &r->node;

	if (shmem < 0 || share(r, shmem) < SHMEM_DOMINANT ||
	    (share(r, shmem) < DOMINANT && shmem < most))
		return false;
	if (!runs_ray(r) || is_outside_shm(r)) {
		shared_memory_of_others(r);
		return true;
	}
	SAY(r,
	    "Shared memory (the object store in /dev/shm) held %s, %d %% of the memory: objects, not heap.",
	    SIZE_TEXT(shmem), percent(r, shmem));
	if (r->shmem_at_start > 0 && share(r, r->shmem_at_start) >= STORE_SHARE) {
		SAY(r,
		    " %s of it lay there when the container started: /dev/shm is the pod's and keeps what an earlier "
		    "container left.",
		    SIZE_TEXT(r->shmem_at_start));
		ADVISE(r, "delete the pod: a new one starts with an empty /dev/shm");
		return true;
	}
	if (n->object_store > 0 && n->shm_used > n->object_store + n->object_store / 20) {
		SAY(r, " The object store may have %s; what is beyond belongs to something else.",
		    SIZE_TEXT(n->object_store));
		ADVISE(r,
		       "find what else writes to /dev/shm (torch DataLoader workers, multiprocessing.shared_memory)");
		return true;
	}
	if (n->object_store > 0)
		SAY(r, " The object store may have %s.", SIZE_TEXT(n->object_store));
	if (store_is_too_large(r))
		advise_smaller_store(r);
	if (r->id.cluster)
		ADVISE(r,
		       "%skubectl afterglow objects %s -n %s while the cluster runs: it says which code made the objects, and who keeps them",
		       r->advice[0] ? "; " : "", r->id.cluster,
		       r->id.namespace ? r->id.namespace : "default");
	return true;
}

static bool driver_on_head(struct report *r)
{
	char label[PROCESS_NAME_MAX];
	const struct process *p = &r->top[0];

	if (!is_head(r) || !r->n_top ||
	    component_of(p->name, p->command, label) != COMPONENT_DRIVER ||
	    share(r, process_own(p)) < DRIVER_DOMINANT)
		return false;
	SAY(r, "The driver, %s, held %s, %d %% of the head's memory", p->name,
	    SIZE_TEXT(process_own(p)), percent(r, process_own(p)));
	say_growth(r);
	SAY(r, ".");
	ADVISE(r, "keep large results out of the driver (ray.get brings them there)%s",
	       r->node.of_driver ?
		       "" :
		       "; or run it on a worker: ray job submit --entrypoint-num-cpus 1");
	advise_limit(r, "; or ");
	return true;
}

/* One of Ray's own processes is the largest. The user's code is not the direct cause. */
static bool rays_own(struct report *r)
{
	char label[PROCESS_NAME_MAX];
	const struct process *p = &r->top[0];
	enum component_kind kind =
		r->n_top ? component_of(p->name, p->command, label) : COMPONENT_OTHER;

	if ((kind != COMPONENT_GCS && kind != COMPONENT_RAYLET && kind != COMPONENT_DASHBOARD &&
	     kind != COMPONENT_HELPER) ||
	    share(r, process_own(p)) < DOMINANT)
		return false;
	SAY(r, "Ray's own %s held %s, %d %% of the memory", p->name, SIZE_TEXT(process_own(p)),
	    percent(r, process_own(p)));
	say_growth(r);
	SAY(r, kind == COMPONENT_GCS ?
		       ". It keeps what is known of tasks, actors and objects, not their data." :
		       ".");
	if (kind == COMPONENT_GCS)
		ADVISE(r,
		       "fewer, larger tasks; RAY_task_events_max_num_task_in_gcs (default 100000) bounds what it keeps of "
		       "finished ones");
	else if (kind == COMPONENT_DASHBOARD)
		ADVISE(r, "%s, if the dashboard is not needed",
		       r->node.of_driver ?
			       "ray.init(include_dashboard=False)" :
		       r->of_command ?
			       "ray start --include-dashboard=false" :
			       "include-dashboard: \"false\" in rayStartParams of the head");
	advise_limit(r, kind == COMPONENT_GCS || kind == COMPONENT_DASHBOARD ? "; or " : "");
	return true;
}

static bool are_two_of_a_size(const struct report *r)
{
	int64_t first = process_own(&r->top[0]), second = process_own(&r->top[1]);

	if (r->n_top < 2 || (double)second < ONE_OF_TWO * (double)first ||
	    share(r, first + second) < TWO_DOMINANT)
		return false;
	return r->n_top == 2 || (double)process_own(&r->top[2]) < ONE_OF_TWO * (double)second;
}

/* With two large processes, neither alone is the leak, and two are hardly parallelism. */
static bool two_processes(struct report *r)
{
	const struct process *a = &r->top[0], *b = &r->top[1];
	const char *task = r->n_top ? task_name(a->name) : NULL;

	if (!are_two_of_a_size(r))
		return false;
	SAY(r,
	    "Two processes, %s (PID %d) and %s (PID %d), held %s and %s, together %d %% of the memory",
	    a->name, (int)a->pid, b->name, (int)b->pid, SIZE_TEXT(process_own(a)),
	    SIZE_TEXT(process_own(b)), percent(r, process_own(a) + process_own(b)));
	if (a->growth != GROWTH_UNKNOWN && a->growth > 0 && b->growth != GROWTH_UNKNOWN &&
	    b->growth > 0)
		SAY(r, ", and both grew until the end (%s/s and %s/s)", SIZE_TEXT(a->growth),
		    SIZE_TEXT(b->growth));
	SAY(r, ": two leaks, or two that need that much at the same time.");
	if (!limit_was_reached(r))
		return true;
	if (task)
		advise_memory(r, RESERVE * (double)process_own(a), task);
	advise_limit(r, task ? ", so that Ray runs no more of them at a time than fit; or " : "");
	return true;
}

/*
 * Finds a smaller process of the same name that grew as well: there may be two leaks, or it is
 * parallelism.
 */
static const struct process *growing_namesake(const struct report *r)
{
	const struct process *first = &r->top[0];

	for (size_t i = 1; i < r->n_top; i++) {
		const struct process *p = &r->top[i];

		if (strcmp(p->name, first->name) == 0 && p->growth != GROWTH_UNKNOWN &&
		    p->growth > 0 &&
		    (double)process_own(p) >= WORTH_BESIDE * (double)process_own(first))
			return p;
	}
	return NULL;
}

static void say_what_it_is(struct report *r)
{
	const struct process *other = growing_namesake(r);
	bool growth_described = say_growth(r);

	if (other)
		SAY(r, "%s; another %s (PID %d) held %s and grew as well.",
		    growth_described ? "" : ": a leak or one oversized task", other->name,
		    (int)other->pid, SIZE_TEXT(process_own(other)));
	else
		SAY(r, growth_described ? "; not parallelism." :
					  ": a leak or one oversized task, not parallelism.");
}

static bool one_process(struct report *r)
{
	const struct process *p = &r->top[0];
	const char *task = r->n_top ? task_name(p->name) : NULL;

	if (!r->n_top || share(r, process_own(p)) < DOMINANT)
		return false;
	SAY(r, "One process, %s, held %d %% of the memory", p->name, percent(r, process_own(p)));
	say_what_it_is(r);
	if (!limit_was_reached(r))
		return true;
	if (!has_had_room(&r->trend))
		ADVISE(r, "find what %s keeps; if it needs that much: ", task ? task : p->name);
	if (!task || !advise_memory(r, (double)process_own(p), NULL))
		advise_limit(r, task ? ", and " : "");
	if (is_at_its_start(r) && r->large.open_files >= process_own(p) / TABLE_ENTRY_MAX)
		ADVISE(r,
		       "; or, if it has a table with a place for each file that it may open, a lower ulimit -n (now %" PRId64
		       ")",
		       r->large.open_files);
	return true;
}

/*
 * Returns the component that consists of many copies of one program and holds most of the memory.
 */
static const struct component *many_of(const struct report *r)
{
	for (size_t i = 0; i < r->components.n; i++) {
		const struct component *c = &r->components.list[i];

		if (IS_ONE_OF(c->kind, COMPONENT_TASK, COMPONENT_DRIVER, COMPONENT_OTHER) &&
		    c->count >= ALIKE_MIN && share(r, c->own) >= DOMINANT)
			return c;
	}
	return NULL;
}

/*
 * Children that a task has forked are counted with it: Ray knows only the task, and reserves memory
 * for all of them.
 */
static void tasks_with_children(struct report *r, const struct component *c)
{
	uint32_t tasks = c->count - c->children;

	SAY(r,
	    "%" PRIu32 " %s %s and the %" PRIu32
	    " child processes that %s forked (workers of a DataLoader or of multiprocessing, say) held %s "
	    "together, the largest %s.",
	    tasks, tasks == 1 ? "copy of" : "copies of", c->name, c->children,
	    tasks == 1 ? "it" : "they", SIZE_TEXT(c->own), SIZE_TEXT(c->largest));
	if (!limit_was_reached(r))
		return;
	ADVISE(r, "fewer child processes (num_workers); or ");
	advise_memory(r, RESERVE * (double)c->own / tasks, task_name(c->name));
	advise_limit(r, ", for each with its children; or ");
}

/*
 * Advises that no more copies of the task run than fit, by memory= or by CPUs. Ray counts memory=
 * against what it offers, and the copies cannot use the memory that other processes held.
 */
static void advise_parallelism(struct report *r, const struct component *c)
{
	double need = RESERVE * (double)c->largest, offered = offered_to_tasks(r);
	int64_t room = (int64_t)(FULL * (double)r->memory.limit) - MAX(r->memory.usage - c->own, 0),
		fit = room / c->largest;

	/* If Ray's number of CPUs is unknown, each copy had one. */
	int64_t cpus = r->node.cpus >= 1000 ? r->node.cpus / 1000 : (int64_t)c->count, wanted;
	bool offers = (double)python_size(need).bytes <= offered;

	if (offers && offered < HUGE_VAL)
		fit = MIN(fit, (int64_t)(offered / (double)python_size(need).bytes));
	wanted = fit >= 1 && fit < c->count ? (cpus + fit - 1) / fit : 0;
	if (offers || wanted < 2)
		advise_memory(r, need, task_name(c->name));
	if (wanted >= 2)
		ADVISE(r, "%snum_cpus=%" PRId64 "%s%s", offers ? ", or " : "", wanted,
		       offers ? "" : " for ", offers ? "" : task_name(c->name));
	if (fit >= 1 && fit < c->count && (offers || wanted >= 2))
		ADVISE(r, ": %" PRId64 " of them fit into this limit at a time", fit);
}

/*
 * Ray Data calls its tasks after its operators: "ReadParquet->Map(clean)". The name of a function
 * has neither character.
 */
static bool is_of_ray_data(const struct component *c)
{
	return strstr(c->name, "->") || strchr(c->name, '(');
}

/*
 * Returns whether Ray Data, which spreads its tasks already, or Serve, Train or Tune decides where
 * it runs.
 */
static bool is_placed_by_library(const struct component *c)
{
	return is_of_ray_data(c) || strstr(c->name, "ServeReplica:") ||
	       strstr(c->name, "RayTrainWorker") || strcmp(c->name, "ray::ImplicitFunc") == 0;
}

/* Returns whether one of the copies ran a method when it was seen last: it is an actor then. */
static bool is_actor(const struct report *r, const struct component *c)
{
	size_t len = strlen(c->name);

	for (size_t i = 0; i < r->n_top; i++)
		if (strncmp(r->top[i].name, c->name, len) == 0 && r->top[i].name[len] == '.')
			return true;
	return false;
}

static bool many_alike(struct report *r)
{
	const struct component *c = many_of(r);

	if (!c)
		return false;
	if (c->children > 0 && c->children < c->count) {
		tasks_with_children(r, c);
		return true;
	}
	int64_t each = c->own / c->count;
	int64_t others = (c->own - c->largest) / (c->count - 1);
	if ((double)c->largest >= STANDS_OUT * (double)others)
		SAY(r,
		    "%" PRIu32
		    " copies of %s held %s together, the largest %s and the others %s each: a leak of that one, or one oversized "
		    "task, beside parallelism.",
		    c->count, c->name, SIZE_TEXT(c->own), SIZE_TEXT(c->largest), SIZE_TEXT(others));
	else
		SAY(r,
		    "%" PRIu32
		    " copies of %s held %s together, %s each (the largest %s): parallelism rather than a leak of one.",
		    c->count, c->name, SIZE_TEXT(c->own), SIZE_TEXT(each), SIZE_TEXT(c->largest));
	if (c->kind != COMPONENT_TASK || !limit_was_reached(r) || c->largest <= 0)
		return true;
	advise_parallelism(r, c);
	if (is_of_ray_data(c))
		ADVISE(r,
		       "; or smaller blocks, which are more of them: override_num_blocks of the read, or repartition()");
	else if (is_actor(r, c))
		ADVISE(r, "; or fewer of these actors at a time");
	/* Whether other nodes have room is not seen from here. */
	if (r->id.pod && !is_placed_by_library(c))
		ADVISE(r, "; or scheduling_strategy=\"SPREAD\", if other nodes have room");
	return true;
}

/*
 * The copies together have more memory than there was. What their parent held when it forked them
 * is counted for each of them but exists only once.
 */
static bool forks_of_one(struct report *r)
{
	const struct component *c = NULL;
	const struct process *p = &r->top[0];

	/* The processes outside that cgroup do not show what is shared in it. */
	for (size_t i = 0; i < r->components.n && !c && !r->memory_of_part; i++)
		if (r->components.list[i].count > 1 && share(r, r->components.list[i].own) > SHARED)
			c = &r->components.list[i];
	if (!c)
		return false;
	SAY(r, "%" PRIu32 " copies of %s had up to %s each, of which a part is the same memory: ",
	    c->count, c->name, SIZE_TEXT(c->largest));
	SAY(r, "most likely a fork left it to all of them.");
	if (r->n_top && p->growth != GROWTH_UNKNOWN && p->growth > 0)
		SAY(r, " %s (PID %d) had most, and grew by %s/s until the end.", p->name,
		    (int)p->pid, SIZE_TEXT(p->growth));
	advise_limit(r, "");
	return true;
}

static bool idle_workers(struct report *r)
{
	int64_t own;
	uint32_t count = components_of_kind(&r->components, COMPONENT_IDLE, &own);

	if (count < ALIKE_MIN || share(r, own) < IDLE_DOMINANT)
		return false;
	SAY(r,
	    "%" PRIu32
	    " idle workers (ray::IDLE) held %s, %d %% of the memory: processes that wait for the next task.",
	    count, SIZE_TEXT(own), percent(r, own));
	ADVISE(r, "a lower RAY_idle_worker_killing_memory_threshold_bytes (Ray 2.56 and newer)");
	if (r->node.cpus >= 2000)
		ADVISE(r,
		       ", or fewer CPUs for Ray on this node (%s, now \"%" PRId64
		       "\"): it keeps about one idle worker for each",
		       r->node.of_driver ? "num_cpus of ray.init()" : "num-cpus",
		       r->node.cpus / 1000);
	return true;
}

/* Each submitted job has a supervisor, an actor of Ray's own, and a driver, both on the head. */
static bool submitted_jobs(struct report *r)
{
	int64_t own, drivers;
	uint32_t jobs = components_of_kind(&r->components, COMPONENT_JOB_SUPERVISOR, &own);

	components_of_kind(&r->components, COMPONENT_DRIVER, &drivers);
	if (jobs < ALIKE_MIN || share(r, own + drivers) < DOMINANT)
		return false;
	SAY(r,
	    "%" PRIu32
	    " submitted jobs ran on this node: their supervisors (ray::JobSupervisor) held %s and Python programs, their drivers "
	    "among them, %s, together %d %% of the memory.",
	    jobs, SIZE_TEXT(own), SIZE_TEXT(drivers), percent(r, own + drivers));
	ADVISE(r,
	       "fewer jobs at a time; or ray job submit --entrypoint-num-cpus 1, which starts drivers on workers");
	advise_limit(r, "; or ");
	return true;
}

static bool spilling(struct report *r)
{
	const struct component *c = NULL;

	for (size_t i = 0; i < r->components.n; i++)
		if (strcmp(r->components.list[i].name, COMPONENTS_SPILLING) == 0)
			c = &r->components.list[i];
	if (!c || share(r, c->own) < IDLE_DOMINANT)
		return false;
	SAY(r,
	    "%" PRIu32
	    " of Ray's IO workers, which spill and restore objects, held %s, %d %% of the memory.",
	    c->count, SIZE_TEXT(c->own), percent(r, c->own));
	ADVISE(r, "RAY_max_io_workers bounds their number");
	advise_limit(r, "; or ");
	return true;
}

/* Returns whether one of the tasks holds more than Ray offers to memory= here. */
static bool is_any_task_too_large(const struct report *r)
{
	for (size_t i = 0; i < r->components.n; i++)
		if (r->components.list[i].kind == COMPONENT_TASK &&
		    (double)r->components.list[i].largest > offered_to_tasks(r))
			return true;
	return false;
}

static bool many_tasks(struct report *r)
{
	int64_t own;
	uint32_t names = 0, count = components_of_kind(&r->components, COMPONENT_TASK, &own);
	const struct component *most = NULL;

	for (size_t i = r->components.n; i > 0; i--)
		if (r->components.list[i - 1].kind == COMPONENT_TASK) {
			most = &r->components.list[i - 1];
			names++;
		}
	if (count < ALIKE_MIN || share(r, own) < DOMINANT)
		return false;
	SAY(r,
	    "%" PRIu32 " tasks and actors of %" PRIu32
	    " names held %s together, %d %% of the memory; most of it %s with %s: "
	    "parallelism rather than one leak.",
	    count, names, SIZE_TEXT(own), percent(r, own), most->name, SIZE_TEXT(most->own));
	if (limit_was_reached(r) && !is_any_task_too_large(r))
		ADVISE(r,
		       "memory= for each of them as the table says, so that Ray runs no more than fit; or ");
	advise_limit(r, "");
	return true;
}

static bool page_cache(struct report *r)
{
	if (r->memory.file < 0 || share(r, r->memory.file) < DOMINANT)
		return false;
	SAY(r,
	    "File data in the page cache held %s, %d %% of the memory. The kernel takes it back before it kills, "
	    "unless it is locked there (mlock, ramfs) or cannot be written out in time.",
	    SIZE_TEXT(r->memory.file), percent(r, r->memory.file));
	return true;
}

static bool kernel_memory(struct report *r)
{
	if (r->memory.kernel < 0 || share(r, r->memory.kernel) < KERNEL_DOMINANT)
		return false;
	SAY(r, "Kernel memory (page tables, sockets, inodes) held %s, %d %% of the memory.",
	    SIZE_TEXT(r->memory.kernel), percent(r, r->memory.kernel));
	return true;
}

static bool spread_out(struct report *r)
{
	const struct component *list = r->components.list;

	if (r->components.n < 3 || r->n_processes <= ALIKE_MIN)
		return false;
	SAY(r,
	    "No process and no name stands out among %" PRIu32
	    " processes: the most had %s (%s), %s (%s) and %s (%s).",
	    r->n_processes, list[0].name, SIZE_TEXT(list[0].own), list[1].name,
	    SIZE_TEXT(list[1].own), list[2].name, SIZE_TEXT(list[2].own));
	advise_limit(r, "");
	return true;
}

/* The usage rose too fast to be seen: when the limit was met, the last sample was too old. */
static bool too_quick(struct report *r)
{
	const struct memory *m = &r->memory;

	/* At a limit above, a process may die before this one is full. */
	bool full = (double)m->peak >= FULL * (double)m->limit;
	bool met = (r->verdict.class == FAILURE_KERNEL_OOM_CONTAINER && (full || m->peak <= 0)) ||
		   (r->verdict.class == FAILURE_KERNEL_OOM_PROCESS && full);

	if (!met || m->limit <= 0 || (double)m->usage >= RELEVANT_USAGE * (double)m->limit)
		return false;
	if (m->usage <= 0) {
		SAY(r, "Memory went to the limit of %s before the first sample.",
		    SIZE_TEXT(m->limit));
		return true;
	}
	SAY(r, "Memory went from %s to the limit of %s", SIZE_TEXT(m->usage), SIZE_TEXT(m->limit));
	if (r->sample_age_ns >= 0)
		SAY(r, " in the last %s", DURATION_TEXT(r->sample_age_ns));
	SAY(r, ": too quick for another sample; the table is from before.");
	return true;
}

static bool (*const causes[])(struct report *r) = {
	node_of_others, objects,       endless_stack, driver_on_head, rays_own,	    submitted_jobs,
	forks_of_one,	two_processes, one_process,   many_alike,     idle_workers, spilling,
	many_tasks,	page_cache,    kernel_memory, spread_out,
};

/* --- Remarks --- */

static void tasks_on_head(struct report *r)
{
	int64_t own;
	uint32_t count = components_of_kind(&r->components, COMPONENT_TASK, &own);

	/* What a driver began is the only node. */
	if (!is_head(r) || r->node.of_driver || r->node.cpus == 0 || count == 0 ||
	    share(r, own) < IDLE_WORTH_SAYING)
		return;
	SAY(r, " %" PRIu32 " %s ran on the head, beside gcs_server.", count,
	    count == 1 ? "task or actor" : "tasks and actors");
	ADVISE(r, "%s%s%s keeps tasks off it", r->advice[0] ? "; " : "", SETTING(r, "num-cpus", 0),
	       r->of_command ? "" : " of the head");
}

static void idle_workers_too(struct report *r)
{
	int64_t own;
	uint32_t count = components_of_kind(&r->components, COMPONENT_IDLE, &own);

	if (count >= ALIKE_MIN && share(r, own) >= IDLE_WORTH_SAYING &&
	    !strstr(r->diagnosis, "idle workers"))
		SAY(r, " %" PRIu32 " idle workers held %s more.", count, SIZE_TEXT(own));
}

static void promised_too_much(struct report *r)
{
	const struct ray_node *n = &r->node;

	if (!is_promised_too_much(r))
		return;
	if (store_is_too_large(r) && !strstr(r->advice, "object-store-memory")) {
		ADVISE(r, r->advice[0] ? "; " : "");
		advise_smaller_store(r);
	}
	SAY(r, " Ray was promised %s for tasks and %s for objects, more than the limit of %s.",
	    SIZE_TEXT(n->memory), SIZE_TEXT(n->object_store), SIZE_TEXT(r->memory.limit));
	/* A budget for a task that needs more is advised with its limit. */
	if (!strstr(r->advice, IN_FORCE))
		ADVISE(r, "%s%s", r->advice[0] ? "; " : "",
		       SETTING(r, "memory", offered_to_tasks(r)));
}

static void part_of_isolation(struct report *r)
{
	const char *advice = isolation_advice(r->verdict.isolation);

	if (advice)
		ADVISE(r, "%s%s", r->advice[0] ? "; or " : "", advice);
}

static void slowed_down(struct report *r)
{
	if (r->slowed_ns <= 0)
		return;
	SAY(r,
	    "%sAbove memory.high the kernel kills nothing: processes that ask for memory have to "
	    "wait until some is freed.",
	    r->diagnosis[0] ? " " : "");
	if (r->memory.high <= 0)
		return;
	ADVISE(r, r->advice[0] ? "; or " : "");
	ADVISE(r,
	       r->id.pod ?
		       "a memory request that equals the limit, for which the kubelet sets no memory.high" :
		       "a higher memory.high");
}

static void (*const remarks[])(struct report *r) = {
	tasks_on_head, idle_workers_too, promised_too_much, part_of_isolation, slowed_down,
};

/* A kill frees the memory, and the last sample may be from right after it. */
static bool was_freed(const struct report *r)
{
	return !failure_class_is_of_memory(r->verdict.class) &&
	       (double)r->memory.usage < RELEVANT_USAGE * (double)r->memory.peak;
}

/*
 * They count for the limit of processes until somebody waits for them, so a larger limit fills as
 * well.
 */
static void zombies_at_limit(struct report *r)
{
	const struct zombies *z = &r->zombies;

	if (r->verdict.class != FAILURE_PROCESS_LIMIT || z->n < ZOMBIES_MIN)
		return;
	SAY(r,
	    "%" PRIu32
	    " of the processes were zombies, which have ended and for which nobody waits",
	    z->n);
	if (z->of_parent)
		SAY(r, ": %" PRIu32 " are children of %s (PID %d)", z->of_parent,
		    z->name[0] ? z->name : "a process", (int)z->parent);
	SAY(r, ". They fill a larger limit as well.");
	ADVISE(r,
	       "have %s wait for its children (os.waitpid, wait() or poll() of subprocess.Popen)",
	       z->of_parent && z->name[0] ? z->name : "their parent");
}

/*
 * Another user's descriptors cannot be seen, but the limit of a process can. Each inherits that of
 * its parent, unless it sets its own.
 */
static void files_at_limit(struct report *r)
{
	if (r->verdict.class != FAILURE_FILE_DESCRIPTORS_EXHAUSTED || !knows_largest(r) ||
	    r->large.open_files <= 0)
		return;
	SAY(r, "%s (PID %d), the largest process, could have %" PRId64 " open files.",
	    r->top[0].name, (int)r->large.pid, r->large.open_files);
	ADVISE(r, "a larger ulimit -n, or find what does not close its files");
}

/* Ray says so in the error of each object, too, but not where that is set. */
static void spilling_is_full(struct report *r)
{
	if (!r->verdict.object_refused)
		return;
	SAY(r, "The object store was full, and Ray spills nothing to a disk that is fuller than "
	       "RAY_local_fs_capacity_threshold (0.95 by default).");
	ADVISE(r, "room on that disk, or %s on a larger one",
	       r->node.of_driver ? "ray.init(object_spilling_directory=)" :
	       r->of_command	 ? "ray start --object-spilling-directory=" :
				   "object-spilling-directory of rayStartParams");
}

/* What a program writes goes to its container's log, which the sidecar does not read. */
static void own_words(struct report *r)
{
	if (r->verdict.class != FAILURE_APPLICATION_ERROR || !r->id.pod || !r->id.container ||
	    r->container_lives)
		return;
	SAY(r, "An exit code is the command's own: what it wrote says why, if anything does.");
	ADVISE(r, "kubectl logs -n %s %s -c %s (with -p once the container has been restarted)",
	       r->id.namespace ? r->id.namespace : "default", r->id.pod, r->id.container);
}

void report_diagnose(struct report *r)
{
	bool found = false;

	r->diagnosis[0] = r->advice[0] = '\0';
	if (r->slowed_ns <= 0) {
		zombies_at_limit(r);
		files_at_limit(r);
		spilling_is_full(r);
		own_words(r);
		if (r->still_running && !failure_class_is_of_memory(r->verdict.class))
			SAY(r, "%s%s.", r->diagnosis[0] ? " " : "", r->still_running);
	}
	/*
	 * The diagnosis of a container that memory.high slowed down names what filled the memory,
	 * too.
	 */
	if ((!failure_class_is_of_memory(r->verdict.class) && r->slowed_ns <= 0) || too_quick(r) ||
	    r->memory.usage <= 0)
		return;
	if (was_freed(r)) {
		slowed_down(r);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(causes) && !found; i++)
		found = causes[i](r);
	if (!found && r->slowed_ns <= 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(remarks); i++)
		remarks[i](r);
}
