/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a kubeconfig file: one context, its cluster and its user.
 *
 * The operator runs in the cluster, where a service account's token is at hand. So a file needs no
 * more than an address, and a certificate or a token; all else that says who we are or how the
 * server is reached is refused, because to ignore it would be worse.
 */
#include "operator/kube/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/kube/yaml.h"

#define CONFIG_MAX ((size_t)1 << 20)

/* A file, and the place of the fields that are being read from it. */
struct reader {
	const char *name; /* the file */
	const cJSON *root;
	const cJSON *object;
	char section[64]; /* of object: "users[2].user" */
};

/*
 * --- Fields
 * -----------------------------------------------------------------------------------------------
 */

static int field_error(const struct reader *r, int code, const char *field, const char *what,
		       struct err *err)
{
	return err_set(err, code, "%s: %s.%s: %s", r->name, r->section, field, what);
}

static int reader_copy(const char *text, char **ret_copy, struct err *err)
{
	*ret_copy = strdup(text);
	return *ret_copy ? 0 : err_set(err, ENOMEM, "kubeconfig");
}

/* Reads a string of the object; NULL if it is absent, empty or null. Another type is an error. */
static int read_string(const struct reader *r, const char *field, const char **ret_text,
		       struct err *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(r->object, field);

	if (item && !cJSON_IsNull(item) && !cJSON_IsString(item))
		return field_error(r, EINVAL, field, "must be a string", err);
	*ret_text = cJSON_IsString(item) && *item->valuestring ? item->valuestring : NULL;
	return 0;
}

static int refuse_unsupported(const struct reader *r, const char *const *fields, struct err *err)
{
	for (; *fields; fields++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(r->object, *fields);

		if (item && !cJSON_IsNull(item))
			return field_error(
				r, ENOTSUP, *fields,
				"is not supported: give a token or a certificate, or the address of a kubectl proxy",
				err);
	}
	return 0;
}

/* Reads the file that a field names: its path is relative to the kubeconfig. */
static int read_file(const struct reader *r, const char *field, struct credential *c,
		     struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(4096);
	const char *slash = strrchr(r->name, '/'), *file;
	int rc = read_string(r, field, &file, err);

	if (rc < 0 || !file)
		return rc;
	if (*file != '/' && slash)
		strbuf_add(&path, r->name, (size_t)(slash - r->name) + 1);
	strbuf_adds(&path, file);
	c->file = strbuf_detach(&path);
	if (!c->file)
		return err_set(err, ENAMETOOLONG, "%s: path %s", r->name, file);
	rc = credential_read(c, NULL, err);
	return rc < 0 ? err_wrap(err, "%s: %s.%s", r->name, r->section, field) : 0;
}

/* Inline data in field_data (base64) wins over a file in field_file, as in kubectl. */
static int read_pem(const struct reader *r, const char *field_data, const char *field_file,
		    struct credential *c, struct err *err)
{
	const char *text;
	int rc = read_string(r, field_data, &text, err);

	if (rc < 0 || !text)
		return rc < 0 ? rc : read_file(r, field_file, c, err);
	size_t len = strlen(text);
	c->text = malloc(len + 1);
	if (!c->text)
		return err_set(err, ENOMEM, "kubeconfig");
	int n = base64_decode(text, len, c->text);
	c->text[MAX(n, 0)] = '\0';
	return n > 0 && strlen(c->text) == (size_t)n ?
		       0 :
		       field_error(r, EINVAL, field_data, "is not base64 of a PEM text", err);
}

/*
 * --- Clusters and users
 * -----------------------------------------------------------------------------------
 */

static int read_cluster(const struct reader *r, struct kubeconfig *k, struct err *err)
{
	static const char *const unsupported[] = { "tls-server-name", "proxy-url", NULL };
	const cJSON *insecure =
		cJSON_GetObjectItemCaseSensitive(r->object, "insecure-skip-tls-verify");
	const char *server;
	int rc = refuse_unsupported(r, unsupported, err);

	if (rc == 0)
		rc = read_string(r, "server", &server, err);
	if (rc < 0)
		return rc;
	if (!server)
		return field_error(r, EINVAL, "server", "is missing", err);
	if ((strncmp(server, "https://", 8) != 0 && strncmp(server, "http://", 7) != 0) ||
	    !is_plain(server))
		return field_error(r, EINVAL, "server", "must be an http(s) URL", err);
	if (insecure && !cJSON_IsBool(insecure) && !cJSON_IsNull(insecure))
		return field_error(r, EINVAL, "insecure-skip-tls-verify", "must be true or false",
				   err);
	k->insecure = cJSON_IsTrue(insecure);
	rc = reader_copy(server, &k->server, err);
	if (rc == 0)
		rc = read_pem(r, "certificate-authority-data", "certificate-authority", &k->ca,
			      err);
	if (rc == 0 && k->insecure && k->ca.text)
		rc = field_error(r, EINVAL, "insecure-skip-tls-verify",
				 "contradicts certificate-authority", err);
	for (size_t len = k->server ? strlen(k->server) : 0; len > 0 && k->server[len - 1] == '/';
	     len--)
		k->server[len - 1] = '\0';
	return rc;
}

/* The file of a token has precedence, because it is renewed. */
static int read_token(const struct reader *r, struct credential *c, struct err *err)
{
	const char *text;
	int rc = read_file(r, "tokenFile", c, err);

	if (rc == 0 && !c->file)
		rc = read_string(r, "token", &text, err);
	if (rc < 0 || c->file || !text)
		return rc;
	if (!is_plain(text))
		return field_error(r, EINVAL, "token", "holds blanks or control characters", err);
	return reader_copy(text, &c->text, err);
}

static int read_user(const struct reader *r, struct kubeconfig *k, struct err *err)
{
	static const char *const unsupported[] = {
		"exec",	  "auth-provider", "username",	    "password", "as",
		"as-uid", "as-groups",	   "as-user-extra", NULL
	};
	int rc = refuse_unsupported(r, unsupported, err);

	if (rc == 0)
		rc = read_pem(r, "client-certificate-data", "client-certificate", &k->certificate,
			      err);
	if (rc == 0)
		rc = read_pem(r, "client-key-data", "client-key", &k->key, err);
	if (rc == 0 && !k->certificate.text != !k->key.text)
		rc = field_error(r, EINVAL, k->key.text ? "client-certificate" : "client-key",
				 "is missing: certificate and key come together", err);
	return rc < 0 ? rc : read_token(r, &k->token, err);
}

/*
 * --- Files
 * ------------------------------------------------------------------------------------------------
 */

/* Goes to the object of the entry of this name: list is "clusters", what is "cluster". */
static int reader_enter(struct reader *r, const char *list, const char *what, const char *name,
			struct err *err)
{
	int i = 0;

	json_each(entry, cJSON_GetObjectItemCaseSensitive(r->root, list)) {
		r->object = cJSON_GetObjectItemCaseSensitive(entry, what);
		snprintf(r->section, sizeof(r->section), "%s[%d].%s", list, i++, what);
		if (json_is(entry, "name", name) && cJSON_IsObject(r->object))
			return 0;
	}
	return err_set(err, EINVAL, "%s: %s has no entry named \"%s\" with a %s", r->name, list,
		       name, what);
}

static int read_context(struct reader *r, const char *name, struct kubeconfig *k, struct err *err)
{
	const char *cluster, *user, *namespace;
	int rc = reader_enter(r, "contexts", "context", name, err);

	if (rc == 0)
		rc = read_string(r, "cluster", &cluster, err);
	if (rc == 0)
		rc = read_string(r, "user", &user, err);
	if (rc == 0)
		rc = read_string(r, "namespace", &namespace, err);
	if (rc == 0 && !cluster)
		rc = field_error(r, EINVAL, "cluster", "is missing", err);
	if (rc == 0)
		rc = reader_copy(namespace ? namespace : "default", &k->namespace, err);
	if (rc == 0)
		rc = reader_enter(r, "clusters", "cluster", cluster, err);
	if (rc == 0)
		rc = read_cluster(r, k, err);
	if (rc < 0 || !user)
		return rc;
	rc = reader_enter(r, "users", "user", user, err);
	return rc < 0 ? rc : read_user(r, k, err);
}

int kubeconfig_parse(const char *text, size_t len, const char *name, const char *context,
		     struct kubeconfig *ret_config, struct err *err)
{
	_cleanup_kubeconfig_ struct kubeconfig k = { 0 };
	_cleanup_json_ cJSON *root = NULL;

	if (yaml_to_json(text, len, &root, err) < 0)
		return err_wrap(err, "%s", name);
	if (!cJSON_IsObject(root))
		return err_set(err, EINVAL, "%s: not a kubeconfig: no mapping", name);
	if (!context)
		context = json_str_or(root, "current-context", "");
	if (!*context)
		return err_set(err, EINVAL, "%s: current-context: is missing", name);
	int r = read_context(&(struct reader){ .name = name, .root = root }, context, &k, err);
	if (r < 0)
		return r;
	k.token_read_ns = k.files_read_ns = now_boottime_ns();
	*ret_config = k;
	k = (struct kubeconfig){ 0 };
	return 0;
}

int kubeconfig_load(const char *path, const char *context, struct kubeconfig *ret_config,
		    struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CONFIG_MAX);
	int r = file_read(AT_FDCWD, path, &text, err);

	r = r < 0 ? err_wrap(err, "kubeconfig") :
		    kubeconfig_parse(strbuf_str(&text), text.len, path, context, ret_config, err);
	if (text.data)
		OPENSSL_cleanse(text.data, text.len);
	return r;
}
