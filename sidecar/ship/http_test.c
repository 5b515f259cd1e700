/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of several requests at a time, with a server that answers at once or later, as the path
 * says.
 */
#include "sidecar/ship/http.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define BODY_BYTES (512 << 10)

static char base_url[64];
static pid_t server;
static int answered[2]; /* the test writes to it when the client has read the status */

/* Sends a refusal of unknown length before it reads the body, and resets the connection. */
_Noreturn static void refuse(int fd)
{
	const struct linger reset = { .l_onoff = 1 };
	char byte;

	dprintf(fd, "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n\r\n");
	if (read(answered[0], &byte, 1) != 1)
		_exit(1);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	_exit(0);
}

/*
 * Sends a short body, and headers after it for as long as the client takes them, but no more than 4
 * MiB.
 */
_Noreturn static void trail(int fd)
{
	signal(SIGPIPE, SIG_DFL);
	dprintf(fd,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nfast\r\n0\r\n");
	for (int i = 0; i < 4096; i++)
		dprintf(fd, "X-Trailer: %01010d\r\n", i);
	dprintf(fd, "\r\n");
	_exit(0);
}

/* Sends ten bytes a second, for 15 seconds at most: a whole answer. */
_Noreturn static void drip(int fd)
{
	signal(SIGPIPE, SIG_DFL);
	dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: 150\r\nConnection: close\r\n\r\n");
	for (int i = 0; i < 150; i++) {
		dprintf(fd, "x");
		usleep(100000);
	}
	_exit(0);
}

_Noreturn static void answer(int fd)
{
	static const char head[] =
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n";
	char request[4096] = "";
	bool slow;

	if (read(fd, request, sizeof(request) - 1) < 0)
		_exit(1);
	if (strstr(request, " /busy "))
		refuse(fd);
	if (strstr(request, " /trailers "))
		trail(fd);
	if (strstr(request, " /drip "))
		drip(fd);
	slow = strstr(request, " /slow ");
	if (slow)
		usleep(300000);
	dprintf(fd, "%s%s", head, slow ? "slow" : "fast");
	_exit(0);
}

_Noreturn static void serve(int listener)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fork() == 0)
			answer(fd);
		close(fd);
	}
}

static int setup(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(address);
	(void)state;

	if (bind(listener, (struct sockaddr *)&address, len) < 0 || listen(listener, 16) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) < 0)
		return -1;
	if (pipe2(answered, O_CLOEXEC) < 0)
		return -1;
	snprintf(base_url, sizeof(base_url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	server = fork();
	if (server == 0)
		serve(listener);
	close(listener);
	return server < 0;
}

static int teardown(void **state)
{
	(void)state;
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return 0;
}

/* This happens when credentials expire while the parts of an upload are being sent. */
static void a_call_among_others_gets_its_own_answer_and_they_get_theirs(void **state)
{
	const struct http_settings settings = { .stall_s = 10 };
	char slow[96], fast[96];
	const struct http_request first = { .method = "GET", .url = fast },
				  second = { .method = "GET", .url = slow };
	struct http_transfer *t = NULL;
	struct fault fault = { 0 };
	struct http *http;
	(void)state;

	snprintf(slow, sizeof(slow), "%s/slow", base_url);
	snprintf(fast, sizeof(fast), "%s/fast", base_url);
	assert_int_equal(http_new(&settings, &http, &fault), 0);
	assert_int_equal(http_start(http, &first, NULL, &fault), 0);
	assert_int_equal(http_call(http, &second, &t, &fault), 0);
	assert_ptr_equal(t->request, &second);
	assert_string_equal(strbuf_str(&t->answer.body), "slow");
	http_end(t);
	assert_int_equal(http_wait(http, &t, &fault), 0);
	assert_ptr_equal(t->request, &first);
	assert_string_equal(strbuf_str(&t->answer.body), "fast");
	http_end(t);
	http_free(http);
}

/* This happens while the digest of the next part is computed. */
static void a_request_goes_on_while_its_caller_is_busy_with_something_else(void **state)
{
	const struct http_settings settings = { .stall_s = 10 };
	char url[96];
	const struct http_request request = { .method = "GET", .url = url };
	struct http_transfer *started, *t = NULL;
	struct fault fault = { 0 };
	struct http *http;
	(void)state;

	snprintf(url, sizeof(url), "%s/fast", base_url);
	assert_int_equal(http_new(&settings, &http, &fault), 0);
	assert_int_equal(http_start(http, &request, &started, &fault), 0);
	for (int i = 0; i < 60000 && !started->over; i++, usleep(1000))
		assert_int_equal(http_turn(http, &fault), 0);
	assert_true(started->over);
	assert_int_equal(http_wait(http, &t, &fault), 0);
	assert_ptr_equal(t, started);
	assert_string_equal(strbuf_str(&t->answer.body), "fast");
	http_end(t);
	http_free(http);
}

static void a_refusal_that_comes_while_the_body_is_sent_is_an_answer(void **state)
{
	static const char body[BODY_BYTES];
	const struct http_settings settings = { .stall_s = 60 };
	char url[96];
	const struct http_request request = {
		.method = "PUT", .url = url, .body = body, .len = sizeof(body)
	};
	struct http_transfer *t = NULL;
	struct fault fault = { 0 };
	struct http *http;
	long status = 0;
	(void)state;

	snprintf(url, sizeof(url), "%s/busy", base_url);
	assert_int_equal(http_new(&settings, &http, &fault), 0);
	assert_int_equal(http_start(http, &request, &t, &fault), 0);
	for (int i = 0; i < 60000 && status != 503; i++, usleep(1000)) {
		assert_int_equal(http_turn(http, &fault), 0);
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	}
	assert_int_equal(write(answered[1], "", 1), 1);
	assert_int_equal(http_wait(http, &t, &fault), 0);
	assert_int_equal(t->answer.status, 503);
	assert_int_equal(t->answer.retry_after_s, 7);
	http_end(t);
	http_free(http);
}

/* curl 7.88 bounds the headers before a body, and keeps all that follow it. */
static void headers_without_end_are_no_answer(void **state)
{
	const struct http_settings settings = { .stall_s = 60 };
	char url[96];
	struct http_transfer *t = NULL;
	struct fault fault = { 0 };
	struct http *http;
	(void)state;

	snprintf(url, sizeof(url), "%s/trailers", base_url);
	assert_int_equal(http_new(&settings, &http, &fault), 0);
	assert_int_equal(
		http_call(http, &(struct http_request){ .method = "GET", .url = url }, &t, &fault),
		-1);
	assert_int_equal(fault.kind, FAULT_PROTOCOL);
	http_end(t);
	http_free(http);
}

static void an_answer_that_comes_in_drops_is_given_up(void **state)
{
	const struct http_settings settings = { .stall_s = 2 };
	char url[96];
	struct http_transfer *t = NULL;
	struct fault fault = { 0 };
	struct http *http;
	(void)state;

	snprintf(url, sizeof(url), "%s/drip", base_url);
	assert_int_equal(http_new(&settings, &http, &fault), 0);
	assert_int_equal(
		http_call(http, &(struct http_request){ .method = "GET", .url = url }, &t, &fault),
		-1);
	assert_int_equal(fault.kind, FAULT_NETWORK);
	http_end(t);
	http_free(http);
}

static void those_that_send_share_the_rate(void **state)
{
	static const char body[BODY_BYTES];
	const struct http_settings settings = { .stall_s = 60, .rate = 12000 };
	char url[96];
	const struct http_request put = {
		.method = "PUT", .url = url, .body = body, .len = sizeof(body)
	};
	const struct http_request get = { .method = "GET", .url = url };
	struct http_transfer *first, *second, *third, *asks;
	struct fault fault = { 0 };
	struct http *http;
	(void)state;

	snprintf(url, sizeof(url), "%s/slow", base_url);
	assert_int_equal(http_new(&settings, &http, &fault), 0);
	assert_int_equal(http_start(http, &put, &first, &fault), 0);
	assert_int_equal(first->rate, 12000);
	assert_int_equal(http_start(http, &get, &asks, &fault), 0);
	assert_int_equal(first->rate, 12000);
	assert_int_equal(http_start(http, &put, &second, &fault), 0);
	assert_int_equal(http_start(http, &put, &third, &fault), 0);
	assert_int_equal(first->rate, 4000);
	assert_int_equal(second->rate, 4000);
	assert_int_equal(third->rate, 4000);
	http_end(second);
	assert_int_equal(first->rate, 6000);
	assert_int_equal(third->rate, 6000);
	http_end(asks);
	http_end(third);
	assert_int_equal(first->rate, 12000);
	http_end(first);
	http_free(http);
}

static void a_message_shows_neither_path_nor_query(void **state)
{
	static const char *const rows[][2] = {
		{ "http://169.254.170.23/v1/credentials", "http://169.254.170.23" },
		{ "https://host:9000?token=x", "https://host:9000" },
		{ "https://[fd00:ec2::23]#x/y", "https://[fd00:ec2::23]" },
		{ "host/path", "host" },
		{ "", "" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(http_origin_length(rows[i][0]), strlen(rows[i][1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_among_others_gets_its_own_answer_and_they_get_theirs),
		cmocka_unit_test(a_request_goes_on_while_its_caller_is_busy_with_something_else),
		cmocka_unit_test(a_refusal_that_comes_while_the_body_is_sent_is_an_answer),
		cmocka_unit_test(headers_without_end_are_no_answer),
		cmocka_unit_test(an_answer_that_comes_in_drops_is_given_up),
		cmocka_unit_test(those_that_send_share_the_rate),
		cmocka_unit_test(a_message_shows_neither_path_nor_query),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
