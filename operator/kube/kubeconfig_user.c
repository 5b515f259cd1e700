/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads our identity from a kubeconfig's users: certificates, tokens, passwords, plugins,
 * impersonation.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/strbuf.h"
#include "operator/kube/kubeconfig_reader.h"

#define HEADERS_MAX 64
#define EXEC_WORDS_MAX 256

static int read_token(const struct reader *r, const cJSON *user, struct credential *c, struct err *err)
{
	const char *text, *file;
	int rc = read_string(r, user, "token", &text, err);

	if (rc == 0)
		rc = read_string(r, user, "tokenFile", &file, err);
	if (rc < 0)
		return rc;
	if (file) { /* the file has precedence, because it is renewed */
		rc = resolve_file(r, file, &c->file, err);
		if (rc == 0)
			rc = credential_read(c, NULL, err);
		return rc < 0 ? err_wrap(err, "%s: %s.tokenFile", r->name, r->section) : 0;
	}
	if (text && !is_plain(text))
		return field_error(r, EINVAL, "token", "holds blanks or control characters", err);
	return text ? reader_copy(text, &c->text, err) : 0;
}

/* --- Users ------------------------------------------------------------------------------------------------ */

static int add_header(struct kubeconfig *k, const char *name, const char *value, struct err *err)
{
	struct strbuf line = STRBUF_INIT(16384);
	size_t n = 0;

	while (k->headers && k->headers[n])
		n++;
	if (n >= HEADERS_MAX)
		return err_set(err, E2BIG, "more than %d headers", HEADERS_MAX);
	strbuf_addf(&line, "%s: %s", name, value);
	char **longer = realloc(k->headers, (n + 2) * sizeof(*longer));
	if (longer) {
		k->headers = longer;
		longer[n] = strbuf_detach(&line);
		longer[n + 1] = NULL;
	}
	bool added = longer && longer[n];
	strbuf_release(&line);
	return added ? 0 : err_set(err, ENOMEM, "kubeconfig");
}

/*
 * Returns whether the value can be in a header: blanks may be in it, but a line break would begin
 * another header.
 */
static bool is_header_value(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static int add_impersonation(const struct reader *r, struct kubeconfig *k, const char *field, const char *name,
			     const cJSON *value, struct err *err)
{
	if (!cJSON_IsString(value) || !is_header_value(value->valuestring))
		return field_error(r, EINVAL, field, "must be a string without control characters", err);
	return add_header(k, name, value->valuestring, err);
}

static int read_extra(const struct reader *r, const cJSON *extra, struct kubeconfig *k, struct err *err)
{
	const cJSON *values, *value;
	int rc = 0;

	cJSON_ArrayForEach(values, extra) {
		struct strbuf name = STRBUF_INIT(1024);
		strbuf_adds(&name, "Impersonate-Extra-");
		/* As client-go does, characters that cannot be in a token are percent-encoded. */
		for (const char *p = values->string; *p; p++)
			strbuf_addf(&name, strchr("%:()<>@,;\\\"/[]?={}", *p) || *p <= ' ' ? "%%%02X" : "%c", (unsigned char)*p);
		cJSON_ArrayForEach(value, values)
			if (rc == 0)
				rc = add_impersonation(r, k, "as-user-extra", strbuf_str(&name), value, err);
		strbuf_release(&name);
	}
	return rc;
}

static int read_impersonation(const struct reader *r, const cJSON *user, struct kubeconfig *k, struct err *err)
{
	const cJSON *as = cJSON_GetObjectItemCaseSensitive(user, "as"), *group;
	const cJSON *uid = cJSON_GetObjectItemCaseSensitive(user, "as-uid");
	const cJSON *groups = cJSON_GetObjectItemCaseSensitive(user, "as-groups");
	const cJSON *extra = cJSON_GetObjectItemCaseSensitive(user, "as-user-extra");
	int rc = as ? add_impersonation(r, k, "as", "Impersonate-User", as, err) : 0;

	if (!as && (uid || groups || extra))
		return field_error(r, EINVAL, "as", "is missing: as-uid, as-groups and as-user-extra go with it", err);
	if (rc == 0 && uid)
		rc = add_impersonation(r, k, "as-uid", "Impersonate-Uid", uid, err);
	cJSON_ArrayForEach(group, groups)
		if (rc == 0)
			rc = add_impersonation(r, k, "as-groups", "Impersonate-Group", group, err);
	return rc < 0 ? rc : read_extra(r, extra, k, err);
}

static int read_basic(const struct reader *r, const cJSON *user, struct kubeconfig *k, struct err *err)
{
	const char *name, *password;
	struct strbuf plain = STRBUF_INIT(4096);
	unsigned char encoded[8192];
	char value[8300];
	int rc = read_string(r, user, "username", &name, err);

	if (rc == 0)
		rc = read_string(r, user, "password", &password, err);
	if (rc < 0 || (!name && !password))
		return rc;
	if (!name || !password || k->token.text || k->token.file)
		return field_error(r, EINVAL, "username", "username and password come together, and without a token", err);
	strbuf_addf(&plain, "%s:%s", name, password);
	if (!strbuf_failed(&plain)) {
		EVP_EncodeBlock(encoded, (const unsigned char *)strbuf_str(&plain), (int)plain.len);
		snprintf(value, sizeof(value), "Basic %s", (char *)encoded);
		rc = add_header(k, "Authorization", value, err);
		OPENSSL_cleanse(encoded, sizeof(encoded));
		OPENSSL_cleanse(value, sizeof(value));
		OPENSSL_cleanse(plain.data, plain.len);
	} else {
		rc = field_error(r, E2BIG, "password", "is too long", err);
	}
	strbuf_release(&plain);
	return rc;
}

/* --- Exec plugins ----------------------------------------------------------------------------------------- */

static bool is_api_version(const char *version)
{
	return version && (strcmp(version, "client.authentication.k8s.io/v1") == 0 ||
			   strcmp(version, "client.authentication.k8s.io/v1beta1") == 0);
}

/* A command with a slash is relative to the kubeconfig; without, it is looked for in $PATH. */
static int read_command(const struct reader *r, const cJSON *exec, struct exec_spec *spec, struct err *err)
{
	const char *command;
	int rc = read_string(r, exec, "command", &command, err);

	if (rc < 0)
		return rc;
	if (!command)
		return field_error(r, EINVAL, "exec.command", "is missing", err);
	return strchr(command, '/') ? resolve_file(r, command, &spec->command, err) : reader_copy(command, &spec->command, err);
}

static int read_args(const struct reader *r, const cJSON *args, struct exec_spec *spec, struct err *err)
{
	const cJSON *arg;
	size_t n = 0;

	if (cJSON_GetArraySize(args) > EXEC_WORDS_MAX)
		return field_error(r, E2BIG, "exec.args", "has too many words", err);
	spec->args = calloc((size_t)cJSON_GetArraySize(args) + 1, sizeof(char *));
	if (!spec->args)
		return err_set(err, ENOMEM, "kubeconfig");
	cJSON_ArrayForEach(arg, args) {
		if (!cJSON_IsString(arg))
			return field_error(r, EINVAL, "exec.args", "must be a list of strings", err);
		if (reader_copy(arg->valuestring, &spec->args[n++], err) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_env(const struct reader *r, const cJSON *env, struct exec_spec *spec, struct err *err)
{
	const cJSON *entry;
	size_t n = 0;

	if (cJSON_GetArraySize(env) > EXEC_WORDS_MAX)
		return field_error(r, E2BIG, "exec.env", "has too many entries", err);
	spec->env = calloc((size_t)cJSON_GetArraySize(env) + 1, sizeof(char *));
	if (!spec->env)
		return err_set(err, ENOMEM, "kubeconfig");
	cJSON_ArrayForEach(entry, env) {
		const char *name = json_str(entry, "name"), *value = json_str(entry, "value");
		struct strbuf text = STRBUF_INIT(65536);
		if (!name || !*name || strchr(name, '=') || !value)
			return field_error(r, EINVAL, "exec.env", "must be a list of {name, value}", err);
		strbuf_addf(&text, "%s=%s", name, value);
		spec->env[n++] = strbuf_detach(&text);
		strbuf_release(&text);
		if (!spec->env[n - 1])
			return field_error(r, E2BIG, "exec.env", "is too long", err);
	}
	return 0;
}

/* Makes the JSON that the plugin reads from KUBERNETES_EXEC_INFO. */
static int make_info(const cJSON *exec, const cJSON *cluster, struct exec_spec *spec, struct err *err)
{
	static const char *const members[] = { "server", "tls-server-name", "insecure-skip-tls-verify",
					       "certificate-authority-data", "proxy-url" };
	size_t lost = oom_count();
	_cleanup_json_ cJSON *info = cJSON_CreateObject();
	cJSON *in = json_object_at(info, "spec"), *about;

	json_set_str(info, "kind", "ExecCredential");
	json_set_str(info, "apiVersion", spec->api_version);
	json_set(in, "interactive", cJSON_CreateFalse());
	if (json_bool(exec, "provideClusterInfo", false)) {
		about = json_object_at(in, "cluster");
		for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
			const cJSON *item = cJSON_GetObjectItemCaseSensitive(cluster, members[i]);
			if (item)
				json_set(about, members[i], cJSON_Duplicate(item, true));
		}
		const cJSON *extension = json_find(json_get(cluster, "extensions"), "name", "client.authentication.k8s.io/exec");
		if (json_get(extension, "extension"))
			json_set(about, "config", cJSON_Duplicate(json_get(extension, "extension"), true));
	}
	spec->info = oom_count() == lost ? cJSON_PrintUnformatted(info) : NULL;
	return spec->info ? 0 : err_set(err, ENOMEM, "kubeconfig");
}

static int read_exec(const struct reader *r, const cJSON *user, const cJSON *cluster, struct kubeconfig *k,
		     struct err *err)
{
	const cJSON *exec = cJSON_GetObjectItemCaseSensitive(user, "exec");
	const char *version = json_str(exec, "apiVersion"), *mode = json_str(exec, "interactiveMode");

	if (!exec || cJSON_IsNull(exec))
		return 0;
	if (!is_api_version(version))
		return field_error(r, EINVAL, "exec.apiVersion", "must be client.authentication.k8s.io/v1 or v1beta1", err);
	if (mode && strcmp(mode, "Always") == 0)
		return field_error(r, ENOTSUP, "exec.interactiveMode", "Always wants a terminal, and there is none", err);
	if (k->token.text || k->token.file || k->certificate.text)
		return field_error(r, EINVAL, "exec", "comes without a token or certificate", err);
	k->exec = calloc(1, sizeof(*k->exec));
	if (!k->exec)
		return err_set(err, ENOMEM, "kubeconfig");
	snprintf(k->exec->where, sizeof(k->exec->where), "%s: %s.exec", r->name, r->section);
	int rc = reader_copy(version, &k->exec->api_version, err);
	if (rc == 0 && json_str(exec, "installHint"))
		rc = reader_copy(json_str(exec, "installHint"), &k->exec->hint, err);
	if (rc == 0)
		rc = read_command(r, exec, k->exec, err);
	if (rc == 0)
		rc = read_args(r, cJSON_GetObjectItemCaseSensitive(exec, "args"), k->exec, err);
	if (rc == 0)
		rc = read_env(r, cJSON_GetObjectItemCaseSensitive(exec, "env"), k->exec, err);
	return rc < 0 ? rc : make_info(exec, cluster, k->exec, err);
}

int read_user(const struct reader *r, const cJSON *user, const cJSON *cluster, struct kubeconfig *k, struct err *err)
{
	const cJSON *provider = cJSON_GetObjectItemCaseSensitive(user, "auth-provider");

	if (provider && !cJSON_IsNull(provider))
		return field_error(r, ENOTSUP, "auth-provider", "is not supported any more, as in kubectl: use an exec plugin",
				   err);
	int rc = read_pem(r, user, "client-certificate-data", "client-certificate", &k->certificate, err);
	if (rc == 0)
		rc = read_pem(r, user, "client-key-data", "client-key", &k->key, err);
	if (rc == 0)
		rc = read_token(r, user, &k->token, err);
	if (rc == 0 && !k->certificate.text != !k->key.text)
		rc = field_error(r, EINVAL, k->key.text ? "client-certificate" : "client-key",
				 "is missing: certificate and key come together", err);
	if (rc == 0)
		rc = read_basic(r, user, k, err);
	if (rc == 0)
		rc = read_exec(r, user, cluster, k, err);
	return rc < 0 ? rc : read_impersonation(r, user, k, err);
}
