/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contain [OPTION...] COMMAND...: runs a command in namespaces as a container runtime makes them.
 * Static, as root.
 *
 *	--cgroup DIR the memory cgroup that it belongs to --memory MODE what of the memory cgroups
 *	it sees: "own" its own alone, "host" the whole hierarchy, as a privileged container does.
 *			On v2 "own" has a cgroup namespace; on v1 the cgroup is mounted over the hierarchy
 *	--pid		a PID namespace of its own
 *	--no-capabilities	root without any, as a container with drop: [ALL]
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define V1 "/sys/fs/cgroup/memory"
#define V2 "/sys/fs/cgroup"

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	perror(what);
	exit(125);
}

static void join(const char *cgroup)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	check(fd, path);
	check((int)write(fd, "0", 1), path);
	close(fd);
}

static void show_own_memory(const char *cgroup)
{
	if (access(V1, F_OK) == 0) {
		check(mount(cgroup, V1, NULL, MS_BIND, NULL), "mount the cgroup");
		check(mount(NULL, V1, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL),
		      "mount the cgroup read-only");
		return;
	}
	check(unshare(CLONE_NEWCGROUP), "unshare the cgroup namespace");
	/* The kernel does not stack two mounts of one filesystem. */
	check(umount2(V2, MNT_DETACH), "unmount cgroup2");
	check(mount("cgroup", V2, "cgroup2", 0, NULL), "mount cgroup2");
}

/* By exec root gets what the bounding set has: nothing. */
static void drop_capabilities(void)
{
	for (int c = 0; prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0; c++)
		;
	check(prctl(PR_CAPBSET_READ, 0, 0, 0, 0) == 0 ? 0 : -1, "drop capabilities");
}

/*
 * Passes SIGTERM on, also one that came before this began to wait: the caller has blocked both
 * signals.
 */
static int wait_for(pid_t pid, const sigset_t *signals)
{
	int signo, status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		sigwait(signals, &signo);
		if (signo == SIGTERM)
			kill(pid, SIGTERM);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	const char *cgroup = NULL, *memory = "host";
	bool pid_namespace = false, capable = true;
	sigset_t signals;
	pid_t pid;

	for (argv++; argc > 1 && *argv && strncmp(*argv, "--", 2) == 0; argv++) {
		if (strcmp(*argv, "--pid") == 0)
			pid_namespace = true;
		else if (strcmp(*argv, "--no-capabilities") == 0)
			capable = false;
		else if (strcmp(*argv, "--cgroup") == 0 && argv[1])
			cgroup = *++argv;
		else if (strcmp(*argv, "--memory") == 0 && argv[1])
			memory = *++argv;
		else
			check(-1, *argv);
	}
	if (!*argv)
		return 125;
	check(unshare(CLONE_NEWNS | (pid_namespace ? CLONE_NEWPID : 0)), "unshare");
	check(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "make mounts private");
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	pid = fork();
	check(pid, "fork");
	if (pid == 0) {
		sigprocmask(SIG_UNBLOCK, &signals, NULL);
		/*
		 * Not we: a runtime stays outside, too, and a cgroup of v2 that hands controllers
		 * down has no process of its own.
		 */
		if (cgroup)
			join(cgroup);
		if (cgroup && strcmp(memory, "own") == 0)
			show_own_memory(cgroup);
		if (pid_namespace)
			check(mount("proc", "/proc", "proc", 0, NULL), "mount proc");
		if (!capable)
			drop_capabilities();
		execvp(*argv, argv);
		check(-1, *argv);
	}
	return wait_for(pid, &signals);
}
