/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the frames of each thread.
 *
 * Theory of operation. libdwfl does the unwinding. It gets memory, registers and
 * files through our callbacks, so it opens nothing by itself, and only files with
 * a frame in them are opened at all. This file does what libdwfl cannot know: a
 * call through a null pointer (the caller is at the top of the stack), a stack
 * that goes round in circles, and the signal frames that show the first fault.
 */
#include "sidecar/unwind/stack.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

/* --- Callbacks for files --- */

static int find_elf(Dwfl_Module *mod, void **userdata, const char *, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	struct unwinder *u = *userdata;
	struct module *m = u ? modules_at(u->modules, base) : NULL;
	Dwarf_Addr start, end;

	if (!m && u) { /* `low` may be before the first mapping */
		dwfl_module_info(mod, NULL, &start, &end, NULL, NULL, NULL, NULL);
		m = modules_at(u->modules, end - 1);
	}
	if (!m || !module_open(u->modules, m) || !m->elf)
		return -1;
	*file_name = strdup(m->path);
	*elf = TAKE_PTR(m->elf); /* libdwfl calls elf_end */
	return -1;
}

static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *, Dwarf_Addr, const char *,
			  const char *, GElf_Word, char **debug_file)
{
	struct unwinder *u = *userdata;
	Dwarf_Addr end = 0;
	char path[256];

	dwfl_module_info(mod, NULL, NULL, &end, NULL, NULL, NULL, NULL);
	struct module *m = u && end ? modules_at(u->modules, end - 1) : NULL;
	int fd = m ? module_open_debug(u->modules, m, path, sizeof(path)) : -1;
	if (fd >= 0)
		*debug_file = strdup(path);
	return fd;
}

static const Dwfl_Callbacks file_callbacks = { .find_elf = find_elf,
					       .find_debuginfo = find_debuginfo };

/* --- Callbacks for the thread that is being walked, whatever its number in libdwfl --- */

#define WALKED_TID 1

static pid_t next_thread(Dwfl *, void *arg, void **thread_arg)
{
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return WALKED_TID;
}

static bool get_thread(Dwfl *, pid_t tid, void *arg, void **thread_arg)
{
	*thread_arg = arg;
	return tid == WALKED_TID;
}

static bool stack_read_memory(Dwfl *, Dwarf_Addr address, Dwarf_Word *result, void *arg)
{
	struct unwinder *u = arg;

	return modules_read(u->modules, address, result, sizeof(*result)) == sizeof(*result);
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct unwinder *u = arg;
	const struct core_machine *machine = u->modules->core->machine;
	Dwarf_Word dwarf[CORE_REGISTERS_MAX];
	size_t n = core_machine_dwarf(machine, u->registers, dwarf);

	if (!dwfl_thread_state_registers(thread, 0, (unsigned int)n, dwarf))
		return false;
	dwfl_thread_state_register_pc(thread, u->registers[machine->pc]);
	return true;
}

/* clang-format off */
static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread, .get_thread = get_thread, .memory_read = stack_read_memory, .set_initial_registers = set_registers,
};
/* clang-format on */

/* --- Beginning and end --- */

static int report_modules(struct unwinder *u, struct err *err)
{
	dwfl_report_begin(u->dwfl);
	for (size_t i = 0; i < u->modules->n; i++) {
		const struct module *m = &u->modules->list[i];
		Dwfl_Module *mod = dwfl_report_module(u->dwfl, m->path, m->low, m->end);
		void **userdata;

		if (!mod)
			return err_set(err, ENOMEM, "module %s", m->path);
		dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = u;
	}
	if (dwfl_report_end(u->dwfl, NULL, NULL) != 0)
		return err_set(err, EINVAL, "modules: %s", dwfl_errmsg(-1));
	return 0;
}

/*
 * Makes an ELF file from which libdwfl takes the machine. The core itself is not given to libdwfl,
 * because it would read it on its own.
 */
static Elf *machine_header(const struct core_machine *machine)
{
	static Elf64_Ehdr header;

	header = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = machine->elf,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
	};
	return elf_memory((char *)&header, sizeof(header));
}

int unwinder_init(struct unwinder *u, struct modules *modules, struct err *err)
{
	*u = (struct unwinder){ .modules = modules };
	elf_version(EV_CURRENT);
	u->dwfl = dwfl_begin(&file_callbacks);
	u->machine_elf = machine_header(modules->core->machine);
	if (!u->dwfl || !u->machine_elf)
		return err_set(err, ENOMEM, "libdwfl: %s", dwfl_errmsg(-1));
	if (report_modules(u, err) < 0)
		return -err->code;
	if (!dwfl_attach_state(u->dwfl, u->machine_elf, WALKED_TID, &thread_callbacks, u))
		return err_set(err, EINVAL, "libdwfl: %s", dwfl_errmsg(-1));
	return 0;
}

void unwinder_release(struct unwinder *u)
{
	if (u->dwfl)
		dwfl_end(u->dwfl);
	if (u->machine_elf)
		elf_end(u->machine_elf);
	*u = (struct unwinder){ 0 };
}

Dwfl_Module *unwinder_module(const struct unwinder *u, uint64_t address)
{
	Dwfl_Module *mod = dwfl_addrmodule(u->dwfl, address);
	GElf_Addr bias;

	return mod && dwfl_module_getelf(mod, &bias) ? mod : NULL;
}

struct core_code unwinder_code(const struct unwinder *u, uint64_t pc)
{
	struct core_code code;

	code.n_before = modules_read(u->modules, pc - sizeof(code.before), code.before,
				     sizeof(code.before));
	code.n_at = modules_read(u->modules, pc, code.at, sizeof(code.at));
	return code;
}

/* --- Walking --- */

void stack_release(struct stack *stack)
{
	free(stack->frames);
	*stack = (struct stack){ 0 };
}

struct walk {
	struct unwinder *u;
	struct stack *stack;
	size_t max;
	bool no_memory;
};

static struct frame *stack_push(struct walk *w)
{
	struct stack *s = w->stack;

	if ((s->n & (s->n - 1)) == 0) { /* for 0 or a power of two: make room for twice as many */
		struct frame *more = realloc(s->frames, (s->n ? s->n * 2 : 1) * sizeof(*more));

		if (!more) {
			w->no_memory = true;
			return NULL;
		}
		s->frames = more;
	}
	return &s->frames[s->n++];
}

static struct frame *last_frame(struct stack *s)
{
	if (s->beyond)
		return &s->outermost[(s->beyond - 1) % FRAMES_OUTERMOST];
	return s->n ? &s->frames[s->n - 1] : NULL;
}

static int keep_outermost(struct walk *w, const struct frame *f)
{
	struct stack *s = w->stack;

	if (s->n + s->beyond >= FRAMES_WALKED_MAX) {
		s->cut = true;
		return DWARF_CB_ABORT;
	}
	s->outermost[s->beyond++ % FRAMES_OUTERMOST] = *f;
	return DWARF_CB_OK;
}

static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct walk *w = arg;
	struct stack *s = w->stack;
	bool x86 = w->u->modules->core->machine->elf == EM_X86_64;
	struct frame next = { 0 }, *f;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(state, &pc, &next.exact))
		return DWARF_CB_ABORT;
	next.pc = pc;
	if (dwfl_frame_reg(state, x86 ? 7 : 31, &next.sp) != 0)
		next.sp = 0;
	/*
	 * The caller of a null pointer was read from the stack, so its address is a return address.
	 */
	if (s->guessed && s->n == 1) {
		next.pc++;
		next.exact = false;
	}
	f = last_frame(s);
	if (f && f->pc == next.pc && f->sp == next.sp) {
		s->end = "the frames repeat from here on: the stack is corrupt";
		return DWARF_CB_ABORT;
	}
	if (s->n == w->max)
		return keep_outermost(w, &next);
	f = stack_push(w);
	if (!f)
		return DWARF_CB_ABORT;
	*f = next;
	return DWARF_CB_OK;
}

/*
 * Steps over a jump to an address without code, most often a call through a null pointer. The
 * caller's address is at the top of the stack (on aarch64 in x30). The walk continues one byte
 * before it, inside of the call, whose unwind information describes the caller.
 */
static bool step_over_bad_pc(struct walk *w)
{
	struct core *core = w->u->modules->core;
	uint64_t *r = w->u->registers, caller;
	bool x86 = core->machine->elf == EM_X86_64;

	if (modules_is_code(w->u->modules, r[core->machine->pc]))
		return false;
	if (x86 ? !core_read_u64(core, r[core->machine->sp], &caller) : (caller = r[30], false))
		return false;
	if (caller == 0 || !modules_is_code(w->u->modules, caller - 1) ||
	    !modules_at(w->u->modules, caller - 1))
		return false;
	struct frame *f = stack_push(w);
	if (!f)
		return false;
	*f = (struct frame){ r[core->machine->pc], r[core->machine->sp], true };
	w->stack->guessed = true;
	r[core->machine->pc] = caller - 1;
	if (x86)
		r[core->machine->sp] += sizeof(caller);
	return true;
}

/* find: dwfl_module_eh_cfi, or dwfl_module_dwarf_cfi for .debug_frame. */
static bool cfi_covers(Dwfl_Module *mod, Dwarf_CFI *find(Dwfl_Module *, Dwarf_Addr *),
		       Dwarf_Addr address)
{
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = find(mod, &bias);
	Dwarf_Frame *frame;

	if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &frame) != 0)
		return false;
	free(frame);
	return true;
}

/* Returns why the caller of a frame cannot be found, or NULL if unwind information describes it. */
static const char *why_not_unwound(const struct unwinder *u, const struct frame *f)
{
	Dwarf_Addr address = f->exact ? f->pc : f->pc - 1;
	const struct module *m = modules_at(u->modules, address);
	Dwfl_Module *mod = m ? unwinder_module(u, address) : NULL;

	if (!m)
		return modules_is_code(u->modules, address) ?
			       "this code belongs to no file: it was generated at run time" :
			       NULL;
	if (!mod)
		return m->state == MODULE_UNUSABLE ? "the module's file is gone or is another one" :
						     "the module cannot be read";
	if (cfi_covers(mod, dwfl_module_eh_cfi, address) ||
	    cfi_covers(mod, dwfl_module_dwarf_cfi, address))
		return NULL;
	return "the module has none for this code";
}

/*
 * Finds the frame from which on libdwfl had to follow the frame pointer, which compilers use for
 * other values. Then an address without code at the end says nothing of the stack, and is left out.
 */
static void find_last_certain(struct walk *w, int error)
{
	struct stack *s = w->stack;

	s->last_certain = s->n - 1;
	for (size_t i = s->guessed ? 1 : 0; i < s->n && !s->why; i++) {
		/*
		 * Where there is no code, only a frame pointer leads on, and it may have any value.
		 */
		if (i > 0 && !s->beyond && !modules_is_code(w->u->modules, s->frames[i].pc)) {
			s->n = i + 1;
			s->last_certain = i;
			return;
		}
		/* The first function of a thread has no caller. */
		if (i + 1 == s->n && (error == 0 || s->beyond))
			break;
		s->why = why_not_unwound(w->u, &s->frames[i]);
		if (s->why)
			s->last_certain = i;
	}
	if (s->why && !s->beyond && s->n - 1 > s->last_certain &&
	    !modules_is_code(w->u->modules, s->frames[s->n - 1].pc))
		s->n--;
}

/*
 * A healthy stack ends with a frame without a caller. A damaged one ends with an address where
 * nothing was mapped.
 */
static void explain_end(struct walk *w, int error)
{
	struct stack *s = w->stack;
	const struct frame *last = last_frame(s);

	if (s->why)
		s->end = NULL;
	if (s->cut || s->end || s->why || error == 0)
		return;
	if (!modules_at(w->u->modules, last->pc)) {
		s->corrupt = true;
		s->end = "no code is at this address: the stack is corrupt from here on";
	} else if (last->sp && core_segment_at(w->u->modules->core, last->sp) &&
		   core_read(w->u->modules->core, last->sp, &(uint64_t){ 0 }, 8) != 8)
		s->end = "the core does not hold the stack's memory from here on";
}

int unwinder_walk(struct unwinder *u, const struct core_thread *thread, size_t max,
		  struct stack *ret_stack, struct err *err)
{
	struct stack stack = { 0 };
	struct walk w = { .u = u, .stack = &stack, .max = MIN(max, (size_t)FRAMES_MAX) };
	const struct core_machine *machine = u->modules->core->machine;

	memcpy(u->registers, thread->registers, sizeof(u->registers));
	step_over_bad_pc(&w);
	int r = dwfl_getthread_frames(u->dwfl, WALKED_TID, on_frame, &w);
	if (stack.n == 0 && !w.no_memory) {
		struct frame *f = stack_push(&w);

		if (f)
			*f = (struct frame){ thread->registers[machine->pc],
					     thread->registers[machine->sp], true };
	}
	if (w.no_memory) {
		stack_release(&stack);
		return err_set(err, ENOMEM, "frames");
	}
	find_last_certain(&w, r);
	explain_end(&w, r);
	*ret_stack = stack;
	return 0;
}

/* --- Faults behind signal handlers --- */

static bool stack_kills(int signal)
{
	return IS_ONE_OF(signal, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT);
}

/*
 * Returns whether info can belong to the fatal signal. The kernel fills siginfo_t only for handlers
 * with SA_SIGINFO; for others it is old memory.
 */
static bool has_siginfo(const struct core_siginfo *info, int final_signal)
{
	return stack_kills(info->signal) &&
	       (info->signal == final_signal || final_signal == SIGABRT) &&
	       core_signal_code(info->signal, info->code);
}

/* Returns whether info tells of a signal that no trap causes, as SIGALRM. */
static bool is_of_another_signal(const struct core_siginfo *info)
{
	return info->signal > 0 && info->signal < 65 && !stack_kills(info->signal) &&
	       core_signal_code(info->signal, info->code);
}

/*
 * Returns whether a page fault at pc is one of memory that cannot be accessed. Otherwise it is an
 * older one of that thread, which a handler repaired.
 */
static bool is_still_refused(struct core *core, const struct core_siginfo *info, uint64_t pc)
{
	const struct core_segment *s = info->signal == SIGSEGV && core_is_fault(info) ?
					       core_segment_at(core, info->address) :
					       NULL;

	return !s || !s->readable || !s->writable || (info->address == pc && !s->executable);
}

/*
 * Reads what the kernel put on the stack for the handler whose trampoline has this stack pointer.
 */
static bool read_signal_frame(const struct unwinder *u, uint64_t sp, struct fault *ret)
{
	struct core *core = u->modules->core;
	const struct core_machine *machine = core->machine;
	size_t size = machine->context_slots * sizeof(uint64_t);
	uint64_t slots[CORE_CONTEXT_SLOTS_MAX];
	int final_signal = core->has_siginfo ? core->siginfo.signal : core->threads[0].signal;
	uint8_t info[CORE_SIGINFO_SIZE];

	if (core_read(core, sp + machine->context_offset, slots, size) != size)
		return false;
	for (size_t i = 0; i < machine->context_slots; i++)
		if (machine->context_order[i] < CORE_REGISTERS_MAX)
			ret->registers[machine->context_order[i]] = slots[i];
	if (core_read(core, sp + machine->siginfo_offset, info, sizeof(info)) == sizeof(info)) {
		core_siginfo_parse(info, &ret->info);
		if (has_siginfo(&ret->info, final_signal) || is_of_another_signal(&ret->info))
			return has_siginfo(&ret->info, final_signal);
	}
	struct core_code code = unwinder_code(u, ret->registers[machine->pc]);
	return core_machine_trap(machine, slots, &code, final_signal, &ret->info) &&
	       is_still_refused(core, &ret->info, ret->registers[machine->pc]);
}

bool unwinder_find_fault(const struct unwinder *u, const struct stack *stack,
			 struct fault *ret_fault)
{
	size_t pc = u->modules->core->machine->pc;

	for (size_t i = stack->n; i-- > 1;) {
		struct fault fault = { .frame = i };

		if (!stack->frames[i].exact || !stack->frames[i - 1].sp)
			continue;
		/* It is a signal frame if it contains the same program counter. */
		if (read_signal_frame(u, stack->frames[i - 1].sp, &fault) &&
		    fault.registers[pc] == stack->frames[i].pc) {
			*ret_fault = fault;
			return true;
		}
	}
	return false;
}
