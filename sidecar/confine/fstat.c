/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc 2.33 to 2.38 makes fstat(fd) of newfstatat(2) with an empty path. A filter
 * cannot tell an empty path from another, so a program that may use that call may
 * ask about every file there is. These stand in front of glibc's, for the libraries
 * too, and use the call that takes a descriptor alone.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

int fstat64(int fd, struct stat64 *st);
int fstat64(int fd, struct stat64 *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}
