/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-unwind. */
#include "sidecar/unwind/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/unwind/core.h"
#include "sidecar/unwind/stack.h"

#define THREADS_DEFAULT 256
#define FRAMES_DEFAULT 128
#define FD_MAX (1 << 20)
#define AT(member) offsetof(struct options, member)

static int path_open(const char *option, const char *path, int flags, int *ret_fd, struct err *err)
{
	*ret_fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return *ret_fd < 0 ? err_set(err, errno, "%s %s", option, path) : 0;
}

static int core_parse(void *options, const char *option, const char *value, struct err *err)
{
	return path_open(option, value, O_RDONLY, &((struct options *)options)->core_fd, err);
}

static int root_parse(void *options, const char *option, const char *value, struct err *err)
{
	return path_open(option, value, O_PATH | O_DIRECTORY, &((struct options *)options)->root_fd,
			 err);
}

/* clang-format off */
static const struct option_row rows[] = {
	{ .help = "usage: afterglow-unwind (--core FILE | --core-fd N) [OPTION...]\n"
		  "Reads a core file of Linux (64 bit) and prints the signal, the backtrace of each thread (the crashed\n"
		  "one first, with Python's frames), and the modules with their build ids.\n" },
	{ "--core", "FILE", OPTION_OTHER, .parse = core_parse },
	{ "--core-fd", "N", OPTION_INT, AT(core_fd), .max = FD_MAX, .help = "the core file" },
	{ "--dump-fd", "N", OPTION_INT, AT(dump_fd), .max = FD_MAX },
	{ "--memory-fd", "N", OPTION_INT, AT(memory_fd), .max = FD_MAX },
	{ "--maps-fd", "N", OPTION_INT, AT(maps_fd), .max = FD_MAX,
	  .help = "instead of a core: a process that lives, as its launcher copied it, and its\n"
		  "/proc/PID/mem and /proc/PID/maps. Prints its threads in short" },
	{ "--root", "DIR", OPTION_OTHER, .parse = root_parse },
	{ "--root-fd", "N", OPTION_INT, AT(root_fd), .max = FD_MAX,
	  .help = "look for programs and libraries of the process below this root\n"
		  "directory and nowhere else (default /)" },
	{ "--files-fd", "N", OPTION_INT, AT(files_fd), .max = FD_MAX,
	  .help = "ask for them over this socket, at whose other end runs --serve-fd" },
	{ "--no-root", NULL, OPTION_FLAG, AT(no_root), .help = "do not look for them" },
	{ "--summary-fd", "N", OPTION_INT, AT(summary_fd), .max = FD_MAX,
	  .help = "write a summary, one line of JSON, to descriptor N" },
	{ "--max-threads", "N", OPTION_COUNT, AT(max_threads), .min = 1, .max = CORE_THREADS_MAX,
	  .help = "show at most N threads (default 256, at most 4096)" },
	{ "--max-frames", "N", OPTION_COUNT, AT(max_frames), .min = 1, .max = FRAMES_MAX,
	  .help = "show at most N frames of each thread (default 128, at most 4096)" },
	{ "--help", .kind = OPTION_FLAG, .at = AT(help) },
	{ "--version", .kind = OPTION_FLAG, .at = AT(version), .help = "" },
	{ .help = "usage: afterglow-unwind --serve-fd N (--root DIR | --root-fd N)\n" },
	{ "--serve-fd", "N", OPTION_INT, AT(serve_fd), .max = FD_MAX,
	  .help = "open files for another afterglow-unwind that asks for them over this\n"
		  "socket, until that one ends" },
	{ .help = "Exit code 0: there is a backtrace, perhaps a partial one. 1: there is none. 2: wrong options.\n" },
};
/* clang-format on */

const struct option_table unwind_options = OPTION_TABLE(rows, 28);

int options_parse(char **argv, struct options *ret_options, struct err *err)
{
	/* clang-format off */
	struct options o = {
		.core_fd = -1, .root_fd = -1, .summary_fd = -1, .files_fd = -1, .serve_fd = -1,
		.dump_fd = -1, .memory_fd = -1, .maps_fd = -1,
		.max_threads = THREADS_DEFAULT, .max_frames = FRAMES_DEFAULT,
	};
	/* clang-format on */
	int n = options_take(&unwind_options, 0, argv + 1, &o, err), r = 0;

	if (n < 0)
		return n;
	if (argv[1 + n])
		return err_set(err, EINVAL, "unexpected argument %s (see --help)", argv[1 + n]);
	if ((o.dump_fd < 0) != (o.memory_fd < 0) || (o.dump_fd < 0) != (o.maps_fd < 0) ||
	    (o.dump_fd >= 0 && o.core_fd >= 0))
		return err_set(
			err, EINVAL,
			"--dump-fd, --memory-fd and --maps-fd go together, and without a core (see --help)");
	if (!o.help && !o.version && o.core_fd < 0 && o.serve_fd < 0 && o.dump_fd < 0)
		return err_set(err, EINVAL, "which core? --core FILE (see --help)");
	if (o.root_fd < 0 && o.files_fd < 0 && !o.no_root)
		r = path_open("--root", "/", O_PATH | O_DIRECTORY, &o.root_fd, err);
	if (r == 0)
		*ret_options = o;
	return r;
}
