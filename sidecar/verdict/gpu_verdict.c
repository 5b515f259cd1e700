/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to a verdict what the kernel and programs logged about GPUs. */
#include "sidecar/verdict/gpu_verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"
#include "sidecar/verdict/stop_request.h"

/* A fault up to this long before the end may be its cause even without other evidence */
#define SOON_NS (120 * NS_PER_SEC)

/* The class that follows from the log lines, and the text after "because of" in the sentence. */
struct cause {
	enum failure_class class;
	char why[220];
};

static bool is_error(const struct gpu_error *g)
{
	return g && g->kind >= GPU_ERROR_NCCL;
}

static bool of_hardware(const struct gpu_evidence *e, const struct gpu_error *error)
{
	if (e->whose == GPU_NOBODYS || e->fault.blame != GPU_HARDWARE)
		return false;
	/*
	 * The node's failed GPU may be one that the program never used, so the program's own words
	 * have to agree.
	 */
	return is_error(error) || (e->whose >= GPU_OF_DEVICE && e->age_ns <= SOON_NS);
}

static bool of_program(const struct gpu_evidence *e)
{
	return e->whose >= GPU_OF_NAME && e->fault.blame == GPU_APPLICATION && e->age_ns <= SOON_NS;
}

static const char *name_xid(const struct gpu_fault *f, char text[static 16])
{
	text[0] = '\0';
	if (f->xid)
		snprintf(text, 16, " (Xid %d)", f->xid);
	return text;
}

static void of_fault(const struct gpu_fault *f, enum failure_class class, struct cause *c)
{
	char xid[16];

	c->class = class;
	snprintf(c->why, sizeof(c->why), "%s %s: %s%s",
		 class == FAILURE_GPU_FAILED ? "a failure of GPU" : "an error on GPU",
		 f->device[0] ? f->device : "?", f->meaning, name_xid(f, xid));
}

static void of_memory(const struct gpu_error *g, struct cause *c)
{
	char gpu[24] = "a GPU", tried[48] = "", left[72] = "";

	c->class = FAILURE_CUDA_OUT_OF_MEMORY;
	if (g->device >= 0)
		snprintf(gpu, sizeof(gpu), "GPU %d", g->device);
	if (g->tried[0])
		snprintf(tried, sizeof(tried), ": it asked for %s", g->tried);
	if (g->tried[0] && g->total[0] && g->available[0])
		snprintf(left, sizeof(left), ", and %s of %s were free", g->available, g->total);
	snprintf(c->why, sizeof(c->why), "the memory of %s having run out%s%s", gpu, tried, left);
}

static void of_words(const struct gpu_error *g, struct cause *c)
{
	char device[24] = "", rank[24] = "";

	if (g->device >= 0)
		snprintf(device, sizeof(device), " on GPU %d", g->device);
	if (g->rank >= 0)
		snprintf(rank, sizeof(rank), ", rank %d", g->rank);
	c->class = g->kind == GPU_ERROR_NCCL ? FAILURE_NCCL_ERROR : FAILURE_CUDA_ERROR;
	snprintf(c->why, sizeof(c->why), "%s%s%s%s%s",
		 g->kind == GPU_ERROR_NCCL ? "an NCCL error" : "a CUDA error", device, rank,
		 g->what[0] ? ": " : "", g->what);
}

static bool find_cause(const struct gpu_evidence *kernel, const struct gpu_error *error,
		       struct cause *ret_cause)
{
	*ret_cause = (struct cause){ .class = FAILURE_UNKNOWN };
	if (of_hardware(kernel, error))
		of_fault(&kernel->fault, FAILURE_GPU_FAILED, ret_cause);
	else if (is_error(error) && error->kind == GPU_ERROR_OUT_OF_MEMORY)
		of_memory(error, ret_cause);
	else if (is_error(error))
		of_words(error, ret_cause);
	else if (of_program(kernel))
		of_fault(&kernel->fault, FAILURE_CUDA_ERROR, ret_cause);
	else
		return false;
	return true;
}

static void add_evidence(const struct gpu_evidence *kernel, const struct gpu_error *error,
			 const char *log, struct verdict *v)
{
	if (kernel->whose != GPU_NOBODYS)
		verdict_add_evidence(v, "kernel log", "%s before: %s",
				     DURATION_TEXT(kernel->age_ns), kernel->line);
	if (error && error->kind != GPU_ERROR_NONE)
		verdict_add_evidence(v, log, "%s", error->line);
	if (kernel->whose == GPU_OF_NODE)
		verdict_add_missing(
			v, "whether that GPU was the container's",
			"a container runtime that shows its GPUs alone in /proc/driver/nvidia/gpus");
}

/*
 * Returns whether the signal fits: an uncaught exception ends a process by abort(), and access to a
 * page of a lost GPU raises SIGBUS.
 */
static bool may_end_it(int signal)
{
	return signal == 0 || signal == SIGABRT || signal == SIGBUS;
}

static void take_cause(const struct cause *c, struct verdict *v)
{
	v->class = c->class;
	v->confidence = CONFIDENCE_LIKELY;
}

static int worker_signal(const struct observation *o)
{
	for (int s = 1; o->ray->logged_signal[0] && s < 65; s++)
		if (signal_name(s) && strcmp(signal_name(s), o->ray->logged_signal) == 0)
			return s;
	return o->crash ? o->crash->signal : 0;
}

void gpu_worker_verdict(const struct observation *o, const char *who, struct verdict *v)
{
	const struct gpu_error *error = &o->ray->gpu;
	struct cause cause;

	if (find_cause(&o->kernel.gpu, error, &cause) && may_end_it(worker_signal(o))) {
		take_cause(&cause, v);
		verdict_say(v, "%s most likely ended because of %s; the container lives on.", who,
			    cause.why);
	}
	add_evidence(&o->kernel.gpu, error, "worker's log", v);
}

/*
 * Returns whether the class allows a GPU error as the cause. A request to stop may cause such log
 * lines, but it breaks no GPU.
 */
static bool leaves_open(const struct observation *o, const struct verdict *v)
{
	if (v->class == FAILURE_TERMINATED && v->signal == 0)
		return of_hardware(&o->kernel.gpu, o->gpu_error);
	return v->class == FAILURE_APPLICATION_ERROR || v->class == FAILURE_ABORT ||
	       v->class == FAILURE_BUS_ERROR;
}

void gpu_container_verdict(const struct observation *o, struct verdict *v)
{
	struct cause cause;

	if (v->exit_code <= 0)
		return;
	if (leaves_open(o, v) && !o->has_raylet &&
	    find_cause(&o->kernel.gpu, o->gpu_error, &cause)) {
		take_cause(&cause, v);
		verdict_say(v, "Container %s ended with exit code %d, most likely because of %s.",
			    o->container, v->exit_code, cause.why);
		stop_request_append(o, v);
	}
	add_evidence(&o->kernel.gpu, o->gpu_error, "Ray's logs", v);
}
