/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the launcher's command line. */
#include "sidecar/launch/options.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/command_line.h"
#include "sidecar/launch/core_limit.h"
#include "sidecar/launch/environment.h"
#include "sidecar/launch/proc_file.h"
#include "sidecar/launch/protocol.h"

#define WAIT_SIDECAR_MAX_S 3600
#define FD_MAX 1023

#define DEFAULT_NAME "main"
#define DEFAULT_SOCKET "/afterglow/run/afterglow.sock"
#define DEFAULT_TERMINATION_LOG "/dev/termination-log"

#define AT(member) offsetof(struct options, member)

/* clang-format off */
static const struct option_row rows[] = {
	{ .help = "usage: afterglow-launch [OPTION...] -- COMMAND [ARG...]\n"
		  "Starts COMMAND, forwards signals to it and exits with its exit code (128+N after\n"
		  "signal N). Lets the Afterglow sidecar at --socket watch this container.\n\n" },
	{ "--name", "NAME", OPTION_TEXT, AT(name),
	  .help = "the container's name in reports (default \"" DEFAULT_NAME "\")" },
	{ "--socket", "PATH", OPTION_ANY, AT(socket_path),
	  .help = "the sidecar's socket (default " DEFAULT_SOCKET ");\n"
		  "COMMAND runs also when there is no sidecar" },
	{ "--socket-fd", "N", OPTION_INT, AT(socket_fd), .min = 1, .max = FD_MAX,
	  .help = "use descriptor N, which is connected to the sidecar, in place of --socket" },
	{ "--termination-log", "PATH", OPTION_ANY, AT(termination_log),
	  .help = "the file from which the kubelet reads the termination message: the\n"
		  "container's terminationMessagePath (default " DEFAULT_TERMINATION_LOG ")" },
	{ "--wait-sidecar", "S", OPTION_INT, AT(wait_sidecar_s), .min = 1, .max = WAIT_SIDECAR_MAX_S,
	  .help = "when COMMAND fails within S seconds of its start while no sidecar is\n"
		  "connected, wait for one until these S seconds are over (1 to 3600)" },
	{ "--wait-after-success", "S", OPTION_INT, AT(wait_after_success_s), .min = 1, .max = WAIT_SIDECAR_MAX_S,
	  .help = "the same when COMMAND succeeds" },
	{ "--self-fd", "N", OPTION_INT, AT(self_fd), .min = 1, .max = FD_MAX,
	  .help = "close descriptor N, from which this program was started, and restore the\n"
		  "name of the process" },
	{ "--oom-score-adj", "N", OPTION_INT, AT(oom_score_adj), .min = -1000, .max = 1000,
	  .help = "start COMMAND with that adjustment of its OOM score (-1000 to 1000)" },
	{ "--wait-tcp", "H:P", OPTION_TEXT, AT(wait_tcp),
	  .help = "start COMMAND only when TCP port P of host H accepts connections" },
	{ "--cores", .kind = OPTION_FLAG, .at = AT(cores),
	  .help = "let COMMAND write core files, without shared memory\n"
		  "(coredump_filter " COREDUMP_FILTER ")" },
	{ "--cores-max", "N", OPTION_COUNT, AT(cores_max), .min = 1, .max = INT64_MAX,
	  .help = "set the soft core limit to N bytes if it is lower or unlimited\n"
		  "(default " CORES_MAX_DEFAULT_TEXT "), but to no more than " CORE_LIMIT_SHARE_TEXT " of the space\n"
		  "that is free where the node's core pattern leads" },
	{ "--cores-in-memory", .kind = OPTION_FLAG, .at = AT(cores_in_memory),
	  .help = "allow cores also where that is a filesystem in memory" },
	{ "--prefix", "WORDS", OPTION_ANY, AT(prefix),
	  .help = "put WORDS, split at blanks, before COMMAND (\"memray run -o /tmp/m.bin\");\n"
		  "COMMAND runs without it if its first word is not a program in PATH" },
	{ "--release", "[PID]", OPTION_FLAG, AT(release),
	  .help = "end the hold of this container, in which the launcher has that PID\n"
		  "(default 1). While the command still runs, nothing happens" },
	{ "--environment", .kind = OPTION_FLAG, .at = AT(environment),
	  .help = "print how the environment that the calling shell hands down differs from its own" },
	{ "--help", .kind = OPTION_FLAG, .at = AT(help) },
	{ "--version", .kind = OPTION_FLAG, .at = AT(version), .help = "" },
};
/* clang-format on */

static const struct option_table table = OPTION_TABLE(rows, 20);

_Noreturn static void _printf_(1, 2) usage_error(const char *format, ...)
{
	va_list args;

	fputs(PROGRAM, stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

/*
 * Sends the launcher SIGTERM with a value, by which it distinguishes this from a SIGTERM that is
 * meant for the command.
 */
_Noreturn static void release(const char *pid_text)
{
	const union sigval mark = { .sival_int = RELEASE_MARK };
	char name[32], *end = NULL;
	long pid = pid_text ? strtol(pid_text, &end, 10) : 1;

	if (pid < 1 || pid > INT_MAX || (end && *end))
		usage_error("--release takes a PID, not %s", pid_text);
	/* The kernel keeps 15 bytes of a program's name. */
	if (!proc_file_read((pid_t)pid, "comm", name, sizeof(name)) ||
	    strncmp(name, "afterglow-launch", 15) != 0) {
		fprintf(stderr, PROGRAM "process %ld is no afterglow-launch\n", pid);
		exit(1);
	}
	if (sigqueue((pid_t)pid, SIGTERM, mark) < 0) {
		fprintf(stderr, PROGRAM "process %ld: %s\n", pid, strerror(errno));
		exit(1);
	}
	exit(0);
}

/* What is asked for in place of starting a command. */
static void options_answer(const struct options *o)
{
	if (o->help)
		exit(options_print_help(&table, 0));
	if (o->version)
		exit(puts("afterglow-launch " AFTERGLOW_VERSION) == EOF);
	if (o->environment) {
		environment_print();
		exit(0);
	}
	if (o->release)
		release(o->argv[0]);
}

void options_parse(char **argv, struct options *o)
{
	struct err err = { 0 };

	*o = (struct options){ .name = DEFAULT_NAME,
			       .socket_path = DEFAULT_SOCKET,
			       .termination_log = DEFAULT_TERMINATION_LOG,
			       .oom_score_adj = OOM_SCORE_KEPT,
			       .cores_max = CORES_MAX_DEFAULT };
	int n = options_take(&table, 0, argv + 1, o, &err);
	if (n < 0)
		usage_error("%s", err_text(&err));
	o->argv = argv + 1 + n;
	options_answer(o);
	if (!o->argv[0])
		usage_error("no command (see --help)");
	if (!o->name[0] || strlen(o->name) > LAUNCH_NAME_MAX || strpbrk(o->name, " \n/"))
		usage_error("--name takes a container's name, not %s", o->name);
	if (o->wait_tcp && !strrchr(o->wait_tcp, ':'))
		usage_error("--wait-tcp takes HOST:PORT, not %s", o->wait_tcp);
}
