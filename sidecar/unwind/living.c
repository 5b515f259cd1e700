/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the stacks of a process that lives. */
#include "sidecar/unwind/living.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "lib/printable.h"
#include "sidecar/unwind/live.h"
#include "sidecar/unwind/python_find.h"

#define THREAD_TEXT_MAX ((size_t)32 << 10)
#define FRAMES_SHOWN 64
#define PATH_TEXT_MAX 512
#define MUTEX_FRAMES 3 /* pthread_mutex_lock is one of the innermost while it waits */
#define MUTEX_OWNER 8 /* the offset of __owner in glibc's pthread_mutex_t; the futex comes first */
/*
 * Places of registers in the kernel's order (x86-64). A system call leaves the registers of its
 * arguments as they are.
 */
enum { REGISTER_RDI = 14, REGISTER_ORIG_RAX = 15 };

/* Reads the Python frames of all threads first, because they run on meanwhile. */
static void read_python(const struct python *py, const struct core *core, struct strbuf *texts,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		texts[i] = STRBUF_INIT(THREAD_TEXT_MAX);
		render_python(&texts[i], py, &core->threads[i]);
	}
}

static void add_living_frame(struct strbuf *out, const struct modules *modules,
			     const struct frame *f, const struct symbol *s)
{
	const struct module *m = modules_at(modules, f->exact ? f->pc : f->pc - 1);
	char name[PATH_TEXT_MAX];

	strbuf_addf(out, "     %s", s->function[0] ? s->function : "??");
	if (s->source[0])
		strbuf_addf(out, " at %s", s->source);
	if (m) {
		copy_printable(name, sizeof(name), module_name(m), strlen(module_name(m)));
		strbuf_addf(out, " (%s)", name);
	}
	strbuf_addc(out, '\n');
}

static void add_native_frames(struct strbuf *out, struct symbols *symbols,
			      const struct stack *stack, bool has_python)
{
	struct symbol found[SYMBOLS_INLINED_MAX + 1];

	strbuf_adds(out, "  native, innermost first:\n");
	for (size_t i = 0; i < stack->n; i++) {
		size_t n = symbols_of(symbols, &stack->frames[i], found);

		for (size_t k = 0; k < n; k++)
			add_living_frame(out, symbols->u->modules, &stack->frames[i], &found[k]);
		/* The interpreter itself begins here: the rest is Python's frames once more. */
		if (has_python && strncmp(found[n - 1].function, "_PyEval_EvalFrame", 17) == 0)
			return;
		if (stack->why && i == stack->last_certain)
			strbuf_addf(out, STACK_WHY_TEXT, stack->why);
	}
	if (stack->beyond || stack->cut)
		strbuf_adds(out, "     (more frames follow)\n");
	if (stack->end)
		strbuf_addf(out, "     (%s)\n", stack->end);
}

static void living_add_missing(struct strbuf *out, const struct core_thread *t)
{
	if (t->error == EBUSY)
		strbuf_adds(
			out,
			"  native: not seen, because the kernel did not stop the thread in time\n");
	else
		strbuf_addf(out, "  native: not seen: %s\n", strerror(t->error));
	if (t->waits_in[0])
		strbuf_addf(out, "     it waits in the kernel, in %s\n", t->waits_in);
	if (t->file[0])
		strbuf_addf(out, "     it works on %s\n", t->file);
}

/* Whether it was still there after its Python frames were read, as far as its frames reach. */
static bool waits_still(struct core *core, const struct core_thread *t, const struct stack *stack)
{
	uint64_t end = t->registers[core->machine->sp] + 1;

	for (size_t i = 0; i < stack->n; i++)
		end = MAX(end, stack->frames[i].sp);
	return live_is_unmoved(core, t, end);
}

static bool waits_for_mutex(struct symbols *symbols, const struct core_thread *t,
			    const struct stack *stack)
{
	struct symbol found[SYMBOLS_INLINED_MAX + 1];

	if (symbols->u->modules->core->machine->elf != EM_X86_64 || t->state != 'S' ||
	    t->registers[REGISTER_ORIG_RAX] != SYS_futex)
		return false;
	for (size_t i = 0; i < MIN(stack->n, (size_t)MUTEX_FRAMES); i++) {
		size_t n = symbols_of(symbols, &stack->frames[i], found);

		if (strstr(found[n - 1].function, "pthread_mutex_lock"))
			return true;
	}
	return false;
}

/*
 * Names the thread of the process that has the mutex for which this one waits. Elsewhere than in
 * glibc no such thread is found.
 */
static void add_mutex_owner(struct strbuf *out, struct core *core, const struct core_thread *t)
{
	uint64_t at = t->registers[REGISTER_RDI] + MUTEX_OWNER;
	int32_t owner;

	if (core_read(core, at, &owner, sizeof(owner)) != sizeof(owner) || owner == t->tid)
		return;
	for (size_t i = 0; i < core->n_threads; i++)
		if (core->threads[i].tid == owner)
			strbuf_addf(out,
				    "note thread %d %s waits for a mutex that thread %d %s has\n",
				    (int)t->tid, t->name, (int)owner, core->threads[i].name);
}

static int write_thread(struct unwinder *u, struct symbols *symbols, const struct core_thread *t,
			const struct strbuf *python, struct strbuf *out, struct err *err)
{
	_cleanup_stack_ struct stack stack = { 0 };

	if (t->error == 0 && unwinder_walk(u, t, FRAMES_SHOWN, &stack, err) < 0)
		return -err->code;
	bool still = t->error == 0 && waits_still(u->modules->core, t, &stack);
	strbuf_addf(out, "used %lld in %lld\nthread %d %c %s %s\n", (long long)t->used_ns,
		    (long long)t->age_ns, (int)t->tid,
		    t->state >= 'A' && t->state <= 'z' ? t->state : '?', still ? "still" : "moved",
		    t->name);
	strbuf_add(out, strbuf_str(python), python->len);
	if (t->error)
		living_add_missing(out, t);
	else
		add_native_frames(out, symbols, &stack, python->len > 0);
	/* If it has gone on, the registers are old. */
	if (still && waits_for_mutex(symbols, t, &stack))
		add_mutex_owner(out, u->modules->core, t);
	return 0;
}

static int write_threads(struct unwinder *u, struct symbols *symbols, const struct strbuf *python,
			 size_t n, bool (*flush)(struct strbuf *text), struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(2 * THREAD_TEXT_MAX);
	const struct core *core = u->modules->core;
	size_t i = 0;

	for (bool room = true; room && i < n; i++) {
		if (write_thread(u, symbols, &core->threads[i], &python[i], &text, err) < 0)
			return -err->code;
		room = flush(&text);
	}
	if (i < core->threads_seen) {
		strbuf_addf(&text, "note %zu more threads are not shown\n", core->threads_seen - i);
		flush(&text);
	}
	return 0;
}

int living_write(struct unwinder *u, struct symbols *symbols, size_t max_threads,
		 bool (*flush)(struct strbuf *text), struct err *err)
{
	const struct core *core = u->modules->core;
	size_t n = MIN(core->n_threads, max_threads);
	struct strbuf *python = calloc(n, sizeof(*python));
	_cleanup_strbuf_ struct strbuf head = STRBUF_INIT(1024);
	struct python py;

	if (!python)
		return err_set(err, ENOMEM, "%zu threads", n);
	if (python_find(&py, u) && !py.why[0])
		read_python(&py, core, python, n);
	strbuf_addf(&head, "process %d stopped for %u us, threads: %zu\n", (int)core->pid,
		    core->stopped_us, core->threads_seen);
	if (py.why[0])
		strbuf_addf(&head, "note Python's frames are not seen: %s\n", py.why);
	flush(&head);
	int r = write_threads(u, symbols, python, n, flush, err);
	for (size_t i = 0; i < n; i++)
		strbuf_release(&python[i]);
	free(python);
	python_release(&py);
	return r;
}
