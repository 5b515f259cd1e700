/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials from a program of the user's.
 *
 * Three events: its stdout has something, it has ended (a pidfd), its minute is
 * over. It is done when it has ended and stdout was read as far as it goes then:
 * a child that it left behind may keep stdout open for ever.
 */
#include "operator/kube/exec_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define ANSWER_MAX ((size_t)1 << 20)
#define TIME_LIMIT_S 60

extern char **environ;

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

/* --- What it answers -------------------------------------------------------------------------------------- */

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
	/* cJSON frees its copies without a thought. */
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
	pid_t pid; /* 0: ended */
	int out, pidfd;
	struct event *readable, *ended, *deadline;
	struct strbuf answer;
	bool too_late;
};

static void run_free(struct exec_run *run)
{
	struct event *events[] = { run->readable, run->ended, run->deadline };

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (events[i])
			event_free(events[i]);
	if (run->pid > 0) {
		kill(run->pid, SIGKILL);
		while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	closep(&run->out);
	closep(&run->pidfd);
	if (run->answer.data)
		OPENSSL_cleanse(run->answer.data, run->answer.len);
	strbuf_release(&run->answer);
	free(run);
}

void exec_run_cancel(struct exec_run *run)
{
	if (run)
		run_free(run);
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

/* Our environment, the plugin's own over it, and what it is told. Words belong to others but for *ret_info. */
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

/* No terminal, our stderr, nothing else of ours open; signals as a program expects them. */
static int spawn(struct exec_run *run, int out, char **argv, char **env)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all, none;

	sigfillset(&all);
	sigemptyset(&none);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return ENOMEM;
	posix_spawnattr_init(&attr); /* cannot fail */
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	int r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	if (r == 0)
		r = posix_spawnp(&run->pid, run->spec->command, &actions, &attr, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (r != 0)
		run->pid = 0;
	return r;
}

static int start_program(struct exec_run *run, struct err *err)
{
	_cleanup_free_ char *info = NULL;
	_cleanup_free_ char **env = make_environment(run->spec, &info), **argv = make_argv(run->spec);
	int ends[2];

	if (!env || !argv)
		return err_set(err, ENOMEM, "%s", run->spec->where);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "%s: pipe", run->spec->where);
	run->out = ends[0];
	fcntl(run->out, F_SETFL, O_NONBLOCK);
	int r = spawn(run, ends[1], argv, env);
	close(ends[1]);
	if (r != 0)
		return err_set(err, r, "%s: start %s%s%s", run->spec->where, run->spec->command, run->spec->hint ? ": " : "",
			       run->spec->hint ? run->spec->hint : "");
	run->pidfd = pidfd_open(run->pid, 0);
	return run->pidfd < 0 ? err_set(err, errno, "%s: pidfd", run->spec->where) : 0;
}

/* What is there now. */
static void read_answer(struct exec_run *run)
{
	char buf[8192];
	ssize_t n;

	while ((n = read(run->out, buf, sizeof(buf))) > 0)
		strbuf_add(&run->answer, buf, (size_t)n);
	if (n == 0)
		event_del(run->readable);
	OPENSSL_cleanse(buf, sizeof(buf));
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_answer(arg);
}

static int judge(const struct exec_run *run, int status, struct exec_answer *answer, struct err *err)
{
	int r;

	if (run->too_late)
		r = err_set(err, ETIMEDOUT, "%s was killed after %d s", run->spec->command, TIME_LIMIT_S);
	else if (WIFSIGNALED(status))
		r = err_set(err, EPROTO, "%s was ended by signal %d", run->spec->command, WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		r = err_set(err, EPROTO, "%s ended with exit code %d (see its words on stderr)%s%s", run->spec->command,
			    WEXITSTATUS(status), run->spec->hint ? ": " : "", run->spec->hint ? run->spec->hint : "");
	else if (strbuf_failed(&run->answer))
		r = err_set(err, EFBIG, "%s: answer of more than 1 MiB", run->spec->command);
	else if ((r = exec_answer_parse(strbuf_str(&run->answer), run->answer.len, run->spec->api_version, answer, err)) < 0)
		err_wrap(err, "%s", run->spec->command);
	if (r < 0)
		err_wrap(err, "%s", run->spec->where);
	return r;
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct exec_run *run = arg;
	_cleanup_(exec_answer_release) struct exec_answer answer = { 0 };
	struct err err = { 0 };
	int status;

	(void)fd;
	(void)what;
	if (waitpid(run->pid, &status, WNOHANG) != run->pid)
		return;
	run->pid = 0;
	read_answer(run);
	int r = judge(run, status, &answer, &err);
	exec_done_fn done = run->done;
	void *done_arg = run->arg;
	run_free(run);
	done(done_arg, &answer, r < 0 ? &err : NULL);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct exec_run *run = arg;

	(void)fd;
	(void)what;
	run->too_late = true;
	kill(run->pid, SIGKILL);
}

static int watch_program(struct exec_run *run, struct event_base *base, struct err *err)
{
	struct timeval limit = { .tv_sec = TIME_LIMIT_S };

	run->readable = event_new(base, run->out, EV_READ | EV_PERSIST, on_readable, run);
	run->ended = event_new(base, run->pidfd, EV_READ | EV_PERSIST, on_ended, run);
	run->deadline = evtimer_new(base, on_deadline, run);
	if (!run->readable || !run->ended || !run->deadline || event_add(run->readable, NULL) < 0 ||
	    event_add(run->ended, NULL) < 0 || event_add(run->deadline, &limit) < 0)
		return err_set(err, ENOMEM, "%s", run->spec->where);
	return 0;
}

int exec_run_start(struct event_base *base, const struct exec_spec *spec, exec_done_fn done, void *arg,
		   struct exec_run **ret_run, struct err *err)
{
	struct exec_run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_set(err, ENOMEM, "%s", spec->where);
	run->spec = spec;
	run->done = done;
	run->arg = arg;
	run->out = run->pidfd = -1;
	run->answer = STRBUF_INIT(ANSWER_MAX);
	int r = start_program(run, err);
	if (r == 0)
		r = watch_program(run, base, err);
	if (r < 0) {
		run_free(run);
		return r;
	}
	*ret_run = run;
	return 0;
}
