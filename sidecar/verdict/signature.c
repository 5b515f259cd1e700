/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the signature of a failure. */
#include "sidecar/verdict/signature.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/ray/ray_process.h"
#include "sidecar/sample/components.h"
#include "sidecar/verdict/ray_process_cause.h"
#include "sidecar/verdict/signature_text.h"

#define WHO_MAX 49
#define FUNCTION_MAX 57
#define FILE_MAX 33
#define WORDS_MAX 81

static bool is_known(const char *text)
{
	return text && *text;
}

/* The parts of DETAIL, separated by commas. A part without room is omitted as a whole. */
struct detail {
	char text[SIGNATURE_MAX];
	size_t n, max;
};

static void _printf_(2, 3) add_part(struct detail *d, const char *fmt, ...)
{
	char part[SIGNATURE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	size_t len = strlen(part);
	if (len == 0 || d->n + (d->n > 0) + len > d->max)
		return;
	d->n += (size_t)snprintf(d->text + d->n, sizeof(d->text) - d->n, "%s%s", d->n ? "," : "",
				 part);
}

/*
 * Makes one field of the process's name, without the method of an actor and the arguments of a
 * program.
 */
static void clean_who(const struct signature_cause *c, char out[static WHO_MAX])
{
	char label[PROCESS_NAME_MAX];
	const char *name = is_known(c->who) ? c->who : is_known(c->container) ? c->container : "";
	bool task = component_of(name, "", label) == COMPONENT_TASK;
	size_t prefix = task ? (size_t)snprintf(out, WHO_MAX, "task/") : 0;

	signature_clean_name(task ? label + strlen("ray::") : label, out + prefix,
			     WHO_MAX - prefix);
	if (!out[0])
		snprintf(out, WHO_MAX, "-");
}

/* Makes "boom.so" of "/opt/x/boom.so", because another image has it elsewhere. */
static void clean_file(const char *path, char out[static FILE_MAX])
{
	const char *slash = strrchr(path, '/');

	signature_clean_name(slash ? slash + 1 : path, out, FILE_MAX);
}

/*
 * Adds "deref_null@boom.so". For a function without a name it adds the offset in the file, which
 * does not depend on where it is loaded.
 */
static void add_frame(struct detail *d, const struct crash_info *c)
{
	char function[FUNCTION_MAX] = "", file[FILE_MAX] = "", offset[sizeof(c->offset)];

	clean_file(c->module, file);
	if (c->function[0])
		signature_clean_function(c->function, function, sizeof(function));
	if (function[0] && file[0])
		add_part(d, "%s@%s", function, file);
	else if (function[0])
		add_part(d, "%s", function);
	else if (file[0]) {
		size_t n = strspn(c->offset, "0123456789abcdefx");

		snprintf(offset, sizeof(offset), "%.*s", (int)n, c->offset);
		add_part(d, "%s%s%s", file, n ? "+" : "", offset);
	}
}

/* Makes "f@crash.py" of "crash.py:12 in f", because line numbers change with every edit. */
static void add_python(struct detail *d, const char *python)
{
	const char *in = strstr(python, " in "), *colon = strchr(python, ':');
	char path[160], function[FUNCTION_MAX], file[FILE_MAX];

	if (!in || !colon || colon > in)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)(colon - python), python);
	clean_file(path, file);
	signature_clean_function(in + 4, function, sizeof(function));
	if (function[0])
		add_part(d, "%s@%s", function, file);
}

static void add_crash(struct detail *d, const struct signature_cause *c)
{
	char file[FILE_MAX], refused[FUNCTION_MAX];

	if (c->crash && c->crash->unwound) {
		if (c->crash->refused[0] &&
		    !c->crash->refused[strspn(c->crash->refused, "0123456789")])
			add_part(d, "call=%s", c->crash->refused);
		else if (c->crash->refused[0])
			add_part(d, "%s",
				 signature_clean_name(c->crash->refused, refused, sizeof(refused)));
		add_frame(d, c->crash);
		add_python(d, c->crash->python);
	} else if (is_known(c->module)) {
		clean_file(c->module, file);
		add_part(d, "%s", file);
	}
}

void signature_make(const struct signature_cause *c, char ret_signature[static SIGNATURE_MAX])
{
	char who[WHO_MAX], words[WORDS_MAX] = "";
	struct detail d = { .n = 0 };

	clean_who(c, who);
	int head = snprintf(ret_signature, SIGNATURE_MAX, "v1:%s:%s:", failure_class_name(c->class),
			    who);
	d.max = SIGNATURE_MAX - 1 - (size_t)head - 1; /* one for the question mark */
	if (c->signal > 0 && signal_name(c->signal))
		add_part(&d, "%s", signal_name(c->signal));
	else if (c->exit_code >= 0)
		add_part(&d, "exit=%d", c->exit_code);
	if (c->xid)
		add_part(&d, "Xid=%d", c->xid);
	add_crash(&d, c);
	if (is_known(c->words))
		add_part(&d, "%s", signature_clean(c->words, words, sizeof(words)));
	snprintf(ret_signature + head, SIGNATURE_MAX - (size_t)head, "%s%s", d.n ? d.text : "-",
		 c->cause_unknown ? "?" : "");
}

bool signature_is_weak(const char *signature)
{
	size_t n = strlen(signature);

	return n == 0 || signature[n - 1] == '?';
}

/* --- From a verdict --- */

static bool is_oom(enum failure_class class)
{
	return failure_class_is_oom((int)class) || class == FAILURE_KERNEL_OOM_PROCESS;
}

/*
 * Returns whether it is a class of GPU errors. Whether the program ends by an exit code or abort()
 * is chance.
 */
static bool is_of_gpu(enum failure_class class)
{
	return class == FAILURE_GPU_FAILED || class == FAILURE_CUDA_OUT_OF_MEMORY ||
	       class == FAILURE_CUDA_ERROR || class == FAILURE_NCCL_ERROR;
}

static const char *who_died(const struct observation *o, const struct verdict *v,
			    const char *largest)
{
	if (is_oom(v->class) &&
	    ray_process_of_type(v->process.name, strlen(v->process.name)) != RAY_PROCESS_NONE)
		return v->process.name;
	if (is_oom(v->class) && is_known(o->victim))
		return o->victim;
	if (is_oom(v->class) && !v->process.name[0])
		return o->kernel.oom && o->kernel.name[0] ? o->kernel.name : largest;
	if (v->process.name[0])
		return v->process.name;
	if (o->container_lives && o->ray)
		return o->ray->event.task[0] ? o->ray->event.task : "worker";
	if (o->crash && o->crash->comm[0])
		return o->crash->comm;
	return NULL;
}

/* Takes the module from "x[1]: segfault at 0 ip 00.. sp 00.. error 4 in boom.so[7f..+1000]". */
static const char *module_of_line(const char *line, char *out, size_t size)
{
	const char *in = strstr(line, " in ");
	size_t len = in ? strcspn(in + 4, "[, ") : 0;

	out[0] = '\0';
	if (len > 0 && in[4 + len] == '[')
		snprintf(out, size, "%.*s", (int)len, in + 4);
	return out;
}

/*
 * Returns whether the detail names a cause. Ray logs the same text for a broken connection whatever
 * ended the process behind it.
 */
static bool says_why(const char *detail)
{
	static const char *const connection[] = { "connection error code", "End of file",
						  "RPC error", "RPC Error" };

	for (size_t i = 0; i < ARRAY_SIZE(connection); i++)
		if (strstr(detail, connection[i]))
			return false;
	return detail[0];
}

/* Uses the program's own error message, or the driver's error number if the program logged none. */
static void add_gpu_words(const struct observation *o, struct signature_cause *c)
{
	const struct gpu_error *error = o->container_lives && o->ray ? &o->ray->gpu : o->gpu_error;

	if (error && error->kind >= GPU_ERROR_NCCL)
		c->words = error->what[0] ? error->what : "error";
	else
		c->xid = o->kernel.gpu.fault.xid;
}

/*
 * Returns whether the event concerns the whole node. The cause of an earlier death of one worker is
 * not that of the container's end.
 */
static bool is_of_the_node(enum ray_kind kind)
{
	return !IS_ONE_OF(kind, RAY_WORKER_CRASH, RAY_NO_ENVIRONMENT, RAY_MEMORY_KILL, RAY_SUMMARY,
			  RAY_NODE_LOST);
}

static void add_words(const struct observation *o, const struct verdict *v,
		      struct signature_cause *c)
{
	const struct ray_finding *finding = o->ray;

	c->words = ray_process_gave_up(
		o, ray_process_of_type(v->process.name, strlen(v->process.name)));
	if (c->words)
		return;
	if (failure_class_is_of_memory(v->class)) {
		c->words = "memory";
		return;
	}
	switch (v->class) {
	case FAILURE_GPU_FAILED:
		c->xid = o->kernel.gpu.fault.xid;
		if (!c->xid)
			c->words = o->kernel.gpu.fault.meaning;
		break;
	case FAILURE_CUDA_OUT_OF_MEMORY:
		c->words = "GPU memory";
		break;
	case FAILURE_CUDA_ERROR:
	case FAILURE_NCCL_ERROR:
		add_gpu_words(o, c);
		break;
	case FAILURE_RAY_JOB_FAILED:
		c->words = o->exception;
		break;
	case FAILURE_FILE_DESCRIPTORS_EXHAUSTED:
		c->words = "EMFILE";
		break;
	case FAILURE_PROCESS_LIMIT:
		c->words = "pids";
		break;
	case FAILURE_DISK_FULL:
		c->words = o->limits.fullest.point[0] == '/' ? o->limits.fullest.point + 1 : "disk";
		break;
	default:
		if (finding && (o->container_lives || is_of_the_node(finding->event.kind)) &&
		    says_why(finding->event.detail))
			c->words = finding->event.detail;
	}
}

/* Returns whether the verdict says only how the container ended. */
static bool is_cause_unknown(const struct signature_cause *c)
{
	if (is_known(c->words) || c->xid || is_known(c->module))
		return false;
	if (c->crash)
		return c->crash->unwound && !c->crash->function[0] && !c->crash->module[0] &&
		       !c->crash->python[0];
	if (IS_ONE_OF(c->class, FAILURE_WORKER_CRASH, FAILURE_RAYLET_FAILED, FAILURE_GCS_FAILED,
		      FAILURE_RAY_PROCESS_FAILED, FAILURE_RAY_JOB_FAILED))
		return c->signal == 0 || c->signal == SIGKILL;
	return IS_ONE_OF(c->class, FAILURE_APPLICATION_ERROR, FAILURE_KILLED, FAILURE_TERMINATED,
			 FAILURE_SIGNALED, FAILURE_UNKNOWN);
}

static int logged_signal(const struct ray_finding *finding)
{
	for (int s = 1; finding && finding->logged_signal[0] && s < 65; s++)
		if (signal_name(s) && strcmp(signal_name(s), finding->logged_signal) == 0)
			return s;
	return 0;
}

void signature_of(const struct observation *o, const struct verdict *v, const char *largest,
		  char ret_signature[static SIGNATURE_MAX])
{
	char module[64];
	struct signature_cause c = {
		.class = v->class,
		.container = o->container,
		.who = who_died(o, v, largest),
		.signal = o->crash && o->crash->signal ? o->crash->signal : v->signal,
		.exit_code =
			v->signal || is_oom(v->class) || is_of_gpu(v->class) ? -1 : v->exit_code,
		.crash = o->crash,
		.module = module_of_line(o->kernel.crash, module, sizeof(module)),
	};

	/* The status of the process that ended first counts, not that of its consequences. */
	if (v->process.name[0]) {
		c.signal = o->crash && o->crash->signal ? o->crash->signal : v->process.signal;
		c.exit_code = c.signal ? -1 : v->process.exit_code;
	}
	if (o->container_lives && o->ray && !c.signal)
		c.signal = logged_signal(o->ray);
	/* The OOM killer always uses SIGKILL, so the class says that already. */
	if (is_oom(v->class) || v->class == FAILURE_RAY_MEMORY_MONITOR || is_of_gpu(v->class))
		c.signal = 0;
	add_words(o, v, &c);
	c.cause_unknown = is_cause_unknown(&c);
	signature_make(&c, ret_signature);
}
