/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the socket at which stacks are asked for. Every process of the network namespace may connect to it. */
#include "sidecar/record/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "sidecar/socket/listener.h"

/* Without processes. */
static void each(void (*fn)(struct container *c, pid_t pid, const char *name, void *arg), void *fn_arg, void *arg)
{
	(void)fn;
	(void)fn_arg;
	(void)arg;
}

/* Finds our own socket. */
static socklen_t address_find(struct sockaddr_un *address)
{
	_cleanup_strbuf_ struct strbuf sockets = STRBUF_INIT((size_t)16 << 20);
	char mark[64];
	const char *at;
	size_t len;

	snprintf(mark, sizeof(mark), "@" STACKS_SOCKET_NAME "/%u/%d/", geteuid(), (int)getpid());
	assert_int_equal(file_read(AT_FDCWD, "/proc/net/unix", &sockets, NULL), 0);
	at = strstr(strbuf_str(&sockets), mark);
	assert_non_null(at);
	len = strcspn(at, "\n");
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, at + 1, len - 1);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

/* Returns a connection, or -1 if the kernel's queue is full. */
static int stacks_connect(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (connect(fd, (const struct sockaddr *)address, size) == 0)
		return fd;
	assert_int_equal(errno, EAGAIN);
	close(fd);
	return -1;
}

static void a_flood_of_connections_is_taken_slowly(void **state)
{
	const struct stacks_callbacks callbacks = { .each = each };
	struct event_base *base = event_base_new();
	struct stacks *stacks = NULL;
	struct sockaddr_un address;
	struct err err = { 0 };
	char answer[16] = "";
	unsigned int n = 0;
	socklen_t size;
	(void)state;

	assert_int_equal(stacks_new(base, &callbacks, &stacks, &err), 0);
	size = address_find(&address);
	int fd = stacks_connect(&address, size);
	assert_int_equal(write(fd, "stack\n", 6), 6);
	while (read(fd, answer, sizeof(answer) - 1) < 0)
		event_base_loop(base, EVLOOP_ONCE);
	assert_string_equal(answer, "end\n");
	close(fd);
	event_base_loop(base, EVLOOP_NONBLOCK);
	/* For the next two seconds each connection is closed again, whoever opened it. */
	for (int i = 0; i < 2000; i++) {
		fd = stacks_connect(&address, size);
		n += fd >= 0;
		if (fd >= 0)
			close(fd);
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	assert_in_range(n, LISTENER_BURST - 1, 500); /* on a slow machine this may take seconds */
	stacks_free(stacks);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_of_connections_is_taken_slowly),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
