/* SPDX-License-Identifier: Apache-2.0 */
/* Gets credentials from a program that the user configured. */
#include "operator/kube/exec_plugin.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/json.h"
#include "lib/loop/child.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define ANSWER_MAX ((size_t)1 << 20)
#define TIME_LIMIT_S 60

/* --- What to call ----------------------------------------------------------------------------------------- */

static void free_words(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

void exec_spec_free(struct exec_spec *spec)
{
	if (!spec)
		return;
	free(spec->api_version);
	free(spec->command);
	free_words(spec->args);
	free_words(spec->env);
	free(spec->info);
	free(spec->hint);
	free(spec);
}

/* --- The program's answer -------------------------------------------------------------------- */

void secret_free(char *text)
{
	if (text)
		OPENSSL_cleanse(text, strlen(text));
	free(text);
}

void exec_answer_release(struct exec_answer *answer)
{
	secret_free(answer->token);
	secret_free(answer->certificate);
	secret_free(answer->key);
	*answer = (struct exec_answer){ 0 };
}

static int take_text(const cJSON *status, const char *name, char **ret_text, struct err *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(status, name);

	if (!item || cJSON_IsNull(item))
		return 0;
	if (!cJSON_IsString(item))
		return err_set(err, EPROTO, "status.%s is no string", name);
	if (!*item->valuestring)
		return 0;
	*ret_text = strdup(item->valuestring);
	return *ret_text ? 0 : err_set(err, ENOMEM, "status.%s", name);
}

static int take_status(const cJSON *status, struct exec_answer *answer, struct err *err)
{
	const char *expires = json_str(status, "expirationTimestamp");
	int r = take_text(status, "token", &answer->token, err);

	if (r == 0)
		r = take_text(status, "clientCertificateData", &answer->certificate, err);
	if (r == 0)
		r = take_text(status, "clientKeyData", &answer->key, err);
	if (r < 0)
		return r;
	if (!answer->certificate != !answer->key)
		return err_set(err, EPROTO, "status has only one of clientCertificateData and clientKeyData");
	if (!answer->token && !answer->certificate)
		return err_set(err, EPROTO, "status has neither a token nor a certificate");
	for (const char *p = answer->token; p && *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return err_set(err, EPROTO, "status.token holds blanks or control characters");
	if (expires && time_parse(expires, &answer->expires_ns, NULL) < 0)
		return err_set(err, EPROTO, "status.expirationTimestamp is no time in UTC");
	return 0;
}

static int take_answer(const cJSON *json, const char *api_version, struct exec_answer *answer, struct err *err)
{
	const char *kind = json_str(json, "kind"), *version = json_str(json, "apiVersion");

	if (!kind || strcmp(kind, "ExecCredential") != 0)
		return err_set(err, EPROTO, "the answer is no ExecCredential");
	if (!version || strcmp(version, api_version) != 0)
		return err_set(err, EPROTO, "the answer is not of apiVersion %s", api_version);
	if (!cJSON_IsObject(json_get(json, "status")))
		return err_set(err, EPROTO, "the answer has no status");
	return take_status(json_get(json, "status"), answer, err);
}

int exec_answer_parse(const char *text, size_t len, const char *api_version, struct exec_answer *ret_answer,
		      struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;
	_cleanup_(exec_answer_release) struct exec_answer answer = { 0 };
	int r = json_parse(text, len, &json, err);

	if (r == 0)
		r = take_answer(json, api_version, &answer, err);
	/*
	 * The texts are overwritten, because cJSON frees them and leaves their content in memory.
	 */
	for (cJSON *item = json_get(json, "status") ? json_get(json, "status")->child : NULL; item; item = item->next)
		if (cJSON_IsString(item))
			OPENSSL_cleanse(item->valuestring, strlen(item->valuestring));
	if (r < 0)
		return r;
	*ret_answer = answer;
	answer = (struct exec_answer){ 0 };
	return 0;
}

/* --- Calling it ------------------------------------------------------------------------------------------- */

struct exec_run {
	const struct exec_spec *spec;
	exec_done_fn done;
	void *arg;
	struct child *child;
};

void exec_run_cancel(struct exec_run *run)
{
	if (!run)
		return;
	child_cancel(run->child);
	free(run);
}

static bool same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, "=");

	return strncmp(a, b, len) == 0 && b[len] == '=';
}

static bool is_overridden(const char *entry, char *const *env)
{
	if (same_name(entry, "KUBERNETES_EXEC_INFO="))
		return true;
	for (; env && *env; env++)
		if (same_name(entry, *env))
			return true;
	return false;
}

/*
 * Makes the program's environment: ours, overlaid with the plugin's own and KUBERNETES_EXEC_INFO.
 * Of its texts only *ret_info is owned.
 */
static char **make_environment(const struct exec_spec *spec, char **ret_info)
{
	struct strbuf info = STRBUF_INIT((size_t)2 << 20);
	size_t n = 0, at = 0;

	for (char **e = environ; *e; e++)
		n++;
	for (char **e = spec->env; e && *e; e++)
		n++;
	strbuf_addf(&info, "KUBERNETES_EXEC_INFO=%s", spec->info);
	*ret_info = strbuf_detach(&info);
	strbuf_release(&info);
	char **env = calloc(n + 2, sizeof(*env));
	if (!env || !*ret_info) {
		free(env);
		return NULL;
	}
	for (char **e = environ; *e; e++)
		if (!is_overridden(*e, spec->env))
			env[at++] = *e;
	for (char **e = spec->env; e && *e; e++)
		env[at++] = *e;
	env[at] = *ret_info;
	return env;
}

static char **make_argv(const struct exec_spec *spec)
{
	size_t n = 0;

	while (spec->args && spec->args[n])
		n++;
	char **argv = calloc(n + 2, sizeof(*argv));
	if (argv) {
		argv[0] = spec->command;
		memcpy(argv + 1, spec->args ? spec->args : argv + 1, n * sizeof(*argv));
	}
	return argv;
}

static int judge(const struct exec_spec *spec, const struct child_result *result, struct exec_answer *answer, struct err *err)
{
	int r, status = result->status;

	if (result->timed_out)
		r = err_set(err, ETIMEDOUT, "%s was killed after %d s", spec->command, TIME_LIMIT_S);
	else if (WIFSIGNALED(status))
		r = err_set(err, EPROTO, "%s was ended by signal %d", spec->command, WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		r = err_set(err, EPROTO, "%s ended with exit code %d (see its words on stderr)%s%s", spec->command,
			    WEXITSTATUS(status), spec->hint ? ": " : "", spec->hint ? spec->hint : "");
	else if (result->output_len > ANSWER_MAX)
		r = err_set(err, EFBIG, "%s: answer of more than 1 MiB", spec->command);
	else if ((r = exec_answer_parse(result->output, result->output_len, spec->api_version, answer, err)) < 0)
		err_wrap(err, "%s", spec->command);
	if (r < 0)
		err_wrap(err, "%s", spec->where);
	return r;
}

static void on_ended(const struct child_result *result, void *arg)
{
	_cleanup_free_ struct exec_run *run = arg;
	_cleanup_(exec_answer_release) struct exec_answer answer = { 0 };
	struct err err = { 0 };
	int r = judge(run->spec, result, &answer, &err);

	run->done(run->arg, &answer, r < 0 ? &err : NULL);
}

/* Starts it without a terminal, with our stderr, and with no other file of ours open. */
static int start_program(struct event_base *base, struct exec_run *run, struct err *err)
{
	const struct exec_spec *spec = run->spec;
	_cleanup_free_ char *info = NULL;
	_cleanup_free_ char **env = make_environment(spec, &info), **argv = make_argv(spec);
	const struct child_work work = {
		.path = spec->command, .argv = (const char *const *)argv, .env = env, .output_max = ANSWER_MAX + 1,
		.within_ns = TIME_LIMIT_S * NS_PER_SEC,
	};

	if (!env || !argv)
		return err_set(err, ENOMEM, "%s", spec->where);
	if (child_start(base, &work, on_ended, run, &run->child, err) < 0)
		return err_wrap(err, "%s: start %s%s%s", spec->where, spec->command, spec->hint ? ": " : "", spec->hint ? spec->hint : "");
	return 0;
}

int exec_run_start(struct event_base *base, const struct exec_spec *spec, exec_done_fn done, void *arg,
		   struct exec_run **ret_run, struct err *err)
{
	struct exec_run *run = calloc(1, sizeof(*run));
	int r;

	if (!run)
		return err_set(err, ENOMEM, "%s", spec->where);
	*run = (struct exec_run){ .spec = spec, .done = done, .arg = arg };
	r = start_program(base, run, err);
	if (r < 0) {
		free(run);
		return r;
	}
	*ret_run = run;
	return 0;
}
