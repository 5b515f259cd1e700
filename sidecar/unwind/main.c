/* SPDX-License-Identifier: Apache-2.0 */
/* afterglow-unwind makes the backtraces of all threads in a core file. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/fileio.h"
#include "lib/printable.h"
#include "lib/undumpable.h"
#include "sidecar/unwind/blame.h"
#include "sidecar/unwind/confine.h"
#include "sidecar/unwind/live.h"
#include "sidecar/unwind/living.h"
#include "sidecar/unwind/options.h"
#include "sidecar/unwind/python_find.h"
#include "sidecar/unwind/render.h"

#define OUTPUT_MAX (500 << 10) /* less than the 512 KiB that the sidecar accepts */
#define MODULES_TEXT_MAX (128 << 10) /* of OUTPUT_MAX, reserved for the modules */

/* The output so far, which is used even if reading fails later. */

static struct {
	int summary_fd;
	size_t written;
	bool begun, summarized;
	char headline[512], summary[1024]; /* built from the notes alone */
} output;

static void write_quietly(int fd, const char *text, size_t len)
{
	fd_write_all(fd, text, len, NULL);
}

/* Called in a signal handler. */
static void unwind_broken(const char *why)
{
	if (output.begun)
		write_quietly(STDOUT_FILENO, "\n(Cut short: ", 13);
	else if (output.headline[0])
		write_quietly(STDOUT_FILENO, output.headline, strlen(output.headline));
	else {
		write_quietly(STDERR_FILENO, "afterglow-unwind: ", 18);
		write_quietly(STDERR_FILENO, why, strlen(why));
		write_quietly(STDERR_FILENO, "\n", 1);
		_exit(1);
	}
	write_quietly(STDOUT_FILENO, why, strlen(why));
	write_quietly(STDOUT_FILENO, output.begun ? ")\n" : "\n", output.begun ? 2 : 1);
	if (!output.summarized && output.summary_fd >= 0)
		write_quietly(output.summary_fd, output.summary, strlen(output.summary));
	_exit(0);
}

/*
 * Writes the text, of which files and strings of the process are parts, and empties it. Returns
 * false if the output is full.
 */
static bool unwind_flush(struct strbuf *text)
{
	bool whole = !strbuf_failed(text) && text->len <= OUTPUT_MAX - output.written;
	size_t n = MIN(text->len, OUTPUT_MAX - output.written);

	output.begun = true;
	if (n)
		mend_printable(text->data, n, "\n");
	write_quietly(STDOUT_FILENO, strbuf_str(text), n);
	output.written += n;
	strbuf_reset(text);
	return whole;
}

static void prepare_for_worst(const struct modules *modules, struct crash *crash)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4096);

	crash->truncated = true;
	render_headline(&text, modules, crash);
	snprintf(output.headline, sizeof(output.headline),
		 "%.*s; its stack could not be read: ", (int)strcspn(strbuf_str(&text), "\n"),
		 strbuf_str(&text));
	strbuf_reset(&text);
	render_summary(&text, modules, crash);
	snprintf(output.summary, sizeof(output.summary), "%s", strbuf_str(&text));
	crash->truncated = false;
}

/* --- The report --- */

struct run {
	const struct options *options;
	struct core core;
	struct modules modules;
	struct unwinder unwinder;
	struct symbols symbols;
	struct python python;
	bool has_python;
	struct crash crash;
	struct fault fault;
};

static void begin_crash(struct run *r)
{
	const struct core_thread *thread = &r->core.threads[0];

	r->crash = (struct crash){
		.info = r->core.siginfo,
		.has_info = r->core.has_siginfo,
		.registers = thread->registers,
		.pc = thread->registers[r->core.machine->pc],
	};
	if (!r->crash.has_info)
		r->crash.info.signal = thread->signal;
	prepare_for_worst(&r->modules, &r->crash);
}

static void name_python_frame(struct run *r)
{
	struct python_frame frame;
	bool cut;

	if (r->has_python && python_walk(&r->python, &r->core.threads[0], &frame, 1, &cut) == 1)
		snprintf(r->crash.python, sizeof(r->crash.python), "%s:%d in %s", frame.file,
			 frame.line, frame.function);
}

static int write_crashed(struct run *r, struct strbuf *text, struct err *err)
{
	_cleanup_stack_ struct stack stack = { 0 };

	if (unwinder_walk(&r->unwinder, &r->core.threads[0], r->options->max_frames, &stack, err) <
	    0)
		return -err->code;
	blame(&r->symbols, &stack, &r->fault, &r->crash);
	r->has_python = python_find(&r->python, &r->unwinder);
	r->crash.finalizing |= r->python.finalizing;
	name_python_frame(r);
	render_headline(text, &r->modules, &r->crash);
	render_facts(text, &r->modules, &r->crash);
	if (r->has_python && r->python.why[0])
		strbuf_addf(text, "  Python     no frames: %s\n", r->python.why);
	render_thread(text, &r->symbols, r->has_python ? &r->python : NULL, &r->core.threads[0],
		      &stack, " (crashed)");
	unwind_flush(text);
	return 0;
}

static void unwind_write_summary(struct run *r)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(16384);

	if (r->options->summary_fd >= 0) {
		render_summary(&text, &r->modules, &r->crash);
		output.summarized = true;
		write_quietly(r->options->summary_fd, strbuf_str(&text), text.len);
	}
}

static bool write_others(struct run *r, struct strbuf *text)
{
	size_t n = MIN(r->core.n_threads, r->options->max_threads);

	for (size_t i = 1; i < n; i++) {
		_cleanup_stack_ struct stack stack = { 0 };

		if (unwinder_walk(&r->unwinder, &r->core.threads[i], r->options->max_frames, &stack,
				  NULL) < 0)
			return false;
		render_thread(text, &r->symbols, r->has_python ? &r->python : NULL,
			      &r->core.threads[i], &stack, "");
		/* The rest of the room is for the modules. */
		if (output.written + text->len > OUTPUT_MAX - MODULES_TEXT_MAX ||
		    !unwind_flush(text)) {
			strbuf_reset(text);
			n = i;
		}
	}
	if (n < r->core.threads_seen)
		strbuf_addf(text, "\n(%zu more threads are not shown)\n", r->core.threads_seen - n);
	return true;
}

static int unwind_write_report(struct run *r, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(OUTPUT_MAX);

	if (write_crashed(r, &text, err) < 0)
		return -err->code;
	unwind_write_summary(r);
	if (!write_others(r, &text))
		strbuf_adds(&text, "\n(out of memory: other threads are missing)\n");
	render_modules(&text, &r->modules);
	unwind_flush(&text);
	return 0;
}

static int unwind_run(const struct options *options, struct files *files, struct err *err)
{
	struct run r = { .options = options };
	bool lives = options->dump_fd >= 0;

	int rc = lives ? live_open(&r.core, options->dump_fd, options->memory_fd, options->maps_fd,
				   err) :
			 core_open(&r.core, options->core_fd, err);
	if (rc < 0)
		return rc;
	rc = modules_find(&r.modules, &r.core, files, err);
	if (rc >= 0 && !lives)
		begin_crash(&r);
	if (rc >= 0)
		rc = unwinder_init(&r.unwinder, &r.modules, err);
	symbols_init(&r.symbols, &r.unwinder);
	if (rc >= 0)
		rc = lives ? living_write(&r.unwinder, &r.symbols, options->max_threads,
					  unwind_flush, err) :
			     unwind_write_report(&r, err);
	/* A sentence from the notes is better than nothing. */
	if (rc < 0 && output.headline[0])
		unwind_broken(err_text(err));
	return rc; /* the end of the process frees all of it, in less time */
}

/* stdio is not used, because the filter may forbid its system calls. */
_Noreturn static void unwind_fail(const struct err *err)
{
	char line[ERR_TEXT_MAX + 64];

	write_quietly(
		STDERR_FILENO, line,
		(size_t)snprintf(line, sizeof(line), "afterglow-unwind: %s\n", err_text(err)));
	_exit(1);
}

_Noreturn static void unwind_serve(int root_fd, int socket_fd)
{
	struct err err = { 0 };

	if (files_serve_confined(root_fd, socket_fd, &err) < 0 && err.code)
		unwind_fail(&err);
	_exit(0);
}

/*
 * Starts the process that opens files, if the sidecar has not. It ends when our end of the socket
 * is closed.
 */
static int start_serving(struct options *o, struct err *err)
{
	int ends[2];

	if (o->files_fd >= 0 || o->no_root)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, errno, "socketpair");
	pid_t pid = fork();
	if (pid < 0)
		return err_set(err, errno, "fork");
	if (pid == 0) {
		close(ends[0]);
		closep(&o->core_fd);
		unwind_serve(o->root_fd, ends[1]);
	}
	close(ends[1]);
	o->files_fd = ends[0];
	return 0;
}

int main(int, char **argv)
{
	struct options options;
	struct files files;
	struct err err = { 0 };

	undumpable_become();
	/* We never ask the network for debug information, and a library must not do so either. */
	unsetenv("DEBUGINFOD_URLS");
	if (options_parse(argv, &options, &err) < 0) {
		fprintf(stderr, "afterglow-unwind: %s\n", err_text(&err));
		return 2;
	}
	if (options.help)
		return options_print_help(&unwind_options, 0);
	if (options.version)
		return puts("afterglow-unwind " AFTERGLOW_VERSION) == EOF;
	if (options.serve_fd >= 0)
		unwind_serve(options.root_fd, options.serve_fd);
	output.summary_fd = options.summary_fd;
	if (start_serving(&options, &err) < 0 || files_begin(&files, options.files_fd, &err) < 0 ||
	    confine(&(struct confine_fds){ { MAX(options.core_fd, options.dump_fd),
					     options.memory_fd, options.maps_fd },
					   options.files_fd,
					   options.summary_fd },
		    unwind_broken, &err) < 0 ||
	    unwind_run(&options, &files, &err) < 0)
		unwind_fail(&err);
	_exit(0);
}
