/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A webhook that answers at once: the operator's HTTPS server, and the same answer to every review.
 * What admission costs is the difference to it. Prints its port when it listens, and ends at
 * SIGTERM.
 *	echo CERTIFICATE KEY ANSWER
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/fileio.h"
#include "lib/testing_network.h"
#include "operator/webhook/tls_server.h"

static struct strbuf constant = STRBUF_INIT(TLS_SERVER_ANSWER_MAX);

static int echo_answer(void *arg, const char *path, const char *content_type, const char *body,
		       size_t len, struct strbuf *text)
{
	(void)arg;
	(void)path;
	(void)content_type;
	(void)body;
	(void)len;
	strbuf_add(text, strbuf_str(&constant), constant.len);
	return 200;
}

static void read_file(const char *path, struct strbuf *text)
{
	struct err err = { 0 };

	if (file_read(AT_FDCWD, path, text, &err) < 0) {
		fprintf(stderr, "echo: %s\n", err_text(&err));
		exit(1);
	}
}

int main(int argc, char *argv[])
{
	_cleanup_strbuf_ struct strbuf certificate = STRBUF_INIT(1 << 16),
				       key = STRBUF_INIT(1 << 16);
	struct event_base *base = event_base_new();
	struct tls_server *server;
	struct err err = { 0 };

	if (argc != 4 || !base)
		return 2;
	read_file(argv[1], &certificate);
	read_file(argv[2], &key);
	read_file(argv[3], &constant);
	if (tls_server_new(base, "127.0.0.1:0", echo_answer, NULL, &server, &err) < 0 ||
	    tls_server_set_certificate(server, strbuf_str(&certificate), strbuf_str(&key), &err) <
		    0) {
		fprintf(stderr, "echo: %s\n", err_text(&err));
		return 1;
	}
	printf("%u\n", listening_port());
	fflush(stdout);
	event_base_dispatch(base);
	return 1;
}
