/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of kubeconfig files and of the service account. */
#include "operator/kube/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/units.h"

#define HEAD "apiVersion: v1\nkind: Config\ncurrent-context: here\n" \
	     "contexts:\n- name: other\n  context: {cluster: x, user: y}\n" \
	     "- name: here\n  context: {cluster: c, user: u, namespace: ray}\n"
#define CLUSTER "clusters:\n- name: c\n  cluster:\n    server: https://10.0.0.1:6443/\n"
/* "CA\n", "CERT\n", "KEY\n" */
#define CA "    certificate-authority-data: Q0EK\n"
#define USER "users:\n- name: u\n  user:\n    client-certificate-data: Q0VSVAo=\n    client-key-data: S0VZCg==\n"

static void inline_certificates_and_the_current_context_are_read(void **state)
{
	struct kubeconfig k;
	struct err err = { 0 };
	static const char text[] = HEAD CLUSTER CA USER;
	(void)state;

	assert_int_equal(kubeconfig_parse(text, strlen(text), "/etc/kc", NULL, &k, &err), 0);
	assert_string_equal(k.server, "https://10.0.0.1:6443");
	assert_string_equal(k.namespace, "ray");
	assert_string_equal(k.ca.text, "CA\n");
	assert_string_equal(k.certificate.text, "CERT\n");
	assert_string_equal(k.key.text, "KEY\n");
	assert_null(k.token.text);
	assert_false(k.insecure);
	kubeconfig_release(&k);
}

static void json_is_yaml_too(void **state)
{
	struct kubeconfig k;
	struct err err = { 0 };
	static const char text[] =
		"{\"current-context\":\"a\",\"contexts\":[{\"name\":\"a\",\"context\":{\"cluster\":\"b\","
		"\"user\":\"c\"}}],\"clusters\":[{\"name\":\"b\",\"cluster\":{\"server\":\"http://h\","
		"\"insecure-skip-tls-verify\":true}}],\"users\":[{\"name\":\"c\",\"user\":{\"token\":\"t0k\"}}]}";
	(void)state;

	assert_int_equal(kubeconfig_parse(text, strlen(text), "kc", NULL, &k, &err), 0);
	assert_string_equal(k.token.text, "t0k");
	assert_string_equal(k.namespace, "default");
	assert_true(k.insecure);
	kubeconfig_release(&k);
}

static void errors_name_the_file_and_the_field(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} rows[] = {
		{ "", "kc: not a kubeconfig" },
		{ "- a\n", "kc: not a kubeconfig" },
		{ "a: [", "kc: " },
		{ "contexts: []\n", "kc: current-context: is missing" },
		{ "current-context: x\n", "kc: contexts has no entry named \"x\"" },
		{ "current-context: x\ncontexts:\n- name: x\n  context: {user: u}\n",
		  "kc: contexts[0].context.cluster: is missing" },
		{ HEAD USER, "kc: clusters has no entry named \"c\"" },
		{ HEAD "clusters:\n- name: c\n  cluster: {}\n" USER,
		  "kc: clusters[0].cluster.server: is missing" },
		{ HEAD "clusters:\n- name: c\n  cluster: {server: 7}\n" USER,
		  "kc: clusters[0].cluster.server: must be a string" },
		{ HEAD "clusters:\n- name: c\n  cluster: {server: ftp://h}\n" USER,
		  "kc: clusters[0].cluster.server: must be an http" },
		{ HEAD "clusters:\n- name: c\n  cluster: {server: \"https://h\\r\\nX: y\"}\n" USER,
		  "server: must be an http" },
		{ HEAD CLUSTER "    certificate-authority-data: '*'\n" USER,
		  "kc: clusters[0].cluster.certificate-authority-data: is not base64" },
		{ HEAD CLUSTER "    insecure-skip-tls-verify: maybe\n" USER,
		  "insecure-skip-tls-verify: must be true or false" },
		{ HEAD CLUSTER CA "    insecure-skip-tls-verify: true\n" USER,
		  "contradicts certificate-authority" },
		{ HEAD CLUSTER "    certificate-authority: /nowhere/ca\n" USER,
		  "kc: clusters[0].cluster.certificate-authority: open /nowhere/ca" },
		{ HEAD CLUSTER, "kc: users has no entry named \"u\"" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {client-certificate-data: Q0VSVAo=}\n",
		  "kc: users[0].user.client-key: is missing" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {client-key-data: Q0VSVAo=}\n",
		  "kc: users[0].user.client-certificate: is missing" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {token: \"secret\\nX: y\"}\n",
		  "kc: users[0].user.token: holds" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {exec: {command: aws}}\n",
		  "kc: users[0].user.exec: is not supported: give" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {auth-provider: {name: gcp}}\n",
		  "user.auth-provider: is not supported" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {username: me}\n",
		  "user.username: is not supported" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {token: t, as: jane}\n",
		  "users[0].user.as: is not supported" },
		{ HEAD CLUSTER "    tls-server-name: a\n" USER,
		  "clusters[0].cluster.tls-server-name: is not supported" },
		{ HEAD CLUSTER "    proxy-url: http://x\n" USER,
		  "clusters[0].cluster.proxy-url: is not supported" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kubeconfig k = { 0 };
		struct err err = { 0 };
		int r = kubeconfig_parse(rows[i].text, strlen(rows[i].text), "kc", NULL, &k, &err);
		if (r >= 0 || !strstr(err_text(&err), rows[i].message))
			fail_msg("row %zu: %d, \"%s\" instead of \"%s\"", i, r, err_text(&err),
				 rows[i].message);
		assert_null(strstr(err_text(&err), "secret"));
		assert_null(k.server);
	}
}

static void write_text(const char *dir, const char *name, const char *text)
{
	char path[256];
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(file_write(AT_FDCWD, path, text, strlen(text), 0600, &err), 0);
}

static void files_are_relative_to_the_kubeconfig_and_read_again(void **state)
{
	char dir[] = "/tmp/kubeconfig-test-XXXXXX", path[256];
	struct kubeconfig k;
	struct err err = { 0 };
	bool changed = true;
	(void)state;

	assert_non_null(mkdtemp(dir));
	write_text(dir, "ca.pem", "CA 1\n");
	write_text(dir, "token", "one\n");
	write_text(
		dir, "kc",
		HEAD CLUSTER
		"    certificate-authority: ca.pem\nusers:\n- name: u\n  user: {tokenFile: token}\n");
	snprintf(path, sizeof(path), "%s/kc", dir);
	assert_int_equal(kubeconfig_load(path, NULL, &k, &err), 0);
	assert_string_equal(k.token.text, "one");

	write_text(dir, "token", "two\n");
	write_text(dir, "ca.pem", "CA 2\n");
	int64_t t = k.token_read_ns;
	assert_int_equal(kubeconfig_refresh(&k, t + 59 * NS_PER_SEC, false, &changed, &err), 0);
	assert_false(changed);
	assert_string_equal(k.token.text, "one");
	assert_int_equal(kubeconfig_refresh(&k, t + 60 * NS_PER_SEC, false, &changed, &err), 0);
	assert_true(changed);
	assert_string_equal(k.token.text, "two");
	assert_string_equal(k.ca.text, "CA 1");
	assert_int_equal(kubeconfig_refresh(&k, t + 61 * NS_PER_SEC, true, &changed, &err), 0);
	assert_true(changed);
	assert_string_equal(k.ca.text, "CA 2");

	write_text(dir, "token", "");
	assert_int_equal(kubeconfig_refresh(&k, t + 62 * NS_PER_SEC, true, &changed, &err),
			 -ENODATA);
	assert_string_equal(k.token.text, "two");
	kubeconfig_release(&k);
}

static void the_service_account_of_a_pod_is_found(void **state)
{
	char dir[] = "/tmp/kubeconfig-test-XXXXXX";
	struct kubeconfig k;
	struct err err = { 0 };
	(void)state;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(kubeconfig_in_cluster(NULL, "443", dir, &k, &err), -ENOENT);
	assert_int_equal(kubeconfig_in_cluster("10.96.0.1", "443", dir, &k, &err), -ENOENT);
	assert_non_null(strstr(err_text(&err), "service account: open"));
	write_text(dir, "ca.crt", "CA\n");
	write_text(dir, "token", "tok\n");
	write_text(dir, "namespace", "afterglow-system");
	assert_int_equal(kubeconfig_in_cluster("fd00::1", "443", dir, &k, &err), 0);
	assert_string_equal(k.server, "https://[fd00::1]:443");
	assert_string_equal(k.namespace, "afterglow-system");
	assert_string_equal(k.token.text, "tok");
	kubeconfig_release(&k);
}

static void a_context_can_be_chosen(void **state)
{
	static const char text[] = HEAD CLUSTER
		"- {name: x, cluster: {server: \"http://d\"}}\nusers:\n- {name: y, user: {token: t}}\n";
	struct kubeconfig k;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(kubeconfig_parse(text, strlen(text), "kc", "other", &k, &err), 0);
	assert_string_equal(k.server, "http://d");
	assert_string_equal(k.token.text, "t");
	kubeconfig_release(&k);
	assert_true(kubeconfig_parse(text, strlen(text), "kc", "nowhere", &k, &err) < 0);
	assert_non_null(strstr(err_text(&err), "contexts has no entry named \"nowhere\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inline_certificates_and_the_current_context_are_read),
		cmocka_unit_test(json_is_yaml_too),
		cmocka_unit_test(errors_name_the_file_and_the_field),
		cmocka_unit_test(files_are_relative_to_the_kubeconfig_and_read_again),
		cmocka_unit_test(the_service_account_of_a_pod_is_found),
		cmocka_unit_test(a_context_can_be_chosen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
