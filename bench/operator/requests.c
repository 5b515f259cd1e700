/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain parallel client: sends the requests of stdin, "METHOD PATH BODY" a line, over so many
 * connections as fast as the API server takes them, and prints how many failed. What an operator
 * could reach if it did nothing else.
 *	requests URL CA CERTIFICATE KEY CONNECTIONS <lines
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTIONS_MAX 256

struct connection {
	CURL *easy;
	struct curl_slist *json, *merge;
	char url[4096];
	char *line;
	size_t capacity;
};

static const char *const *arguments;
static long sent, failed;

static size_t drop(char *data, size_t size, size_t n, void *arg)
{
	(void)data;
	(void)arg;
	return size * n;
}

static void connection_init(struct connection *c)
{
	c->easy = curl_easy_init();
	c->json = curl_slist_append(NULL, "Content-Type: application/json");
	c->merge = curl_slist_append(NULL, "Content-Type: application/merge-patch+json");
	curl_easy_setopt(c->easy, CURLOPT_CAINFO, arguments[2]);
	curl_easy_setopt(c->easy, CURLOPT_SSLCERT, arguments[3]);
	curl_easy_setopt(c->easy, CURLOPT_SSLKEY, arguments[4]);
	curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, drop);
	curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
}

static void connection_release(struct connection *c)
{
	curl_easy_cleanup(c->easy);
	curl_slist_free_all(c->json);
	curl_slist_free_all(c->merge);
	free(c->line);
}

/* Whether there was a line. */
static int send_next(CURLM *multi, struct connection *c)
{
	ssize_t len = getline(&c->line, &c->capacity, stdin);
	char *method = c->line, *path, *body;

	if (len <= 0)
		return 0;
	c->line[strcspn(c->line, "\n")] = '\0';
	path = strchr(method, ' ');
	body = path ? strchr(path + 1, ' ') : NULL;
	if (!body)
		exit(2);
	*path++ = *body++ = '\0';
	snprintf(c->url, sizeof(c->url), "%s%s", arguments[1], path);
	curl_easy_setopt(c->easy, CURLOPT_URL, c->url);
	curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, strcmp(method, "PATCH") ? c->json : c->merge);
	curl_multi_add_handle(multi, c->easy);
	sent++;
	return 1;
}

static void collect(CURLM *multi)
{
	struct connection *c;
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(multi, &left))) {
		CURL *easy = message->easy_handle;
		long status = 0;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &c);
		failed += message->data.result != CURLE_OK || status / 100 != 2;
		curl_multi_remove_handle(multi, easy);
		send_next(multi, c);
	}
}

int main(int argc, char *argv[])
{
	static struct connection connections[CONNECTIONS_MAX];
	int n = argc == 6 ? (int)strtol(argv[5], NULL, 10) : 0, running = 1;

	if (n < 1 || n > CONNECTIONS_MAX || curl_global_init(CURL_GLOBAL_ALL))
		return 2;
	arguments = (const char *const *)argv;
	CURLM *multi = curl_multi_init();
	for (int i = 0; i < n; i++) {
		connection_init(&connections[i]);
		send_next(multi, &connections[i]);
	}
	while (running) {
		curl_multi_perform(multi, &running);
		collect(multi);
		curl_multi_perform(multi, &running);
		if (running)
			curl_multi_poll(multi, NULL, 0, 1000, NULL);
	}
	for (int i = 0; i < n; i++)
		connection_release(&connections[i]);
	curl_multi_cleanup(multi);
	printf("%ld sent, %ld failed\n", sent, failed);
	return failed ? 1 : 0;
}
