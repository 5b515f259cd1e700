/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the HTTP client against a server that answers from a script: what the client of the API server does not use. */
#include "operator/kube/http.h"

#include <dlfcn.h>
#include <netdb.h>
#include <unistd.h>

#include "lib/units.h"
#include "operator/kube/testing.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* scripts say what matters to them */

struct outcome {
	bool done;
	int status;
	int64_t max_age_ns;
};

static void keep(void *arg, const struct http_response *response)
{
	struct outcome *o = arg;

	*o = (struct outcome){ .done = true, .status = response->status, .max_age_ns = response->max_age_ns };
}

static void an_answer_says_for_how_long_it_is_good(void **state)
{
	static const struct {
		const char *header, *value;
		int64_t seconds;
	} rows[] = {
		{ "Cache-Control", "private, max-age=10", 10 },
		{ "cache-control", "max-age=300", 300 },
		{ "Cache-Control", "no-store", 0 },
		{ "Cache-Control", "s-max-age=10", 0 },
		{ "Cache-Control", "max-age=", 0 },
		{ "Cache-Control", "max-age=-5", 0 },
		{ "Cache-Control", "max-age=soon", 0 },
		{ "Cache-Control", "max-age=99999999999999999999", 0 },
		{ "X-Other", "max-age=10", 0 },
		{ NULL, NULL, 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct exchange script[] = {
			{ .method = "GET", .asked = "/failures", .status = 304, .body = "", .header = rows[i].header, .value = rows[i].value },
		};
		struct fake_server server;
		struct outcome o = { 0 };
		struct http_call *call;
		struct http *http;
		char url[64];

		fake_server_start(&server, script, 1);
		assert_int_equal(http_new(server.base, &http, NULL), 0);
		snprintf(url, sizeof(url), "%s/failures", server.url);
		const struct http_request request = {
			.method = "GET", .url = url, .direct = true, .deadline_ns = 5 * NS_PER_SEC, .answer_max = 100
		};
		assert_int_equal(http_start(http, &request, NULL, keep, &o, &call, NULL), 0);
		turn_until(server.base, &o.done);
		assert_int_equal(o.status, 304);
		if (o.max_age_ns != rows[i].seconds * NS_PER_SEC)
			fail_msg("%s: %s", rows[i].header, rows[i].value);
		http_free(http);
		fake_server_stop(&server);
	}
}

/* --- A name server that does not answer --- */

typedef int (*lookup_fn)(const char *host, const char *service, const struct addrinfo *hints,
			 struct addrinfo **ret_list);
static int lookup[2] = { -1, -1 }; /* while it is open, a lookup waits for a byte from this pipe */

/* Before glibc's: libcurl calls it in a thread. */
int getaddrinfo(const char *restrict host, const char *restrict service,
		const struct addrinfo *restrict hints, struct addrinfo **restrict ret_list)
{
	char byte;

	if (lookup[0] < 0)
		return ((lookup_fn)dlsym(RTLD_NEXT, "getaddrinfo"))(host, service, hints, ret_list);
	(void)!read(lookup[0], &byte, 1);
	return EAI_AGAIN;
}

static void a_call_ends_while_the_name_of_its_host_is_still_looked_up(void **state)
{
	struct event_base *base = event_base_new();
	struct outcome o = { 0 };
	struct http *http;
	(void)state;

	assert_int_equal(pipe(lookup), 0);
	assert_int_equal(http_new(base, &http, NULL), 0);
	const struct http_request request = { .method = "GET",
					      .url = "http://collector.example:4318",
					      .direct = true,
					      .deadline_ns = 100 * NS_PER_MS,
					      .answer_max = 100 };
	assert_int_equal(http_start(http, &request, NULL, keep, &o, NULL, NULL), 0);
	/* The lookup has not ended: its pipe is empty and open. */
	turn_until(base, &o.done);
	assert_int_equal(o.status, 0);
	http_free(http);
	event_base_free(base);
	close(lookup[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_says_for_how_long_it_is_good),
		cmocka_unit_test(a_call_ends_while_the_name_of_its_host_is_still_looked_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
