/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a TCP address and listens on it. */
#include "lib/listen_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_host(const char *host, uint16_t port, union address *ret_address)
{
	*ret_address = (union address){ 0 };
	if (inet_pton(AF_INET, host, &ret_address->v4.sin_addr) == 1) {
		ret_address->v4.sin_family = AF_INET;
		ret_address->v4.sin_port = htons(port);
		return true;
	}
	*ret_address =
		(union address){ .v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) } };
	return inet_pton(AF_INET6, host, &ret_address->v6.sin6_addr) == 1;
}

static bool listen_address_parse(const char *text, union address *ret_address)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	char host[64], *end = NULL;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;

	if (!colon || end == colon + 1 || *end || colon[1] < '0' || colon[1] > '9' ||
	    port > 65535 || len >= sizeof(host))
		return false;
	if (len > 2 && text[0] == '[' && colon[-1] == ']') {
		text++;
		len -= 2;
	} else if (memchr(text, ':', len)) {
		/* In an IPv6 address without brackets, the port cannot be recognised */
		return false;
	}
	snprintf(host, sizeof(host), "%.*s", len ? (int)len : 2, len ? text : "::");
	return parse_host(host, (uint16_t)port, ret_address);
}

bool listen_address_is_valid(const char *text)
{
	union address address;

	return listen_address_parse(text, &address);
}

/*
 * Sets TCP_NODELAY, which accepted sockets inherit. Without it the body of an answer waits for the
 * client to acknowledge the header.
 */
static int bound_socket(const union address *address)
{
	_cleanup_close_ int fd =
		socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int yes = 1, no = 0;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0)
		return -1;
	if (address->any.sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) < 0)
		return -1;
	if (bind(fd, &address->any,
		 address->any.sa_family == AF_INET ? sizeof(address->v4) : sizeof(address->v6)) < 0)
		return -1;
	return TAKE_FD(fd);
}

static bool is_wildcard_v6(const union address *address)
{
	return address->any.sa_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr);
}

int listen_address_bind(const char *text, int *ret_fd, uint16_t *ret_port, struct err *err)
{
	union address address, bound;
	socklen_t len = sizeof(bound);

	if (!listen_address_parse(text, &address))
		return err_set(
			err, EINVAL,
			"must be ADDRESS:PORT, [IPV6]:PORT or :PORT, with a port up to 65535, not %.100s",
			text);
	int fd = bound_socket(&address);
	if (fd < 0 && is_wildcard_v6(&address) &&
	    (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
		uint16_t port = address.v6.sin6_port;

		address = (union address){ .v4 = { .sin_family = AF_INET, .sin_port = port } };
		fd = bound_socket(&address);
	}
	if (fd < 0)
		return err_set(err, errno, "%s", text);
	if (getsockname(fd, &bound.any, &len) < 0) {
		int r = err_set(err, errno, "%s", text);

		close(fd);
		return r;
	}
	*ret_fd = fd;
	*ret_port = ntohs(bound.any.sa_family == AF_INET ? bound.v4.sin_port : bound.v6.sin6_port);
	return 0;
}
