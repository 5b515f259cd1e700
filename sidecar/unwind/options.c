/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-unwind. */
#include "sidecar/unwind/options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/unwind/core.h"
#include "sidecar/unwind/stack.h"

#define THREADS_DEFAULT 256
#define FRAMES_DEFAULT 128

static const char usage[] =
	"usage: afterglow-unwind (--core FILE | --core-fd N) [OPTION...]\n"
	"Reads a core file of Linux (64 bit) and prints the signal, the backtrace of each thread (the crashed\n"
	"one first, with Python's frames), and the modules with their build ids.\n"
	"  --root DIR, --root-fd N   look for programs and libraries of the process below this root\n"
	"                            directory and nowhere else (default /)\n"
	"  --files-fd N              ask for them over this socket, at whose other end runs --serve-fd\n"
	"  --no-root                 do not look for them\n"
	"  --summary-fd N            write a summary, one line of JSON, to descriptor N\n"
	"  --max-threads N           show at most N threads (default 256, at most 4096)\n"
	"  --max-frames N            show at most N frames of each thread (default 128, at most 4096)\n"
	"usage: afterglow-unwind --serve-fd N (--root DIR | --root-fd N)\n"
	"Opens files for another afterglow-unwind that asks for them over this socket, until that one ends.\n"
	"Exit code 0: there is a backtrace, perhaps a partial one. 1: there is none. 2: wrong options.\n";

static int number_of(const char *text, long min, long max, const char *name, long *ret)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < min || value > max) {
		fprintf(stderr, "afterglow-unwind: --%s takes a number from %ld to %ld, not \"%s\"\n", name, min, max, text);
		return -1;
	}
	*ret = value;
	return 0;
}

static int open_path(const char *path, int flags, const char *name)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		fprintf(stderr, "afterglow-unwind: --%s %s: %s\n", name, path, strerror(errno));
	return fd;
}

enum { CORE = 1, CORE_FD, ROOT, ROOT_FD, SUMMARY_FD, FILES_FD, SERVE_FD, MAX_THREADS, MAX_FRAMES, NO_ROOT };

static int take_descriptor(const char *value, const char *name, int *ret_fd)
{
	long n;

	if (number_of(value, 0, 1 << 20, name, &n) < 0)
		return -1;
	*ret_fd = (int)n;
	return 0;
}


static int take_option(int option, const char *name, const char *value, struct options *o)
{
	long n = 0;

	switch (option) {
	case CORE:
		return o->core_fd = open_path(value, O_RDONLY, name);
	case ROOT:
		return o->root_fd = open_path(value, O_PATH | O_DIRECTORY, name);
	case CORE_FD:
		return take_descriptor(value, name, &o->core_fd);
	case ROOT_FD:
		return take_descriptor(value, name, &o->root_fd);
	case SUMMARY_FD:
		return take_descriptor(value, name, &o->summary_fd);
	case FILES_FD:
		return take_descriptor(value, name, &o->files_fd);
	case SERVE_FD:
		return take_descriptor(value, name, &o->serve_fd);
	case NO_ROOT:
		o->no_root = true;
		return 0;
	case MAX_THREADS:
		if (number_of(value, 1, CORE_THREADS_MAX, name, &n) < 0)
			return -1;
		o->max_threads = (size_t)n;
		return 0;
	case MAX_FRAMES:
		if (number_of(value, 1, FRAMES_MAX, name, &n) < 0)
			return -1;
		o->max_frames = (size_t)n;
		return 0;
	default:
		return -1;
	}
}

int options_parse(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{ "core", required_argument, NULL, CORE }, { "core-fd", required_argument, NULL, CORE_FD },
		{ "root", required_argument, NULL, ROOT }, { "root-fd", required_argument, NULL, ROOT_FD },
		{ "summary-fd", required_argument, NULL, SUMMARY_FD }, { "files-fd", required_argument, NULL, FILES_FD },
		{ "serve-fd", required_argument, NULL, SERVE_FD }, { "no-root", no_argument, NULL, NO_ROOT },
		{ "max-threads", required_argument, NULL, MAX_THREADS },
		{ "max-frames", required_argument, NULL, MAX_FRAMES }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' }, { 0 },
	};
	int option, index = 0;

	*o = (struct options){
		.core_fd = -1, .root_fd = -1, .summary_fd = -1, .files_fd = -1, .serve_fd = -1,
		.max_threads = THREADS_DEFAULT, .max_frames = FRAMES_DEFAULT,
	};
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", table, &index)) != -1) {
		if (option == 'h' || option == 'v') {
			fputs(option == 'h' ? usage : "afterglow-unwind " AFTERGLOW_VERSION "\n", stdout);
			exit(0);
		}
		if (option == '?') {
			fprintf(stderr, "afterglow-unwind: %s: %s; see --help\n", argv[optind - 1],
				optopt >= CORE && optopt <= MAX_FRAMES ? "takes a value" : "no such option");
			return -1;
		}
		if (take_option(option, table[index].name, optarg, o) < 0)
			return -1;
	}
	if (optind < argc || (o->core_fd < 0 && o->serve_fd < 0)) {
		fprintf(stderr, "afterglow-unwind: %s%s; see --help\n", optind < argc ? "unexpected argument " : "which core? --core FILE",
			optind < argc ? argv[optind] : "");
		return -1;
	}
	if (o->root_fd < 0 && o->files_fd < 0 && !o->no_root)
		return o->root_fd = open_path("/", O_PATH | O_DIRECTORY, "root");
	return 0;
}
