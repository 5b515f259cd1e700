/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the HTTPS server: clients use OpenSSL in threads of their own, and the server's loop
 * runs in the main thread.
 */
#include "operator/webhook/tls_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/log.h"
#include "lib/testing_network.h"
#include "lib/units.h"
#include "operator/webhook/tls_connections.h"
#include "operator/webhook/x509.h"

#define HOST "hook.ops.svc"
#define LONG_ANSWER ((size_t)6 << 20)

static struct pem_pair ca, leaves[2];
static struct event_base *base;
static struct tls_server *server;

static int make_certificates(void **state)
{
	struct x509_names names;
	int64_t now_ns = now_realtime_ns();
	(void)state;

	log_set_level(LOG_LEVEL_ERROR);
	assert_int_equal(x509_service_names("hook", "ops", NULL, &names, NULL), 0);
	assert_int_equal(x509_make_ca(now_ns, &ca, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(x509_make_leaf(&ca, &names, now_ns, &leaves[i], NULL), 0);
	return 0;
}

static int drop_certificates(void **state)
{
	(void)state;
	pem_pair_release(&ca);
	pem_pair_release(&leaves[0]);
	pem_pair_release(&leaves[1]);
	return 0;
}

/* Answers with what it was asked. */
static int echo(void *arg, const char *path, const char *content_type, const char *body, size_t len,
		struct strbuf *answer)
{
	(void)arg;
	if (strcmp(path, "/teapot") == 0) {
		strbuf_adds(answer, "{}");
		return 418;
	}
	if (strcmp(path, "/stall") == 0)
		usleep(500000);
	if (strcmp(path, "/long") == 0)
		for (size_t i = 0; i < LONG_ANSWER; i += 4096)
			strbuf_addf(answer, "%4096s", "x");
	if (strcmp(path, "/huge") == 0)
		for (size_t i = 0; i <= TLS_SERVER_ANSWER_MAX; i += 4096)
			strbuf_addf(answer, "%4096s", "x");
	strbuf_addf(answer, "{\"path\":\"%s\",\"type\":\"%s\",\"len\":%zu,\"first\":\"%c\"}", path,
		    content_type, len, len ? *body : '-');
	return 200;
}

static void start_without_certificate(void)
{
	struct err err = { 0 };

	base = event_base_new();
	if (tls_server_new(base, "127.0.0.1:0", echo, NULL, &server, &err) < 0)
		fail_msg("%s", err_text(&err));
}

static void start(void)
{
	start_without_certificate();
	assert_int_equal(tls_server_set_certificate(server, leaves[0].cert, leaves[0].key, NULL),
			 0);
}

static void turn(int ms)
{
	event_base_loopexit(base, &(struct timeval){ ms / 1000, ms % 1000 * 1000 });
	event_base_dispatch(base);
}

static void finish(void)
{
	tls_server_free(server);
	turn(1);
	event_base_free(base);
}

/*
 * --- Clients, to be used outside of the loop's thread
 * -------------------------------------------------------
 */

struct tls_client {
	int fd;
	SSL_CTX *context;
	SSL *ssl;
};

/* Connects from an address of the machine itself, such as 127.0.0.2. */
static int connect_from(in_addr_t address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(listening_port()),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = { htonl(address) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = 30 };

	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0) {
		close(fd);
		return -errno;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -errno;
}

static int connect_tcp(void)
{
	return connect_from(INADDR_LOOPBACK);
}

static void client_close(struct tls_client *c)
{
	SSL_free(c->ssl);
	SSL_CTX_free(c->context);
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct tls_client){ .fd = -1 };
}

/* Verifies as the API server does, on a connection that is open. */
static bool client_open_on(int fd, struct tls_client *c, int min_version, int max_version)
{
	_cleanup_x509_ X509 *root = x509_first(ca.cert);

	*c = (struct tls_client){ .fd = fd, .context = SSL_CTX_new(TLS_client_method()) };
	SSL_CTX_set_security_level(c->context, 0);
	SSL_CTX_set_min_proto_version(c->context, min_version);
	SSL_CTX_set_max_proto_version(c->context, max_version);
	X509_STORE_add_cert(SSL_CTX_get_cert_store(c->context), root);
	SSL_CTX_set_verify(c->context, SSL_VERIFY_PEER, NULL);
	c->ssl = SSL_new(c->context);
	SSL_set1_host(c->ssl, HOST);
	if (c->fd >= 0 && SSL_set_fd(c->ssl, c->fd) == 1 && SSL_connect(c->ssl) == 1)
		return true;
	client_close(c);
	return false;
}

static bool client_open(struct tls_client *c, int min_version, int max_version)
{
	return client_open_on(connect_tcp(), c, min_version, max_version);
}

static bool send_all(struct tls_client *c, const void *data, size_t len)
{
	for (size_t at = 0, n; at < len; at += n)
		if (SSL_write_ex(c->ssl, (const char *)data + at, MIN(len - at, 16384), &n) != 1)
			return false;
	return true;
}

/* Receives a whole answer: its head, and as many bytes as the head says. */
static bool receive(struct tls_client *c, struct strbuf *answer)
{
	char buf[16384];
	size_t n;

	for (;;) {
		const char *text = strbuf_str(answer), *end = strstr(text, "\r\n\r\n"),
			   *length = strstr(text, "Content-Length: ");

		if (end && length &&
		    answer->len >= (size_t)(end - text) + 4 + strtoul(length + 16, NULL, 10))
			return true;
		if (SSL_read_ex(c->ssl, buf, sizeof(buf), &n) != 1)
			return false;
		strbuf_add(answer, buf, n);
	}
}

/* Returns the status, or 0 if there was no answer. */
static int post(struct tls_client *c, const char *method, const char *path, size_t len,
		struct strbuf *answer)
{
	_cleanup_strbuf_ struct strbuf request = STRBUF_INIT(64 << 20);
	_cleanup_free_ char *body = calloc(1, len + 1);

	memset(body, '{', len);
	strbuf_reset(answer);
	strbuf_addf(&request,
		    "%s %s HTTP/1.1\r\nHost: " HOST
		    "\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		    method, path, len);
	strbuf_add(&request, body, len);
	if (!send_all(c, request.data, request.len) && answer->len == 0 &&
	    len < TLS_SERVER_BODY_MAX)
		return 0;
	return receive(c, answer) && answer->len > 12 ?
		       (int)strtol(strbuf_str(answer) + 9, NULL, 10) :
		       0;
}

/*
 * --- Threads
 * ----------------------------------------------------------------------------------------------
 */

struct work {
	void (*run)(struct work *w);
	pthread_t thread;
	atomic_bool done, stop;
	unsigned n, failed; /* counted by run */
	char problem[256];
};

static void *run_work(void *arg)
{
	struct work *w = arg;

	w->run(w);
	atomic_store(&w->done, true);
	return NULL;
}

static void begin(struct work *w, void (*run)(struct work *w))
{
	w->run = run;
	assert_int_equal(pthread_create(&w->thread, NULL, run_work, w), 0);
}

static void await(struct work *w)
{
	for (int i = 0; i < 6000 && !atomic_load(&w->done); i++)
		turn(10);
	assert_true(atomic_load(&w->done));
	pthread_join(w->thread, NULL);
	if (w->problem[0])
		fail_msg("%s", w->problem);
}

static void do_work(void (*run)(struct work *w))
{
	struct work w = { 0 };

	begin(&w, run);
	await(&w);
}

#define EXPECT(w, condition) \
	do { \
		if (!(condition) && !(w)->problem[0]) \
			snprintf((w)->problem, sizeof((w)->problem), "line %d: %s", __LINE__, #condition); \
	} while (0)

/*
 * --- Answers
 * ----------------------------------------------------------------------------------------------
 */

static void ask_several(struct work *w)
{
	static const struct {
		const char *method, *path;
		size_t len;
		int status;
		const char *expected;
	} rows[] = {
		{ "POST", "/mutate/pods?timeout=3s", 5, 200,
		  "{\"path\":\"/mutate/pods\",\"type\":\"application/json\",\"len\":5,\"first\":\"{\"}" },
		{ "POST", "/", 0, 200, "\"len\":0" },
		{ "POST", "/teapot", 1, 418, "{}" },
		{ "POST", "/huge", 1, 500, "Content-Length: 0" },
		{ "GET", "/", 0, 405, "Allow: POST" },
		{ "PUT", "/mutate/pods", 3, 405, "Allow: POST" },
		{ "POST", "/big", TLS_SERVER_BODY_MAX, 200, "\"len\":7340032" },
	};
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(16 << 20);
	struct tls_client c;

	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	for (size_t i = 0; i < ARRAY_SIZE(rows) && !w->problem[0]; i++)
		if (post(&c, rows[i].method, rows[i].path, rows[i].len, &answer) !=
			    rows[i].status ||
		    !strstr(strbuf_str(&answer), rows[i].expected))
			snprintf(w->problem, sizeof(w->problem), "row %zu: %.200s", i,
				 strbuf_str(&answer));
	client_close(&c);
}

static void one_connection_gets_an_answer_to_each_request(void **state)
{
	(void)state;
	start();
	do_work(ask_several);
	finish();
}

static void ask_too_much(struct work *w)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(1 << 20);
	struct tls_client c;

	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, post(&c, "POST", "/", TLS_SERVER_BODY_MAX + 1, &answer) == 413);
	client_close(&c);
	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	/* The connection is closed before its end. */
	EXPECT(w, post(&c, "POST", "/", 20 << 20, &answer) == 0);
	client_close(&c);
	strbuf_addf(&answer, "POST /%*s HTTP/1.1\r\n", TLS_SERVER_HEADERS_MAX + 1, "x");
	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	send_all(&c, answer.data, answer.len);
	strbuf_reset(&answer);
	receive(&c, &answer);
	EXPECT(w, !strstr(strbuf_str(&answer), " 200 "));
	client_close(&c);
	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, post(&c, "POST", "/", 1, &answer) == 200);
	client_close(&c);
}

static void a_request_that_is_too_long_is_refused_and_the_next_one_is_not(void **state)
{
	(void)state;
	start();
	do_work(ask_too_much);
	finish();
}

static void shake_hands(struct work *w)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(65536);
	char buf[16];
	struct tls_client c;

	EXPECT(w, !client_open(&c, TLS1_VERSION, TLS1_1_VERSION));
	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_2_VERSION));
	EXPECT(w, post(&c, "POST", "/", 1, &answer) == 200);
	client_close(&c);
	EXPECT(w, client_open(&c, TLS1_3_VERSION, TLS1_3_VERSION));
	EXPECT(w, post(&c, "POST", "/", 1, &answer) == 200);
	client_close(&c);
	/* HTTP without TLS is not answered. */
	int fd = connect_tcp();
	EXPECT(w, send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL) == 18);
	EXPECT(w, recv(fd, buf, 4, 0) <= 0 || buf[0] == 21); /* an alert of TLS */
	close(fd);
}

static void tls_1_2_and_later_are_spoken_and_nothing_else(void **state)
{
	(void)state;
	start();
	do_work(shake_hands);
	finish();
}

/*
 * --- Certificates
 * -----------------------------------------------------------------------------------------
 */

static void before_the_first_certificate_connections_are_refused(void **state)
{
	struct err err = { 0 };
	(void)state;

	start_without_certificate();
	assert_false(tls_server_is_open(server));
	assert_int_equal(connect_tcp(), -ECONNREFUSED);
	assert_true(tls_server_set_certificate(server, leaves[0].cert, leaves[1].key, &err) < 0);
	assert_non_null(strstr(err_text(&err), "the private key is not the certificate's"));
	assert_true(tls_server_set_certificate(server, "garbage", leaves[1].key, &err) < 0);
	assert_true(tls_server_set_certificate(server, leaves[0].cert, "garbage", &err) < 0);
	assert_int_equal(connect_tcp(), -ECONNREFUSED);
	assert_int_equal(tls_server_set_certificate(server, leaves[0].cert, leaves[0].key, &err),
			 0);
	assert_true(tls_server_is_open(server));
	do_work(ask_several);
	finish();
}

/* Makes new connections all the time, while one stays open. */
static void ask_without_end(struct work *w)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(65536);
	struct tls_client stays, c;

	EXPECT(w, client_open(&stays, TLS1_2_VERSION, TLS1_3_VERSION));
	while (!atomic_load(&w->stop) && !w->problem[0]) {
		EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
		EXPECT(w, post(&c, "POST", "/", 3000, &answer) == 200);
		client_close(&c);
		EXPECT(w, post(&stays, "POST", "/", 10, &answer) == 200);
		w->n++;
	}
	client_close(&stays);
}

static void shows_second_leaf(struct work *w)
{
	_cleanup_x509_ X509 *shown = NULL, *expected = x509_first(leaves[1].cert);
	struct tls_client c;

	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	shown = SSL_get1_peer_certificate(c.ssl);
	EXPECT(w, shown && X509_cmp(shown, expected) == 0);
	client_close(&c);
}

static void no_handshake_fails_while_certificates_are_exchanged(void **state)
{
	struct work w[3] = { 0 };
	(void)state;

	start();
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		begin(&w[i], ask_without_end);
	for (int i = 0; i < 100; i++) {
		turn(15);
		assert_int_equal(tls_server_set_certificate(server, leaves[i % 2].cert,
							    leaves[i % 2].key, NULL),
				 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		atomic_store(&w[i].stop, true);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		await(&w[i]);
		assert_true(w[i].n > 3);
	}
	do_work(shows_second_leaf);
	finish();
}

/*
 * --- Hostile clients
 * --------------------------------------------------------------------------------------
 */

static bool is_closed(int fd)
{
	char buf[4096];

	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		if (n <= 0)
			return n == 0 || errno == ECONNRESET;
	}
}

/*
 * Each stops at another point: before the handshake, in the middle of it, before a request and in
 * one.
 */
static void be_slow(struct work *w)
{
	struct tls_client idle, started;
	int half_open = connect_tcp(), half_way = connect_tcp();

	EXPECT(w, send(half_way, "\x16\x03\x01\x02", 4, MSG_NOSIGNAL) == 4);
	EXPECT(w, client_open(&idle, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, client_open(&started, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, send_all(&started, "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n", 39));
	/* Single bytes from time to time are no progress. */
	for (int i = 0; i < 20; i++) {
		usleep(100000);
		send_all(&started, "x", 1);
	}
	EXPECT(w, is_closed(half_open));
	EXPECT(w, is_closed(half_way));
	EXPECT(w, is_closed(started.fd));
	EXPECT(w, is_closed(idle.fd));
	close(half_open);
	close(half_way);
	client_close(&idle);
	client_close(&started);
}

static void slow_clients_are_cut_off(void **state)
{
	(void)state;
	start();
	tls_server_set_times(server, 1500, 4000);
	do_work(be_slow);
	turn(50);
	assert_int_equal(tls_server_connections(server), 0);
	finish();
}

static void be_many(struct work *w)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(65536);
	int fds[TLS_SERVER_CONNECTIONS_MAX + 50];
	struct tls_client c;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_tcp();
	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, post(&c, "POST", "/", 1, &answer) == 200);
	for (size_t i = 0; i < 50; i++)
		EXPECT(w, is_closed(fds[i]));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	client_close(&c);
}

static void of_too_many_connections_the_oldest_go_and_a_new_one_is_served(void **state)
{
	(void)state;
	start();
	do_work(be_many);
	finish();
}

#define NEIGHBOUR (INADDR_LOOPBACK + 1)

/* The API server's request is half sent when a neighbour opens too many connections. */
static void be_many_beside_one_request(struct work *w)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(65536);
	int fds[TLS_SERVER_CONNECTIONS_MAX + 50];
	struct tls_client c;

	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, send_all(&c, "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nx", 39));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_from(NEIGHBOUR);
	for (size_t i = 0; i < 50; i++)
		EXPECT(w, is_closed(fds[i]));
	EXPECT(w, send_all(&c, "y", 1) && receive(&c, &answer));
	EXPECT(w, strstr(strbuf_str(&answer), "\"len\":2"));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	client_close(&c);
}

static void an_address_with_too_many_connections_ends_its_own(void **state)
{
	(void)state;
	start();
	tls_server_set_times(server, 60000, 60000);
	do_work(be_many_beside_one_request);
	finish();
}

/* A neighbour holds nearly all that there may be, in requests smaller than the API server's. */
static void hold_much_beside_one_request(struct work *w)
{
	enum { CLIENTS = 23, EACH = 1 << 20, USUAL = 3 << 20 };
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(65536);
	_cleanup_free_ char *body = calloc(1, EACH);
	struct tls_client clients[CLIENTS], c;

	for (int i = 0; i < CLIENTS; i++) {
		EXPECT(w, client_open_on(connect_from(NEIGHBOUR), &clients[i], TLS1_2_VERSION,
					 TLS1_3_VERSION));
		EXPECT(w, send_all(&clients[i],
				   "POST / HTTP/1.1\r\nContent-Length: 7000000\r\n\r\n", 44));
		EXPECT(w, send_all(&clients[i], body, EACH));
	}
	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, post(&c, "POST", "/", USUAL, &answer) == 200);
	client_close(&c);
	for (int i = 0; i < CLIENTS; i++)
		client_close(&clients[i]);
}

static void an_address_that_holds_most_makes_room_for_the_large_request_of_another(void **state)
{
	(void)state;
	start();
	tls_server_set_times(server, 60000, 60000);
	do_work(hold_much_beside_one_request);
	finish();
}

/* Asks for more than is held at once and reads no answer. */
static void ask_much_and_never_read(struct work *w)
{
	enum { CLIENTS = 40 };
	static const char request[] = "POST /long HTTP/1.1\r\nContent-Length: 1\r\n\r\nx";
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(65536);
	struct tls_client clients[CLIENTS], c;
	unsigned cut = 0;
	char buf[65536];

	for (int i = 0; i < CLIENTS; i++) {
		EXPECT(w, client_open(&clients[i], TLS1_2_VERSION, TLS1_3_VERSION));
		EXPECT(w, send_all(&clients[i], request, sizeof(request) - 1));
	}
	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, post(&c, "POST", "/", 1000, &answer) == 200);
	client_close(&c);
	for (int i = 0; i < CLIENTS; i++) {
		ssize_t n;

		while ((n = recv(clients[i].fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
			;
		cut += n == 0 || errno == ECONNRESET;
		client_close(&clients[i]);
	}
	EXPECT(w, cut >= CLIENTS / 2 && cut < CLIENTS);
}

static void answers_that_nobody_reads_share_a_bound(void **state)
{
	(void)state;
	start();
	do_work(ask_much_and_never_read);
	finish();
}

/* Sends more unfinished data than is allowed at once, in requests that are each allowed. */
static void send_much_and_never_end(struct work *w)
{
	enum { CLIENTS = 14, EACH = 6 << 20 };
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(65536);
	_cleanup_free_ char *body = calloc(1, EACH);
	struct tls_client clients[CLIENTS], c;
	unsigned cut = 0;

	for (int i = 0; i < CLIENTS; i++) {
		EXPECT(w, client_open(&clients[i], TLS1_2_VERSION, TLS1_3_VERSION));
		EXPECT(w, send_all(&clients[i],
				   "POST / HTTP/1.1\r\nContent-Length: 7000000\r\n\r\n", 44));
		send_all(&clients[i], body, EACH);
	}
	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, post(&c, "POST", "/", 1000, &answer) == 200);
	client_close(&c);
	for (int i = 0; i < CLIENTS; i++) {
		errno = 0;
		cut += recv(clients[i].fd, body, 1, MSG_PEEK | MSG_DONTWAIT) == 0 ||
		       errno == ECONNRESET;
		client_close(&clients[i]);
	}
	EXPECT(w, cut >= 3 && cut < CLIENTS);
}

static void unfinished_requests_share_a_bound_and_the_biggest_go(void **state)
{
	(void)state;
	start();
	do_work(send_much_and_never_end);
	finish();
}

/*
 * Each connection is closed because of its own length, in one turn of the loop, so that none is
 * left to be closed because of the bound of all. The loop is kept busy until the last bytes of all
 * have come. A quiet connection is the oldest.
 */
static void pass_both_bounds_at_once(struct work *w)
{
	enum { CLIENTS = 3, EACH = 8 << 20, SHORT = 3000, LAST = 3900 };
	static const char head[] = "POST / HTTP/1.1\r\nContent-Length: 40000000\r\n\r\n",
			  stall[] = "POST /stall HTTP/1.1\r\n"
				    "Content-Length: 1\r\n\r\nx";
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(65536);
	_cleanup_free_ char *body = calloc(1, EACH);
	struct tls_client quiet, busy, clients[CLIENTS];

	EXPECT(w, client_open(&quiet, TLS1_2_VERSION, TLS1_3_VERSION) &&
			  client_open(&busy, TLS1_2_VERSION, TLS1_3_VERSION));
	for (int i = 0; i < CLIENTS; i++) {
		EXPECT(w, client_open(&clients[i], TLS1_2_VERSION, TLS1_3_VERSION));
		EXPECT(w, send_all(&clients[i], head, sizeof(head) - 1));
		EXPECT(w, send_all(&clients[i], body, EACH - SHORT - (sizeof(head) - 1)));
	}
	usleep(500000);
	EXPECT(w, send_all(&busy, stall, sizeof(stall) - 1));
	usleep(100000);
	for (int i = 0; i < CLIENTS; i++)
		EXPECT(w, send_all(&clients[i], body, LAST));
	EXPECT(w, receive(&busy, &answer));
	EXPECT(w, post(&quiet, "POST", "/", 1000, &answer) == 200);
	for (int i = 0; i < CLIENTS; i++)
		client_close(&clients[i]);
	client_close(&quiet);
	client_close(&busy);
}

static void requests_that_pass_both_bounds_at_once_do_not_keep_it_busy_for_ever(void **state)
{
	(void)state;
	start();
	tls_server_set_times(server, 60000, 60000);
	alarm(300);
	do_work(pass_both_bounds_at_once);
	alarm(0);
	finish();
}

/* Makes a connection that was ended because of its long answer. */
static struct tls_connection *ended_connection(struct tls_connections *all, SSL_CTX *context,
					       struct bufferevent **ret_bev, int *ret_peer)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	*ret_bev = tls_connections_add(all, context);
	assert_int_equal(bufferevent_setfd(*ret_bev, fds[0]), 0);
	*ret_peer = fds[1];
	tls_connection_answering(tls_connection_of(*ret_bev), TLS_SERVER_HELD_MAX + 1);
	assert_int_equal(all->held, 0);
	return tls_connection_of(*ret_bev);
}

static void answers_for_connections_that_are_closed_do_not_keep_it_busy_for_ever(void **state)
{
	struct tls_connections all = { .base = event_base_new(),
				       .step_ms = 60000,
				       .idle_ms = 60000 };
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	struct bufferevent *bevs[2];
	int peers[2];

	(void)state;
	ended_connection(&all, context, &bevs[0], &peers[0]);
	struct tls_connection *last = ended_connection(&all, context, &bevs[1], &peers[1]);
	alarm(60);
	tls_connection_answering(last, TLS_SERVER_HELD_MAX + 1);
	alarm(0);
	assert_int_equal(all.held, 0);
	for (int i = 0; i < 2; i++) {
		bufferevent_free(bevs[i]);
		close(peers[i]);
	}
	event_base_loop(all.base, EVLOOP_NONBLOCK);
	assert_int_equal(all.n, 0);
	SSL_CTX_free(context);
	event_base_free(all.base);
}

static void vanish(struct work *w)
{
	struct linger reset = { .l_onoff = 1 };
	struct tls_client c;

	for (int i = 0; i < 20; i++) {
		EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
		setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		send_all(
			&c,
			"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nxPOST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
			78);
		if (i % 2)
			shutdown(c.fd, SHUT_WR);
		client_close(&c);
	}
}

static void clients_that_vanish_do_not_end_the_program(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_DFL);
	start();
	do_work(vanish);
	do_work(ask_several);
	turn(50);
	assert_int_equal(tls_server_connections(server), 0);
	finish();
}

/*
 * --- Descriptors, stopping, addresses
 * -----------------------------------------------------------------------
 */

static unsigned n_warnings;

static void on_libevent_word(int severity, const char *text)
{
	(void)severity;
	(void)text;
	n_warnings++;
}

static void without_a_descriptor_it_waits_and_does_not_spin(void **state)
{
	struct rlimit usual, none = { 3, 0 };
	(void)state;

	start();
	event_set_log_callback(on_libevent_word);
	int fd = connect_tcp();
	assert_true(fd >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none.rlim_max = usual.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	turn(300);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	assert_in_range(n_warnings, 0, 1);
	event_set_log_callback(NULL);
	do_work(ask_several); /* as soon as that is possible again */
	close(fd);
	finish();
}

static atomic_bool stopped;

/* The server's end of a connection of a client, which is in this process, too. */
static int find_other_end(int client_fd)
{
	struct sockaddr_in client = { 0 }, peer;
	socklen_t size = sizeof(client);

	getsockname(client_fd, (struct sockaddr *)&client, &size);
	for (int fd = 0; fd < 1024; fd++) {
		size = sizeof(peer);
		if (fd != client_fd && getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
		    peer.sin_family == AF_INET && peer.sin_port == client.sin_port)
			return fd;
	}
	return -1;
}

/*
 * Waits until everything that the client has sent has arrived, and the server has read it. At most
 * two minutes.
 */
static bool wait_until_read(int client_fd)
{
	int fd = find_other_end(client_fd), on_its_way = 1, unread = 1;

	for (int i = 0; fd >= 0 && i < 120000; i++) {
		if (ioctl(client_fd, SIOCOUTQ, &on_its_way) < 0)
			return false;
		if (on_its_way == 0 && ioctl(fd, FIONREAD, &unread) == 0 && unread == 0)
			return true;
		usleep(1000);
	}
	return false;
}

static void ask_while_it_stops(struct work *w)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(65536);
	struct tls_client c, idle;

	EXPECT(w, client_open(&idle, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, post(&idle, "POST", "/", 1, &answer) == 200);
	EXPECT(w, client_open(&c, TLS1_2_VERSION, TLS1_3_VERSION));
	EXPECT(w, send_all(&c, "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab", 40));
	EXPECT(w, wait_until_read(c.fd));
	atomic_store(&w->stop, true);
	while (!atomic_load(&stopped))
		usleep(1000);
	EXPECT(w, connect_tcp() == -ECONNREFUSED);
	EXPECT(w, is_closed(idle.fd));
	EXPECT(w, send_all(&c, "cd", 2));
	strbuf_reset(&answer);
	EXPECT(w, receive(&c, &answer));
	EXPECT(w, strstr(strbuf_str(&answer), " 200 ") &&
			  strstr(strbuf_str(&answer), "Connection: close"));
	EXPECT(w, is_closed(c.fd));
	client_close(&c);
	client_close(&idle);
}

static void count(void *arg)
{
	++*(int *)arg;
}

static void a_request_under_way_is_answered_while_it_stops(void **state)
{
	struct work w = { 0 };
	int idle = 0;
	(void)state;

	start();
	begin(&w, ask_while_it_stops);
	while (!atomic_load(&w.stop))
		turn(10);
	turn(10); /* and the server has parsed what it has read */
	tls_server_stop(server, count, &idle);
	turn(20);
	assert_int_equal(idle, 0);
	atomic_store(&stopped, true);
	await(&w);
	for (int i = 0; i < 100 && idle == 0; i++)
		turn(50);
	turn(20);
	assert_int_equal(idle, 1);
	finish();
	/* Without connections the server is idle at once. */
	start();
	tls_server_stop(server, count, &idle);
	turn(10);
	assert_int_equal(idle, 2);
	finish();
}

static bool answers_at(int family, const char *address)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(listening_port()) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = v4.sin_port };
	_cleanup_close_ int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (family == AF_INET)
		inet_pton(family, address, &v4.sin_addr);
	else
		inet_pton(family, address, &v6.sin6_addr);
	return connect(fd, family == AF_INET ? (void *)&v4 : (void *)&v6,
		       family == AF_INET ? sizeof(v4) : sizeof(v6)) == 0;
}

static bool has_ipv6(void)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
}

static void a_wildcard_address_is_ipv4_and_ipv6(void **state)
{
	static const char *const addresses[] = { ":0", "[::]:0" };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		base = event_base_new();
		assert_int_equal(tls_server_new(base, addresses[i], echo, NULL, &server, NULL), 0);
		assert_int_equal(
			tls_server_set_certificate(server, leaves[0].cert, leaves[0].key, NULL), 0);
		assert_true(answers_at(AF_INET, "127.0.0.1"));
		if (has_ipv6())
			assert_true(answers_at(AF_INET6, "::1"));
		finish();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_the_first_certificate_connections_are_refused),
		cmocka_unit_test(one_connection_gets_an_answer_to_each_request),
		cmocka_unit_test(a_request_that_is_too_long_is_refused_and_the_next_one_is_not),
		cmocka_unit_test(tls_1_2_and_later_are_spoken_and_nothing_else),
		cmocka_unit_test(no_handshake_fails_while_certificates_are_exchanged),
		cmocka_unit_test(slow_clients_are_cut_off),
		cmocka_unit_test(of_too_many_connections_the_oldest_go_and_a_new_one_is_served),
		cmocka_unit_test(an_address_with_too_many_connections_ends_its_own),
		cmocka_unit_test(
			an_address_that_holds_most_makes_room_for_the_large_request_of_another),
		cmocka_unit_test(unfinished_requests_share_a_bound_and_the_biggest_go),
		cmocka_unit_test(answers_that_nobody_reads_share_a_bound),
		cmocka_unit_test(
			answers_for_connections_that_are_closed_do_not_keep_it_busy_for_ever),
		cmocka_unit_test(
			requests_that_pass_both_bounds_at_once_do_not_keep_it_busy_for_ever),
		cmocka_unit_test(clients_that_vanish_do_not_end_the_program),
		cmocka_unit_test(without_a_descriptor_it_waits_and_does_not_spin),
		cmocka_unit_test(a_request_under_way_is_answered_while_it_stops),
		cmocka_unit_test(a_wildcard_address_is_ipv4_and_ipv6),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, make_certificates, drop_certificates);
}
