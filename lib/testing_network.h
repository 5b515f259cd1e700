/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: the port at which this process listens, and networks with either IPv4 or IPv6
 * addresses.
 */
#pragma once

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NO_NETWORK 77

static inline bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written;
}

/* Returns the port at which this process listens for TCP; 0: none. */
static inline uint16_t listening_port(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_in6 address = { 0 };
		socklen_t size = sizeof(address), length = sizeof(int);
		int listens = 0;

		/* IPv4 and IPv6 have the port in the same place. */
		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens &&
		    getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
		    (address.sin6_family == AF_INET || address.sin6_family == AF_INET6))
			return ntohs(address.sin6_port);
	}
	return 0;
}

/*
 * Moves this process to a network of its own, with a loopback that has addresses of that family
 * only. Exits with NO_NETWORK if that is not permitted. To be used in a child process that runs as
 * root.
 */
static inline void enter_network(int family)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		_exit(NO_NETWORK);
	if (family == AF_INET && !write_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1"))
		_exit(NO_NETWORK);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (ioctl(fd, SIOCSIFFLAGS, &loopback) < 0)
		_exit(NO_NETWORK);
	/* An address of zeros takes 127.0.0.1 away. */
	loopback = (struct ifreq){ .ifr_name = "lo", .ifr_addr = { .sa_family = AF_INET } };
	if (family == AF_INET6 && ioctl(fd, SIOCSIFADDR, &loopback) < 0)
		_exit(NO_NETWORK);
	close(fd);
}
