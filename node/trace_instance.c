/* SPDX-License-Identifier: Apache-2.0 */
/* Manages the agent's own instance in tracefs. */
#include "node/trace_instance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/fileio.h"

/* Constants of linux/mount.h. musl has neither these nor the functions. */
#define NEW_CLOEXEC 1 /* FSOPEN_, FSMOUNT_ */
#define NEW_CREATE 6 /* FSCONFIG_CMD_ */
#define NEW_RESTRICTED 0xe /* MOUNT_ATTR_NOSUID, NODEV, NOEXEC */
#define SAVED_COMMS_MAX (64 * 1024)

struct trace_instance {
	int tracefs, directory; /* the root of tracefs, and the directory of the instance */
	char name[64];
	int fds[TRACE_CPUS_MAX];
	size_t n_fds;
	size_t page_size;
	void *page;
};

/* Mounts tracefs nowhere, so it disappears with its last descriptor. */
static int mount_tracefs(int *fd)
{
	_cleanup_close_ int context = (int)syscall(SYS_fsopen, "tracefs", NEW_CLOEXEC);

	if (context < 0 || syscall(SYS_fsconfig, context, NEW_CREATE, NULL, NULL, 0) < 0)
		return -1;
	closep(fd);
	*fd = (int)syscall(SYS_fsmount, context, NEW_CLOEXEC, NEW_RESTRICTED);
	return *fd;
}

static int open_tracefs(const char *directory, struct err *err)
{
	_cleanup_close_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && faccessat(fd, "instances", F_OK, 0) == 0)
		return TAKE_FD(fd);
	if (mount_tracefs(&fd) < 0)
		return err_set(err, errno, "no tracefs at %s, and none can be mounted", directory);
	return TAKE_FD(fd);
}

static int trace_instance_write_value(int dirfd, const char *path, const char *value,
				      struct err *err)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_TRUNC);

	if (fd < 0 || write(fd, value, strlen(value)) != (ssize_t)strlen(value))
		return err_set(err, errno, "write %s to %s", value, path);
	return 0;
}

static int set_up(struct trace_instance *t, struct err *err)
{
	int rc = trace_instance_write_value(t->directory, "buffer_size_kb", TRACE_BUFFER_KB, err);

	if (rc >= 0)
		rc = trace_instance_write_value(t->directory, "trace_clock", "boot", err);
	if (rc >= 0)
		rc = trace_instance_write_value(t->directory, "tracing_on", "1", err);
	if (rc < 0)
		return rc;
	/*
	 * From Linux 5.0 readers are woken only when the buffer is half full, unless this is 0.
	 * Older kernels always wake them.
	 */
	if (trace_instance_write_value(t->directory, "buffer_percent", "0", NULL) < 0 &&
	    errno != ENOENT)
		return err_set(err, errno, "write 0 to buffer_percent");
	return 0;
}

/* CPUs that are offline have no file. */
static int open_buffers(struct trace_instance *t, struct err *err)
{
	char path[64];

	for (int cpu = 0; cpu < TRACE_CPUS_MAX; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		int fd = openat(t->directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			t->fds[t->n_fds++] = fd;
		else if (errno != ENOENT)
			return err_set(err, errno, "open %s", path);
	}
	return t->n_fds ? 0 : err_set(err, ENOENT, "tracefs has no buffers");
}

static int open_instance(struct trace_instance *t, const char *directory, struct err *err)
{
	char path[80];

	t->page_size = (size_t)sysconf(_SC_PAGESIZE);
	t->page = malloc(t->page_size);
	t->tracefs = open_tracefs(directory, err);
	if (t->tracefs < 0)
		return t->tracefs;
	snprintf(path, sizeof(path), "instances/%s", t->name);
	if (mkdirat(t->tracefs, path, 0700) < 0 && errno != EEXIST)
		return err_set(err, errno, "make %s in tracefs", path);
	t->directory = openat(t->tracefs, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->directory < 0 || !t->page)
		return err_set(err, t->page ? errno : ENOMEM, "open %s in tracefs", path);
	int rc = set_up(t, err);
	return rc < 0 ? rc : open_buffers(t, err);
}

int trace_instance_open(const char *directory, const char *name,
			struct trace_instance **ret_instance, struct err *err)
{
	struct trace_instance *t = calloc(1, sizeof(*t));

	if (!t)
		return err_set(err, ENOMEM, "tracefs");
	t->tracefs = t->directory = -1;
	snprintf(t->name, sizeof(t->name), "%s", name);
	int rc = open_instance(t, directory, err);
	if (rc < 0) {
		trace_instance_close(t);
		return rc;
	}
	*ret_instance = t;
	return 0;
}

void trace_instance_close(struct trace_instance *t)
{
	char path[80];

	if (!t)
		return;
	/* The kernel removes the instance only when all its files are closed. */
	for (size_t i = 0; i < t->n_fds; i++)
		close(t->fds[i]);
	closep(&t->directory);
	snprintf(path, sizeof(path), "instances/%s", t->name);
	if (t->tracefs >= 0)
		unlinkat(t->tracefs, path, AT_REMOVEDIR);
	closep(&t->tracefs);
	free(t->page);
	free(t);
}

int trace_instance_format(const struct trace_instance *t, const char *event, struct strbuf *out,
			  struct err *err)
{
	char path[128];

	snprintf(path, sizeof(path), "events/%s/format", event);
	return file_read(t->directory, path, out, err);
}

int trace_instance_enable(const struct trace_instance *t, const char *event, const char *filter,
			  struct err *err)
{
	char path[128];

	snprintf(path, sizeof(path), "events/%s/filter", event);
	int rc = trace_instance_write_value(t->directory, path, filter ? filter : "0", err);
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "events/%s/enable", event);
	return trace_instance_write_value(t->directory, path, "1", err);
}

size_t trace_instance_fds(const struct trace_instance *t, const int **ret_fds)
{
	*ret_fds = t->fds;
	return t->n_fds;
}

int trace_instance_read(struct trace_instance *t, size_t cpu, struct trace_page *ret_page)
{
	ssize_t n = read(t->fds[cpu], t->page, t->page_size);

	return n > 0 && trace_page_open(ret_page, t->page, (size_t)n);
}

bool trace_saved_comm(const char *text, pid_t task, char comm[static TRACE_COMM_MAX])
{
	char number[16];
	size_t len = (size_t)snprintf(number, sizeof(number), "%d ", (int)task);
	const char *line = text;

	while (strncmp(line, number, len) != 0) {
		line = strchr(line, '\n');
		if (!line++)
			return false;
	}
	snprintf(comm, TRACE_COMM_MAX, "%.*s", (int)strcspn(line + len, "\n"), line + len);
	return true;
}

bool trace_instance_comm(const struct trace_instance *t, pid_t task,
			 char comm[static TRACE_COMM_MAX])
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(SAVED_COMMS_MAX);

	return file_read(t->tracefs, "saved_cmdlines", &text, NULL) == 0 &&
	       trace_saved_comm(strbuf_str(&text), task, comm);
}
