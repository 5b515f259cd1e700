/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of exec plugins: their answers, and real programs that succeed or fail. */
#include "operator/kube/exec_plugin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lib/macros.h"

#define V1 "client.authentication.k8s.io/v1"
#define ANSWER(status) "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":" status "}"

static void answers_are_read_and_wrong_ones_named(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ ANSWER("{\"token\":\"t\"}"), NULL },
		{ ANSWER("{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\",\"token\":null}"), NULL },
		{ ANSWER("{\"token\":\"t\",\"expirationTimestamp\":\"2026-11-21T01:00:00Z\"}"), NULL },
		{ "", "not JSON" },
		{ "[]", "no ExecCredential" },
		{ "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{\"token\":\"t\"}}",
		  "not of apiVersion " V1 },
		{ "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"}", "no status" },
		{ ANSWER("{}"), "neither a token nor a certificate" },
		{ ANSWER("{\"token\":\"\"}"), "neither a token nor a certificate" },
		{ ANSWER("{\"token\":7}"), "status.token is no string" },
		{ ANSWER("{\"token\":\"secret\\r\\nX: y\"}"), "control characters" },
		{ ANSWER("{\"token\":\"secret\",\"clientKeyData\":\"k\"}"), "only one of" },
		{ ANSWER("{\"token\":\"secret\",\"clientCertificateData\":\"k\"}"), "only one of" },
		{ ANSWER("{\"token\":\"secret\",\"expirationTimestamp\":\"tomorrow\"}"), "no time in UTC" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct exec_answer answer = { 0 };
		struct err err = { 0 };
		int r = exec_answer_parse(rows[i].text, strlen(rows[i].text), V1, &answer, &err);
		if (rows[i].message ? r >= 0 || !strstr(err_text(&err), rows[i].message) : r != 0)
			fail_msg("row %zu: %d %s", i, r, err_text(&err));
		assert_null(strstr(err_text(&err), "secret"));
		exec_answer_release(&answer);
	}
}

struct outcome {
	bool done;
	char token[64];
	struct err err;
};

static void on_done(void *arg, struct exec_answer *answer, const struct err *err)
{
	struct outcome *outcome = arg;

	outcome->done = true;
	snprintf(outcome->token, sizeof(outcome->token), "%s", answer && answer->token ? answer->token : "");
	if (err)
		outcome->err = *err;
}

static struct outcome run_script(const char *script, char **env)
{
	char *args[] = { (char *)"-c", (char *)script, NULL };
	struct exec_spec spec = { .where = "kc: users[0].user.exec", .api_version = (char *)V1, .command = (char *)"sh",
				  .args = args, .env = env, .info = (char *)"{\"told\":1}", .hint = (char *)"install it" };
	struct event_base *base = event_base_new();
	struct outcome outcome = { 0 };
	struct exec_run *run;

	assert_int_equal(exec_run_start(base, &spec, on_done, &outcome, &run, &outcome.err), 0);
	while (!outcome.done && event_base_loop(base, EVLOOP_ONCE) == 0)
		;
	event_base_free(base);
	return outcome;
}

static void a_program_gets_a_request_and_answers(void **state)
{
	char *env[] = { (char *)"TOKEN=from-env", NULL };
	struct outcome o = run_script("test \"$KUBERNETES_EXEC_INFO\" = '{\"told\":1}' && test ! -t 0 && "
				      "printf '" ANSWER("{\"token\":\"%s\"}") "' \"$TOKEN\"", env);
	(void)state;

	assert_string_equal(o.token, "from-env");
	assert_int_equal(o.err.code, 0);
}

static void a_child_left_behind_holds_nothing_up(void **state)
{
	struct outcome o = run_script("sleep 3 & echo '" ANSWER("{\"token\":\"t\"}") "'", NULL);
	(void)state;

	assert_string_equal(o.token, "t");
}

static void failures_say_what_happened_and_where(void **state)
{
	static const struct {
		const char *script, *message;
	} rows[] = {
		{ "exit 3", "kc: users[0].user.exec: sh ended with exit code 3 (see its words on stderr): install it" },
		{ "kill -9 $$", "ended by signal 9" },
		{ "echo nonsense", "kc: users[0].user.exec: sh: not JSON" },
		{ "head -c 2000000 /dev/zero", "more than 1 MiB" },
		{ "exec >&-", "sh: not JSON" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct outcome o = run_script(rows[i].script, NULL);
		if (!o.err.code || !strstr(err_text(&o.err), rows[i].message))
			fail_msg("row %zu: %s", i, err_text(&o.err));
	}
}

static void a_missing_program_is_reported_with_its_hint(void **state)
{
	struct exec_spec spec = { .where = "kc: users[0].user.exec", .api_version = (char *)V1,
				  .command = (char *)"no-such-program-at-all", .info = (char *)"{}", .hint = (char *)"install it" };
	struct event_base *base = event_base_new();
	struct exec_run *run = NULL;
	struct err err = { 0 };
	(void)state;

	assert_true(exec_run_start(base, &spec, on_done, NULL, &run, &err) < 0);
	assert_non_null(strstr(err_text(&err), "start no-such-program-at-all: install it"));
	assert_null(run);
	event_base_free(base);
}

static void a_cancelled_program_is_killed(void **state)
{
	char *args[] = { (char *)"600", NULL };
	struct exec_spec spec = { .where = "kc", .api_version = (char *)V1, .command = (char *)"sleep", .args = args,
				  .info = (char *)"{}" };
	struct event_base *base = event_base_new();
	struct exec_run *run;
	(void)state;

	assert_int_equal(exec_run_start(base, &spec, on_done, NULL, &run, NULL), 0);
	exec_run_cancel(run);
	exec_run_cancel(NULL);
	/* This would take ten minutes if it were not killed. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_read_and_wrong_ones_named),
		cmocka_unit_test(a_program_gets_a_request_and_answers),
		cmocka_unit_test(a_child_left_behind_holds_nothing_up),
		cmocka_unit_test(failures_say_what_happened_and_where),
		cmocka_unit_test(a_missing_program_is_reported_with_its_hint),
		cmocka_unit_test(a_cancelled_program_is_killed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
