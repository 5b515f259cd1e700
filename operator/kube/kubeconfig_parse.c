/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses kubeconfig files, one or several.
 *
 * If KUBECONFIG names several files, the first file with a setting wins. An entry is
 * looked for in each file in turn and used unchanged: its paths are relative to the
 * file that has it, and errors name that file.
 */
#include "operator/kube/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/kube/kubeconfig_reader.h"
#include "operator/kube/yaml.h"

#define CONFIG_MAX ((size_t)1 << 20)
#define CONFIGS_MAX 32

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
	rc = reader_copy(server, &k->server, err);
	if (rc == 0 && name)
		rc = reader_copy(name, &k->tls_server_name, err);
	return rc == 0 && proxy ? reader_copy(proxy, &k->proxy, err) : rc;
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

/*
 * Returns the object of the entry of this name, "clusters[].cluster", in the first file that has
 * it; r gets its place.
 */
static int find_named(const struct sources *s, const char *name, const char *list, const char *what,
		      struct reader *ret_reader, const cJSON **ret_obj, struct err *err)
{
	for (size_t n = 0; n < s->n; n++) {
		int i = 0;
		json_each(entry, cJSON_GetObjectItemCaseSensitive(s->of[n].root, list)) {
			const cJSON *obj = cJSON_GetObjectItemCaseSensitive(entry, what);
			if (json_is(entry, "name", name) && cJSON_IsObject(obj)) {
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
	const cJSON *context, *cluster, *user;
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
		rc = reader_copy(namespace ? namespace : "default", &k->namespace, err);
	if (rc == 0)
		rc = find_named(s, cluster_name, "clusters", "cluster", &r, &cluster, err);
	if (rc == 0)
		rc = read_cluster(&r, cluster, k, err);
	if (rc < 0 || !user_name)
		return rc;
	rc = find_named(s, user_name, "users", "user", &r, &user, err);
	return rc < 0 ? rc : read_user(&r, user, k, err);
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
	/* As in kubectl, a file that does not exist counts as empty. */
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
