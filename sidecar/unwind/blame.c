/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the frame of the crashed thread that a person should look at first. */
#include "sidecar/unwind/blame.h"

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/printable.h"

#define FINALIZING_WITHIN 256 /* frames; finalizers do not recurse deeply */
/* A frame that begins beyond the stack's end is seldom larger. */
#define STACK_NEAR ((uint64_t)64 << 10)
#define STACK_LEAST ((uint64_t)16 << 10) /* no stack is smaller */

/*
 * Beginnings of names of functions through which abort(), assert(), std::terminate(), panic!() and
 * the fatal errors of Ray, Python and libraries of logs go.
 */
static const char *const messengers[] = {
	"__pthread_kill_",
	"__pthread_kill",
	"pthread_kill",
	"__GI_",
	"gsignal",
	"raise",
	"__libc_signal_restore_set",
	"__restore_sigs",
	"abort",
	"__assert_fail",
	"__assert_fail_base",
	"__libc_message",
	"__libc_message_impl",
	"__fortify_fail",
	"__stack_chk_fail",
	"__chk_fail",
	"malloc_printerr",
	"malloc_consolidate",
	"munmap_chunk",
	"unlink_chunk",
	"_int_malloc",
	"_int_realloc",
	"_int_free",
	"_int_free_",
	"tcache_double_free_verify",
	"__malloc",
	"malloc",
	"__realloc",
	"realloc",
	"__free",
	"free",
	"__libc_free",
	"std::terminate",
	"std::__terminate",
	"__gxx_personality_v0",
	"std::abort",
	"__gnu_cxx::__verbose_terminate_handler",
	"__cxxabiv1::",
	"__cxa_throw",
	"__cxa_rethrow",
	"__cxa_pure_virtual",
	"_Unwind_",
	"ray::TerminateHandler",
	"ray::RayLog::~RayLog",
	"google::LogMessage::",
	"google::LogMessageFatal::",
	"arrow::util::ArrowLog::~ArrowLog",
	"Py_FatalError",
	"_Py_FatalErrorFunc",
	"_Py_FatalErrorFormat",
	"fatal_error",
	"fatal_error_exit",
	"std::__throw_",
	"std::__glibcxx_assert_fail",
	"std::panicking::",
	"core::panicking::",
	"core::option::",
	"<core::option::Option<",
	"core::result::",
	"<core::result::Result<",
	"__rustc::",
	"rust_panic",
	"rust_begin_unwind",
	"__rust_start_panic",
	"panic_abort::",
	"std::process::abort",
	"std::sys::",
	"std::sys_common::",
	"std::rt::",
	"core::ops::function::",
};

bool blame_is_messenger(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(messengers); i++) {
		size_t len = strlen(messengers[i]);

		if (strncmp(function, messengers[i], len) != 0)
			continue;
		char next = function[len];
		/* "abort" is such a function, "abort_transaction" is not. */
		if (messengers[i][len - 1] == ':' || messengers[i][len - 1] == '<' ||
		    messengers[i][len - 1] == '_' || next == '\0' || next == '(' || next == '@' ||
		    next == ' ' || next == '.')
			return true;
	}
	return false;
}

static void set_symbol(const struct frame *f, const struct symbol *symbol, struct crash *crash)
{
	crash->symbol = *symbol;
	crash->pc = f->pc;
}

static void set_frame(struct symbols *symbols, const struct frame *f, struct crash *crash)
{
	struct symbol found[SYMBOLS_INLINED_MAX + 1];

	symbols_of(symbols, f, found);
	set_symbol(f, &found[0], crash);
}

/*
 * All of the runtime library is a messenger when it aborts, or when a system call was refused: its
 * caller passed what it could not work with. A function without a name is one only there.
 */
static bool is_messenger_at(const struct symbols *symbols, const struct frame *f,
			    const struct symbol *symbol, bool raised)
{
	const struct module *m = modules_at(symbols->u->modules, f->exact ? f->pc : f->pc - 1);

	return ((raised || !symbol->function[0]) && m && module_is_runtime(m)) ||
	       blame_is_messenger(symbol->function);
}

/* Returns whether the process sent itself the signal, as abort() does. */
static bool is_raised(const struct crash *crash, const struct core *core)
{
	return !crash->has_info || crash->info.code == SI_TKILL ||
	       (crash->info.code <= 0 && crash->info.sender == core->pid);
}

/* Finds who asked for an abort or for a system call, among the frames that are certain. */
static void skip_messengers(struct symbols *symbols, const struct stack *stack, size_t first,
			    struct crash *crash)
{
	struct symbol found[SYMBOLS_INLINED_MAX + 1];
	bool raised = core_is_refusal(&crash->info) || is_raised(crash, symbols->u->modules->core);

	for (size_t i = first; i <= stack->last_certain; i++) {
		size_t n = symbols_of(symbols, &stack->frames[i], found);

		for (size_t k = 0; k < n; k++)
			if (!is_messenger_at(symbols, &stack->frames[i], &found[k], raised)) {
				set_symbol(&stack->frames[i], &found[k], crash);
				return;
			}
	}
	set_frame(symbols, &stack->frames[first], crash);
	crash->caller_unknown = is_raised(crash, symbols->u->modules->core);
}

/*
 * Returns whether the fault is just below a stack: in the guard page of a thread, or where the
 * kernel no longer lets the stack grow.
 */
static bool stack_is_full(const struct core *core, const struct crash *crash)
{
	uint64_t at = crash->info.address, sp = crash->registers[core->machine->sp];
	size_t i = 0;

	if (crash->info.signal != SIGSEGV || !core_is_fault(&crash->info))
		return false;
	while (i < core->n_segments && (core->segments[i].end <= at || !core->segments[i].writable))
		i++;
	return i < core->n_segments && at < core->segments[i].start &&
	       core->segments[i].start - at <= STACK_NEAR &&
	       core->segments[i].end - core->segments[i].start >= STACK_LEAST &&
	       sp + STACK_NEAR > core->segments[i].start &&
	       sp < core->segments[i].start + STACK_NEAR;
}

/* Says what the kernel or the processor refused. */
static void name_refused(const struct unwinder *u, struct crash *crash)
{
	const struct core_machine *machine = u->modules->core->machine;
	struct core_code code = unwinder_code(u, crash->registers[machine->pc]);
	const char *name = machine->elf == EM_X86_64 ? refused_instruction(&code) : NULL;

	if (core_is_refusal(&crash->info))
		refused_system_call(machine->elf, crash->info.system_call, crash->refused);
	else if (crash->info.signal == SIGILL && core_is_fault(&crash->info) && name)
		snprintf(crash->refused, sizeof(crash->refused), "%s", name);
	else if (stack_is_full(u->modules->core, crash))
		snprintf(crash->refused, sizeof(crash->refused), "its stack is full");
}

/* Returns whether another process sent the signal. Then no function of this one is to blame. */
static bool is_sent(const struct crash *crash, const struct core *core)
{
	bool by_process = crash->info.code == SI_USER || crash->info.code == SI_QUEUE;

	return crash->has_info && by_process && crash->info.sender != core->pid;
}

/*
 * Returns whether Python was calling finalizers at its own end: then the program's work may have
 * been done.
 */
static bool is_finalizing(struct symbols *symbols, const struct stack *stack)
{
	struct symbol found[SYMBOLS_INLINED_MAX + 1];

	for (size_t i = 0; i <= stack->last_certain && i < FINALIZING_WITHIN; i++) {
		size_t n = symbols_of(symbols, &stack->frames[i], found);

		for (size_t k = 0; k < n; k++)
			if (strncmp(found[k].function, "Py_Finalize", strlen("Py_Finalize")) == 0)
				return true;
	}
	return false;
}

/* Returns whether it is glibc, or a program that contains it. */
static bool may_hold_message(const struct module *m, const struct modules *modules)
{
	return strncmp(module_name(m), "libc.so", strlen("libc.so")) == 0 ||
	       strncmp(module_name(m), "libc-2.", strlen("libc-2.")) == 0 ||
	       m == modules_executable(modules);
}

/*
 * glibc keeps for the core what it writes before it aborts: the assertion that failed, or what
 * malloc() found to be wrong. At __abort_msg is the address of a length and that text.
 */
static void read_message(const struct unwinder *u, struct crash *crash)
{
	char text[sizeof(crash->message)];
	uint64_t kept;

	for (size_t i = 0; i < u->modules->n && !crash->message[0]; i++) {
		const struct module *m = &u->modules->list[i];
		Dwfl_Module *mod =
			may_hold_message(m, u->modules) ? unwinder_module(u, m->start) : NULL;
		uint64_t at = mod ? symbols_address(mod, "__abort_msg") : 0;

		if (!at || !core_read_u64(u->modules->core, at, &kept) || !kept)
			continue;
		size_t n = core_read(u->modules->core, kept + sizeof(unsigned int), text,
				     sizeof(text) - 1);
		text[n] = '\0';
		copy_printable(crash->message, sizeof(crash->message), text, strcspn(text, "\n"));
	}
}

void blame(struct symbols *symbols, const struct stack *stack, struct fault *fault,
	   struct crash *crash)
{
	size_t first = 0;

	if (!core_is_fault(&crash->info) && unwinder_find_fault(symbols->u, stack, fault)) {
		crash->info = fault->info;
		crash->has_info = crash->handled = true;
		crash->registers = fault->registers;
		first = fault->frame;
	}
	if (core_is_refusal(&crash->info) ||
	    (!core_is_fault(&crash->info) && crash->info.code <= 0))
		skip_messengers(symbols, stack, first, crash);
	else
		set_frame(symbols, &stack->frames[first], crash);
	if (first == 0 && stack->guessed && stack->n > 1) {
		crash->jumped = true;
		set_frame(symbols, &stack->frames[1], crash);
	}
	name_refused(symbols->u, crash);
	if (crash->info.signal == SIGABRT)
		read_message(symbols->u, crash);
	crash->finalizing = is_finalizing(symbols, stack);
	crash->sent = is_sent(crash, symbols->u->modules->core);
	crash->truncated |= stack->cut || stack->beyond || stack->why;
}
