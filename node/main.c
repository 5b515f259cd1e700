/* SPDX-License-Identifier: Apache-2.0 */
/* afterglow-node sends the sidecar of a Ray pod what only the node knows about that pod. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/first_pid_namespace.h"
#include "lib/log.h"
#include "node/core_handler.h"
#include "node/cores.h"
#include "node/facts.h"
#include "node/kernel_lines.h"
#include "node/node.h"
#include "node/processes.h"
#include "node/signals.h"
#include "node/syslog.h"

static const struct part {
	const char *name;
	int (*start)(struct node *n, struct err *err);
	void (*stop)(void); /* called even if start failed */
} parts[] = {
	{ "cores", cores_start, cores_stop },
	{ "processes", processes_start, processes_stop },
	{ "signals", signals_start, signals_stop },
	{ "kernel lines", kernel_lines_start, kernel_lines_stop },
	{ "syslog", syslog_start, syslog_stop },
};

static int print_facts(const struct node_options *options, struct err *err)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(8192);
	const char *path = options->output;
	_cleanup_close_ int fd =
		path ? open(path, O_WRONLY | O_TRUNC | O_CLOEXEC) : dup(STDOUT_FILENO);
	struct facts facts;

	/*
	 * Without facts the agent still works, and its container waits for this one. So this is no
	 * error.
	 */
	if (fd < 0 && path) {
		log_warning("the facts are not written: open %s: %s", path, strerror(errno));
		return 0;
	}
	if (fd < 0)
		return err_set(err, errno, "standard output");
	facts_read(options->root, options->proc, options->directory, &facts);
	facts_to_json(&facts, &out);
	strbuf_addc(&out, '\n');
	return fd_write_all(fd, strbuf_str(&out), out.len, err);
}

static void on_signal(struct source *s)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) == sizeof(info))
		loop_stop(s->arg);
}

static int watch_signals(struct node *n, struct source *s, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(err, errno, "signals");
	*s = (struct source){ .name = "signals",
			      .due_ns = LOOP_NEVER,
			      .ready = on_signal,
			      .arg = &n->loop,
			      .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) };
	return s->fd < 0 ? err_set(err, errno, "signals") : loop_add(&n->loop, s, err);
}

static int run(const struct node_options *options, struct err *err)
{
	struct node node = { .options = options };
	/* Elsewhere we would take the processes that the kernel names for others. */
	size_t n = first_pid_namespace_is_ours() != 0 ? ARRAY_SIZE(parts) : 0;
	struct source signals;
	int rc = watch_signals(&node, &signals, err);

	if (rc < 0)
		return rc;
	log_info("afterglow-node " AFTERGLOW_VERSION " runs");
	if (n == 0)
		log_error(
			"this agent sends nothing to sidecars: it is not in the machine's first PID namespace, "
			"and the kernel names processes by their PIDs there. Either the node is a "
			"container, as those of kind are, or hostPID is missing");
	for (size_t i = 0; i < n; i++) {
		struct err why = { 0 };

		if (parts[i].start(&node, &why) < 0)
			log_error("%s: %s", parts[i].name, err_text(&why));
	}
	rc = loop_run(&node.loop, err);
	while (n-- > 0)
		parts[n].stop();
	unread_release(&node.unread);
	backlog_release(&node.backlog);
	return rc;
}

int main(int argc, char **argv)
{
	struct node_options options;
	struct err err = { 0 };

	/*
	 * The kernel starts the core handler, and no one reads its output, so it has no other
	 * options.
	 */
	if (core_handler_is_asked(argc, argv))
		return core_handler_run(argv);
	int rc = node_options_parse(argv, &options, &err);
	if (rc >= 0 && options.help)
		return options_print_help(&node_options_table, 0);
	if (rc >= 0 && options.version)
		return puts("afterglow-node " AFTERGLOW_VERSION) == EOF;
	if (rc < 0) {
		fprintf(stderr, "afterglow-node: %s\n", err_text(&err));
		return 2;
	}
	if (options.command == NODE_FACTS)
		rc = print_facts(&options, &err);
	else
		rc = options.command == NODE_RESTORE ? cores_restore(&options, &err) :
						       run(&options, &err);
	if (rc < 0)
		log_error("%s", err_text(&err));
	return rc < 0;
}
