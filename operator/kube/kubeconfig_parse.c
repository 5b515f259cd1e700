/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubeconfig files, one or several.
 *
 * Of several, as KUBECONFIG may name them, the first that says something wins:
 * an entry is looked for in each in turn, and stays what it is: its files are
 * relative to the file it stands in, and errors name that one.
 */
#include "operator/kube/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/yaml.h"

#define CONFIG_MAX ((size_t)1 << 20)
#define CONFIGS_MAX 32
#define HEADERS_MAX 64
#define EXEC_WORDS_MAX 256

/* One file. */
struct source {
	char *name;
	cJSON *root;
};

struct sources {
	struct source of[CONFIGS_MAX];
	size_t n;
};

static void sources_release(struct sources *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->of[i].name);
		cJSON_Delete(s->of[i].root);
	}
	s->n = 0;
}
#define _cleanup_sources_ _cleanup_(sources_release)

static int copy(const char *text, char **ret_copy, struct err *err)
{
	char *s = strdup(text);

	if (!s)
		return err_set(err, ENOMEM, "kubeconfig");
	free(*ret_copy);
	*ret_copy = s;
	return 0;
}

/* Standard base64 with blanks allowed between, as YAML folds it. */
static char *base64_decode(const char *in)
{
	size_t len = strlen(in), n = 0;
	_cleanup_free_ char *packed = malloc(len + 1);
	char *out = malloc(len / 4 * 3 + 4);

	if (!packed || !out)
		goto fail;
	for (; *in; in++)
		if (!strchr(" \t\r\n", *in))
			packed[n++] = *in;
	packed[n] = '\0';
	int r = n && n % 4 == 0 ? EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)packed, (int)n) : -1;
	if (r < 0)
		goto fail;
	/* EVP_DecodeBlock counts the padding as bytes. */
	if (packed[n - 1] == '=')
		r--;
	if (packed[n - 2] == '=')
		r--;
	out[r] = '\0';
	if (strlen(out) == (size_t)r) {
		OPENSSL_cleanse(packed, n);
		return out;
	}
fail:
	free(out);
	return NULL;
}

/* What the errors of one file share. */
struct reader {
	const char *name; /* the file */
	const cJSON *root;
	char section[64]; /* "users[2].user", where the fields stand */
};

static int field_error(const struct reader *r, int code, const char *field, const char *what, struct err *err)
{
	return err_set(err, code, "%s: %s.%s: %s", r->name, r->section, field, what);
}

/* The string field of obj, NULL when absent or null; of another type it is an error. */
static int read_string(const struct reader *r, const cJSON *obj, const char *field, const char **ret_text,
		       struct err *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(obj, field);

	*ret_text = NULL;
	if (!item || cJSON_IsNull(item))
		return 0;
	if (!cJSON_IsString(item))
		return field_error(r, EINVAL, field, "must be a string", err);
	if (*item->valuestring)
		*ret_text = item->valuestring;
	return 0;
}

/* Files in a kubeconfig are relative to the kubeconfig. */
static int resolve_file(const struct reader *r, const char *file, char **ret_path, struct err *err)
{
	const char *slash = strrchr(r->name, '/');
	struct strbuf path = STRBUF_INIT(4096);

	if (*file != '/' && slash)
		strbuf_add(&path, r->name, (size_t)(slash - r->name) + 1);
	strbuf_adds(&path, file);
	*ret_path = strbuf_detach(&path);
	strbuf_release(&path);
	return *ret_path ? 0 : err_set(err, ENAMETOOLONG, "%s: path %s", r->name, file);
}

/* Inline data in field_data (base64) wins over a file in field_file, as in kubectl. */
static int read_pem(const struct reader *r, const cJSON *obj, const char *field_data, const char *field_file,
		    struct credential *c, struct err *err)
{
	const char *text;
	int rc = read_string(r, obj, field_data, &text, err);

	if (rc < 0)
		return rc;
	if (text) {
		c->text = base64_decode(text);
		return c->text ? 0 : field_error(r, EINVAL, field_data, "is not base64 of a PEM text", err);
	}
	rc = read_string(r, obj, field_file, &text, err);
	if (rc < 0 || !text)
		return rc;
	rc = resolve_file(r, text, &c->file, err);
	if (rc == 0)
		rc = credential_read(c, NULL, err);
	return rc < 0 ? err_wrap(err, "%s: %s.%s", r->name, r->section, field_file) : 0;
}

static int read_token(const struct reader *r, const cJSON *user, struct credential *c, struct err *err)
{
	const char *text, *file;
	int rc = read_string(r, user, "token", &text, err);

	if (rc == 0)
		rc = read_string(r, user, "tokenFile", &file, err);
	if (rc < 0)
		return rc;
	if (file) { /* the file wins: it is the one that is renewed */
		rc = resolve_file(r, file, &c->file, err);
		if (rc == 0)
			rc = credential_read(c, NULL, err);
		return rc < 0 ? err_wrap(err, "%s: %s.tokenFile", r->name, r->section) : 0;
	}
	if (text && !is_plain(text))
		return field_error(r, EINVAL, "token", "holds blanks or control characters", err);
	return text ? copy(text, &c->text, err) : 0;
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

/* Words may have blanks inside, a line break would begin another header. */
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
		for (const char *p = values->string; *p; p++) /* as client-go: what is no token is percent-encoded */
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
	return strchr(command, '/') ? resolve_file(r, command, &spec->command, err) : copy(command, &spec->command, err);
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
		if (copy(arg->valuestring, &spec->args[n++], err) < 0)
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

/* What the plugin reads from KUBERNETES_EXEC_INFO. */
static int make_info(const cJSON *exec, const cJSON *cluster, struct exec_spec *spec, struct err *err)
{
	static const char *const members[] = { "server", "tls-server-name", "insecure-skip-tls-verify",
					       "certificate-authority-data", "proxy-url" };
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
	spec->info = cJSON_PrintUnformatted(info);
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
	int rc = copy(version, &k->exec->api_version, err);
	if (rc == 0 && json_str(exec, "installHint"))
		rc = copy(json_str(exec, "installHint"), &k->exec->hint, err);
	if (rc == 0)
		rc = read_command(r, exec, k->exec, err);
	if (rc == 0)
		rc = read_args(r, cJSON_GetObjectItemCaseSensitive(exec, "args"), k->exec, err);
	if (rc == 0)
		rc = read_env(r, cJSON_GetObjectItemCaseSensitive(exec, "env"), k->exec, err);
	return rc < 0 ? rc : make_info(exec, cluster, k->exec, err);
}

static int read_user(const struct reader *r, const cJSON *user, const cJSON *cluster, struct kubeconfig *k,
		     struct err *err)
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

/* --- Clusters --------------------------------------------------------------------------------------------- */

static bool has_scheme(const char *url, const char *const *schemes)
{
	for (; *schemes; schemes++)
		if (strncmp(url, *schemes, strlen(*schemes)) == 0 && url[strlen(*schemes)])
			return is_plain(url);
	return false;
}

static int read_server(const struct reader *r, const cJSON *cluster, struct kubeconfig *k, struct err *err)
{
	static const char *const schemes[] = { "https://", "http://", NULL };
	static const char *const proxies[] = { "https://", "http://", "socks5://", "socks5h://", NULL };
	const char *server, *name, *proxy;
	int rc = read_string(r, cluster, "server", &server, err);

	if (rc == 0)
		rc = read_string(r, cluster, "tls-server-name", &name, err);
	if (rc == 0)
		rc = read_string(r, cluster, "proxy-url", &proxy, err);
	if (rc < 0)
		return rc;
	if (!server)
		return field_error(r, EINVAL, "server", "is missing", err);
	if (!has_scheme(server, schemes))
		return field_error(r, EINVAL, "server", "must be an http(s) URL", err);
	if (name && (!is_plain(name) || strpbrk(name, "/:@?#")))
		return field_error(r, EINVAL, "tls-server-name", "must be a host name", err);
	if (proxy && !has_scheme(proxy, proxies))
		return field_error(r, EINVAL, "proxy-url", "must be an http, https or socks5 URL", err);
	rc = copy(server, &k->server, err);
	if (rc == 0 && name)
		rc = copy(name, &k->tls_server_name, err);
	return rc == 0 && proxy ? copy(proxy, &k->proxy, err) : rc;
}

static int read_cluster(const struct reader *r, const cJSON *cluster, struct kubeconfig *k, struct err *err)
{
	const cJSON *insecure = cJSON_GetObjectItemCaseSensitive(cluster, "insecure-skip-tls-verify");
	int rc = read_server(r, cluster, k, err);

	if (rc < 0)
		return rc;
	if (insecure && !cJSON_IsBool(insecure) && !cJSON_IsNull(insecure))
		return field_error(r, EINVAL, "insecure-skip-tls-verify", "must be true or false", err);
	k->insecure = cJSON_IsTrue(insecure);
	rc = read_pem(r, cluster, "certificate-authority-data", "certificate-authority", &k->ca, err);
	if (rc == 0 && k->insecure && k->ca.text)
		rc = field_error(r, EINVAL, "insecure-skip-tls-verify", "contradicts certificate-authority", err);
	for (size_t len = strlen(k->server); len > 0 && k->server[len - 1] == '/'; len--)
		k->server[len - 1] = '\0';
	return rc;
}

/* --- Files ------------------------------------------------------------------------------------------------ */

/* The object of the entry of this name: "clusters[].cluster", in the first file that has one; r says where it is. */
static int find_named(const struct sources *s, const char *name, const char *list, const char *what,
		      struct reader *ret_reader, const cJSON **ret_obj, struct err *err)
{
	for (size_t n = 0; n < s->n; n++) {
		const cJSON *entry;
		int i = 0;
		cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(s->of[n].root, list)) {
			const char *entry_name = json_str(entry, "name");
			const cJSON *obj = cJSON_GetObjectItemCaseSensitive(entry, what);
			if (entry_name && strcmp(entry_name, name) == 0 && cJSON_IsObject(obj)) {
				ret_reader->name = s->of[n].name;
				snprintf(ret_reader->section, sizeof(ret_reader->section), "%s[%d].%s", list, i, what);
				*ret_obj = obj;
				return 0;
			}
			i++;
		}
	}
	return err_set(err, EINVAL, "%s: %s has no entry named \"%s\" with a %s", s->of[0].name, list, name, what);
}

static const char *current_context(const struct sources *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const char *current = json_str(s->of[i].root, "current-context");
		if (current && *current)
			return current;
	}
	return NULL;
}

static int read_context(const struct sources *s, const char *name, struct kubeconfig *k, struct err *err)
{
	struct reader r = { 0 };
	const cJSON *context, *cluster = NULL, *user;
	const char *cluster_name, *user_name, *namespace;
	int rc = find_named(s, name, "contexts", "context", &r, &context, err);

	if (rc == 0)
		rc = read_string(&r, context, "cluster", &cluster_name, err);
	if (rc == 0)
		rc = read_string(&r, context, "user", &user_name, err);
	if (rc == 0)
		rc = read_string(&r, context, "namespace", &namespace, err);
	if (rc == 0 && !cluster_name)
		rc = field_error(&r, EINVAL, "cluster", "is missing", err);
	if (rc == 0)
		rc = copy(namespace ? namespace : "default", &k->namespace, err);
	if (rc == 0)
		rc = find_named(s, cluster_name, "clusters", "cluster", &r, &cluster, err);
	if (rc == 0)
		rc = read_cluster(&r, cluster, k, err);
	if (rc < 0 || !user_name)
		return rc;
	rc = find_named(s, user_name, "users", "user", &r, &user, err);
	return rc < 0 ? rc : read_user(&r, user, cluster, k, err);
}

static int read_sources(const struct sources *s, const char *context, struct kubeconfig *ret_config, struct err *err)
{
	_cleanup_kubeconfig_ struct kubeconfig k = { 0 };

	for (size_t i = 0; i < s->n; i++)
		if (!cJSON_IsObject(s->of[i].root))
			return err_set(err, EINVAL, "%s: not a kubeconfig: no mapping", s->of[i].name);
	if (!context)
		context = current_context(s);
	if (!context)
		return err_set(err, EINVAL, "%s: current-context: is missing", s->of[0].name);
	int r = read_context(s, context, &k, err);
	if (r < 0)
		return r;
	k.token_read_ns = k.files_read_ns = now_boottime_ns();
	*ret_config = k;
	k = (struct kubeconfig){ 0 };
	return 0;
}

static int add_source(struct sources *s, const char *name, const char *text, size_t len, struct err *err)
{
	cJSON *root;

	if (s->n == CONFIGS_MAX)
		return err_set(err, E2BIG, "kubeconfig: more than %d files", CONFIGS_MAX);
	int r = yaml_to_json(text, len, &root, err);
	if (r < 0) {
		err_wrap(err, "%s", name);
		return r;
	}
	s->of[s->n] = (struct source){ .name = strdup(name), .root = root };
	if (!s->of[s->n++].name)
		return err_set(err, ENOMEM, "kubeconfig");
	return 0;
}

int kubeconfig_parse(const char *text, size_t len, const char *name, struct kubeconfig *ret_config, struct err *err)
{
	_cleanup_sources_ struct sources s = { 0 };
	int r = add_source(&s, name, text, len, err);

	return r < 0 ? r : read_sources(&s, NULL, ret_config, err);
}

static int load_source(struct sources *s, const char *path, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CONFIG_MAX);
	int r = file_read(AT_FDCWD, path, &text, err);

	if (r < 0)
		err_wrap(err, "kubeconfig");
	else
		r = add_source(s, path, strbuf_str(&text), text.len, err);
	if (text.data)
		OPENSSL_cleanse(text.data, text.len);
	return r;
}

int kubeconfig_load(const char *path, const char *context, struct kubeconfig *ret_config, struct err *err)
{
	_cleanup_sources_ struct sources s = { 0 };
	int r = load_source(&s, path, err);

	return r < 0 ? r : read_sources(&s, context, ret_config, err);
}

int kubeconfig_load_list(const char *paths, const char *context, struct kubeconfig *ret_config, struct err *err)
{
	_cleanup_sources_ struct sources s = { 0 };
	_cleanup_free_ char *list = strdup(paths);
	char *rest = list, *path;

	if (!list)
		return err_set(err, ENOMEM, "kubeconfig");
	while ((path = strsep(&rest, ":"))) {
		struct err why = { 0 };
		int r = *path ? load_source(&s, path, &why) : 0;
		/* As in kubectl: what is not there is as good as empty. */
		if (r < 0 && r != -ENOENT) {
			if (err)
				*err = why;
			return r;
		}
	}
	if (s.n == 0)
		return err_set(err, ENOENT, "kubeconfig: none of %s", paths);
	return read_sources(&s, context, ret_config, err);
}
