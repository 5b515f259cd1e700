/* SPDX-License-Identifier: Apache-2.0 */
/* Makes requests with libcurl, with all checks of certificates and redirects turned on. */
#include "sidecar/ship/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

_Static_assert(CURL_ERROR_SIZE <= 256, "struct http_transfer has room for curl's text");

#define CONNECT_TIMEOUT_S 15L
/*
 * Bytes a second below which a request counts as stalled. An answer and a body have bounds, so a
 * server that sends or takes them slower and slower cannot hold a request without end.
 */
#define LOW_SPEED ((int64_t)1 << 10)
#define UNASKED_MAX ((int64_t)256 << 10)
/* The size of curl's read buffer; a larger one is not faster. */
#define UPLOAD_BUFFER ((long)256 << 10)
/*
 * Bytes of all headers of an answer. curl keeps them, and bounds only those that come before the
 * body.
 */
#define HEADERS_MAX ((size_t)256 << 10)

struct http {
	struct http_settings settings;
	CURLM *multi;
	struct http_transfer *running[HTTP_PARALLEL];
};

int http_new(const struct http_settings *settings, struct http **ret_http, struct fault *fault)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    !(http->multi = curl_multi_init())) {
		free(http);
		return fault_set(fault, FAULT_MEMORY, "HTTP client: out of memory");
	}
	http->settings = *settings;
	curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)HTTP_PARALLEL + 1);
	*ret_http = http;
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	http_cancel(http);
	curl_multi_cleanup(http->multi);
	curl_global_cleanup();
	free(http);
}

/* --- One transfer --- */

static size_t http_on_answer(char *data, size_t size, size_t n, void *arg)
{
	struct http_transfer *t = arg;

	strbuf_add(&t->answer.body, data, size * n);
	return strbuf_failed(&t->answer.body) ? 0 : size * n;
}

static size_t http_on_header(char *, size_t size, size_t n, void *arg)
{
	struct http_transfer *t = arg;

	t->headers_bytes += size * n;
	return t->headers_bytes > HEADERS_MAX ? 0 : size * n;
}

static size_t http_on_read(char *out, size_t size, size_t n, void *arg)
{
	struct http_transfer *t = arg;
	size_t want = (size_t)MIN((int64_t)(size * n), t->request->len - t->sent);
	ssize_t got = 0;

	if (t->request->body)
		memcpy(out, t->request->body + t->sent, want), got = (ssize_t)want;
	else if (want > 0)
		do
			got = pread(t->request->fd, out, want, t->request->offset + t->sent);
		while (got < 0 && errno == EINTR);
	if (got < 0 || (got == 0 && want > 0)) {
		t->read_errno = got < 0 ? errno : ENODATA;
		return CURL_READFUNC_ABORT;
	}
	t->sent += got;
	if (t->request->on_sent)
		t->request->on_sent(t->request->arg, t->sent);
	return (size_t)got;
}

/* curl sends from the beginning again if a kept connection is dead. */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
	struct http_transfer *t = arg;

	if (origin != SEEK_SET || offset < 0 || offset > t->request->len)
		return CURL_SEEKFUNC_FAIL;
	t->sent = offset;
	return CURL_SEEKFUNC_OK;
}

static void set_proxy(CURL *easy, const struct http_settings *s, const struct http_request *r)
{
	if (s->proxy)
		curl_easy_setopt(easy, CURLOPT_PROXY, s->proxy);
	if (s->ca) {
		curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, s->ca);
		curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, NULL);
	}
	curl_easy_setopt(easy, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (r->no_proxy || s->no_proxy)
		curl_easy_setopt(easy, CURLOPT_NOPROXY, r->no_proxy ? "*" : s->no_proxy);
}

static void set_safety(CURL *easy, const struct http_settings *s, const struct http_request *r)
{
	int64_t half_share = s->rate ? MAX(s->rate / HTTP_PARALLEL / 2, (int64_t)1) : LOW_SPEED;

	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (s->ca) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, s->ca);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, MIN(CONNECT_TIMEOUT_S, (long)s->stall_s));
	/*
	 * curl counts both directions together, so an answer that does not come counts as a stall.
	 */
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)MIN(LOW_SPEED, half_share));
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)MAX(s->stall_s, r->stall_s));
	if (s->deadline_ns > 0)
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
				 (long)MAX((s->deadline_ns - now_boottime_ns()) / NS_PER_MS, 1));
}

/*
 * Lets libcurl sign the request. Version 7.88 signs path and query as they are in the URL, so the
 * function that makes the URL encodes and sorts them as S3 demands ("uploads=", not "uploads"). It
 * signs each of our headers, and takes the body's digest from x-amz-content-sha256, which we always
 * send. "Expect:" must not be among the headers, because libcurl would sign it and not send it.
 */
static void set_signature(CURL *easy, const struct http_request *r)
{
	if (!r->sigv4)
		return;
	curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, r->sigv4);
	curl_easy_setopt(easy, CURLOPT_USERNAME, r->user);
	curl_easy_setopt(easy, CURLOPT_PASSWORD, r->password);
	/* Without this, curl would change "/a/../b" to "/b" after the request was signed. */
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
}

static void set_method(CURL *easy, struct http_transfer *t)
{
	const struct http_request *r = t->request;

	if (strcmp(r->method, "HEAD") == 0) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
		return;
	}
	if (strcmp(r->method, "POST") == 0) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, r->body ? r->body : "");
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)(r->body ? r->len : 0));
		return;
	}
	if (strcmp(r->method, "PUT") == 0) {
		curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->len);
		curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
		curl_easy_setopt(easy, CURLOPT_READFUNCTION, http_on_read);
		curl_easy_setopt(easy, CURLOPT_READDATA, t);
		curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
		curl_easy_setopt(easy, CURLOPT_SEEKDATA, t);
		/*
		 * A small body is sent without waiting for "100 Continue", which saves a round trip
		 * for each file.
		 */
		if (r->len <= UNASKED_MAX || r->unasked)
			curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
		return;
	}
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, r->method);
}

static int http_add_headers(struct http_transfer *t, struct fault *fault)
{
	struct curl_slist *list = NULL;

	for (const char *const *h = t->request->headers; h && *h; h++) {
		struct curl_slist *longer = curl_slist_append(list, *h);

		if (!longer) {
			curl_slist_free_all(list);
			return fault_set(fault, FAULT_MEMORY, "headers: out of memory");
		}
		list = longer;
	}
	t->headers = list;
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, list);
	return 0;
}

static int http_prepare(struct http_transfer *t, struct fault *fault)
{
	CURL *easy = t->easy;

	set_safety(easy, &t->http->settings, t->request);
	set_proxy(easy, &t->http->settings, t->request);
	set_method(easy, t);
	set_signature(easy, t->request);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "afterglow-ship/" AFTERGLOW_VERSION);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_on_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, http_on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
	if (curl_easy_setopt(easy, CURLOPT_URL, t->request->url) != CURLE_OK)
		return fault_set(fault, FAULT_MEMORY, "URL: out of memory");
	return http_add_headers(t, fault);
}

static bool http_sends(const struct http_transfer *t)
{
	return t && !t->over && t->request->len > 0;
}

/*
 * Those that send a body share the rate. libcurl limits each by itself, and looks at its limit
 * again as it sends.
 */
static void share_rate(struct http *http)
{
	int64_t n = 0;

	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		n += http_sends(http->running[i]);
	for (size_t i = 0; i < HTTP_PARALLEL && http->settings.rate > 0; i++) {
		struct http_transfer *t = http->running[i];

		if (!http_sends(t))
			continue;
		t->rate = MAX(http->settings.rate / n, (int64_t)1);
		curl_easy_setopt(t->easy, CURLOPT_MAX_SEND_SPEED_LARGE, (curl_off_t)t->rate);
	}
}

int http_start(struct http *http, const struct http_request *request,
	       struct http_transfer **ret_transfer, struct fault *fault)
{
	struct http_transfer *t;
	size_t slot = 0;

	if (http->settings.deadline_ns > 0 && now_boottime_ns() >= http->settings.deadline_ns)
		return fault_set(fault, FAULT_DEADLINE, "the deadline has passed");
	while (slot < HTTP_PARALLEL && http->running[slot])
		slot++;
	t = slot < HTTP_PARALLEL ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return fault_set(fault, FAULT_MEMORY, "HTTP request: out of memory");
	*t = (struct http_transfer){ .request = request, .http = http, .easy = curl_easy_init() };
	t->answer.body = STRBUF_INIT(HTTP_ANSWER_MAX);
	if (!t->easy || http_prepare(t, fault) < 0 ||
	    curl_multi_add_handle(http->multi, t->easy) != CURLM_OK) {
		http_end(t);
		return fault_set(fault, FAULT_MEMORY, "HTTP request: out of memory");
	}
	http->running[slot] = t;
	share_rate(http);
	if (ret_transfer)
		*ret_transfer = t;
	return 0;
}

static void http_forget(struct http_transfer *t)
{
	for (size_t i = 0; i < HTTP_PARALLEL; i++) {
		if (t->http->running[i] != t)
			continue;
		curl_multi_remove_handle(t->http->multi, t->easy);
		t->http->running[i] = NULL;
		share_rate(t->http);
	}
}

void http_end(struct http_transfer *t)
{
	http_forget(t);
	if (t->easy)
		curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	strbuf_release(&t->answer.body);
	free(t);
}

void http_cancel(struct http *http)
{
	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		if (http->running[i])
			http_end(http->running[i]);
}

/* --- The end of a transfer --- */

static void http_take_header(const struct http_transfer *t, const char *name, char *out,
			     size_t size)
{
	struct curl_header *header;

	if (curl_easy_header(t->easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK &&
	    strlen(header->value) < size)
		snprintf(out, size, "%s", header->value);
}

static void take_clock(struct http_transfer *t)
{
	char date[64] = "";

	http_take_header(t, "Date", date, sizeof(date));
	time_t theirs = *date ? curl_getdate(date, NULL) : -1;
	if (theirs > 0)
		t->answer.clock_off_s = now_realtime_ns() / NS_PER_SEC - (int64_t)theirs;
}

static void http_take_answer(struct http_transfer *t)
{
	curl_off_t length = -1, wait = 0;
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &wait);
	t->answer.status = (int)status;
	t->answer.length = length;
	t->answer.retry_after_s = wait;
	http_take_header(t, "Location", t->answer.location, sizeof(t->answer.location));
	http_take_header(t, "ETag", t->answer.etag, sizeof(t->answer.etag));
	http_take_header(t, "x-amz-meta-sha256", t->answer.sha256, sizeof(t->answer.sha256));
	http_take_header(t, "x-goog-meta-sha256", t->answer.sha256, sizeof(t->answer.sha256));
	http_take_header(t, "x-ms-meta-sha256", t->answer.sha256, sizeof(t->answer.sha256));
	http_take_header(t, "x-amz-bucket-region", t->answer.region, sizeof(t->answer.region));
	http_take_header(t, "x-ms-error-code", t->answer.error_code, sizeof(t->answer.error_code));
	take_clock(t);
}

static enum fault_kind http_kind_of(CURLcode code)
{
	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return FAULT_TLS;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WRITE_ERROR: /* the answer is longer than any should be */
		return FAULT_PROTOCOL;
	case CURLE_OUT_OF_MEMORY:
		return FAULT_MEMORY;
	default:
		return FAULT_NETWORK;
	}
}

int http_origin_length(const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	return (int)(host - url + (ptrdiff_t)strcspn(host, "/?#"));
}

int http_json_parse(const char *text, size_t len, cJSON **ret_json, struct err *err)
{
	return len > HTTP_JSON_MAX ? err_set(err, EFBIG, "JSON") :
				     json_parse(text, len, ret_json, err);
}

static int http_explain(const struct http_transfer *t, CURLcode code, struct fault *fault)
{
	const struct http_settings *s = &t->http->settings;
	const char *url = t->request->url;

	if (t->read_errno)
		return fault_set(fault, t->read_errno == ENODATA ? FAULT_BUNDLE_CHANGED : FAULT_IO,
				 "reading the bundle: %s",
				 t->read_errno == ENODATA ? "the file became shorter" :
							    strerror(t->read_errno));
	if (code == CURLE_OPERATION_TIMEDOUT && s->deadline_ns > 0 &&
	    now_boottime_ns() >= s->deadline_ns)
		return fault_set(fault, FAULT_DEADLINE, "the deadline has passed");
	return fault_set(fault, http_kind_of(code), "%.*s: %s", http_origin_length(url), url,
			 t->error[0] ? t->error : curl_easy_strerror(code));
}

static void note_ends(struct http *http)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(http->multi, &left))) {
		struct http_transfer *t = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		t->over = true;
		t->code = message->data.result;
		share_rate(http);
	}
}

/* Finds a transfer that is over: `wanted`, or any if that is NULL. */
static struct http_transfer *find_over(const struct http *http, const struct http_transfer *wanted)
{
	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		if (http->running[i] && http->running[i]->over &&
		    (!wanted || http->running[i] == wanted))
			return http->running[i];
	return NULL;
}

int http_turn(struct http *http, struct fault *fault)
{
	int running;

	if (curl_multi_perform(http->multi, &running) != CURLM_OK)
		return fault_set(fault, FAULT_MEMORY, "HTTP client: out of memory");
	note_ends(http);
	return 0;
}

static int http_wait_for(struct http *http, const struct http_transfer *wanted,
			 struct http_transfer **ret_transfer, struct fault *fault)
{
	struct http_transfer *t;
	CURLcode code;

	for (;;) {
		if (http_turn(http, fault) < 0)
			return -1;
		t = find_over(http, wanted);
		if (t)
			break;
		if (curl_multi_poll(http->multi, NULL, 0, 1000, NULL) != CURLM_OK)
			return fault_set(fault, FAULT_MEMORY, "HTTP client: out of memory");
		if (http->settings.alive)
			http->settings.alive(http->settings.arg);
	}
	code = (CURLcode)t->code;
	http_take_answer(t);
	*ret_transfer = t;
	/*
	 * The server may answer before it has received everything, as with a refusal or a redirect.
	 * Then the answer counts, although the connection may have been reset.
	 */
	if ((code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR) && t->answer.status >= 300)
		code = CURLE_OK;
	http_forget(t);
	return code == CURLE_OK ? 0 : http_explain(t, code, fault);
}

int http_wait(struct http *http, struct http_transfer **ret_transfer, struct fault *fault)
{
	return http_wait_for(http, NULL, ret_transfer, fault);
}

int http_call(struct http *http, const struct http_request *request,
	      struct http_transfer **ret_transfer, struct fault *fault)
{
	struct http_transfer *t;

	*ret_transfer = NULL;
	if (http_start(http, request, &t, fault) < 0)
		return -1;
	return http_wait_for(http, t, ret_transfer, fault);
}
