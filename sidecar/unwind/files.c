/* SPDX-License-Identifier: Apache-2.0 */
/* Opens programs and libraries of the container for a process that may open nothing. */
#include "sidecar/unwind/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "lib/fd_message.h"
#include "sidecar/confine/confine.h"
#include "sidecar/sample/rootfd.h"

#define SERVE_CPU_SECONDS 20
#define SERVE_SECONDS 40 /* the sidecar ends the process that asks before that */
#define SERVE_FILES 256 /* a walk without openat2 holds up to 128 directories */
#define SERVE_MEMORY ((uint64_t)16 << 20)

/* --- Asking --- */

int files_begin(struct files *files, int socket_fd, struct err *err)
{
	const struct timeval wait = { .tv_sec = FILES_WAIT_SECONDS };

	*files = (struct files){ .socket_fd = socket_fd };
	if (socket_fd >= 0 &&
	    (setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	     setsockopt(socket_fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0))
		return err_set(err, errno, "the socket for files");
	return 0;
}

/* Returns an errno, 0 with a descriptor, or -1 if there was no answer. */
static int files_receive(int socket_fd, int *ret_fd)
{
	int error;

	if (fd_message_receive(socket_fd, &error, sizeof(error), 0, ret_fd) != sizeof(error))
		return -1;
	return error == 0 && *ret_fd < 0 ? EIO : error;
}

static const char *why_not(int error)
{
	switch (error) {
	case ENOENT:
		return "no such file";
	case EACCES:
	case EPERM:
		return "no permission to read it";
	case EINVAL:
		return "not a regular file";
	case EFBIG:
		return "too large";
	case ENOEXEC:
		return "no ELF file for this machine";
	case EMFILE:
		return "too many modules";
	default:
		return "cannot be opened";
	}
}

int files_open(struct files *files, const char *path, const char **ret_why)
{
	int fd = -1, error;

	*ret_why = files->silent ? "an earlier file was not opened in time" : "cannot be opened";
	if (files->silent || files->socket_fd < 0 || strlen(path) >= FILES_PATH_MAX)
		return -1;
	/*
	 * The path is sent with its NUL. It is sent by write(), because the filter forbids
	 * sendmsg(), which could pass descriptors.
	 */
	if (write(files->socket_fd, path, strlen(path) + 1) < 0 ||
	    (error = files_receive(files->socket_fd, &fd)) < 0) {
		/* A late answer would be taken for the answer to the next question. */
		files->silent = true;
		*ret_why = "its filesystem does not answer";
		return -1;
	}
	if (error)
		*ret_why = why_not(error);
	return fd;
}

/* --- Answering --- */

/*
 * Opens the file by its name again, because there is no /proc of our own, and checks that it is the
 * same file.
 */
static int open_same(int root_fd, const char *path, const struct stat *same)
{
	_cleanup_close_ int fd = rootfd_open(root_fd, path, O_RDONLY, NULL);
	struct stat st;

	if (fd < 0)
		return TAKE_FD(fd);
	return fstat(fd, &st) == 0 && st.st_dev == same->st_dev && st.st_ino == same->st_ino ?
		       TAKE_FD(fd) :
		       -EINVAL;
}

/* Opens the file by O_PATH first, because opening a device can have an effect. */
static int open_regular(int root_fd, const char *path)
{
	_cleanup_close_ int path_fd = rootfd_open(root_fd, path, O_PATH, NULL);
	char again[40];
	struct stat st;

	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > FILES_SIZE_MAX)
		return -EFBIG;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", path_fd);
	int fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? open_same(root_fd, path, &st) : fd;
}

static int open_program(int root_fd, const char *path)
{
	_cleanup_close_ int fd = open_regular(root_fd, path);
	char head[SELFMAG];

	if (fd < 0)
		return TAKE_FD(fd);
	if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	return TAKE_FD(fd);
}

/* Sends fd, or its error, as the answer. Returns false if the other end is gone. */
static bool files_answer(int socket_fd, int fd)
{
	int error = fd < 0 ? -fd : 0;

	return fd_message_send(socket_fd, &error, sizeof(error), &fd, fd >= 0, 0) == sizeof(error);
}

void files_serve(int root_fd, int socket_fd)
{
	char path[FILES_PATH_MAX];
	unsigned int given = 0;
	ssize_t n;
	bool heard = true;

	while (heard && (n = read(socket_fd, path, sizeof(path))) > 0) {
		/*
		 * Without its NUL the path was cut. A path that is not absolute was never mapped.
		 */
		bool whole = path[n - 1] == '\0' && path[0] == '/';
		_cleanup_close_ int fd = !whole		    ? -EINVAL :
					 given == FILES_MAX ? -EMFILE :
							      open_program(root_fd, path);

		given += fd >= 0;
		heard = files_answer(socket_fd, fd);
	}
}

int files_serve_confined(int root_fd, int socket_fd, struct err *err)
{
	static const struct confine_limits limits = {
		.memory = SERVE_MEMORY,
		.cpu_seconds = SERVE_CPU_SECONDS,
		.files = SERVE_FILES,
	};
	/* clang-format off */
	const struct confine_rule rules[] = {
		CONFINE_ALLOW_ON(read, socket_fd), CONFINE_ALLOW_ON(sendmsg, socket_fd), CONFINE_ALLOW_ON(openat2, root_fd),
		CONFINE_ALLOW_WITHOUT(openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC),
		/* The calls that rootfd_open needs, also without openat2. */
		CONFINE_ALLOW(readlinkat), CONFINE_ALLOW(fstatfs),
		CONFINE_ALLOW(pread64), CONFINE_ALLOW(fstat), CONFINE_ALLOW(close), CONFINE_ALLOW_ON(write, STDERR_FILENO),
		CONFINE_ALLOW(exit_group), CONFINE_ALLOW(restart_syscall), CONFINE_ALLOW(rt_sigreturn), CONFINE_ALLOW(sigaltstack),
	};
	/* clang-format on */

	alarm(SERVE_SECONDS);
	if (confine_limit(&limits, err) < 0 || confine_files(root_fd, err) < 0 ||
	    confine_calls(rules, ARRAY_SIZE(rules), err) < 0)
		return -err->code;
	files_serve(root_fd, socket_fd);
	return 0;
}
