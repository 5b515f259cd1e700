/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads our identity from a kubeconfig's users: certificates, tokens, passwords, impersonation.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/json.h"
#include "lib/strbuf.h"
#include "operator/kube/kubeconfig_reader.h"

#define HEADERS_MAX 64

static int kubeconfig_user_read_token(const struct reader *r, const cJSON *user, struct credential *c, struct err *err)
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

static int kubeconfig_user_add_header(struct kubeconfig *k, const char *name, const char *value,
				      struct err *err)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT(16384);
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
	return kubeconfig_user_add_header(k, name, value->valuestring, err);
}

static int read_extra(const struct reader *r, const cJSON *extra, struct kubeconfig *k, struct err *err)
{
	int rc = 0;

	json_each(values, extra) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT(1024);
		strbuf_adds(&name, "Impersonate-Extra-");
		/* As client-go does, characters that cannot be in a token are percent-encoded. */
		for (const char *p = values->string; *p; p++)
			strbuf_addf(&name, strchr("%:()<>@,;\\\"/[]?={}", *p) || *p <= ' ' ? "%%%02X" : "%c", (unsigned char)*p);
		json_each(value, values)
			if (rc == 0)
				rc = add_impersonation(r, k, "as-user-extra", strbuf_str(&name), value, err);
	}
	return rc;
}

static int read_impersonation(const struct reader *r, const cJSON *user, struct kubeconfig *k, struct err *err)
{
	const cJSON *as = cJSON_GetObjectItemCaseSensitive(user, "as");
	const cJSON *uid = cJSON_GetObjectItemCaseSensitive(user, "as-uid");
	const cJSON *groups = cJSON_GetObjectItemCaseSensitive(user, "as-groups");
	const cJSON *extra = cJSON_GetObjectItemCaseSensitive(user, "as-user-extra");
	int rc = as ? add_impersonation(r, k, "as", "Impersonate-User", as, err) : 0;

	if (!as && (uid || groups || extra))
		return field_error(r, EINVAL, "as", "is missing: as-uid, as-groups and as-user-extra go with it", err);
	if (rc == 0 && uid)
		rc = add_impersonation(r, k, "as-uid", "Impersonate-Uid", uid, err);
	json_each(group, groups)
		if (rc == 0)
			rc = add_impersonation(r, k, "as-groups", "Impersonate-Group", group, err);
	return rc < 0 ? rc : read_extra(r, extra, k, err);
}

static int read_basic(const struct reader *r, const cJSON *user, struct kubeconfig *k, struct err *err)
{
	const char *name, *password;
	_cleanup_strbuf_ struct strbuf plain = STRBUF_INIT(4096);
	char encoded[8192];
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
		base64_encode(strbuf_str(&plain), plain.len, encoded);
		snprintf(value, sizeof(value), "Basic %s", encoded);
		rc = kubeconfig_user_add_header(k, "Authorization", value, err);
		OPENSSL_cleanse(encoded, sizeof(encoded));
		OPENSSL_cleanse(value, sizeof(value));
		OPENSSL_cleanse(plain.data, plain.len);
	} else {
		rc = field_error(r, E2BIG, "password", "is too long", err);
	}
	return rc;
}

/* The operator runs in the cluster, where a service account's token is at hand and no plugin is. */
static int refuse_plugins(const struct reader *r, const cJSON *user, struct err *err)
{
	static const char *const fields[] = { "exec", "auth-provider" };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const cJSON *plugin = cJSON_GetObjectItemCaseSensitive(user, fields[i]);

		if (plugin && !cJSON_IsNull(plugin))
			return field_error(
				r, ENOTSUP, fields[i],
				"is not supported: give a token or a certificate, or the address of a kubectl proxy",
				err);
	}
	return 0;
}

int read_user(const struct reader *r, const cJSON *user, struct kubeconfig *k, struct err *err)
{
	int rc = refuse_plugins(r, user, err);

	if (rc < 0)
		return rc;
	rc = read_pem(r, user, "client-certificate-data", "client-certificate", &k->certificate,
		      err);
	if (rc == 0)
		rc = read_pem(r, user, "client-key-data", "client-key", &k->key, err);
	if (rc == 0)
		rc = kubeconfig_user_read_token(r, user, &k->token, err);
	if (rc == 0 && !k->certificate.text != !k->key.text)
		rc = field_error(r, EINVAL, k->key.text ? "client-certificate" : "client-key",
				 "is missing: certificate and key come together", err);
	if (rc == 0)
		rc = read_basic(r, user, k, err);
	return rc < 0 ? rc : read_impersonation(r, user, k, err);
}
