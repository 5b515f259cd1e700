/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the launcher's command line. */
#include "sidecar/launch/options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/launch/core_limit.h"
#include "sidecar/launch/environment.h"
#include "sidecar/launch/proc_file.h"
#include "sidecar/launch/protocol.h"

#define WAIT_SIDECAR_MAX_S 3600
#define FD_MAX 1023

#define DEFAULT_NAME "main"
#define DEFAULT_SOCKET "/afterglow/run/afterglow.sock"
#define DEFAULT_TERMINATION_LOG "/dev/termination-log"

static const char usage[] =
	"usage: afterglow-launch [OPTION...] -- COMMAND [ARG...]\n"
	"Starts COMMAND, forwards signals to it and exits with its exit code (128+N after\n"
	"signal N). Lets the Afterglow sidecar at --socket watch this container.\n"
	"\n"
	"  --name NAME       the container's name in reports (default \"" DEFAULT_NAME "\")\n"
	"  --socket PATH     the sidecar's socket (default " DEFAULT_SOCKET ");\n"
	"                    COMMAND runs also when there is no sidecar\n"
	"  --socket-fd N     use descriptor N, which is connected to the sidecar, in place of --socket\n"
	"  --termination-log PATH\n"
	"                    the file from which the kubelet reads the termination message: the\n"
	"                    container's terminationMessagePath (default " DEFAULT_TERMINATION_LOG
	")\n"
	"  --wait-sidecar S  when COMMAND fails within S seconds of its start while no sidecar is\n"
	"                    connected, wait for one until these S seconds are over (1 to 3600)\n"
	"  --wait-after-success S  the same when COMMAND succeeds\n"
	"  --self-fd N       close descriptor N, from which this program was started, and restore the\n"
	"                    name of the process\n"
	"  --oom-score-adj N start COMMAND with that adjustment of its OOM score (-1000 to 1000)\n"
	"  --nofile N        raise the soft limit of open files to N, as ulimit -n N would\n"
	"  --wait-tcp H:P    start COMMAND only when TCP port P of host H accepts connections\n"
	"  --cores           let COMMAND write core files, without shared memory\n"
	"                    (coredump_filter " COREDUMP_FILTER ")\n"
	"  --cores-max N     set the soft core limit to N bytes if it is lower or unlimited\n"
	"                    (default " CORES_MAX_DEFAULT_TEXT
	"), but to no more than " CORE_LIMIT_SHARE_TEXT " of the space\n"
	"                    that is free where the node's core pattern leads\n"
	"  --cores-in-memory allow cores also where that is a filesystem in memory\n"
	"  --prefix WORDS    put WORDS, split at blanks, before COMMAND (\"memray run -o /tmp/m.bin\");\n"
	"                    COMMAND runs without it if its first word is not a program in PATH\n"
	"  --release [PID]   end the hold of this container, in which the launcher has that PID\n"
	"                    (default 1). While the command still runs, nothing happens\n"
	"  --environment     print how the environment that the calling shell hands down differs from its own\n"
	"  --help, --version\n";

_Noreturn static void usage_error(const char *what, const char *detail)
{
	fprintf(stderr, PROGRAM "%s%s (see --help)\n", what, detail);
	exit(2);
}

/* Parses a whole number from 1 to max. wrong is the message for any other text. */
static unsigned long parse_number(const char *text, unsigned long max, const char *wrong)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value == 0 || value > max)
		usage_error(wrong, text);
	return value;
}

/* Accepts what the kernel accepts. */
static const char *parse_oom_score(const char *text)
{
	char *end;

	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < -1000 || value > 1000)
		usage_error("--oom-score-adj takes a whole number from -1000 to 1000, not ", text);
	return text;
}

static const char *option_value(char **argv, int *i)
{
	if (!argv[*i + 1])
		usage_error(argv[*i], " takes a value");
	return argv[++*i];
}

/* Sends the launcher SIGTERM with a value, by which it distinguishes this from a SIGTERM that is meant for the command. */
_Noreturn static void release(const char *pid_text)
{
	const union sigval mark = { .sival_int = RELEASE_MARK };
	char name[32], *end = NULL;
	long pid = pid_text ? strtol(pid_text, &end, 10) : 1;

	if (pid < 1 || pid > INT_MAX || (end && *end))
		usage_error("--release takes a PID, not ", pid_text);
	/* The kernel keeps 15 bytes of a program's name. */
	if (!proc_file_read((pid_t)pid, "comm", name, sizeof(name)) || strncmp(name, "afterglow-launch", 15) != 0) {
		fprintf(stderr, PROGRAM "process %ld is no afterglow-launch\n", pid);
		exit(1);
	}
	if (sigqueue((pid_t)pid, SIGTERM, mark) < 0) {
		fprintf(stderr, PROGRAM "process %ld: %s\n", pid, strerror(errno));
		exit(1);
	}
	exit(0);
}

void options_parse(char **argv, struct options *o)
{
	int i;

	*o = (struct options){ .name = DEFAULT_NAME, .socket_path = DEFAULT_SOCKET, .termination_log = DEFAULT_TERMINATION_LOG,
			       .cores_max = CORES_MAX_DEFAULT };
	for (i = 1; argv[i] && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			exit(0);
		} else if (strcmp(argv[i], "--version") == 0) {
			puts("afterglow-launch " AFTERGLOW_VERSION);
			exit(0);
		} else if (strcmp(argv[i], "--environment") == 0) {
			environment_print();
			exit(0);
		} else if (strcmp(argv[i], "--release") == 0)
			release(argv[i + 1]);
		else if (strcmp(argv[i], "--name") == 0)
			o->name = option_value(argv, &i);
		else if (strcmp(argv[i], "--socket") == 0)
			o->socket_path = option_value(argv, &i);
		else if (strcmp(argv[i], "--termination-log") == 0)
			o->termination_log = option_value(argv, &i);
		else if (strcmp(argv[i], "--wait-tcp") == 0)
			o->wait_tcp = option_value(argv, &i);
		else if (strcmp(argv[i], "--prefix") == 0)
			o->prefix = (char *)option_value(argv, &i);
		else if (strcmp(argv[i], "--oom-score-adj") == 0)
			o->oom_score_adj = parse_oom_score(option_value(argv, &i));
		else if (strcmp(argv[i], "--nofile") == 0)
			o->nofile = parse_number(option_value(argv, &i), ULONG_MAX,
						 "--nofile takes a whole number above 0, not ");
		else if (strcmp(argv[i], "--self-fd") == 0)
			o->self_fd = (int)parse_number(option_value(argv, &i), FD_MAX, "--self-fd takes a descriptor, not ");
		else if (strcmp(argv[i], "--socket-fd") == 0)
			o->socket_fd = (int)parse_number(option_value(argv, &i), FD_MAX, "--socket-fd takes a descriptor, not ");
		else if (strcmp(argv[i], "--wait-sidecar") == 0)
			o->wait_sidecar_s = (int)parse_number(option_value(argv, &i), WAIT_SIDECAR_MAX_S,
							      "--wait-sidecar takes seconds from 1 to 3600, not ");
		else if (strcmp(argv[i], "--wait-after-success") == 0)
			o->wait_after_success_s = (int)parse_number(option_value(argv, &i), WAIT_SIDECAR_MAX_S,
								    "--wait-after-success takes seconds from 1 to 3600, not ");
		else if (strcmp(argv[i], "--cores") == 0)
			o->cores = true;
		else if (strcmp(argv[i], "--cores-in-memory") == 0)
			o->cores_in_memory = true;
		else if (strcmp(argv[i], "--cores-max") == 0)
			o->cores_max = parse_number(option_value(argv, &i), LONG_MAX,
						    "--cores-max takes a number of bytes above 0, not ");
		else
			usage_error("unknown option ", argv[i]);
	}
	o->argv = argv + i;
	if (!o->argv[0])
		usage_error("no command", "");
	if (!o->name[0] || strlen(o->name) > LAUNCH_NAME_MAX || strpbrk(o->name, " \n/"))
		usage_error("--name takes a container's name, not ", o->name);
	if (o->wait_tcp && !strrchr(o->wait_tcp, ':'))
		usage_error("--wait-tcp takes HOST:PORT, not ", o->wait_tcp);
}
