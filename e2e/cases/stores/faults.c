/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into afterglow-ship: the FAULT_NTH-th call that writes fails with FAULT_ERRNO, and all
 * of the same kind after it if FAULT_STAYS is set. FAULT_MARK is a file that is made when it
 * happened. FAULT_OWNER=1: instead, nobody may change owners or modes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int calls;

static int number(const char *name)
{
	const char *value = getenv(name);

	return value ? (int)strtol(value, NULL, 10) : 0;
}

/* Whether this call is to fail. Standard output is not the store. */
static int fails(void)
{
	int n = atomic_fetch_add(&calls, 1) + 1, nth = number("FAULT_NTH");

	if (nth <= 0 || n < nth || (n > nth && !number("FAULT_STAYS")))
		return 0;
	if (getenv("FAULT_MARK"))
		close((int)syscall(SYS_open, getenv("FAULT_MARK"), O_CREAT | O_WRONLY, 0600));
	errno = number("FAULT_ERRNO");
	return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t len)
{
	return fd > 2 && fails() ? -1 : REAL(write)(fd, data, len);
}

int fsync(int fd)
{
	return fails() ? -1 : REAL(fsync)(fd);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return fails() ? -1 : REAL(renameat)(from_fd, from, to_fd, to);
}

int mkdirat(int fd, const char *path, mode_t mode)
{
	return fails() ? -1 : REAL(mkdirat)(fd, path, mode);
}

int openat(int fd, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return (flags & O_CREAT) && fails() ? -1 : REAL(openat)(fd, path, flags, mode);
}

#define MAY_NOT_CHANGE \
	do { \
		if (number("FAULT_OWNER")) { \
			errno = EPERM; \
			return -1; \
		} \
	} while (0)

int chown(const char *path, uid_t uid, gid_t gid)
{
	MAY_NOT_CHANGE;
	return REAL(chown)(path, uid, gid);
}

int fchown(int fd, uid_t uid, gid_t gid)
{
	MAY_NOT_CHANGE;
	return REAL(fchown)(fd, uid, gid);
}

int fchmod(int fd, mode_t mode)
{
	MAY_NOT_CHANGE;
	return REAL(fchmod)(fd, mode);
}

int fchmodat(int fd, const char *path, mode_t mode, int flags)
{
	MAY_NOT_CHANGE;
	return REAL(fchmodat)(fd, path, mode, flags);
}
