/* SPDX-License-Identifier: Apache-2.0 */
/* Where the API server is and how to prove who we are. */
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
#define CREDENTIAL_MAX ((size_t)256 << 10)
#define TOKEN_AGE_NS (60 * NS_PER_SEC)
#define FILES_AGE_NS (300 * NS_PER_SEC)

static void secret_free(char *text)
{
	if (text)
		OPENSSL_cleanse(text, strlen(text));
	free(text);
}

static void credential_release(struct credential *c)
{
	secret_free(c->text);
	free(c->file);
	*c = (struct credential){ 0 };
}

void kubeconfig_release(struct kubeconfig *k)
{
	free(k->server);
	free(k->namespace);
	credential_release(&k->ca);
	credential_release(&k->certificate);
	credential_release(&k->key);
	credential_release(&k->token);
	*k = (struct kubeconfig){ 0 };
}
#define _cleanup_kubeconfig_ _cleanup_(kubeconfig_release)

static int copy(const char *text, char **ret_copy, struct err *err)
{
	char *s = strdup(text);

	if (!s)
		return err_set(err, ENOMEM, "kubeconfig");
	free(*ret_copy);
	*ret_copy = s;
	return 0;
}

static void trim_end(char *s)
{
	size_t len = strlen(s);

	while (len > 0 && strchr(" \t\r\n", s[len - 1]))
		s[--len] = '\0';
}

/* Reads c->file into c->text. The old text stays when the file is not readable or empty. */
static int credential_read(struct credential *c, bool *ret_changed, struct err *err)
{
	struct strbuf text = STRBUF_INIT(CREDENTIAL_MAX);
	int r = file_read(AT_FDCWD, c->file, &text, err);

	if (r == 0) {
		char *s = strbuf_detach(&text);
		if (!s) {
			r = err_set(err, ENOMEM, "read %s", c->file);
		} else if (trim_end(s), !*s) {
			r = err_set(err, ENODATA, "%s is empty", c->file);
			free(s);
		} else {
			if (ret_changed && (!c->text || strcmp(c->text, s) != 0))
				*ret_changed = true;
			secret_free(c->text);
			c->text = s;
		}
	}
	if (text.data)
		OPENSSL_cleanse(text.data, text.len);
	strbuf_release(&text);
	return r;
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
	const char *section; /* "users[2].user", where the fields stand */
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

/* A name in a URL or header: a line break would let the file write headers of its own. */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return false;
	return true;
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

static int read_user(const struct reader *r, const cJSON *user, struct kubeconfig *k, struct err *err)
{
	static const char *const unsupported[] = { "exec", "auth-provider", "username", "password" };

	for (size_t i = 0; i < ARRAY_SIZE(unsupported); i++)
		if (cJSON_GetObjectItemCaseSensitive(user, unsupported[i]))
			return field_error(r, ENOTSUP, unsupported[i],
					   "is not supported, use a token, tokenFile or a client certificate", err);
	int rc = read_pem(r, user, "client-certificate-data", "client-certificate", &k->certificate, err);
	if (rc == 0)
		rc = read_pem(r, user, "client-key-data", "client-key", &k->key, err);
	if (rc == 0)
		rc = read_token(r, user, &k->token, err);
	if (rc == 0 && !k->certificate.text != !k->key.text)
		rc = field_error(r, EINVAL, k->key.text ? "client-certificate" : "client-key",
				 "is missing: certificate and key come together", err);
	return rc;
}

static int read_cluster(const struct reader *r, const cJSON *cluster, struct kubeconfig *k, struct err *err)
{
	const char *server, *name, *proxy;
	const cJSON *insecure = cJSON_GetObjectItemCaseSensitive(cluster, "insecure-skip-tls-verify");
	int rc = read_string(r, cluster, "server", &server, err);

	if (rc == 0)
		rc = read_string(r, cluster, "tls-server-name", &name, err);
	if (rc == 0)
		rc = read_string(r, cluster, "proxy-url", &proxy, err);
	if (rc < 0)
		return rc;
	if (!server)
		return field_error(r, EINVAL, "server", "is missing", err);
	if ((strncmp(server, "https://", 8) != 0 && strncmp(server, "http://", 7) != 0) || !is_plain(server))
		return field_error(r, EINVAL, "server", "must be an http(s) URL", err);
	if (name)
		return field_error(r, ENOTSUP, "tls-server-name", "is not supported", err);
	if (proxy)
		return field_error(r, ENOTSUP, "proxy-url", "is not supported, use HTTPS_PROXY", err);
	if (insecure && !cJSON_IsBool(insecure) && !cJSON_IsNull(insecure))
		return field_error(r, EINVAL, "insecure-skip-tls-verify", "must be true or false", err);
	k->insecure = cJSON_IsTrue(insecure);
	rc = copy(server, &k->server, err);
	if (rc == 0)
		rc = read_pem(r, cluster, "certificate-authority-data", "certificate-authority", &k->ca, err);
	if (rc == 0 && k->insecure && k->ca.text)
		rc = field_error(r, EINVAL, "insecure-skip-tls-verify", "contradicts certificate-authority", err);
	for (size_t len = rc == 0 ? strlen(k->server) : 0; len > 0 && k->server[len - 1] == '/'; len--)
		k->server[len - 1] = '\0';
	return rc;
}

/* The object below "clusters[].cluster" whose list entry has this name; section is set for errors. */
static int find_named(const cJSON *root, const char *name, const char *list, const char *what, char section[64],
		      const char *file, const cJSON **ret_obj, struct err *err)
{
	const cJSON *entry;
	int i = 0;

	cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(root, list)) {
		const char *entry_name = json_str(entry, "name");
		const cJSON *obj = cJSON_GetObjectItemCaseSensitive(entry, what);
		if (entry_name && strcmp(entry_name, name) == 0 && cJSON_IsObject(obj)) {
			snprintf(section, 64, "%s[%d].%s", list, i, what);
			*ret_obj = obj;
			return 0;
		}
		i++;
	}
	return err_set(err, EINVAL, "%s: %s has no entry named \"%s\" with a %s", file, list, name, what);
}

static int parse_json(const cJSON *root, const char *file, struct kubeconfig *k, struct err *err)
{
	char section[64];
	struct reader r = { .name = file, .section = section };
	const cJSON *context, *cluster, *user;
	const char *current = json_str(root, "current-context"), *cluster_name, *user_name, *namespace;

	if (!cJSON_IsObject(root))
		return err_set(err, EINVAL, "%s: not a kubeconfig: no mapping", file);
	if (!current || !*current)
		return err_set(err, EINVAL, "%s: current-context: is missing", file);
	int rc = find_named(root, current, "contexts", "context", section, file, &context, err);
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
		rc = find_named(root, cluster_name, "clusters", "cluster", section, file, &cluster, err);
	if (rc == 0)
		rc = read_cluster(&r, cluster, k, err);
	if (rc < 0 || !user_name)
		return rc;
	rc = find_named(root, user_name, "users", "user", section, file, &user, err);
	return rc < 0 ? rc : read_user(&r, user, k, err);
}

int kubeconfig_parse(const char *text, size_t len, const char *name, struct kubeconfig *ret_config, struct err *err)
{
	_cleanup_json_ cJSON *root = NULL;
	_cleanup_kubeconfig_ struct kubeconfig k = { 0 };
	int r = yaml_to_json(text, len, &root, err);

	if (r < 0)
		return err_wrap(err, "%s", name);
	r = parse_json(root, name, &k, err);
	if (r < 0)
		return r;
	k.token_read_ns = k.files_read_ns = now_boottime_ns();
	*ret_config = k;
	k = (struct kubeconfig){ 0 };
	return 0;
}

int kubeconfig_load(const char *path, struct kubeconfig *ret_config, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CONFIG_MAX);
	int r = file_read(AT_FDCWD, path, &text, err);

	if (r < 0)
		return err_wrap(err, "kubeconfig");
	r = kubeconfig_parse(strbuf_str(&text), text.len, path, ret_config, err);
	if (text.data)
		OPENSSL_cleanse(text.data, text.len);
	return r;
}

static int service_account_file(const char *dir, const char *name, struct credential *c, struct err *err)
{
	struct strbuf path = STRBUF_INIT(4096);

	strbuf_addf(&path, "%s/%s", dir, name);
	c->file = strbuf_detach(&path);
	strbuf_release(&path);
	if (!c->file)
		return err_set(err, ENAMETOOLONG, "%s/%s", dir, name);
	return credential_read(c, NULL, err);
}

int kubeconfig_in_cluster(const char *host, const char *port, const char *dir, struct kubeconfig *ret_config,
			  struct err *err)
{
	_cleanup_kubeconfig_ struct kubeconfig k = { 0 };
	struct credential namespace = { 0 };
	struct strbuf server = STRBUF_INIT(512);

	if (!host || !*host || !port || !*port)
		return err_set(err, ENOENT, "not in a pod (KUBERNETES_SERVICE_HOST and _PORT are not set)");
	/* IPv6 addresses come bare. */
	strbuf_addf(&server, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	k.server = strbuf_detach(&server);
	strbuf_release(&server);
	if (!k.server || !is_plain(k.server))
		return err_set(err, EINVAL, "KUBERNETES_SERVICE_HOST or _PORT is no address");
	int r = service_account_file(dir, "ca.crt", &k.ca, err);
	if (r == 0)
		r = service_account_file(dir, "token", &k.token, err);
	if (r < 0)
		return err_wrap(err, "service account");
	if (service_account_file(dir, "namespace", &namespace, NULL) == 0)
		k.namespace = TAKE_PTR(namespace.text);
	credential_release(&namespace);
	if (!k.namespace)
		r = copy("default", &k.namespace, err);
	k.token_read_ns = k.files_read_ns = now_boottime_ns();
	if (r < 0)
		return r;
	*ret_config = k;
	k = (struct kubeconfig){ 0 };
	return 0;
}

static int refresh_one(struct credential *c, bool *changed, struct err *err)
{
	return c->file ? credential_read(c, changed, err) : 0;
}

int kubeconfig_refresh(struct kubeconfig *k, int64_t now_ns, bool force, bool *ret_changed, struct err *err)
{
	bool changed = false;
	int r = 0, r2;

	if (force || now_ns - k->token_read_ns >= TOKEN_AGE_NS) {
		k->token_read_ns = now_ns;
		r = refresh_one(&k->token, &changed, err);
	}
	if (force || now_ns - k->files_read_ns >= FILES_AGE_NS) {
		struct credential *files[] = { &k->ca, &k->certificate, &k->key };
		k->files_read_ns = now_ns;
		for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
			r2 = refresh_one(files[i], &changed, r < 0 ? NULL : err);
			r = r < 0 ? r : r2;
		}
	}
	if (ret_changed)
		*ret_changed = changed;
	return r;
}
