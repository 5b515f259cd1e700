/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of an upload in parts when nobody can wait for its requests any more. */
#include "sidecar/ship/s3.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PART_BYTES 16
#define PATIENCE_S 60

static unsigned int n_started, n_waits;

/* Stands for the server. It knows no upload, and gives a new one an id. */
int __wrap_object_call(struct object_store *o, const struct object_request *request,
		   struct http_transfer **ret_transfer, struct fault *fault);
int __wrap_object_call(struct object_store *o, const struct object_request *request,
		   struct http_transfer **ret_transfer, struct fault *fault)
{
	static const char created[] =
		"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>";
	struct http_transfer *t = calloc(1, sizeof(*t));
	bool creates = strcmp(request->http.method, "POST") == 0;
	(void)fault;

	assert_non_null(t);
	t->http = o->http;
	t->answer.status = creates ? 200 : 404;
	t->answer.body = STRBUF_INIT(1024);
	strbuf_adds(&t->answer.body, creates ? created : "");
	*ret_transfer = t;
	return 0;
}

int __wrap_object_start(struct object_store *o, const struct object_request *request,
			struct object_call *call, struct fault *fault);
int __wrap_object_start(struct object_store *o, const struct object_request *request,
			struct object_call *call, struct fault *fault)
{
	(void)o;
	(void)request;
	(void)fault;
	*call = (struct object_call){ .url = STRBUF_INIT(64) };
	strbuf_adds(&call->url, "http://s3/");
	n_started++;
	return 0;
}

int __wrap_http_wait(struct http *http, struct http_transfer **ret_transfer, struct fault *fault);
int __wrap_http_wait(struct http *http, struct http_transfer **ret_transfer, struct fault *fault)
{
	(void)http;
	(void)ret_transfer;
	n_waits++;
	return fault_set(fault, FAULT_MEMORY, "HTTP client: out of memory");
}

static void an_upload_without_memory_ends(void **state)
{
	const struct ship_options options = { .s3_part = PART_BYTES };
	const struct http_settings settings = { .stall_s = 10 };
	char directory[] = "/tmp/s3_multipart_test.XXXXXX", command[64];
	struct item item = {
		.name = "core", .path = "core", .size = 8 * PART_BYTES, .sha256 = "22"
	};
	struct progress progress;
	struct state notes;
	struct store_context context = { .options = &options,
					 .state = &notes,
					 .progress = &progress };
	struct s3 s3 = { .objects.store.context = &context };
	struct fault fault = { 0 };
	int dir_fd;
	(void)state;

	assert_non_null(mkdtemp(directory));
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	item.fd = openat(dir_fd, "core", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(item.fd, item.size), 0);
	assert_int_equal(state_open(dir_fd, "s3://b/x", &notes, NULL), 0);
	assert_int_equal(http_new(&settings, &s3.objects.http, &fault), 0);
	progress_init(&progress);
	alarm(PATIENCE_S);
	assert_int_equal(s3_put_parts(&s3.objects, &item, "key", &fault), -1);
	alarm(0);
	assert_int_equal(fault.kind, FAULT_MEMORY);
	assert_int_equal(n_started, HTTP_PARALLEL);
	assert_int_equal(n_waits, 1);
	http_free(s3.objects.http);
	state_release(&notes);
	close(item.fd);
	close(dir_fd);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_upload_without_memory_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
