/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_rate SIGNAL RATE SECONDS: starts a process that handles the signal, sends it RATE signals
 * a second at even distances, and prints how many it has sent.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/units.h"

#define TICK_NS NS_PER_MS

static void take_them(int signo)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		sigwait(&set, &got);
}

int main(int argc, char **argv)
{
	int signo = argc > 1 ? (int)strtol(argv[1], NULL, 10) : SIGTERM;
	long rate = argc > 2 ? strtol(argv[2], NULL, 10) : 10000,
	     seconds = argc > 3 ? strtol(argv[3], NULL, 10) : 10;
	int64_t begin, sent = 0;
	pid_t target = fork();

	if (target == 0)
		take_them(signo);
	usleep(200000);
	begin = now_boottime_ns();
	for (int64_t at; (at = now_boottime_ns() - begin) < seconds * NS_PER_SEC;) {
		for (; sent < at / 1000 * rate / 1000000; sent++)
			kill(target, signo);
		nanosleep(&(struct timespec){ .tv_nsec = TICK_NS }, NULL);
	}
	printf("%lld\n", (long long)(sent / seconds));
	kill(target, SIGKILL);
	return waitpid(target, NULL, 0) != target;
}
