/* SPDX-License-Identifier: Apache-2.0 */
/* The common parts of the readers of a kubeconfig. */
#include "operator/kube/kubeconfig_reader.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/strbuf.h"

int reader_copy(const char *text, char **ret_copy, struct err *err)
{
	char *s = strdup(text);

	if (!s)
		return err_set(err, ENOMEM, "kubeconfig");
	free(*ret_copy);
	*ret_copy = s;
	return 0;
}

/* Standard base64 with blanks allowed between, as YAML folds it. */
static char *kubeconfig_reader_unbase64(const char *in)
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
	int r = base64_decode(packed, n, out);
	if (r < 0)
		goto fail;
	out[r] = '\0';
	if (strlen(out) == (size_t)r) {
		OPENSSL_cleanse(packed, n);
		return out;
	}
fail:
	free(out);
	return NULL;
}

int field_error(const struct reader *r, int code, const char *field, const char *what, struct err *err)
{
	return err_set(err, code, "%s: %s.%s: %s", r->name, r->section, field, what);
}

int read_string(const struct reader *r, const cJSON *obj, const char *field, const char **ret_text, struct err *err)
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

int resolve_file(const struct reader *r, const char *file, char **ret_path, struct err *err)
{
	const char *slash = strrchr(r->name, '/');
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(4096);

	if (*file != '/' && slash)
		strbuf_add(&path, r->name, (size_t)(slash - r->name) + 1);
	strbuf_adds(&path, file);
	*ret_path = strbuf_detach(&path);
	return *ret_path ? 0 : err_set(err, ENAMETOOLONG, "%s: path %s", r->name, file);
}

int read_pem(const struct reader *r, const cJSON *obj, const char *field_data, const char *field_file,
	     struct credential *c, struct err *err)
{
	const char *text;
	int rc = read_string(r, obj, field_data, &text, err);

	if (rc < 0)
		return rc;
	if (text) {
		c->text = kubeconfig_reader_unbase64(text);
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
