/* SPDX-License-Identifier: Apache-2.0 */
/* Reads where the API server is and which credentials prove our identity. */
#include "operator/kube/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define CREDENTIAL_MAX ((size_t)256 << 10)
#define TOKEN_AGE_NS (60 * NS_PER_SEC)
#define FILES_AGE_NS (300 * NS_PER_SEC)

/* Frees a secret after it was overwritten. */
static void secret_free(char *text)
{
	if (text)
		OPENSSL_cleanse(text, strlen(text));
	free(text);
}

void credential_release(struct credential *c)
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

static void trim_end(char *s)
{
	size_t len = strlen(s);

	while (len > 0 && strchr(" \t\r\n", s[len - 1]))
		s[--len] = '\0';
}

int credential_read(struct credential *c, bool *ret_changed, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CREDENTIAL_MAX);
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
	return r;
}

bool is_plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return false;
	return true;
}

static int service_account_file(const char *dir, const char *name, struct credential *c,
				struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(4096);

	strbuf_addf(&path, "%s/%s", dir, name);
	c->file = strbuf_detach(&path);
	if (!c->file)
		return err_set(err, ENAMETOOLONG, "%s/%s", dir, name);
	return credential_read(c, NULL, err);
}

int kubeconfig_in_cluster(const char *host, const char *port, const char *dir,
			  struct kubeconfig *ret_config, struct err *err)
{
	_cleanup_kubeconfig_ struct kubeconfig k = { 0 };
	struct credential namespace = { 0 };
	_cleanup_strbuf_ struct strbuf server = STRBUF_INIT(512);

	if (!host || !*host || !port || !*port)
		return err_set(err, ENOENT,
			       "not in a pod (KUBERNETES_SERVICE_HOST and _PORT are not set)");
	/* An IPv6 address has no brackets here. */
	strbuf_addf(&server, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	k.server = strbuf_detach(&server);
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
	if (r == 0 && !k.namespace)
		r = (k.namespace = strdup("default")) ? 0 : err_set(err, ENOMEM, "service account");
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

int kubeconfig_refresh(struct kubeconfig *k, int64_t now_ns, bool force, bool *ret_changed,
		       struct err *err)
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
