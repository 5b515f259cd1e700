/* SPDX-License-Identifier: Apache-2.0 */
/*
 * poll: what it costs to ask the sidecars. The first part simulates an hour without real waiting.
 * It prints how many requests a second poll_pace allows for a number of pods, and how long a pod
 * waits for its turn. The second part sends real requests, each to an address of its own. The
 * answer is 304, and it prints the CPU time of one request.
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <event2/http.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/macros.h"
#include "operator/failure_controller/poll_pace.h"
#include "operator/kube/backoff.h"
#include "operator/kube/http.h"

#define TICK_NS (250 * NS_PER_MS)
#define HOUR_NS (3600 * NS_PER_SEC)
#define IN_FLIGHT 32
#define REQUESTS 20000

/* --- Without real time -------------------------------------------------------------------- */

struct pod {
	int64_t asked_ns, longest_ns;
	uint8_t jitter;
};

static void simulate(size_t n, size_t n_restless)
{
	const struct poll_pace pace = { .n_resting = n - n_restless, .n_restless = n_restless };
	struct pod *pods = calloc(n, sizeof(*pods));
	int64_t longest[2] = { 0 };
	uint64_t seed = 1, asked = 0;

	if (!pods)
		exit(1);
	for (size_t i = 0; i < n; i++)
		pods[i].jitter = (uint8_t)random_between(&seed, 0, 256);
	for (int64_t now = TICK_NS; now < HOUR_NS; now += TICK_NS)
		for (size_t i = 0; i < n; i++) {
			int64_t waited = now - pods[i].asked_ns;

			if (waited < poll_pace_interval(&pace, i < n_restless, 0, pods[i].jitter))
				continue;
			longest[i < n_restless] = MAX(longest[i < n_restless], waited);
			pods[i] = (struct pod){ .asked_ns = now,
						.jitter = (uint8_t)random_between(&seed, 0, 256) };
			asked++;
		}
	printf("%7zu pods, %5zu restless: %6.1f requests a second; longest wait %3lld s at rest, %2lld s restless\n",
	       n, n_restless, (double)asked * 1e9 / (double)HOUR_NS,
	       (long long)(longest[0] / NS_PER_SEC), (long long)(longest[1] / NS_PER_SEC));
	free(pods);
}

/* --- Real requests ------------------------------------------------------------------------ */

static void on_request(struct evhttp_request *request, void *arg)
{
	(void)arg;
	evhttp_add_header(evhttp_request_get_output_headers(request), "ETag", "\"a\"");
	evhttp_add_header(evhttp_request_get_output_headers(request), "Cache-Control",
			  "private, max-age=300");
	evhttp_send_reply(request, 304, NULL, NULL);
}

_Noreturn static void serve(int fd)
{
	struct event_base *base = event_base_new();
	struct evhttp *http = evhttp_new(base);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	evhttp_set_timeout(http, 5);
	evhttp_set_gencb(http, on_request, NULL);
	if (evhttp_accept_socket(http, fd) < 0)
		_exit(1);
	event_base_dispatch(base);
	_exit(0);
}

static struct {
	struct event_base *base;
	struct http *http;
	uint16_t port;
	unsigned started, answered, failed;
} client;

static void on_answer(void *arg, const struct http_response *response);

static void ask(void)
{
	static const char *const headers[] = { "Accept: application/json", "If-None-Match: \"a\"",
					       NULL };
	struct http_call *call;
	char url[64];
	unsigned i = client.started++;

	snprintf(url, sizeof(url), "http://127.%u.%u.%u:%u/failures", 1 + i / 62500 % 200,
		 i / 250 % 250, i % 250 + 1, client.port);
	/* clang-format off */
	const struct http_request request = {
		.method = "GET", .url = url, .headers = headers, .direct = true, .deadline_ns = 3 * NS_PER_SEC, .answer_max = 65536,
	};
	/* clang-format on */
	if (http_start(client.http, &request, NULL, on_answer, NULL, &call, NULL) < 0)
		exit(1);
}

static void on_answer(void *arg, const struct http_response *response)
{
	(void)arg;
	client.failed += response->status != 304;
	if (client.started < REQUESTS)
		ask();
	if (++client.answered == REQUESTS)
		event_base_loopbreak(client.base);
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(void)
{
	static const size_t sizes[][2] = { { 100, 0 },	   { 1000, 0 },	   { 1000, 50 },
					   { 10000, 0 },   { 10000, 100 }, { 100000, 0 },
					   { 100000, 500 } };
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	double before;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		simulate(sizes[i][0], sizes[i][1]);
	if (bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 256) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return 1;
	client.port = ntohs(address.sin_port);
	if (fork() == 0)
		serve(fd);
	client.base = event_base_new();
	if (http_new(client.base, &client.http, NULL) < 0)
		return 1;
	before = cpu_seconds();
	for (unsigned i = 0; i < IN_FLIGHT; i++)
		ask();
	event_base_dispatch(client.base);
	printf("one question with the answer 304: %.0f us of CPU (%u asked, %u failed)\n",
	       (cpu_seconds() - before) * 1e6 / REQUESTS, client.answered, client.failed);
	http_free(client.http);
	event_base_free(client.base);
	return client.failed != 0;
}
