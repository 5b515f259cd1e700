/* SPDX-License-Identifier: Apache-2.0 */
/* afterglow-ship copies one finished bundle to a store that outlives the pod. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "lib/undumpable.h"
#include "lib/units.h"
#include "sidecar/ship/deliver.h"
#include "sidecar/ship/options.h"
#include "sidecar/ship/progress.h"
#include "sidecar/ship/read_bundle.h"

enum { EXIT_SHIPPED = 0, EXIT_AGAIN = 1, EXIT_USAGE = 2, EXIT_PERSON = 3 };

/* Time after the deadline in which requests can end by themselves. */
#define WATCHDOG_GRACE_S 2

/*
 * Ends the process after the deadline. A directory on a server that hangs blocks a thread in the
 * kernel, where no timer of ours takes effect, but the process can end. So this thread prints the
 * result and exits.
 */
static void *ship_watch(void *arg)
{
	const int64_t *seconds = arg;
	struct timespec t = { .tv_sec = *seconds + WATCHDOG_GRACE_S };
	struct fault fault;

	while (nanosleep(&t, &t) < 0)
		;
	fault_set(&fault, FAULT_DEADLINE, "the store did not answer within %lld s",
		  (long long)*seconds);
	progress_failed(&fault);
	_exit(EXIT_AGAIN);
}

static void ship_start_watch(const struct ship_options *o)
{
	pthread_t thread;

	/* Without this thread requests still have their own time limits. */
	if (o->deadline_s > 0 &&
	    pthread_create(&thread, NULL, ship_watch, (void *)&o->deadline_s) == 0)
		pthread_detach(thread);
}

/*
 * Waits in a pod where afterglow-ship is run by exec: Kubernetes needs a program that keeps
 * running.
 */
static int ship_idle(int64_t seconds)
{
	struct timespec t = { .tv_sec = seconds };

	while (nanosleep(&t, &t) < 0)
		;
	return 0;
}

/* stdout carries only the archive, so all other output goes to stderr. */
static int read_to_stdout(const struct ship_options *o)
{
	int out = dup(STDOUT_FILENO);
	struct fault fault = { 0 };

	if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return EXIT_AGAIN;
	if (read_bundle(o, o->deadline_s ? now_boottime_ns() + o->deadline_s * NS_PER_SEC : 0, out,
			&fault) == 0)
		return EXIT_SHIPPED;
	fprintf(stderr, "afterglow-ship: %s\n", fault.text);
	return fault_may_pass(fault.kind) ? EXIT_AGAIN : EXIT_PERSON;
}

/* PID 1 of a container receives only the signals that it catches. */
static void on_term(int)
{
	_exit(0);
}

int main(int, char **argv)
{
	struct ship_options options;
	struct fault fault = { 0 };
	struct err err = { 0 };
	char url[DELIVER_URL_MAX];

	undumpable_become();
	if (ship_options_parse(argv, &options, &err) < 0) {
		fprintf(stderr, "afterglow-ship: %s\n", err_text(&err));
		return EXIT_USAGE;
	}
	if (options.help)
		return options_print_help(&ship_options_table, 0);
	if (options.version)
		return puts("afterglow-ship " AFTERGLOW_VERSION) == EOF;
	signal(SIGPIPE, SIG_IGN);
	if (options.idle_s) {
		signal(SIGTERM, on_term);
		return ship_idle(options.idle_s);
	}
	ship_start_watch(&options);
	if (options.read)
		return read_to_stdout(&options);
	if (deliver(&options,
		    options.deadline_s ? now_boottime_ns() + options.deadline_s * NS_PER_SEC : 0,
		    url, &fault) == 0) {
		progress_shipped(url);
		return EXIT_SHIPPED;
	}
	progress_failed(&fault);
	fprintf(stderr, "afterglow-ship: %s\n", fault.text);
	return fault_may_pass(fault.kind) ? EXIT_AGAIN : EXIT_PERSON;
}
