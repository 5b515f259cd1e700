/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the operator's HTTP server: addresses, and a process without descriptors. */
#include "operator/manager/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/log.h"
#include "lib/loop/http_connections.h"
#include "lib/testing_network.h"
#include "lib/units.h"

static unsigned int n_warnings;

static void on_libevent_word(int severity, const char *text)
{
	(void)severity;
	(void)text;
	n_warnings++;
}

static bool healthy(void *arg, struct strbuf *out)
{
	(void)arg;
	strbuf_adds(out, "ok\n");
	return true;
}

/* Returns a port that was free a moment ago. */
static uint16_t free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
}

static void run_for(struct event_base *base, int ms)
{
	event_base_loopexit(base,
			    &(struct timeval){ .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 });
	event_base_dispatch(base);
}

static void without_a_descriptor_it_waits_and_does_not_spin(void **state)
{
	static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n";
	const struct server_handlers handlers = { .health = healthy, .ready = healthy };
	struct event_base *base = event_base_new();
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct rlimit usual, none = { 3, 0 };
	char address[32], answer[512] = "";
	struct server *server;
	struct err err = { 0 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)state;

	log_set_level(LOG_LEVEL_ERROR);
	event_set_log_callback(on_libevent_word);
	to.sin_port = htons(free_port());
	snprintf(address, sizeof(address), "127.0.0.1:%d", ntohs(to.sin_port));
	assert_int_equal(server_new(base, address, &handlers, &server, &err), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(fd, request, sizeof(request) - 1, 0), sizeof(request) - 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none.rlim_max = usual.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	run_for(base, 300);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	assert_in_range(n_warnings, 0, 1);
	/* It is answered as soon as that is possible again. */
	for (int i = 0; i < 100 && !*answer; i++) {
		run_for(base, 100);
		recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
	}
	assert_non_null(strstr(answer, " 200 "));
	server_free(server);
	event_base_free(base);
	close(fd);
}

/*
 * --- Families of addresses
 * ----------------------------------------------------------------------------
 */

static int connect_loopback(int family, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = family == AF_INET ? connect(fd, (struct sockaddr *)&v4, sizeof(v4)) :
				    connect(fd, (struct sockaddr *)&v6, sizeof(v6));

	return r < 0 ? -1 : fd;
}

static bool answers_at(struct event_base *base, int family, uint16_t port)
{
	static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n";
	char answer[512] = "";
	int fd = connect_loopback(family, port);

	if (fd < 0 || send(fd, request, sizeof(request) - 1, 0) < 0)
		return false;
	for (int i = 0; i < 100 && !*answer; i++) {
		run_for(base, 50);
		recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
	}
	close(fd);
	return strstr(answer, " 200 ");
}

static int serve_in_network_of(int family, const char *address)
{
	const struct server_handlers handlers = { .health = healthy, .ready = healthy };
	struct event_base *base;
	struct server *server;
	struct err err = { 0 };

	enter_network(family);
	base = event_base_new();
	if (server_new(base, address, &handlers, &server, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	/* This machine does not have the other family. */
	if (connect_loopback(family == AF_INET ? AF_INET6 : AF_INET, 8080) >= 0)
		return 3;
	return answers_at(base, family, 8080) ? 0 : 4;
}

static void it_answers_where_there_is_ipv6_alone_and_where_there_is_ipv4_alone(void **state)
{
	static const int families[] = { AF_INET, AF_INET6 };
	static const char *const addresses[] = { ":8080", "[::]:8080" };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(families) * ARRAY_SIZE(addresses); i++) {
		int status;
		pid_t child = fork();

		if (child == 0)
			_exit(serve_in_network_of(families[i / 2], addresses[i % 2]));
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NETWORK)
			skip();
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail_msg("%s %s: %x", families[i / 2] == AF_INET ? "IPv4" : "IPv6",
				 addresses[i % 2], status);
	}
}

static void a_wrong_address_is_named_with_what_would_be_right(void **state)
{
	static const char *const wrong[] = { "8080", "localhost",  ":0",	   ":65536",
					     ":x",   "127.0.0.1:", "1.2.3.4:99999" };
	const struct server_handlers handlers = { .health = healthy };
	struct event_base *base = event_base_new();
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct server *server;
		struct err err = { 0 };

		assert_int_equal(server_new(base, wrong[i], &handlers, &server, &err), -EINVAL);
		if (!strstr(err.text, wrong[i]) || !strstr(err.text, "ADDRESS:PORT"))
			fail_msg("%s: %s", wrong[i], err.text);
	}
	event_base_free(base);
}

/*
 * --- Hostile clients
 * ---------------------------------------------------------------------------------
 */

/* A server that listens, and the event loop that it runs on. */
struct listening {
	struct event_base *base;
	struct server *server;
	uint16_t port;
};

static struct listening listen_on(const char *host)
{
	static const struct server_handlers handlers = { .health = healthy, .ready = healthy };
	struct listening l = { .base = event_base_new(), .port = free_port() };
	struct err err = { 0 };
	char address[32];

	snprintf(address, sizeof(address), "%s:%d", host, l.port);
	assert_int_equal(server_new(l.base, address, &handlers, &l.server, &err), 0);
	return l;
}

static void stop(struct listening *l, const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	server_free(l->server);
	event_base_free(l->base);
}

/* Returns how many of the sockets the server has closed. */
static size_t count_closed(const int *fds, size_t n)
{
	size_t closed = 0;
	char byte;

	for (size_t i = 0; i < n; i++) {
		ssize_t got = recv(fds[i], &byte, 1, MSG_DONTWAIT);

		closed += got == 0 || (got < 0 && errno != EAGAIN);
	}
	return closed;
}

static void ask_again(struct event_base *base, int fd)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
	char answer[512] = "";

	assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
	for (int i = 0; i < 100 && !*answer; i++) {
		run_for(base, 20);
		recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
	}
	assert_non_null(strstr(answer, " 200 "));
}

static void requests_that_never_end_keep_few_connections_and_cost_nobody_an_answer(void **state)
{
	static const char part[] = "GET /healthz HTTP/1.1\r\nX-Never-Ends: ";
	struct listening l = listen_on("127.0.0.1");
	int fds[4 * HTTP_CONNECTIONS_MAX];
	(void)state;

	int prometheus = connect_loopback(AF_INET, l.port);
	ask_again(l.base, prometheus);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_loopback(AF_INET, l.port);
		assert_true(fds[i] >= 0);
		assert_int_equal(send(fds[i], part, sizeof(part) - 1, MSG_NOSIGNAL),
				 sizeof(part) - 1);
		run_for(l.base, 1);
		/* It asks less often than the bound has places, over the same connection. */
		if (i % (HTTP_CONNECTIONS_MAX / 2) == 0)
			ask_again(l.base, prometheus);
	}
	for (int i = 0;
	     i < 100 && count_closed(fds, ARRAY_SIZE(fds)) < ARRAY_SIZE(fds) - HTTP_CONNECTIONS_MAX;
	     i++)
		run_for(l.base, 20);
	assert_in_range(count_closed(fds, ARRAY_SIZE(fds)), ARRAY_SIZE(fds) - HTTP_CONNECTIONS_MAX,
			ARRAY_SIZE(fds) - 1);
	ask_again(l.base, prometheus);
	assert_true(answers_at(l.base, AF_INET, l.port));
	close(prometheus);
	stop(&l, fds, ARRAY_SIZE(fds));
}

/* Sends a request over fd from that address. The answer is for the caller to read. */
static int ask_over(int fd, const char *source, uint16_t port, const char *request)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in from = { .sin_family = AF_INET };

	assert_int_equal(inet_pton(AF_INET, source, &from.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	return fd;
}

static int ask_from(const char *source, uint16_t port, const char *request)
{
	return ask_over(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), source, port, request);
}

static void a_burst_that_came_while_the_loop_was_busy_costs_no_probe_its_answer(void **state)
{
	struct listening l = listen_on("127.0.0.1");
	char answer[512] = "";
	int fds[100]; /* fewer than the kernel queues, more than may stay */
	(void)state;

	/* All come from one address, as from pods behind the node's. */
	int kubelet = ask_from("127.0.0.1", l.port,
			       "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = ask_from("127.0.0.1", l.port, "GET /healthz HTTP/1.1\r\nX-Never-Ends: ");
	for (int i = 0; i < 100 && !*answer; i++) {
		run_for(l.base, 20);
		recv(kubelet, answer, sizeof(answer) - 1, MSG_DONTWAIT);
	}
	assert_non_null(strstr(answer, " 200 "));
	close(kubelet);
	stop(&l, fds, ARRAY_SIZE(fds));
}

static void whoever_opens_many_connections_ends_none_of_another_address(void **state)
{
	struct listening l = listen_on("");
	int fds[4 * HTTP_CONNECTIONS_MAX];
	(void)state;

	/* It has connected and is slow to send its request. */
	int kubelet = ask_from("127.0.0.2", l.port, "");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = ask_from("127.0.0.1", l.port, "GET /healthz HTTP/1.1\r\nX-Never-Ends: ");
		run_for(l.base, 1);
	}
	for (int i = 0;
	     i < 100 && count_closed(fds, ARRAY_SIZE(fds)) < ARRAY_SIZE(fds) - HTTP_CONNECTIONS_MAX;
	     i++)
		run_for(l.base, 20);
	assert_in_range(count_closed(fds, ARRAY_SIZE(fds)), ARRAY_SIZE(fds) - HTTP_CONNECTIONS_MAX,
			ARRAY_SIZE(fds) - 1);
	ask_again(l.base, kubelet);
	close(kubelet);
	stop(&l, fds, ARRAY_SIZE(fds));
}

/* --- Clients that do not read their answers --------------------------------------------------- */

#define LARGE_TEXT ((size_t)2 << 20)

/* The clock of the server stands still, because time must not pass on a slow machine. */
static int64_t clock_ns = NS_PER_SEC;
static unsigned int n_renderings;

int64_t __wrap_now_boottime_ns(void);
int64_t __wrap_now_boottime_ns(void)
{
	return clock_ns;
}

static void render_large(void *arg, struct strbuf *out)
{
	static const char line[] = "afterglow_lines 1\n";
	(void)arg;

	n_renderings++;
	for (size_t i = 0; i < LARGE_TEXT / strlen(line); i++)
		strbuf_add(out, line, strlen(line));
	strbuf_addf(out, "afterglow_rendering %u\n", n_renderings);
}

static size_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long size, resident;

	assert_int_equal(fscanf(f, "%lu %lu", &size, &resident), 2);
	fclose(f);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

#define GET_METRICS "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"

/*
 * Asks for /metrics and reads nothing. Small segments and a small buffer keep the kernel from
 * taking all of the answer.
 */
static int ask_without_reading(uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), size = 4096, segment = 536;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment)), 0);
	return ask_over(fd, "127.0.0.1", port, GET_METRICS);
}

/*
 * Reads the answer to the end of the text, and returns the number of its rendering, 0 if it ends
 * before.
 */
static unsigned int read_rendering(struct event_base *base, int fd)
{
	static const char mark[] = "\nafterglow_rendering ";
	static char answer[LARGE_TEXT + 4096];
	const char *last = NULL;
	unsigned int number = 0;
	size_t len = 0;

	for (int i = 0; i < 3000 && !(last && strchr(last + 1, '\n')); i++) {
		ssize_t n = recv(fd, answer + len, sizeof(answer) - len - 1, MSG_DONTWAIT);

		if (n == 0)
			break;
		if (n < 0) {
			run_for(base, 1);
			continue;
		}
		len += (size_t)n;
		answer[len] = '\0';
		last = strstr(answer + (len > LARGE_TEXT ? len - 64 : 0), mark);
	}
	if (last)
		sscanf(last, "\nafterglow_rendering %u", &number);
	return number;
}

static struct listening serve_large(void)
{
	static const struct server_handlers handlers = { .health = healthy,
							 .ready = healthy,
							 .metrics = render_large };
	struct listening l = { .base = event_base_new(), .port = free_port() };
	struct err err = { 0 };
	char address[32];

	snprintf(address, sizeof(address), ":%d", l.port);
	assert_int_equal(server_new(l.base, address, &handlers, &l.server, &err), 0);
	n_renderings = 0;
	return l;
}

static void many_answers_that_nobody_reads_cost_the_memory_of_few(void **state)
{
	struct listening l = serve_large();
	int fds[HTTP_CONNECTIONS_MAX - 4];
	size_t before = resident_bytes();
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = ask_without_reading(l.port);
		run_for(l.base, 5);
		clock_ns += NS_PER_SEC / 2;
	}
	size_t grown = resident_bytes() - before;
	/* Four in ten seconds, for half a minute */
	assert_in_range(n_renderings, 1, 16);
#if !defined(__SANITIZE_ADDRESS__) /* It keeps what was freed. */
	if (grown > 8 * LARGE_TEXT)
		fail_msg("%zu unread answers cost %zu KiB", ARRAY_SIZE(fds), grown >> 10);
#else
	(void)grown;
#endif
	/*
	 * Whoever reads gets a whole answer. It is no older than the time for which others may
	 * read.
	 */
	int prometheus = ask_from("127.0.0.2", l.port, GET_METRICS);
	unsigned int got = read_rendering(l.base, prometheus);
	assert_in_range(got, 1, n_renderings);
	close(prometheus);
	stop(&l, fds, ARRAY_SIZE(fds));
}

static void whoever_reads_for_too_long_makes_room_for_a_new_rendering(void **state)
{
	struct listening l = serve_large();
	int fds[5], prometheus;
	(void)state;

	for (size_t i = 0; i < 4; i++) {
		fds[i] = ask_without_reading(l.port);
		for (int wait = 0; wait < 6000 && n_renderings == i; wait++)
			run_for(l.base, 10);
		assert_int_equal(n_renderings, i + 1);
		clock_ns += 2 * NS_PER_SEC;
	}
	prometheus = ask_from("127.0.0.2", l.port, GET_METRICS);
	assert_int_equal(read_rendering(l.base, prometheus), 4);
	assert_int_equal(n_renderings, 4);
	clock_ns += 3 * NS_PER_SEC;
	fds[4] = ask_from("127.0.0.2", l.port, GET_METRICS);
	assert_int_equal(read_rendering(l.base, fds[4]), 5);
	assert_int_equal(read_rendering(l.base, fds[0]), 0); /* 11 s after its request */
	assert_int_equal(read_rendering(l.base, fds[1]), 2); /* 9 s after its request */
	close(prometheus);
	stop(&l, fds, ARRAY_SIZE(fds));
}

static void without_slow_readers_each_answer_is_rendered_anew(void **state)
{
	struct listening l = serve_large();
	int prometheus = connect_loopback(AF_INET, l.port);
	(void)state;

	for (unsigned int i = 1; i <= 5; i++) {
		assert_int_equal(send(prometheus, GET_METRICS, strlen(GET_METRICS), 0),
				 strlen(GET_METRICS));
		assert_int_equal(read_rendering(l.base, prometheus), i);
		run_for(l.base, 5);
	}
	stop(&l, &prometheus, 1);
}

int main(void)
{
	/* As in the operator: a connection may end before its answer is written. */
	signal(SIGPIPE, SIG_IGN);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_descriptor_it_waits_and_does_not_spin),
		cmocka_unit_test(
			it_answers_where_there_is_ipv6_alone_and_where_there_is_ipv4_alone),
		cmocka_unit_test(a_wrong_address_is_named_with_what_would_be_right),
		cmocka_unit_test(
			requests_that_never_end_keep_few_connections_and_cost_nobody_an_answer),
		cmocka_unit_test(
			a_burst_that_came_while_the_loop_was_busy_costs_no_probe_its_answer),
		cmocka_unit_test(whoever_opens_many_connections_ends_none_of_another_address),
		cmocka_unit_test(many_answers_that_nobody_reads_cost_the_memory_of_few),
		cmocka_unit_test(whoever_reads_for_too_long_makes_room_for_a_new_rendering),
		cmocka_unit_test(without_slow_readers_each_answer_is_rendered_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
