/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the command line. */
#include "operator/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int parse(const char *const *args, struct options *o, struct err *err)
{
	char *argv[17] = { (char *)"afterglow-operator" };

	for (int n = 1; *args; args++)
		argv[n++] = (char *)*args;
	return options_parse(argv, o, err);
}
#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void values_are_taken_with_and_without_an_equals_sign(void **state)
{
	struct options o;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(parse(ARGS("--kubeconfig=/k", "--namespace", "ray", "--oom-group",
				    "--store-claim=", "--log-level", "debug", "--manage-clusters",
				    "--leader-elect", "--lease-namespace=ops", "--keep-count", "7",
				    "--context=c"),
			       &o, &err),
			 0);
	assert_string_equal(o.kubeconfig, "/k");
	assert_string_equal(o.manager.namespace, "ray");
	assert_true(o.oom_group);
	assert_null(o.store_claim);
	assert_true(o.manager.manage_clusters);
	assert_true(o.leader_elect);
	assert_string_equal(o.lease_namespace, "ops");
	assert_int_equal(o.manager.retention.max_count, 7);
	assert_string_equal(o.context, "c");
	assert_int_equal(parse(ARGS("--leader-elect", "--leader-elect=false"), &o, &err), 0);
	assert_false(o.leader_elect);
	assert_false(o.manager.manage_clusters);
	assert_int_equal(parse(ARGS("--manage-clusters=true", "--manage-clusters=false"), &o, &err),
			 0);
	assert_false(o.manager.manage_clusters);
	assert_int_equal(parse(ARGS("--kubeconfig=/k", "--log-level=debug"), &o, &err), 0);
	assert_int_equal(o.log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(o.log_format, LOG_FORMAT_TEXT);
	assert_int_equal(parse(ARGS("--log-format=json"), &o, &err), 0);
	assert_int_equal(o.log_format, LOG_FORMAT_JSON);
	assert_int_equal(parse(ARGS("--log-format=json", "--log-format=text"), &o, &err), 0);
	assert_int_equal(o.log_format, LOG_FORMAT_TEXT);
	assert_string_equal(o.launcher, OPTIONS_LAUNCHER);
	assert_false(o.launcher_given);
	assert_null(o.upgrade_crds);
	assert_int_equal(parse(ARGS("--upgrade-crds", "/crds"), &o, &err), 0);
	assert_string_equal(o.upgrade_crds, "/crds");
	/* Otherwise the whole operator would start. */
	assert_int_equal(parse(ARGS("--upgrade-crds", ""), &o, &err), -EINVAL);
}

static void the_webhook_needs_its_names(void **state)
{
	struct options o;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(parse(ARGS("--webhook-address="), &o, &err), 0);
	assert_string_equal(o.manager.webhook_address, "");
	assert_int_equal(
		parse(ARGS("--webhook-address=:9443", "--webhook-service=s", "--webhook-secret=t",
			   "--webhook-configuration", "c", "--webhook-certificates=external"),
		      &o, &err),
		0);
	assert_string_equal(o.manager.webhook_address, ":9443");
	assert_string_equal(o.manager.certificates.service, "s");
	assert_string_equal(o.manager.certificates.secret, "t");
	assert_string_equal(o.manager.certificates.configuration, "c");
	assert_true(o.manager.certificates.external);
	assert_int_equal(parse(ARGS("--webhook-address=:9443", "--webhook-service=s",
				    "--webhook-configuration=c", "--webhook-secret="),
			       &o, &err),
			 -EINVAL);
	assert_string_equal(err_text(&err), "--webhook-address needs --webhook-secret NAME");
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *args[3];
		const char *message;
	} rows[] = {
		{ { "--bogus" }, "unknown option --bogus" },
		{ { "-x" }, "unknown option -x" },
		{ { "--namespace" }, "--namespace takes a value" },
		{ { "--oom-group=yes" }, "--oom-group takes no value" },
		{ { "--leader-elect=maybe" }, "--leader-elect takes false or true, not maybe" },
		{ { "--manage-clusters=1" }, "--manage-clusters takes false or true, not 1" },
		{ { "--leader-elect", "true" }, "unexpected argument true" },
		{ { "--log-format", "xml" }, "--log-format takes text or json, not xml" },
		{ { "--log-level", "loud" },
		  "--log-level takes error, warning, info or debug, not loud" },
		{ { "--keep-count=-1" },
		  "--keep-count takes a whole number from 0 to 1000000, not -1" },
		{ { "--keep-count", "many" },
		  "--keep-count takes a whole number from 0 to 1000000, not many" },
		{ { "--webhook-address=9443" },
		  "--webhook-address takes ADDRESS:PORT, [IPV6]:PORT or :PORT, not 9443" },
		{ { "--webhook-address=:9443" }, "--webhook-address needs --webhook-service NAME" },
		{ { "--webhook-certificates=none" },
		  "--webhook-certificates takes self or external, not none" },
		{ { "argument" }, "unexpected argument argument" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct options o;
		struct err err = { 0 };
		assert_int_equal(parse(rows[i].args, &o, &err), -EINVAL);
		assert_non_null(strstr(err_text(&err), rows[i].message));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_taken_with_and_without_an_equals_sign),
		cmocka_unit_test(the_webhook_needs_its_names),
		cmocka_unit_test(mistakes_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
