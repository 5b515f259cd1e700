/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow-death SECONDS COMMAND [ARG...]: becomes COMMAND, which will take so long from its SIGKILL to
 * its end, as one does that has very much memory or waits for a device. A tracer stops it on its
 * way out.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int trace(pid_t pid, unsigned int seconds, int ready)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT) < 0 || write(ready, "", 1) != 1)
		return 1;
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
			sleep(seconds);
		ptrace(PTRACE_CONT, pid, NULL, (void *)(long)(status >> 16 ? 0 : WSTOPSIG(status)));
	}
	return 0;
}

int main(int argc, char **argv)
{
	pid_t self = getpid();
	int ends[2];
	char byte;

	if (argc < 3 || pipe(ends) < 0)
		return 2;
	/* Twice, so that the tracer is no child that somebody waits for. */
	if (fork() == 0) {
		if (fork() == 0)
			_exit(trace(self, (unsigned int)strtoul(argv[1], NULL, 10), ends[1]));
		_exit(0);
	}
	wait(NULL);
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		return 2;
	close(ends[0]);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
