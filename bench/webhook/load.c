/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks webhooks as an API server does: by POST over connections that stay open. The reviews come
 * from a file, one a line; the first of them opens the connections and is not counted. RATE a
 * second are sent, at even distances; with RATE 0 all at once, as far as there are connections.
 * With several URLs they take turns, each with RATE and so many connections of its own: what the
 * machine does besides then meets all of them. Prints for each review the URL's number, and when it
 * was sent and answered, in us. A review without a patch in its answer is a failure, and so is a
 * connection that had to be opened anew.
 *	load CA REVIEWS CONNECTIONS RATE URL...
 */
#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONNECTIONS_MAX 256
#define ANSWER_MAX (1 << 20)

struct asker {
	CURL *easy;
	int url; /* the number of it */
	char *line;
	size_t capacity;
	int64_t sent_us;
	size_t len;
	char answer[ANSWER_MAX];
};

static struct load {
	CURLM *multi;
	FILE *reviews;
	struct curl_slist *headers;
	struct asker *idle[CONNECTIONS_MAX];
	int n_idle, n_busy;
	int64_t begin_us;
	int warm; /* what comes now counts */
	long failed;
} load;

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static size_t keep(char *data, size_t size, size_t n, void *arg)
{
	struct asker *a = arg;
	size_t len = size * n;

	if (len >= sizeof(a->answer) - a->len)
		return 0;
	memcpy(a->answer + a->len, data, len);
	a->len += len;
	a->answer[a->len] = '\0';
	return len;
}

static void add_asker(const char *ca, const char *url, int number)
{
	struct asker *a = calloc(1, sizeof(*a));

	if (!a || load.n_idle >= CONNECTIONS_MAX)
		exit(2);
	a->url = number;
	a->easy = curl_easy_init();
	curl_easy_setopt(a->easy, CURLOPT_URL, url);
	curl_easy_setopt(a->easy, CURLOPT_CAINFO, ca);
	curl_easy_setopt(a->easy, CURLOPT_IPRESOLVE, (long)CURL_IPRESOLVE_V4);
	curl_easy_setopt(a->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(a->easy, CURLOPT_HTTPHEADER, load.headers);
	curl_easy_setopt(a->easy, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(a->easy, CURLOPT_WRITEDATA, a);
	curl_easy_setopt(a->easy, CURLOPT_PRIVATE, a);
	load.idle[load.n_idle++] = a;
}

static void ask(struct asker *a, int64_t due_us)
{
	curl_easy_setopt(a->easy, CURLOPT_POSTFIELDSIZE, (long)strcspn(a->line, "\n"));
	curl_easy_setopt(a->easy, CURLOPT_POSTFIELDS, a->line);
	a->len = 0;
	a->sent_us = due_us;
	load.n_busy++;
	curl_multi_add_handle(load.multi, a->easy);
}

/* 0: no connection to that URL is free; -1: there is no review left. */
static int ask_next(int url, int64_t due_us)
{
	int i = load.n_idle;
	struct asker *a;

	while (i > 0 && load.idle[i - 1]->url != url)
		i--;
	a = i ? load.idle[i - 1] : NULL;
	if (!a)
		return 0;
	if (getline(&a->line, &a->capacity, load.reviews) <= 0)
		return -1;
	load.idle[i - 1] = load.idle[--load.n_idle];
	ask(a, due_us);
	return 1;
}

static void finish(struct asker *a, CURLcode result)
{
	long status = 0, opened = 0;
	int64_t now = now_us();

	curl_easy_getinfo(a->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(a->easy, CURLINFO_NUM_CONNECTS, &opened);
	if (result != CURLE_OK || status != 200 || !strstr(a->answer, "\"patch\":") ||
	    (load.warm && opened)) {
		if (load.failed++ == 0)
			fprintf(stderr, "load: %s, HTTP %ld, %ld connections opened: %.300s\n",
				curl_easy_strerror(result), status, opened, a->answer);
	} else if (load.warm) {
		printf("%d %ld %ld\n", a->url, (long)(a->sent_us - load.begin_us),
		       (long)(now - load.begin_us));
	}
	curl_multi_remove_handle(load.multi, a->easy);
	load.idle[load.n_idle++] = a;
	load.n_busy--;
}

static void turn(int timeout_ms)
{
	CURLMsg *message;
	int running, left;

	curl_multi_perform(load.multi, &running);
	while ((message = curl_multi_info_read(load.multi, &left))) {
		struct asker *a;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &a);
		finish(a, message->data.result);
		timeout_ms = 0;
	}
	curl_multi_poll(load.multi, NULL, 0, timeout_ms, NULL);
}

/* Each asker's connection, all at the same time, so that each opens one. */
static void open_connections(void)
{
	struct asker *first = load.idle[0];
	int n = load.n_idle;

	if (getline(&first->line, &first->capacity, load.reviews) <= 0)
		exit(2);
	load.n_idle = 0;
	for (int i = 0; i < n; i++) {
		struct asker *a = load.idle[i];

		if (a != first)
			a->line = strdup(first->line);
		if (!a->line)
			exit(2);
		a->capacity = strlen(a->line) + 1;
		ask(a, now_us());
	}
	/* finish() fills the places of idle askers from the first on: all have been read. */
	while (load.n_busy)
		turn(1000);
	load.warm = 1;
}

static void send_evenly(long rate, int urls)
{
	int64_t step_us = 1000000 / rate / urls;

	for (int64_t n = 0;; n++) {
		int64_t left_us = load.begin_us + n * step_us - now_us();

		for (; left_us > 0; left_us = load.begin_us + n * step_us - now_us())
			turn((int)((left_us + 999) / 1000));
		int64_t due_us = now_us();
		int r;

		while ((r = ask_next((int)(n % urls), due_us)) == 0)
			turn(1000);
		if (r < 0)
			return;
	}
}

static void send_at_once(int urls)
{
	int r = 0;

	while (r >= 0) {
		for (int url = 0; url < urls && r >= 0; url++)
			while ((r = ask_next(url, now_us())) > 0)
				;
		turn(1000);
	}
}

int main(int argc, char *argv[])
{
	long connections = argc > 5 ? strtol(argv[3], NULL, 10) : 0,
	     rate = argc > 5 ? strtol(argv[4], NULL, 10) : 0;
	int urls = argc - 5;

	if (connections < 1 || rate < 0 || connections * urls > CONNECTIONS_MAX ||
	    curl_global_init(CURL_GLOBAL_ALL))
		return 2;
	load.reviews = fopen(argv[2], "re");
	if (!load.reviews)
		return 2;
	load.multi = curl_multi_init();
	curl_multi_setopt(load.multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_MAX);
	/* No "Expect: 100-continue": Go's client sends none. */
	load.headers = curl_slist_append(curl_slist_append(NULL, "Content-Type: application/json"),
					 "Expect:");
	for (int i = 0; i < connections * urls; i++)
		add_asker(argv[1], argv[5 + i % urls], i % urls);
	open_connections();
	load.begin_us = now_us();
	if (rate)
		send_evenly(rate, urls);
	else
		send_at_once(urls);
	while (load.n_busy)
		turn(1000);
	return load.failed ? 1 : 0;
}
