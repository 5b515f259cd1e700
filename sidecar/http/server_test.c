/* SPDX-License-Identifier: Apache-2.0 */
/* Tests with real requests, valid and invalid, to a sidecar in a child process. */
#include "sidecar/http/server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/loop/errand.h"
#include "lib/testing_network.h"
#include "lib/units.h"

#define FAILURES \
	"{\"failures\":[{\"container\":\"ray-worker\",\"endedAt\":\"2026-11-21T01:29:06.324Z\",\"class\":\"KernelOOMContainer\"," \
	"\"confidence\":\"certain\",\"exitCode\":137,\"signal\":\"SIGKILL\",\"sentence\":\"It died.\",\"bundle\":null}],\"forgotten\":0}"

static char directory[64], socket_path[96];
static pid_t server;
static uint16_t port;

static void stop(evutil_socket_t fd, short what, void *base)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(base);
}

_Noreturn static void run_server(int port_fd)
{
	struct record_options options = {
		.socket_path = socket_path, .spool = directory, .warn_at = 0.8, .report_fd = 2
	};
	struct event_base *base = pod_server_loop();
	struct event *term = evsignal_new(base, SIGTERM, stop, base);
	struct sidecar *r;
	struct pod_server *http;
	char path[96];

	snprintf(path, sizeof(path), "%s/log", directory);
	dup2(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), STDERR_FILENO);
	signal(SIGPIPE, SIG_IGN);
	event_add(term, NULL);
	if (sidecar_new(base, &options, &r, NULL) < 0 ||
	    pod_server_new(base, ":0", r, directory, &http, NULL) < 0)
		_exit(3);
	port = listening_port();
	fd_write_all(port_fd, &port, sizeof(port), NULL);
	event_base_dispatch(base);
	pod_server_free(http);
	sidecar_free(r);
	event_free(term);
	event_base_free(base);
	libevent_global_shutdown();
	exit(0); /* runs the leak check of sanitizers */
}

static int start_server(const char *failures)
{
	char path[128];
	int pipe_fds[2];

	snprintf(directory, sizeof(directory), "/tmp/http_test.XXXXXX");
	if (!mkdtemp(directory) || pipe(pipe_fds) < 0)
		return -1;
	snprintf(socket_path, sizeof(socket_path), "%s/socket", directory);
	snprintf(path, sizeof(path), "%s/.sidecar", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/.sidecar/failures.json", directory);
	file_write(AT_FDCWD, path, failures, strlen(failures), 0600, NULL);
	server = fork();
	if (server == 0)
		run_server(pipe_fds[1]);
	close(pipe_fds[1]);
	return read(pipe_fds[0], &port, sizeof(port)) != sizeof(port);
}

static int setup(void **state)
{
	(void)state;
	return start_server(FAILURES);
}

static int teardown(void **state)
{
	char command[96];
	int status;
	(void)state;

	kill(server, SIGTERM);
	waitpid(server, &status, 0);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) | status;
}

static int connected(void)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/*
 * Reads until the end of the connection. The server ends each within POD_IDLE_S; how long it takes
 * to answer its first request is for the machine to say, or for valgrind.
 */
static void receive(int fd, struct strbuf *answer)
{
	int64_t until = now_boottime_ns() + 120 * NS_PER_SEC;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char part[4096];
	ssize_t n;

	while (now_boottime_ns() < until && poll(&ready, 1, 100) >= 0) {
		if (!ready.revents)
			continue;
		n = recv(fd, part, sizeof(part), 0);
		if (n <= 0)
			return;
		strbuf_add(answer, part, (size_t)n);
	}
	strbuf_adds(answer, "\n(still open)");
}

static int request_once(const char *text, struct strbuf *answer)
{
	int fd = connected(), code = 0;

	send(fd, text, strlen(text), MSG_NOSIGNAL);
	receive(fd, answer);
	close(fd);
	sscanf(strbuf_str(answer), "HTTP/1.%*d %d", &code);
	return code;
}

/*
 * Sends a request that deserves an answer. Where the server hardly gets a processor, or runs under
 * valgrind, it may have found the connection idle for POD_IDLE_S before it could answer.
 */
static int request(const char *text, struct strbuf *answer)
{
	int code = 0;

	for (int i = 0; i < 10 && code == 0; i++) {
		strbuf_reset(answer);
		code = request_once(text, answer);
	}
	return code;
}

static int get(const char *path, struct strbuf *body)
{
	struct strbuf answer = STRBUF_INIT(1 << 20);
	char text[256];
	const char *begin;
	int code;

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		 path);
	code = request(text, &answer);
	begin = strstr(strbuf_str(&answer), "\r\n\r\n");
	if (begin)
		strbuf_adds(body, begin + 4);
	strbuf_release(&answer);
	return code;
}

static void it_answers_what_it_has(void **state)
{
	struct strbuf health = STRBUF_INIT(1 << 20), metrics = STRBUF_INIT(1 << 20),
		      failures = STRBUF_INIT(1 << 20);
	struct strbuf none = STRBUF_INIT(1 << 20), memory = STRBUF_INIT(1 << 20);
	cJSON *json = NULL;
	(void)state;

	assert_int_equal(get("/healthz", &health), 200);
	assert_ptr_equal(strstr(strbuf_str(&health), "ok\nheartbeat: "), strbuf_str(&health));
	assert_int_equal(get("/metrics", &metrics), 200);
	assert_non_null(strstr(strbuf_str(&metrics),
			       "afterglow_failures_total{class=\"KernelOOMContainer\"} 1\n"));
	assert_non_null(strstr(strbuf_str(&metrics), "\nafterglow_containers 0\n"));
	assert_non_null(strstr(strbuf_str(&metrics), "\nafterglow_spool_bytes "));
	assert_int_equal(get("/failures?x=y", &failures), 200);
	assert_int_equal(json_parse(strbuf_str(&failures), failures.len, &json, NULL), 0);
	assert_string_equal(json_str(json_get(json, "failures")->child, "sentence"), "It died.");
	assert_true(cJSON_IsArray(json_get(json, "warnings")));
	assert_int_equal(get("/memory", &memory), 200);
	assert_string_equal(strbuf_str(&memory), "{\"containers\":[],\"podUID\":null}\n");
	assert_int_equal(get("/", &none), 404);
	assert_int_equal(get("/metrics/../../etc/passwd", &none), 404);
	cJSON_Delete(json);
	strbuf_release(&health);
	strbuf_release(&metrics);
	strbuf_release(&failures);
	strbuf_release(&memory);
	strbuf_release(&none);
}

static void what_was_sent_already_is_not_sent_again(void **state)
{
	_cleanup_strbuf_ struct strbuf first = STRBUF_INIT(1 << 20), again = STRBUF_INIT(1 << 20),
				       other = STRBUF_INIT(1 << 20);
	char text[256], tag[80] = "";
	const char *at;
	(void)state;

	assert_int_equal(
		request("GET /failures HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", &first),
		200);
	at = strstr(strbuf_str(&first), "\r\nETag: ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "\r\nETag: %79s", tag), 1);
	snprintf(
		text, sizeof(text),
		"GET /failures HTTP/1.1\r\nHost: x\r\nIf-None-Match: %s\r\nConnection: close\r\n\r\n",
		tag);
	assert_int_equal(request(text, &again), 304);
	assert_null(strstr(strbuf_str(&again), "failures"));
	assert_int_equal(
		request("GET /failures HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"1-0\"\r\nConnection: close\r\n\r\n",
			&other),
		200);
}

static void expect_age(const char *known, int status, const char *age)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(1 << 20);
	char text[256], line[80];

	snprintf(text, sizeof(text),
		 "GET /failures HTTP/1.1\r\nHost: x\r\n%s%s%sConnection: close\r\n\r\n",
		 known ? "If-None-Match: \"" : "", known ? known : "", known ? "\"\r\n" : "");
	assert_int_equal(request(text, &answer), status);
	snprintf(line, sizeof(line), "\r\nCache-Control: private, max-age=%s\r\n", age);
	if (!strstr(strbuf_str(&answer), line))
		fail_msg("no %s in %s", age, strbuf_str(&answer));
}

static void get_tag(char tag[static 80]);

static void after_a_failure_it_wants_to_be_asked_again_soon(void **state)
{
	char failures[512], now[TIME_TEXT_MAX], tag[80];

	get_tag(tag);
	expect_age(NULL, 200, "300");
	expect_age(tag, 304, "300");
	assert_int_equal(teardown(state), 0);
	snprintf(
		failures, sizeof(failures),
		"{\"failures\":[{\"container\":\"ray\",\"endedAt\":\"%s\",\"class\":\"WorkerCrash\",\"confidence\":\"certain\","
		"\"sentence\":\"It died.\",\"bundle\":null}],\"forgotten\":0}",
		time_format(now_realtime_ns(), now));
	assert_int_equal(start_server(failures), 0);
	get_tag(tag);
	expect_age(NULL, 200, "10");
	expect_age(tag, 304, "10");
	assert_int_equal(teardown(state), 0);
	assert_int_equal(setup(state), 0);
}

/*
 * Reads the tag of /failures, in the form that the operator accepts (operator/failures/pod_report).
 */
static void get_tag(char tag[static 80])
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(1 << 20);
	const char *at;

	assert_int_equal(
		request("GET /failures HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", &answer),
		200);
	at = strstr(strbuf_str(&answer), "\r\nETag: \"");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "\r\nETag: \"%79[a-z0-9-]", tag), 1);
	assert_int_equal(at[strlen("\r\nETag: \"") + strlen(tag)], '"');
}

/* Waits for a new tag, because what is known about the spool may be a second old. */
static void get_other_tag(char tag[static 80], const char *than)
{
	for (int i = 0; i < 6000; i++) {
		get_tag(tag);
		if (strcmp(tag, than) != 0)
			return;
		usleep(10000);
	}
	fail_msg("the tag stays %s", than);
}

static void while_the_spool_fails_news_alone_are_sent_too(void **state)
{
	char away[96], before[80], failing[80], otherwise[80], text[256];
	_cleanup_strbuf_ struct strbuf again = STRBUF_INIT(1 << 20);
	(void)state;

	get_tag(before);
	snprintf(away, sizeof(away), "%s.away", directory);
	assert_int_equal(rename(directory, away), 0);
	assert_int_equal(mknod(directory, S_IFREG | 0600, 0), 0);
	get_other_tag(failing, before);
	snprintf(
		text, sizeof(text),
		"GET /failures HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"%s\"\r\nConnection: close\r\n\r\n",
		failing);
	assert_int_equal(request(text, &again), 304);
	/* It still fails, but for another reason. */
	assert_int_equal(unlink(directory), 0);
	assert_int_equal(symlink(directory, directory), 0);
	get_other_tag(otherwise, failing);
	assert_int_equal(unlink(directory), 0);
	assert_int_equal(rename(away, directory), 0);
	assert_string_not_equal(otherwise, before);
	get_other_tag(failing, otherwise);
}

static void only_get_is_answered(void **state)
{
	static const char *const others[] = { "POST",	 "PUT",	    "DELETE", "PATCH",
					      "OPTIONS", "CONNECT", "TRACE",  "BREW" };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct strbuf answer = STRBUF_INIT(1 << 20);
		char text[128];
		int code;

		snprintf(text, sizeof(text),
			 "%s /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", others[i]);
		code = request_once(text, &answer);
		assert_true(code == 0 || code >= 400);
		strbuf_release(&answer);
	}
}

static void nonsense_ends_the_connection(void **state)
{
	static const char *const requests[] = {
		"\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\xff\x01",
		"GET /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
	};
	struct strbuf body = STRBUF_INIT(1 << 20);
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct strbuf answer = STRBUF_INIT(1 << 20);

		request_once(requests[i], &answer);
		strbuf_release(&answer);
	}
	assert_int_equal(get("/healthz", &body), 200);
	strbuf_release(&body);
}

static void endless_headers_are_cut_off(void **state)
{
	int fd = connected();
	ssize_t sent = 0, n;
	char part[4096];
	(void)state;

	memset(part, 'x', sizeof(part));
	send(fd, "GET /metrics HTTP/1.1\r\nX: ", 26, MSG_NOSIGNAL);
	/* The write does not wait for ever if nobody reads. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){ .tv_sec = 1 },
		   sizeof(struct timeval));
	while ((n = send(fd, part, sizeof(part), MSG_NOSIGNAL)) > 0 && sent < 64 << 20)
		sent += n;
	assert_true(sent < 64 << 20);
	close(fd);
}

/* Returns how many descriptors the server has. */
static int count_descriptors(void)
{
	char path[64];
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)server);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void those_who_say_nothing_are_few_and_not_for_long(void **state)
{
	int silent[200], closed = 0;
	struct strbuf body = STRBUF_INIT(1 << 20);
	int64_t began = now_boottime_ns();
	int before = count_descriptors(), n;
	char c;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port),
						     .sin_addr = { htonl(INADDR_LOOPBACK) } };

		silent[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(silent[i], (const struct sockaddr *)&address, sizeof(address));
	}
	usleep(300000);
	n = count_descriptors() - before;
	if (n > POD_CONNECTIONS_MAX + 8)
		fail_msg("%d descriptors for silent connections", n);
	/* The oldest connections are closed, and the others move up. */
	for (int ms = 0; closed < POD_CONNECTIONS_MAX && ms < 10 * POD_IDLE_S * 1000; ms += 100) {
		usleep(100000);
		closed = 0;
		for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
			closed += recv(silent[i], &c, 1, MSG_DONTWAIT) == 0;
	}
	assert_true(closed >= POD_CONNECTIONS_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
	assert_int_equal(get("/healthz", &body), 200);
	assert_true(now_boottime_ns() - began < 120 * NS_PER_SEC);
	strbuf_release(&body);
}

/* Begins a request. It may have to wait for a place in the socket's queue. */
static int begin_request(void)
{
	static const char begin[] = "GET /healthz HTTP/1.1\r\nX: ";
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		send(fd, begin, sizeof(begin) - 1, MSG_NOSIGNAL);
	return fd;
}

/*
 * Requests that never end, one byte at a time; from each connection that is closed another one
 * follows.
 */
_Noreturn static void send_for_ever(int begun_fd)
{
	int fds[POD_CONNECTIONS_MAX + 8];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = begin_request();
	fd_write_all(begun_fd, "", 1, NULL);
	for (;; usleep(100000))
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			if (send(fds[i], "x", 1, MSG_NOSIGNAL) < 0) {
				close(fds[i]);
				fds[i] = begin_request();
			}
}

static void those_who_send_for_ever_are_in_nobodys_way(void **state)
{
	struct strbuf body = STRBUF_INIT(1 << 20);
	int begun[2], code = 0;
	pid_t slow;
	char byte;
	(void)state;

	assert_int_equal(pipe(begun), 0);
	slow = fork();
	if (slow == 0)
		send_for_ever(begun[1]);
	assert_int_equal(read(begun[0], &byte, 1), 1);
	for (int i = 0; i < 5 && code != 200; i++)
		code = get("/healthz", &body);
	kill(slow, SIGKILL);
	waitpid(slow, NULL, 0);
	close(begun[0]);
	close(begun[1]);
	assert_int_equal(code, 200);
	strbuf_release(&body);
}

static unsigned int log_lines(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64 << 20);
	unsigned int n = 0;
	char path[96];

	snprintf(path, sizeof(path), "%s/log", directory);
	file_read(AT_FDCWD, path, &text, NULL);
	for (const char *p = strbuf_str(&text); (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

static void without_a_descriptor_it_waits_and_does_not_spin(void **state)
{
	struct strbuf body = STRBUF_INIT(1 << 20);
	struct rlimit usual, none = { 3, 0 };
	unsigned int before = log_lines();
	int fd;
	(void)state;

	assert_int_equal(prlimit(server, RLIMIT_NOFILE, NULL, &usual), 0);
	none.rlim_max = usual.rlim_max;
	assert_int_equal(prlimit(server, RLIMIT_NOFILE, &none, NULL), 0);
	fd = connected();
	usleep(500000);
	assert_in_range(log_lines() - before, 0, 3);
	assert_int_equal(prlimit(server, RLIMIT_NOFILE, &usual, NULL), 0);
	assert_int_equal(get("/healthz", &body), 200);
	strbuf_release(&body);
	close(fd);
}

static int connect_loopback(int family, uint16_t to)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(to),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(to),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
		       family == AF_INET ? sizeof(v4) : sizeof(v6));
}

/*
 * Connecting proves nothing, because the kernel accepts a connection before the program does. So
 * this looks for the listening socket.
 */
static int listen_in_network_of(int family)
{
	struct record_options options = { .socket_path = socket_path,
					  .warn_at = 0.8,
					  .report_fd = 2 };
	struct pod_server *http;
	struct event_base *base;
	struct sidecar *r;

	enter_network(family);
	base = event_base_new();
	snprintf(socket_path + strlen(socket_path), 3, "%d", family % 10);
	if (sidecar_new(base, &options, &r, NULL) < 0 ||
	    pod_server_new(base, ":0", r, NULL, &http, NULL) < 0)
		return 2;
	if (connect_loopback(family, listening_port()) < 0)
		return 3;
	return connect_loopback(family == AF_INET ? AF_INET6 : AF_INET, listening_port()) == 0 ? 4 :
												 0;
}

static void it_listens_where_there_is_ipv6_alone_and_where_there_is_ipv4_alone(void **state)
{
	static const int families[] = { AF_INET, AF_INET6 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		int status;
		pid_t child = fork();

		if (child == 0)
			_exit(listen_in_network_of(families[i]));
		assert_int_equal(waitpid(child, &status, 0), child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NETWORK)
			skip();
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail_msg("%s: %x", families[i] == AF_INET ? "IPv4" : "IPv6", status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_answers_what_it_has),
		cmocka_unit_test(after_a_failure_it_wants_to_be_asked_again_soon),
		cmocka_unit_test(what_was_sent_already_is_not_sent_again),
		cmocka_unit_test(while_the_spool_fails_news_alone_are_sent_too),
		cmocka_unit_test(only_get_is_answered),
		cmocka_unit_test(nonsense_ends_the_connection),
		cmocka_unit_test(endless_headers_are_cut_off),
		cmocka_unit_test(those_who_say_nothing_are_few_and_not_for_long),
		cmocka_unit_test(those_who_send_for_ever_are_in_nobodys_way),
		cmocka_unit_test(without_a_descriptor_it_waits_and_does_not_spin),
		cmocka_unit_test(
			it_listens_where_there_is_ipv6_alone_and_where_there_is_ipv4_alone),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
