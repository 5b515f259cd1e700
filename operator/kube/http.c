/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests on libcurl and libevent.
 *
 * Theory of operation. curl tells us which sockets to look at (on_socket) and
 * when to call it at the latest (http_on_timer); we tell it what happened
 * (curl_multi_socket_action) and then collect what finished. curl must not be
 * entered from its own callbacks, and our users' callbacks run inside them:
 * therefore new and cancelled calls wait in a list for run_queue, an event that
 * is activated and runs outside.
 */
#include "operator/kube/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "lib/loop/timer.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define CONNECT_TIMEOUT_MS 10000L
#define UPLOAD_BUFFER 16384L /* the smallest buffer that curl allows; its default is 64 KiB */
#define READ_BUFFER (4L * 1024) /* in place of 16 KiB, because each watch has one, too */
/*
 * The most connections open at once, watches included: with fewer, each request of a burst begins
 * with a TLS handshake.
 */
#define IDLE_CONNECTIONS_MAX 56L

enum call_state { CALL_QUEUED, CALL_RUNNING, CALL_CANCELLED };

struct http_call {
	struct http *http;
	TAILQ_ENTRY(http_call) link;
	enum call_state state;
	CURL *easy;
	struct curl_slist *headers;
	http_data_fn data;
	http_done_fn done;
	void *arg;
	struct strbuf answer;
	bool (*fence)(void *arg);
	void *fence_arg;
	bool too_long, refused, fenced;
	/*
	 * An attempt went out. libcurl repeats a request by itself when a kept connection breaks,
	 * and the error is that of the last attempt: a refused connection says nothing about the
	 * first one.
	 */
	bool sent;
	char curl_text[CURL_ERROR_SIZE];
};

struct http {
	struct event_base *base;
	CURLM *multi;
	struct event *timer, *queue;
	TAILQ_HEAD(, http_call) calls; /* in the order in which they came */
};

static void http_call_free(struct http_call *call)
{
	if (!call)
		return;
	if (call->state == CALL_RUNNING)
		curl_multi_remove_handle(call->http->multi, call->easy);
	curl_easy_cleanup(call->easy);
	curl_slist_free_all(call->headers);
	strbuf_release(&call->answer);
	free(call);
}

static int errno_of(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_CONNECT:
		return ECONNREFUSED;
	case CURLE_COULDNT_RESOLVE_HOST:
		return EHOSTUNREACH;
	case CURLE_OPERATION_TIMEDOUT:
		return ETIMEDOUT;
	case CURLE_OUT_OF_MEMORY:
		return ENOMEM;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CONNECT_ERROR:
		return EPROTO;
	default:
		return ECONNRESET;
	}
}

/* Returns 0 if max-age is absent, is not a number, or is too large. */
static int64_t max_age_of(CURL *easy)
{
	static const char name[] = "max-age=";
	struct curl_header *header;
	char *end;

	if (curl_easy_header(easy, "Cache-Control", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return 0;
	const char *at = strstr(header->value, name);
	if (!at || (at > header->value && at[-1] != ' ' && at[-1] != ','))
		return 0;
	at += strlen(name);
	long seconds = strtol(at, &end, 10);
	return end > at && seconds > 0 && seconds <= 86400 ? seconds * NS_PER_SEC : 0;
}

static void call_finish(struct http_call *call, CURLcode code)
{
	struct http_response response = { 0 };
	long status = 0;
	curl_off_t retry_after = 0;

	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after);
	response.status = (int)status;
	response.body = strbuf_str(&call->answer);
	response.len = call->answer.len;
	response.retry_after_ns = MIN(MAX(retry_after, 0), 3600) * NS_PER_SEC;
	response.max_age_ns = max_age_of(call->easy);
	response.maybe_done = code != CURLE_OK && call->sent;
	if (call->too_long)
		err_set(&response.err, EFBIG, "answer of more than %zu bytes", call->answer.max);
	else if (call->fenced)
		err_set(&response.err, EPERM, "not sent%s: this replica does not hold the lease",
			call->sent ? " again" : "");
	else if (call->refused)
		err_set(&response.err, ECANCELED, "answer refused");
	else if (code != CURLE_OK)
		err_set(&response.err, errno_of(code), "%s",
			call->curl_text[0] ? call->curl_text : curl_easy_strerror(code));
	TAILQ_REMOVE(&call->http->calls, call, link);
	call->done(call->arg, &response);
	http_call_free(call);
}

static void collect_finished(struct http *http)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(http->multi, &left))) {
		struct http_call *call = NULL;
		CURLcode code = message->data.result;
		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
		if (call->state == CALL_RUNNING)
			call_finish(call, code);
	}
}

static void on_socket_event(evutil_socket_t fd, short what, void *arg)
{
	struct http *http = arg;
	int flags =
		(what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0);
	int running;

	curl_multi_socket_action(http->multi, fd, flags, &running);
	collect_finished(http);
}

static void on_timer_event(evutil_socket_t, short, void *arg)
{
	struct http *http = arg;
	int running;

	curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	collect_finished(http);
}

static void run_queue(evutil_socket_t, short, void *arg)
{
	struct http *http = arg;
	struct http_call *call, *next;

	for (call = TAILQ_FIRST(&http->calls); call; call = next) {
		next = TAILQ_NEXT(call, link);
		if (call->state == CALL_CANCELLED) {
			TAILQ_REMOVE(&http->calls, call, link);
			curl_multi_remove_handle(http->multi, call->easy);
			http_call_free(call);
		} else if (call->state == CALL_QUEUED) {
			call->state = CALL_RUNNING;
			/* starts by way of http_on_timer */
			curl_multi_add_handle(http->multi, call->easy);
		}
	}
}

static int on_socket(CURL *, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct http *http = arg;
	struct event *event = socket_arg;
	short flags = EV_PERSIST;

	event_drop(event);
	if (what == CURL_POLL_REMOVE) {
		curl_multi_assign(http->multi, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		flags |= EV_READ;
	if (what & CURL_POLL_OUT)
		flags |= EV_WRITE;
	event = event_new(http->base, fd, flags, on_socket_event, http);
	curl_multi_assign(http->multi, fd, event);
	return event && event_add(event, NULL) == 0 ? 0 : -1;
}

static int http_on_timer(CURLM *, long timeout_ms, void *arg)
{
	struct http *http = arg;

	if (timeout_ms < 0) {
		evtimer_del(http->timer);
		return 0;
	}
	struct timeval tv = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };
	return evtimer_add(http->timer, &tv) == 0 ? 0 : -1;
}

/*
 * A network that drops packets must be noticed within 50 s: there are probes after
 * 30 s of silence, every 5 s, and after 45 s unanswered data, probes
 * included, end the connection. The kernel checks that when a probe is due (tcp(7),
 * TCP_USER_TIMEOUT): with a probe every 10 s it would take 50 s.
 */
static int on_new_socket(void *, curl_socket_t fd, curlsocktype)
{
	static const struct {
		int level, option, value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },	  { IPPROTO_TCP, TCP_KEEPIDLE, 30 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },	  { IPPROTO_TCP, TCP_KEEPCNT, 3 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, 45000 },
	};

	/* If these options cannot be set, the deadlines still hold. */
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
				 sizeof(options[i].value));
	return CURL_SOCKOPT_OK;
}

static size_t http_on_data(char *data, size_t size, size_t n, void *arg)
{
	struct http_call *call = arg;
	long status = 0;
	size_t len = size * n;

	if (call->state == CALL_CANCELLED)
		return 0;
	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	if (call->data && status / 100 == 2) {
		if (call->data(call->arg, data, len) >= 0)
			return len;
		call->refused = true;
		return 0;
	}
	strbuf_add(&call->answer, data, len);
	call->too_long = strbuf_failed(&call->answer);
	return call->too_long ? 0 : len;
}

/*
 * The time from the call's start to now has the loop's other work, a handshake, and perhaps minutes
 * in which the process was stopped.
 */
static int on_connected(void *arg, char *, char *, int, int)
{
	struct http_call *call = arg;

	call->fenced = call->fence && !call->fence(call->fence_arg);
	call->sent |= !call->fenced;
	return call->fenced ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

#define BLOB(text) \
	(&(struct curl_blob){ \
		.data = (void *)(text), .len = strlen(text), .flags = CURL_BLOB_COPY })

static void set_tls(CURL *easy, const struct http_tls *tls)
{
	if (tls->ca)
		curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, BLOB(tls->ca));
	/* Otherwise a new authority would not be noticed for a day. */
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	if (tls->certificate && tls->key) {
		curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
		curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
		curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, BLOB(tls->certificate));
		curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, BLOB(tls->key));
	}
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (tls->insecure) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

/*
 * For one of thousands of addresses that is not asked again soon: libcurl would keep the connection
 * and the name, and search through them with each request.
 */
static void set_direct(CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
}

static void set_request(struct http_call *call, const struct http_request *request)
{
	CURL *easy = call->easy;

	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
	if (request->body) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
		curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body);
	}
	if (request->direct)
		set_direct(easy);
	/* For libcurl 0 means that there is no deadline. */
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
			 MAX((long)(request->deadline_ns / NS_PER_MS), 1L));
}

static void set_constants(struct http_call *call)
{
	CURL *easy = call->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_text);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_on_data);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_new_socket);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, NULL);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "afterglow-operator/" AFTERGLOW_VERSION);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/*
	 * Otherwise a call that ends during a name lookup would make the loop wait for the lookup's
	 * thread, for minutes if no name server answers.
	 */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, READ_BUFFER);
	/* Each watch keeps such a buffer for as long as it runs */
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
}

static struct curl_slist *copy_headers(const char *const *headers)
{
	/* Bodies are sent at once, without "Expect: 100-continue". */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	for (; list && headers && *headers; headers++) {
		struct curl_slist *longer = curl_slist_append(list, *headers);
		if (!longer)
			curl_slist_free_all(list);
		list = longer;
	}
	return list;
}

int http_start(struct http *http, const struct http_request *request, http_data_fn data,
	       http_done_fn done, void *arg, struct http_call **ret_call, struct err *err)
{
	struct http_call *call = calloc(1, sizeof(*call));

	if (!call)
		return err_set(err, ENOMEM, "HTTP request");
	call->http = http;
	call->data = data;
	call->done = done;
	call->arg = arg;
	call->fence = request->fence;
	call->fence_arg = request->fence_arg;
	strbuf_init(&call->answer, request->answer_max);
	call->easy = curl_easy_init();
	call->headers = copy_headers(request->headers);
	if (!call->easy || !call->headers) {
		http_call_free(call);
		return err_set(err, ENOMEM, "HTTP request");
	}
	set_constants(call);
	set_tls(call->easy, &request->tls);
	set_request(call, request);
	TAILQ_INSERT_TAIL(&http->calls, call, link);
	event_active(http->queue, 0, 0);
	if (ret_call)
		*ret_call = call;
	return 0;
}

void http_cancel(struct http_call *call)
{
	if (!call)
		return;
	call->state = CALL_CANCELLED;
	event_active(call->http->queue, 0, 0);
}

int http_new(struct event_base *base, struct http **ret_http, struct err *err)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(http);
		return err_set(err, ENOMEM, "HTTP client");
	}
	http->base = base;
	TAILQ_INIT(&http->calls);
	http->multi = curl_multi_init();
	http->timer = evtimer_new(base, on_timer_event, http);
	http->queue = event_new(base, -1, 0, run_queue, http);
	if (!http->multi || !http->timer || !http->queue) {
		http_free(http);
		return err_set(err, ENOMEM, "HTTP client");
	}
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, http_on_timer);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS_MAX);
	*ret_http = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	for (struct http_call *call; (call = TAILQ_FIRST(&http->calls));) {
		TAILQ_REMOVE(&http->calls, call, link);
		if (call->state == CALL_CANCELLED && http->multi)
			curl_multi_remove_handle(http->multi, call->easy);
		http_call_free(call);
	}
	if (http->multi)
		curl_multi_cleanup(http->multi);
	event_drop(http->timer);
	event_drop(http->queue);
	free(http);
}
