/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the upgrade of CRDs on a scripted API server. */
#include "operator/crds/crd_upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/fileio.h"
#include "operator/kube/testing.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define PLACE "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
#define MARKS(version, digest) \
	"\"labels\":{\"helm.sh/chart\":\"afterglow-" version \
	"\",\"app.kubernetes.io/version\":\"" version "\"}," \
	"\"annotations\":{\"afterglow.dev/spec-sha256\":\"" digest "\"}"
#define CRD(name, marks) \
	"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{" \
	"\"name\":\"" name "\",\"resourceVersion\":\"7\"," marks \
	"},\"spec\":{\"names\":{\"plural\":\"p\"},\"versions\":[{\"name\":\"v1\"}]}}"

static char directory[32];

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/crds-test.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static void put(const char *name, const char *text)
{
	int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(file_put(dir, name, text, strlen(text), 0600, NULL), 0);
	close(dir);
}

/* Runs the upgrade with the files and the script. ret_bodies are the bodies of the requests. */
static int upgrade(const struct exchange *script, size_t n, struct err *err,
		   struct strbuf *ret_bodies)
{
	struct fake_server server;

	fake_server_start(&server, script, n);
	struct client *client = fake_client(&server, NULL);
	int r = crd_upgrade(server.base, client, directory, err);
	assert_int_equal(server.at, n);
	if (ret_bodies)
		strbuf_adds(ret_bodies, strbuf_str(&server.bodies));
	client_free(client);
	fake_server_stop(&server);
	return r;
}

static void what_is_older_is_patched_and_what_is_equal_newer_or_foreign_is_left(void **state)
{
	static const struct exchange script[] = {
		{ "GET", PLACE "a.x", 200, CRD("a.x", MARKS("0.1.0", "old")) },
		{ "PATCH", PLACE "a.x?fieldManager=afterglow", 200, "{}" },
		{ "GET", PLACE "b.x", 200, CRD("b.x", MARKS("0.1.0", "new")) },
		{ "GET", PLACE "c.x", 200, CRD("c.x", MARKS("0.3.0", "newer")) },
		{ "GET", PLACE "d.x", 200, CRD("d.x", "\"labels\":{}") },
	};
	_cleanup_strbuf_ struct strbuf bodies = STRBUF_INIT(65536);
	struct err err = { 0 };
	(void)state;

	put("a.x.json", CRD("a.x", MARKS("0.2.0", "new")));
	put("b.x.json", CRD("b.x", MARKS("0.2.0", "new")));
	put("c.x.json", CRD("c.x", MARKS("0.2.0", "new")));
	put("d.x.json", CRD("d.x", MARKS("0.2.0", "new")));
	put("..data", "a mounted ConfigMap has such entries");
	assert_int_equal(upgrade(script, ARRAY_SIZE(script), &err, &bodies), 0);
	assert_non_null(strstr(strbuf_str(&bodies), "\"resourceVersion\":\"7\""));
	assert_non_null(strstr(strbuf_str(&bodies), "\"app.kubernetes.io/version\":\"0.2.0\""));
	assert_non_null(strstr(strbuf_str(&bodies), "\"versions\":[{\"name\":\"v1\"}]"));
}

#define OWNERS \
	"\"managedFields\":[{\"manager\":\"helm\"},{\"manager\":\"afterglow\"}],"

static void fields_of_a_crd_do_not_stay_ours(void **state)
{
	static const struct exchange script[] = {
		{ "GET", PLACE "a.x", 200, CRD("a.x", MARKS("0.1.0", "old")) },
		{ "PATCH", PLACE "a.x", 200, CRD("a.x", OWNERS MARKS("0.2.0", "new")) },
		{ "PATCH", PLACE "a.x", 200, CRD("a.x", MARKS("0.2.0", "new")) },
		/* A Job before this one was killed between both patches. */
		{ "GET", PLACE "b.x", 200, CRD("b.x", OWNERS MARKS("0.2.0", "new")) },
		{ "PATCH", PLACE "b.x", 200, CRD("b.x", MARKS("0.2.0", "new")) },
	};
	_cleanup_strbuf_ struct strbuf bodies = STRBUF_INIT(65536);
	struct err err = { 0 };
	(void)state;

	put("a.x.json", CRD("a.x", MARKS("0.2.0", "new")));
	put("b.x.json", CRD("b.x", MARKS("0.2.0", "new")));
	assert_int_equal(upgrade(script, ARRAY_SIZE(script), &err, &bodies), 0);
	assert_non_null(strstr(strbuf_str(&bodies), "\"managedFields\":[{\"manager\":\"helm\"}]"));
}

static void a_refusal_ends_it_and_names_the_crd_and_the_reason(void **state)
{
	static const struct exchange script[] = {
		{ "GET", PLACE "a.x", 200, CRD("a.x", MARKS("0.1.0", "old")) },
		{ "PATCH", PLACE "a.x", 409,
		  "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"message\":\"the object has been modified\"}" },
	};
	struct err err = { 0 };
	(void)state;

	put("a.x.json", CRD("a.x", MARKS("0.2.0", "new")));
	put("b.x.json", CRD("b.x", MARKS("0.2.0", "new")));
	assert_true(upgrade(script, ARRAY_SIZE(script), &err, NULL) < 0);
	assert_non_null(strstr(err_text(&err), "a.x"));
	assert_non_null(strstr(err_text(&err), "409 Conflict: the object has been modified"));
}

static void an_answer_without_an_object_is_an_error(void **state)
{
	static const struct exchange got[] = { { "GET", PLACE "a.x", 200, "" } };
	static const struct exchange patched[] = {
		{ "GET", PLACE "a.x", 200, CRD("a.x", MARKS("0.1.0", "old")) },
		{ "PATCH", PLACE "a.x", 200, "" },
	};
	struct err err = { 0 };
	(void)state;

	put("a.x.json", CRD("a.x", MARKS("0.2.0", "new")));
	assert_int_equal(upgrade(got, ARRAY_SIZE(got), &err, NULL), -EPROTO);
	assert_non_null(
		strstr(err_text(&err), "a.x.json: the API server answered without an object"));
	assert_int_equal(upgrade(patched, ARRAY_SIZE(patched), &err, NULL), -EPROTO);
}

static void a_crd_that_is_gone_is_an_error(void **state)
{
	static const struct exchange script[] = {
		{ "GET", PLACE "a.x", 404,
		  "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"a.x not found\"}" },
	};
	struct err err = { 0 };
	(void)state;

	put("a.x.json", CRD("a.x", MARKS("0.2.0", "new")));
	assert_true(upgrade(script, ARRAY_SIZE(script), &err, NULL) < 0);
	assert_non_null(strstr(err_text(&err), "404 NotFound: a.x not found"));
}

static void files_that_are_no_crd_are_refused_before_anything_is_asked(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"kind\":\"ConfigMap\"}",
		"{\"apiVersion\":\"v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"a.x\"}}",
		"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{}}",
		/* Such a patch would remove the versions. */
		"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"a.x\"},"
		"\"spec\":{\"names\":{},\"versions\":[]}}",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct err err = { 0 };

		put("a.x.json", texts[i]);
		assert_true(upgrade(NULL, 0, &err, NULL) < 0);
		assert_non_null(strstr(err_text(&err), "a.x.json"));
	}
}

static void a_directory_without_files_or_with_too_many_is_refused(void **state)
{
	struct err err = { 0 };
	(void)state;

	assert_true(upgrade(NULL, 0, &err, NULL) < 0);
	assert_non_null(strstr(err_text(&err), "has 0 files; it must have 1 to 16"));
	for (int i = 0; i <= CRD_FILES_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d.json", i);
		put(name, "{}");
	}
	assert_true(upgrade(NULL, 0, &err, NULL) < 0);
	assert_non_null(strstr(err_text(&err), "has 17 files"));
	assert_true(crd_upgrade(NULL, NULL, "/nonexistent", &err) < 0);
	assert_non_null(strstr(err_text(&err), "/nonexistent"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_older_is_patched_and_what_is_equal_newer_or_foreign_is_left),
		TEST(fields_of_a_crd_do_not_stay_ours),
		TEST(a_refusal_ends_it_and_names_the_crd_and_the_reason),
		TEST(an_answer_without_an_object_is_an_error),
		TEST(a_crd_that_is_gone_is_an_error),
		TEST(files_that_are_no_crd_are_refused_before_anything_is_asked),
		TEST(a_directory_without_files_or_with_too_many_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
