/* SPDX-License-Identifier: Apache-2.0 */
/* Says what a signal would do to a process if it were process 1. */
#include "sidecar/launch/disposition.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sidecar/launch/proc_file.h"

#define STATUS_MAX \
	4096 /* bytes; a process of very many groups has more, and then nobody can tell */
/* A process may enter or leave sigwait(3) between the two files that are read. */
#define LOOKS 3

static bool is_in_set(uint64_t set, int signo)
{
	return set >> (signo - 1) & 1;
}

/* Reads a set of signals from a line such as "SigCgt:\t0000000180014a07". */
static bool parse_set(const char *status, const char *name, uint64_t *ret_set)
{
	const char *line = strstr(status, name);
	char *end = NULL;

	if (!line || !strchr(line, '\n'))
		return false;
	*ret_set = strtoull(line + strlen(name), &end, 16);
	return *end == '\n';
}

enum disposition disposition_of(const char *status, int signo)
{
	uint64_t blocked, ignored, caught;

	if (!parse_set(status, "\nSigBlk:\t", &blocked) ||
	    !parse_set(status, "\nSigIgn:\t", &ignored) ||
	    !parse_set(status, "\nSigCgt:\t", &caught) || is_in_set(ignored | caught, signo))
		return DISPOSITION_TAKEN;
	return is_in_set(blocked, signo) ? DISPOSITION_BLOCKED : DISPOSITION_DROPPED;
}

/*
 * Returns whether the set of signals at that address of the process has the signal; true if it
 * cannot be read.
 */
static bool waits_for(pid_t pid, off_t address, int signo)
{
	_cleanup_close_ int fd = proc_file_open(pid, "mem");
	uint64_t set;
	bool known = fd >= 0 && pread(fd, &set, sizeof(set), address) == sizeof(set);

	return !known || is_in_set(set, signo);
}

/*
 * Returns whether the process is in sigwait(3) for the signal. That takes the permission to trace
 * the process. If we lack it, it may be, so this is true.
 */
static bool reads_as_in_sigwait(pid_t pid, int signo)
{
	unsigned long long address;
	char text[256];
	long call;

	if (!proc_file_read(pid, "syscall", text, sizeof(text)))
		return true;
	/* "running", or the number of the call and its arguments */
	return sscanf(text, "%ld %llx", &call, &address) == 2 && call == SYS_rt_sigtimedwait &&
	       waits_for(pid, (off_t)address, signo);
}

/*
 * root in a container lacks CAP_SYS_PTRACE, so a command that changed its user (gosu, setpriv) can
 * be looked into only as that user. The kernel asks for the user of file accesses.
 */
bool disposition_in_sigwait(pid_t pid, int signo)
{
	char status[STATUS_MAX];

	proc_file_read(pid, "status", status, sizeof(status));
	const char *uid = strstr(status, "\nUid:\t"), *gid = strstr(status, "\nGid:\t");
	int dumpable = prctl(PR_GET_DUMPABLE);
	setfsgid(gid ? (gid_t)strtoul(gid + 6, NULL, 10) : getegid());
	setfsuid(uid ? (uid_t)strtoul(uid + 6, NULL, 10) : geteuid());
	bool found = reads_as_in_sigwait(pid, signo);
	setfsuid(geteuid());
	setfsgid(getegid());
	/* A change of user clears it, and hides our files in /proc. */
	prctl(PR_SET_DUMPABLE, dumpable);
	return found;
}

enum disposition disposition_read(pid_t pid, int signo)
{
	enum disposition found = DISPOSITION_DROPPED;
	char status[STATUS_MAX];

	/*
	 * It continues a process that was stopped, whatever its disposition is, and harms no other.
	 */
	if (signo == SIGCONT)
		return DISPOSITION_TAKEN;
	for (int i = 0; i < LOOKS && found == DISPOSITION_DROPPED; i++) {
		proc_file_read(pid, "status", status, sizeof(status));
		found = disposition_of(status, signo);
		if (found == DISPOSITION_DROPPED && disposition_in_sigwait(pid, signo))
			found = DISPOSITION_TAKEN;
	}
	return found;
}
