/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the backtrace as text for people, and its summary as a line of JSON. */
#include "sidecar/unwind/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/printable.h"
#include "lib/units.h"
#include "sidecar/unwind/scan.h"

#define PATH_TEXT_MAX 512

/* --- Parts of lines --- */

static const char *path_text(const char *path, char text[static PATH_TEXT_MAX])
{
	copy_printable(text, PATH_TEXT_MAX, path, strlen(path));
	return text;
}

static const char *signal_text(int signal, char text[static 24])
{
	const char *name = signal_name(signal);

	if (name)
		snprintf(text, 24, "%s", name);
	else
		snprintf(text, 24, "signal %d", signal);
	return text;
}

static const char *code_text(const struct core_siginfo *info, char text[static 32])
{
	const char *name = core_signal_code(info->signal, info->code);

	if (name)
		snprintf(text, 32, "%s", name);
	else
		snprintf(text, 32, "%d", info->code);
	return text;
}

static const char *meaning_of(const struct core_siginfo *info)
{
	static const struct {
		const char *code, *meaning;
	} table[] = {
		{ "SEGV_MAPERR", "nothing is mapped at that address" },
		{ "SEGV_ACCERR", "that memory may not be accessed so" },
		{ "BUS_ADRERR",
		  "the file mapped there is shorter, or its storage or the huge pages ran out" },
		{ "BUS_ADRALN", "not aligned" },
		{ "BUS_MCEERR_AR", "the memory hardware failed" },
		{ "ILL_ILLOPN", "the processor does not know this instruction" },
		{ "FPE_INTDIV", "division of an integer by zero" },
		{ "SI_KERNEL",
		  "the kernel; on x86-64, an address that no pointer can have: the pointer was overwritten" },
		{ "SYS_SECCOMP", "a seccomp filter refused a system call" },
		{ "SI_TKILL", "raised by the process itself" },
		{ "SI_USER", "sent by a process" },
	};
	const char *code = core_signal_code(info->signal, info->code);

	for (size_t i = 0; code && i < ARRAY_SIZE(table); i++)
		if (strcmp(table[i].code, code) == 0)
			return table[i].meaning;
	return NULL;
}

/* --- The beginning --- */

void render_headline(struct strbuf *out, const struct modules *modules, const struct crash *crash)
{
	const struct core *core = modules->core;
	const struct module *m = modules_at(modules, crash->pc);
	char name[24], path[PATH_TEXT_MAX];

	strbuf_adds(out, signal_text(crash->info.signal, name));
	if (crash->has_info && core_is_fault(&crash->info))
		strbuf_addf(out, " at address 0x%" PRIx64, crash->info.address);
	if (crash->refused[0])
		strbuf_addf(out,
			    core_is_refusal(&crash->info) ? " for the system call %s" : ", %s,",
			    crash->refused);
	if (crash->jumped)
		strbuf_adds(out, ", where no code is, called");
	if (crash->sent && crash->info.sender)
		strbuf_addf(out, ", which PID %d sent, while", (int)crash->info.sender);
	else if (crash->sent)
		strbuf_adds(out, ", which a process outside of the container sent, while");
	if (crash->caller_unknown)
		strbuf_adds(out, ", raised by an unknown caller");
	else if (crash->symbol.function[0])
		strbuf_addf(out, crash->jumped ? " by %s" : " in %s", crash->symbol.function);
	else if (!m)
		strbuf_addf(out,
			    modules_is_code(modules, crash->pc) ?
				    " at 0x%" PRIx64 ", in code of no known file" :
				    " at 0x%" PRIx64 ", where no code is",
			    crash->pc);
	if (m && !crash->caller_unknown) {
		path_text(module_name(m), path);
		strbuf_addf(out, crash->symbol.function[0] ? " (%s)" : " in %s", path);
	}
	if (core->threads_seen > 1)
		strbuf_addf(out, ", thread %d (one of %zu)", core->threads[0].tid,
			    core->threads_seen);
	strbuf_adds(out, crash->finalizing ? ", while the Python interpreter ended\n" : "\n");
}

static void add_registers(struct strbuf *out, const struct core_machine *machine,
			  const struct crash *crash)
{
	size_t column = 0;

	strbuf_adds(out, "  registers");
	for (size_t i = 0; i < machine->n_registers; i++) {
		/*
		 * The context in a signal frame lacks some registers. They are omitted, not shown
		 * as zeros.
		 */
		if (crash->handled &&
		    !memchr(machine->context_order, (int)i, machine->context_slots))
			continue;
		strbuf_addf(out, "%s%-8s 0x%016" PRIx64,
			    column % 3 || !column ? "  " : "\n             ", machine->names[i],
			    crash->registers[i]);
		column++;
	}
	strbuf_addc(out, '\n');
}

static void add_signal(struct strbuf *out, const struct crash *crash)
{
	const char *meaning = crash->has_info ? meaning_of(&crash->info) : NULL;
	char name[24], code[32];

	strbuf_addf(out, "  signal     %d %s", crash->info.signal,
		    signal_text(crash->info.signal, name));
	if (!crash->has_info)
		strbuf_adds(out, "; the core does not hold its details");
	else {
		strbuf_addf(out, ", %s", code_text(&crash->info, code));
		if (meaning)
			strbuf_addf(out, ": %s", meaning);
		if (crash->info.code <= 0 && crash->info.sender)
			strbuf_addf(out, " (PID %d, UID %u)", (int)crash->info.sender,
				    crash->info.sender_uid);
	}
	strbuf_addc(out, '\n');
	if (crash->handled)
		strbuf_adds(
			out,
			"             a signal handler ran and raised the signal again; this is the first signal\n");
}

static void add_completeness(struct strbuf *out, const struct modules *modules)
{
	const struct core *core = modules->core;
	char size[SIZE_TEXT_MAX];

	if (core->missing)
		strbuf_addf(out, "  core       cut short: %s of its memory are missing\n",
			    size_format(core->missing, size));
	if (core->notes_cut)
		strbuf_adds(out, "  core       cut short: some of its notes are missing\n");
	if (core->n_maps == 0)
		strbuf_adds(
			out,
			"  core       holds no list of mapped files: addresses have no names\n");
	if (core->threads_seen > core->n_threads)
		strbuf_addf(out, "  threads    %zu; the first %zu of them are read\n",
			    core->threads_seen, core->n_threads);
	if (modules->dropped)
		strbuf_addf(out, "  modules    %zu more than are read\n", modules->dropped);
}

void render_facts(struct strbuf *out, const struct modules *modules, const struct crash *crash)
{
	const struct core *core = modules->core;
	const struct module *executable = modules_executable(modules);
	char path[PATH_TEXT_MAX];

	add_signal(out, crash);
	strbuf_addf(out, "  process    %d %s, executable %s\n", (int)core->pid, core->command,
		    executable ? path_text(executable->path, path) : "not known");
	if (core->arguments[0])
		strbuf_addf(out, "  command    %s\n", core->arguments);
	if (crash->message[0])
		strbuf_addf(out, "  message    %s\n", crash->message);
	if (crash->python[0])
		strbuf_addf(out, "  Python     %s\n", crash->python);
	add_completeness(out, modules);
	add_registers(out, core->machine, crash);
}

/* --- Threads --- */

static void render_add_place(struct strbuf *out, const struct frame *f, const struct symbol *s,
			     const struct modules *modules)
{
	const struct module *m = modules_at(modules, f->exact ? f->pc : f->pc - 1);
	char path[PATH_TEXT_MAX];

	strbuf_addf(out, "0x%016" PRIx64 " in %s", f->pc, s->function[0] ? s->function : "??");
	if (s->source[0])
		strbuf_addf(out, " at %s", s->source);
	if (m) {
		strbuf_addf(out, " from %s", path_text(m->path, path));
		if (!s->function[0])
			strbuf_addf(out, "+0x%" PRIx64, f->pc - m->start);
	}
	strbuf_adds(out, s->inlined ? " (inlined)\n" : "\n");
}

/* Adds a frame with the functions inlined in it. Returns the number of the next line. */
static size_t add_frames(struct strbuf *out, struct symbols *symbols, size_t number,
			 const struct frame *f)
{
	struct symbol found[SYMBOLS_INLINED_MAX + 1];
	size_t n = symbols_of(symbols, f, found);

	for (size_t k = 0; k < n; k++) {
		strbuf_addf(out, "#%-3zu ", number++);
		render_add_place(out, f, &found[k], symbols->u->modules);
	}
	return number;
}

/*
 * Adds the outermost frames of a stack that is too long to show. They say who called the function
 * that then called itself.
 */
static void add_outermost(struct strbuf *out, struct symbols *symbols, size_t number,
			  const struct stack *stack)
{
	size_t n = MIN(stack->beyond, (size_t)FRAMES_OUTERMOST);

	if (stack->beyond > n)
		strbuf_addf(out, "     (%zu more frames are not shown)\n", stack->beyond - n);
	number += stack->beyond - n;
	for (size_t i = stack->beyond - n; i < stack->beyond; i++)
		number = add_frames(out, symbols, number, &stack->outermost[i % FRAMES_OUTERMOST]);
}

static void add_possible(struct strbuf *out, struct symbols *symbols, const struct stack *stack)
{
	struct symbol found[SYMBOLS_INLINED_MAX + 1];
	uint64_t addresses[SCAN_FOUND_MAX];
	size_t n =
		scan_stack(symbols->u->modules, stack->frames[stack->last_certain].sp, addresses);

	if (n)
		strbuf_adds(
			out,
			"  Addresses of calls further up on that stack, nearest first; some of the calls may be long over:\n");
	for (size_t i = 0; i < n; i++) {
		const struct frame f = { .pc = addresses[i] };
		size_t outer = symbols_of(symbols, &f, found) - 1;

		strbuf_adds(out, "     ");
		render_add_place(out, &f, &found[outer], symbols->u->modules);
	}
}

static void add_native(struct strbuf *out, struct symbols *symbols, const struct stack *stack)
{
	size_t number = 0;

	for (size_t i = 0; i < stack->n; i++) {
		/*
		 * libdwfl also calls the trampoline of a signal handler exact. The frame after it
		 * was interrupted.
		 */
		if (i > 0 && stack->frames[i].exact &&
		    (i + 1 == stack->n || !stack->frames[i + 1].exact))
			strbuf_adds(out, "     <signal handler called>\n");
		number = add_frames(out, symbols, number, &stack->frames[i]);
		if (stack->why && i == stack->last_certain)
			strbuf_addf(out, STACK_WHY_TEXT, stack->why);
	}
	add_outermost(out, symbols, number, stack);
	if (stack->guessed)
		strbuf_adds(
			out,
			"     (a jump to where no code is; the caller is the address at the top of the stack)\n");
	if (stack->end)
		strbuf_addf(out, "     (%s)\n", stack->end);
	if (stack->corrupt || stack->why)
		add_possible(out, symbols, stack);
	if (stack->cut)
		strbuf_adds(out, "     (still more frames follow)\n");
}

void render_python(struct strbuf *out, const struct python *py, const struct core_thread *thread)
{
	_cleanup_free_ struct python_frame *frames =
		py->n_threads ? calloc(PYTHON_FRAMES_MAX, sizeof(*frames)) : NULL;
	bool cut = false;
	size_t n = frames ? python_walk(py, thread, frames, PYTHON_FRAMES_MAX, &cut) : 0;

	if (n)
		strbuf_addf(out, "  Python%s, innermost first:\n",
			    python_thread_of(py, thread)->holds_gil ? " (it holds the GIL)" : "");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(out, "     %s:%d in %s\n", frames[i].file, frames[i].line,
			    frames[i].function);
	if (cut)
		strbuf_adds(out, "     (more frames follow)\n");
}

void render_thread(struct strbuf *out, struct symbols *symbols, const struct python *py,
		   const struct core_thread *thread, const struct stack *stack, const char *remark)
{
	strbuf_addf(out, "\nThread %d%s:\n", (int)thread->tid, remark);
	add_native(out, symbols, stack);
	if (py)
		render_python(out, py, thread);
}

/* --- Modules --- */

static const char *remark_on(const struct module *m)
{
	switch (m->state) {
	case MODULE_UNUSABLE:
		return m->why;
	case MODULE_UNVERIFIED:
		return m->n_maps ?
			       "no build id to compare: the file may be another than the one that crashed" :
			       NULL;
	default:
		return NULL;
	}
}

void render_modules(struct strbuf *out, const struct modules *modules)
{
	char path[PATH_TEXT_MAX], id[BUILD_ID_TEXT_MAX];

	strbuf_adds(out, "\nModules:\n");
	for (size_t i = 0; i < modules->n; i++) {
		const struct module *m = &modules->list[i];
		const char *remark = remark_on(m);

		strbuf_addf(out, "0x%012" PRIx64 "-0x%012" PRIx64 " %-40s %s%s%s%s\n", m->start,
			    m->end, m->build_id_len ? module_build_id(m, id) : "-",
			    path_text(m->path, path), remark ? " (" : "", remark ? remark : "",
			    remark ? ")" : "");
	}
}

/* --- Summary --- */

static void add_hex(cJSON *object, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_set_str(object, name, text);
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static void add_crashed_frame(cJSON *summary, const struct modules *modules,
			      const struct crash *crash)
{
	cJSON *frame = json_object_at(summary, "crashedFrame");
	const struct module *m = modules_at(modules, crash->pc);
	char path[PATH_TEXT_MAX], id[BUILD_ID_TEXT_MAX];

	if (!frame || crash->caller_unknown || crash->sent)
		return;
	json_set_str(frame, "function", or_null(crash->symbol.function));
	json_set_str(frame, "module", m ? path_text(m->path, path) : NULL);
	add_hex(frame, "offset", m ? crash->pc - m->start : crash->pc);
	json_set_str(frame, "buildId", m ? or_null(module_build_id(m, id)) : NULL);
	json_set_str(frame, "source", or_null(crash->symbol.source));
}

static void fill_summary(cJSON *summary, const struct modules *modules, const struct crash *crash)
{
	const struct core *core = modules->core;
	const struct module *executable = modules_executable(modules);
	char text[PATH_TEXT_MAX];

	json_set_int(summary, "signal", crash->info.signal);
	json_set_str(summary, "signalName", signal_text(crash->info.signal, text));
	json_set_str(summary, "code", crash->has_info ? code_text(&crash->info, text) : NULL);
	if (crash->has_info && core_is_fault(&crash->info))
		add_hex(summary, "faultAddress", crash->info.address);
	else
		json_set_str(summary, "faultAddress", NULL);
	json_set_str(summary, "refused", or_null(crash->refused));
	if (crash->sent)
		json_set_int(summary, "sentBy", crash->info.sender);
	json_set_int(summary, "pid", core->pid);
	json_set_int(summary, "tid", core->threads[0].tid);
	json_set_str(summary, "comm", core->command);
	json_set_str(summary, "executable", executable ? path_text(executable->path, text) : NULL);
	json_set_int(summary, "threads", (int64_t)core->threads_seen);
	add_crashed_frame(summary, modules, crash);
	json_set_str(summary, "message", or_null(crash->message));
	json_set_str(summary, "python", or_null(crash->python));
	/*
	 * Even with a complete core the report may omit frames, as in an endless recursion. So this
	 * is a separate member.
	 */
	json_set(summary, "coreCut", cJSON_CreateBool(core->missing > 0));
	json_set(summary, "truncated",
		 cJSON_CreateBool(crash->truncated || core->missing || core->notes_cut));
}

void render_summary(struct strbuf *out, const struct modules *modules, const struct crash *crash)
{
	_cleanup_json_ cJSON *summary = cJSON_CreateObject();

	if (!summary)
		return;
	fill_summary(summary, modules, crash);
	char *text = cJSON_PrintUnformatted(summary);
	if (!text)
		return;
	strbuf_adds(out, text);
	strbuf_addc(out, '\n');
	cJSON_free(text);
}
