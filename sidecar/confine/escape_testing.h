/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: tries in a confined process what an attacker who took it over would try. Each function
 * returns 0 if every attempt was refused; otherwise it prints on stderr what was possible, and
 * returns 1 (2 if stderr cannot be written).
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ESCAPE_CALLS 700 /* above the last call of Linux 6.18 */
#define ESCAPE_DESCRIPTORS 300

static inline int escaped(const char *how, long detail)
{
	char line[160];
	int len = snprintf(line, sizeof(line), "escape: %s (%ld): errno %d\n", how, detail, errno);

	return write(STDERR_FILENO, line, (size_t)len) < 0 ? 2 : 1;
}

static inline bool is_refused(long result)
{
	return result == -1 && errno == EACCES;
}

/*
 * From Linux 6.14 on, the calls uretprobe and uprobe of x86-64 pass every filter. A process that
 * makes them outside of the kernel's own trampoline gets SIGILL.
 */
static inline bool is_the_kernels(long nr)
{
#if defined(__x86_64__)
	return nr == 335 || nr == 336;
#else
	(void)nr;
	return false;
#endif
}

/*
 * Every call that is not in the list must be refused. Without the filter, these arguments would
 * give EFAULT or EBADF.
 */
static inline int escape_by_any_call(const int *allowed, size_t n)
{
	int bad = is_refused(syscall(SYS_acct, -1L)) ?
			  0 :
			  escaped("acct: nothing is confined", SYS_acct);

	for (long nr = 0; nr < ESCAPE_CALLS && !bad; nr++) {
		bool listed = is_the_kernels(nr);

		for (size_t i = 0; i < n; i++)
			listed |= allowed[i] == nr;
		if (!listed && !is_refused(syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L)))
			bad = escaped("system call", nr);
	}
	return bad;
}

/* Tries every call that takes a path, with a file outside, relative to each possible descriptor. */
static inline int escape_by_path(const char *secret, const char *new_file)
{
	static const uint64_t resolve[] = { 0, RESOLVE_IN_ROOT, RESOLVE_BENEATH,
					    RESOLVE_NO_MAGICLINKS };
	struct open_how how = { .flags = O_RDONLY };
	struct stat st;
	int bad = 0;

	for (int fd = -1; fd < ESCAPE_DESCRIPTORS && !bad; fd++) {
		long at = fd < 0 ? AT_FDCWD : fd;

		for (size_t i = 0; i < sizeof(resolve) / sizeof(resolve[0]); i++) {
			how.resolve = resolve[i];
			if (!is_refused(syscall(SYS_openat2, at, secret, &how, sizeof(how))))
				bad = escaped("openat2 of a secret", at);
		}
		how = (struct open_how){ .flags = O_WRONLY | O_CREAT, .mode = 0600 };
		if (!is_refused(syscall(SYS_openat2, at, new_file, &how, sizeof(how))))
			bad = escaped("openat2 of a new file", at);
		how = (struct open_how){ .flags = O_RDONLY };
		if (!is_refused(syscall(SYS_openat, at, secret, O_RDONLY, 0)) ||
		    !is_refused(syscall(SYS_openat, at, new_file, O_WRONLY | O_CREAT, 0600)))
			bad = escaped("openat", at);
		if (!is_refused(
			    syscall(SYS_newfstatat, at, secret, &st, 0x1000 /* AT_EMPTY_PATH */)) ||
		    !is_refused(syscall(SYS_statx, at, secret, 0x1000, 0x7ff, &st)))
			bad = escaped("stat", at);
		if (!is_refused(syscall(SYS_unlinkat, at, secret, 0)) ||
		    !is_refused(syscall(SYS_fchmodat, at, secret, 0777)) ||
		    !is_refused(syscall(SYS_linkat, at, secret, at, new_file, 0)) ||
		    !is_refused(syscall(SYS_readlinkat, at, secret, &st, sizeof(st))) ||
		    !is_refused(syscall(SYS_execveat, at, secret, NULL, NULL, 0)))
			bad = escaped("a call with a path", at);
	}
	return bad;
}

/* The descriptors of the parent must be closed: only those in given may be readable. */
static inline int escape_by_descriptor(const int *given, size_t n)
{
	char byte;

	for (int fd = 0; fd < ESCAPE_DESCRIPTORS; fd++) {
		bool is_given = fd <= STDERR_FILENO;

		for (size_t i = 0; i < n; i++)
			is_given |= given[i] == fd;
		if (!is_given && (pread(fd, &byte, 1, 0) != -1 || errno != EBADF))
			return escaped("a descriptor is left", fd);
		if (!is_refused(syscall(SYS_read, fd, &byte, 1L)))
			return escaped("read", fd);
	}
	return 0;
}

static inline int escape_by_writing(const int *writable, size_t n)
{
	for (int fd = 0; fd < ESCAPE_DESCRIPTORS; fd++) {
		bool may = fd == STDOUT_FILENO || fd == STDERR_FILENO;

		for (size_t i = 0; i < n; i++)
			may |= writable[i] == fd;
		if (!may && !is_refused(write(fd, "x", 1)))
			return escaped("write", fd);
	}
	return 0;
}

/* fcntl can take locks and leases and send signals: only F_GETFD and F_GETFL may be allowed. */
static inline int escape_by_fcntl(int fd)
{
	for (int command = 0; command < 1100; command++)
		if (command != F_GETFD && command != F_GETFL &&
		    !is_refused(syscall(SYS_fcntl, fd, command, getpid())))
			return escaped("fcntl", command);
	return 0;
}

/* A core may be mapped for reading, but not for writing, and no mapping may be executable. */
static inline int escape_by_mapping(int core_fd)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, core_fd, 0);

	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, core_fd, 0) != MAP_FAILED)
		return escaped("a core mapped for writing", core_fd);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, core_fd, 0) != MAP_FAILED ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		    MAP_FAILED)
		return escaped("mapped code", core_fd);
	if (page == MAP_FAILED)
		return escaped("a core cannot be mapped for reading", core_fd);
	if (mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0 ||
	    mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0)
		return escaped("mprotect", core_fd);
	if (madvise(page, 4096, MADV_REMOVE) == 0)
		return escaped("a hole in the core", core_fd);
	return munmap(page, 4096) == 0 ? 0 : escaped("munmap", core_fd);
}

/* FUTEX_WAKE must be refused, because a futex in shared memory can wake other processes. */
static inline int escape_by_futex(void)
{
	uint32_t word = 0;

	return is_refused(syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0)) ?
		       0 :
		       escaped("futex", FUTEX_WAKE);
}
