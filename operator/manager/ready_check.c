/* SPDX-License-Identifier: Apache-2.0 */
/* Asks an operator whether it is ready, or its webhook for a valid certificate. */
#include "operator/manager/ready_check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "operator/kube/http.h"

#define ANSWER_MAX (64 << 10)
#define CA_MAX (1 << 20) /* as large as a Secret may be */
#define ONE_ANSWER_NS (10 * NS_PER_SEC)

struct answer {
	struct event_base *base;
	const char *ca; /* PEM; NULL: none */
	struct strbuf *out;
	int status;
	struct err err;
};

static void ready_check_on_answer(void *arg, const struct http_response *response)
{
	struct answer *answer = arg;

	answer->status = response->status;
	answer->err = response->err;
	strbuf_reset(answer->out);
	if (response->body)
		strbuf_adds(answer->out, response->body);
	event_base_loopbreak(answer->base);
}

static int ready_check_ask(struct http *http, const char *url, struct answer *answer,
			   struct err *err)
{
	/* clang-format off */
	const struct http_request request = {
		.method = "GET", .url = url, .direct = true, .deadline_ns = ONE_ANSWER_NS, .answer_max = ANSWER_MAX,
		.tls = { .ca = answer->ca },
	};
	/* clang-format on */
	struct http_call *call;
	int r = http_start(http, &request, NULL, ready_check_on_answer, answer, &call, err);

	if (r < 0)
		return r;
	return event_base_dispatch(answer->base) < 0 ? err_set(err, EIO, "event loop") : 0;
}

static int ask_until(struct http *http, const char *url, int64_t until_ns, struct answer *answer,
		     struct err *err)
{
	for (;;) {
		int r = ready_check_ask(http, url, answer, err);

		if (r < 0 || answer->status == 200 || (answer->ca && answer->status > 0))
			return r;
		if (now_boottime_ns() >= until_ns)
			break;
		nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	}
	if (answer->err.code)
		return err_set(err, ETIMEDOUT, "%s is not ready: %s", url, err_text(&answer->err));
	return err_set(err, ETIMEDOUT, "%s is not ready: status %d", url, answer->status);
}

int ready_check(const char *url, const char *ca_file, int64_t patience_ns, struct strbuf *out,
		struct err *err)
{
	_cleanup_strbuf_ struct strbuf ca = STRBUF_INIT(CA_MAX);
	struct answer answer = { .base = event_base_new(), .out = out };
	struct http *http = NULL;
	int r = answer.base ? http_new(answer.base, &http, err) :
			      err_set(err, ENOMEM, "event loop");

	if (r == 0 && ca_file && strncmp(url, "https://", 8) != 0)
		r = err_set(err, EINVAL, "%s shows no certificate: it must begin with https://",
			    url);
	if (r == 0 && ca_file) {
		r = file_read(AT_FDCWD, ca_file, &ca, err);
		answer.ca = strbuf_str(&ca);
	}
	if (r == 0)
		r = ask_until(http, url, now_boottime_ns() + patience_ns, &answer, err);
	if (r == 0 && ca_file) {
		strbuf_reset(out);
		strbuf_addf(out, "%s answers, with a certificate that an authority in %s signed\n",
			    url, ca_file);
	}
	if (http)
		http_free(http);
	if (answer.base)
		event_base_free(answer.base);
	return r;
}
