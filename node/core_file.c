/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a core to the file to which the kernel would have written it. */
#include "node/core_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/zeros.h"
#include "node/core_account.h"

#define BLOCK (64 * 1024) /* bytes of one read; a multiple of the pages of every machine */
#define PIPE_SIZE (1024 * 1024) /* bytes */
/* Bytes of the stream between two reports of progress, holes included; a multiple of BLOCK. */
#define PROGRESS (4 * 1024 * 1024)

int core_process_check(int pidfd, struct err *err)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) == 0 ? 0 :
					 err_set(err, ESRCH, "the process that crashed is gone");
}

int core_process_read(pid_t pid, int pidfd, struct process_status *ret_status, struct err *err)
{
	int rc = process_status_read("/proc", pid, ret_status, err);

	return rc < 0 ? rc : core_process_check(pidfd, err);
}

static int open_of(pid_t pid, const char *name, struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_set(err, errno, "%s", path) : fd;
}

/* The structures of _linux_capability_version 3. Not every libc has linux/capability.h. */
static int keep_capabilities(uint64_t effective)
{
	struct {
		uint32_t version;
		int pid;
	} header = { 0x20080522, 0 };
	const uint32_t low = (uint32_t)effective, high = (uint32_t)(effective >> 32);
	struct {
		uint32_t effective, permitted, inheritable;
	} data[2] = { { low, low, 0 }, { high, high, 0 } };

	return (int)syscall(SYS_capset, &header, data);
}

/*
 * Whether the process is in our user namespace, so that its capabilities in /proc hold on the node.
 * True on a kernel without user namespaces.
 */
static bool in_our_user_namespace(pid_t pid)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	if (stat("/proc/self/ns/user", &own) < 0)
		return errno == ENOENT;
	return stat(path, &its) == 0 && its.st_dev == own.st_dev && its.st_ino == own.st_ino;
}

/* A user other than root loses all capabilities by setresuid. */
static int core_file_become(const struct process_status *s, uint64_t capabilities, struct err *err)
{
	if (setgroups(s->n_groups, s->groups) < 0 || setresgid(s->fsgid, s->fsgid, s->fsgid) < 0 ||
	    setresuid(s->fsuid, s->fsuid, s->fsuid) < 0)
		return err_set(err, errno, "become user %u", (unsigned int)s->fsuid);
	if (s->fsuid == 0 && keep_capabilities(capabilities) < 0)
		return err_set(err, errno, "keep the capabilities of the process");
	return 0;
}

/*
 * Enters the root and the working directory of the process, with its rights. The descriptors of the
 * directories stay valid after the process has ended.
 */
static int go_where_it_was(pid_t pid, int pidfd, struct err *err)
{
	_cleanup_close_ int root = open_of(pid, "root", err),
			    cwd = root < 0 ? -1 : open_of(pid, "cwd", err);
	bool same = in_our_user_namespace(pid);
	struct process_status status;

	if (root < 0 || cwd < 0)
		return -err->code;
	int rc = core_process_read(pid, pidfd, &status, err);
	if (rc < 0)
		return rc;
	if (fchdir(root) < 0 || chroot(".") < 0 || fchdir(cwd) < 0)
		return err_set(err, errno, "the root directory of PID %d", (int)pid);
	return core_file_become(&status, same ? status.capabilities : 0, err);
}

/* Makes the kernel's checks of the new file: a file system may have given it to another user. */
static int core_file_check_file(int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    st.st_uid != geteuid() || (st.st_mode & 0677) != 0600)
		return err_set(err, EPERM, "the file is not as it was made");
	return 0;
}

struct copy {
	int file;
	size_t page; /* bytes; arm64 has pages of 4, 16 or 64 KiB */
	uint64_t left; /* bytes that may still be written */
	off_t size; /* of the file, holes included */
};

/*
 * Returns how many of the first bytes can be handled in one step: pages that are all zeros (a
 * hole), or pages with data that the limit still allows.
 */
static size_t find_run(const struct copy *c, const char *data, size_t len, bool *ret_hole)
{
	bool hole = false;
	size_t run = 0;

	while (run < len) {
		size_t n = MIN(len - run, c->page);
		bool zero = is_zero(data + run, n);

		if (run == 0)
			hole = zero;
		if (zero != hole || (!hole && run + n > c->left))
			break;
		run += n;
	}
	*ret_hole = hole;
	return run;
}

/* Returns 1 if the limit is reached. */
static int copy_block(struct copy *c, const char *block, size_t len, struct err *err)
{
	bool hole;

	for (size_t at = 0, run; at < len; at += run) {
		int rc = 0;

		run = find_run(c, block + at, len - at, &hole);
		if (run == 0)
			return 1;
		if (!hole)
			rc = fd_write_all(c->file, block + at, run, err);
		else if (lseek(c->file, (off_t)run, SEEK_CUR) < 0)
			rc = err_set(err, errno, "seek");
		if (rc < 0)
			return rc;
		c->left -= hole ? 0 : run;
		c->size += (off_t)run;
	}
	return 0;
}

int core_copy(int stream, int file, uint64_t limit, struct err *err)
{
	struct copy c = { .file = file, .page = (size_t)sysconf(_SC_PAGESIZE), .left = limit };
	static char block[BLOCK];
	ssize_t len = 0;
	uint64_t n = 0;
	int rc = 0;

	/*
	 * By default a pipe has room for one block only, and the kernel would wait for us after
	 * each block.
	 */
	fcntl(stream, F_SETPIPE_SZ, PIPE_SIZE);
	while (rc == 0 && (len = fd_read_whole(stream, block, BLOCK, -1)) > 0) {
		rc = copy_block(&c, block, (size_t)len, err);
		if (++n % (PROGRESS / BLOCK) == 0)
			alarm(CORE_STALL_S);
	}
	if (rc < 0)
		return rc;
	if (len < 0)
		return err_set(err, (int)-len, "read the core");
	return ftruncate(file, c.size) < 0 ? err_set(err, errno, "truncate the core") : 0;
}

static int write_as_who_crashed(const struct core_arguments *arguments, int pidfd, const char *name,
				int stream, const struct core_account *account, struct err *err)
{
	bool as_root = arguments->dumpable == 2;
	_cleanup_close_ int file = -1;

	/* With a limit below a page the kernel writes no core (min_coredump of ELF). */
	if (arguments->limit < (uint64_t)sysconf(_SC_PAGESIZE))
		return 0;
	/*
	 * The core of a set-user-ID program belongs to root. It is written only to an absolute
	 * path, which the user cannot choose, and replaces no file.
	 */
	if (as_root && name[0] != '/')
		return err_set(err, EPERM,
			       "a set-user-ID program's core needs an absolute path, not %s", name);
	int rc = as_root ? core_process_check(pidfd, err) :
			   go_where_it_was(arguments->pid, pidfd, err);
	if (rc < 0)
		return rc;
	if (!as_root)
		unlink(name);
	file = open(name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return err_set(err, errno, "%s", name);
	rc = core_file_check_file(file, err);
	if (rc >= 0)
		rc = core_account_charge(account, file, err);
	if (rc < 0 && !as_root)
		unlink(name);
	return rc < 0 ? rc : core_copy(stream, file, arguments->limit, err);
}

int core_file_write(const struct core_arguments *arguments, int pidfd, const char *name, int stream,
		    struct err *err)
{
	struct core_account account;

	/* Before root is given up. */
	core_account_open(arguments->pid, &account);
	int rc = write_as_who_crashed(arguments, pidfd, name, stream, &account, err);
	core_account_release(&account);
	return rc;
}
