/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the sidecars that run beside it for stacks, and prints them. */
#include "sidecar/ask_stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/command_line.h"
#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/stack_groups.h"
#include "lib/strbuf.h"
#include "sidecar/record/stacks.h"

#define ANSWERS_MAX ((size_t)64 << 20) /* bytes of all answers */
#define SOCKETS_TEXT_MAX ((size_t)16 << 20)
#define BUSY_TRIES 20
#define BUSY_PAUSE_US 250000
#define SOCKET_LISTENS 0x10000 /* __SO_ACCEPTCON of the kernel */
#define ANSWER_WITHIN_S 120 /* for the next part of an answer */

static const char usage[] =
	"usage: afterglow-sidecar stack [-o json] [PID|NAME]\n"
	"Prints what the threads of the watched processes are doing, or of the process with that PID, or of those with\n"
	"NAME in their names: Python's frames and native ones. Equal stacks are put together, the rarest first. Each process\n"
	"stands still for a few milliseconds. It asks the sidecars of this user that run on this machine, or in this pod.\n"
	"\n"
	"  -o, --output json  print the same as JSON\n"
	"      --raw          print the sidecars' answers as they are, for a program that puts those of several pods together\n";

struct ask_options {
	const char *wanted, *output; /* NULL: not given */
	bool raw, help;
};

static const struct option_row ask_rows[] = {
	{ "--output", .letter = 'o', .kind = OPTION_TEXT,
	  .at = offsetof(struct ask_options, output) },
	{ "--raw", .kind = OPTION_FLAG, .at = offsetof(struct ask_options, raw) },
	{ "--help", .letter = 'h', .kind = OPTION_FLAG, .at = offsetof(struct ask_options, help) },
};
static const struct option_table ask_table = OPTION_TABLE(ask_rows, 0);

static int ask_options_parse(char **argv, struct ask_options *o, struct err *err)
{
	for (int n; *argv; argv += n) {
		n = argv[0][0] == '-' ? option_take(&ask_table, 0, argv, o, err) : 1;
		if (n < 0)
			return n;
		if (argv[0][0] == '-')
			continue;
		if (o->wanted)
			return err_set(err, EINVAL, "\"%.80s\" is one argument too many", argv[0]);
		o->wanted = argv[0];
	}
	if (o->output && (strcmp(o->output, "json") != 0 || o->raw))
		return err_set(err, EINVAL,
			       "--output can only be json, and does not go with --raw");
	return 0;
}

/*
 * Connects to a sidecar of that name, unless somebody else listens there. Returns the socket;
 * -EAGAIN if too many wait for the listener, whoever that is; or another negative number.
 */
static int sidecar_connect(const char *name)
{
	const struct timeval patience = { .tv_sec = ANSWER_WITHIN_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t size = sizeof(peer),
		  len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (strlen(name) < sizeof(address.sun_path) - 1)
		memcpy(address.sun_path + 1, name, strlen(name));
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, len) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid == 0 ||
	    (peer.uid != geteuid() && geteuid() != 0))
		return -EPERM;
	if (fcntl(fd, F_SETFL, 0) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Appends the answer. Returns false if the sidecar is busy. */
static bool answer_read(int fd, const char *wanted, struct strbuf *answers)
{
	size_t before = answers->len;
	char part[16384];
	ssize_t n;

	snprintf(part, sizeof(part), "stack%s%.*s\n", wanted ? " " : "", STACKS_ARGUMENT_MAX - 8,
		 wanted ? wanted : "");
	if (fd_write_all(fd, part, strlen(part), NULL) < 0)
		return false;
	while ((n = read(fd, part, sizeof(part))) > 0)
		strbuf_add(answers, part, (size_t)n);
	return answers->len > before;
}

static bool answer_is_whole(const struct strbuf *answers)
{
	return answers->len >= 4 && strcmp(strbuf_str(answers) + answers->len - 4, "end\n") == 0;
}

/*
 * Returns whether the sidecar is busy. Anybody may make sockets at which it seems to be: full_tries
 * are those of all together.
 */
static bool sidecar_ask(const char *name, const char *wanted, int *full_tries,
			struct strbuf *answers)
{
	for (int i = 0; i < BUSY_TRIES; i++) {
		_cleanup_close_ int fd = sidecar_connect(name);
		bool is_full = fd == -EAGAIN;

		if (fd < 0 && (!is_full || --*full_tries <= 0))
			return is_full;
		if (fd >= 0 && answer_read(fd, wanted, answers)) {
			if (!answer_is_whole(answers))
				fprintf(stderr, "afterglow: the answer was cut short\n");
			return false;
		}
		usleep(BUSY_PAUSE_US);
	}
	return true;
}

/* Asks each sidecar whose socket is in /proc/net/unix. Returns how many there are. */
static size_t sidecars_ask(const char *wanted, struct strbuf *answers)
{
	_cleanup_strbuf_ struct strbuf sockets = STRBUF_INIT(SOCKETS_TEXT_MAX);
	char mark[48];
	bool busy = false;
	int full_tries = BUSY_TRIES;
	size_t n = 0;

	if (geteuid())
		snprintf(mark, sizeof(mark), "@" STACKS_SOCKET_NAME "/%u/", geteuid());
	else
		snprintf(mark, sizeof(mark), "@" STACKS_SOCKET_NAME "/");
	file_read(AT_FDCWD, "/proc/net/unix", &sockets, NULL);
	for (const char *line = strbuf_str(&sockets); line; line = strchr(line + 1, '\n')) {
		unsigned long flags;
		char name[64];

		/*
		 * Number, references, protocol, flags, type, state, inode, name. A connection has
		 * the name of its listener.
		 */
		if (sscanf(line, "%*s %*s %*s %lx %*s %*s %*s %63s", &flags, name) != 2 ||
		    !(flags & SOCKET_LISTENS) || strncmp(name, mark, strlen(mark)) != 0)
			continue;
		busy = sidecar_ask(name + 1, wanted, &full_tries, answers) || busy;
		n++;
	}
	if (busy)
		fprintf(stderr,
			"afterglow: the answer lacks processes: who watches them is busy with other questions\n");
	return n;
}

/* Prints the answers as asked. Returns how many processes are in them. */
static size_t answers_print(const struct ask_options *o, struct strbuf *answers)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(ANSWERS_MAX);
	struct stack_groups *groups = stack_groups_new();

	if (groups && answers->len)
		stack_groups_add(groups, NULL, answers->data);
	if (groups && o->output) {
		_cleanup_json_ cJSON *json = stack_groups_json(groups);
		_cleanup_free_ char *text = cJSON_Print(json);

		strbuf_addf(&out, "%s\n", text ? text : "");
	} else if (groups)
		stack_groups_write(groups, &out);
	fd_write_all(STDOUT_FILENO, strbuf_str(&out), out.len, NULL);
	size_t n = groups ? stack_groups_processes(groups) : 0;
	stack_groups_free(groups);
	return n;
}

int ask_stacks_run(char **argv)
{
	_cleanup_strbuf_ struct strbuf answers = STRBUF_INIT(ANSWERS_MAX);
	struct ask_options o = { 0 };
	struct err err = { 0 };

	if (ask_options_parse(argv, &o, &err) < 0) {
		fprintf(stderr, "afterglow: stack: %s\n", err_text(&err));
		return 2;
	}
	if (o.help)
		return fputs(usage, stdout) == EOF;
	signal(SIGPIPE, SIG_IGN); /* a sidecar that is busy hangs up */
	if (sidecars_ask(o.wanted, &answers) == 0) {
		fprintf(stderr, "afterglow: nothing of this user is watched here\n");
		return 1;
	}
	if (o.raw)
		return fd_write_all(STDOUT_FILENO, strbuf_str(&answers), answers.len, NULL) < 0;
	if (answers_print(&o, &answers))
		return 0;
	fprintf(stderr, "afterglow: %s\n",
		o.wanted ? "no watched process is called so" : STACKS_NOBODY);
	return 1;
}
