/* SPDX-License-Identifier: Apache-2.0 */
/* Reads objects by kubectl get. */
#include "plugin/reads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "plugin/failure_list.h"
#include "plugin/local.h"

#define SELECTOR_MAX 4096
#define RAY_PODS "ray.io/is-ray-node=yes"

struct kubectl kubectl_of(const struct options *o)
{
	return (struct kubectl){ .program = getenv("KUBECTL"),
				 .kubeconfig = o->kubeconfig,
				 .context = o->context };
}

size_t get_args(const struct options *o, const char *kind, const char *selector, const char **args)
{
	size_t n = 0;

	args[n++] = "get";
	args[n++] = kind;
	if (o->all_namespaces)
		args[n++] = "--all-namespaces";
	if (o->namespace) {
		args[n++] = "--namespace";
		args[n++] = o->namespace;
	}
	if (selector && *selector) {
		args[n++] = "--selector";
		args[n++] = selector;
	}
	return n;
}

int read_objects(const struct options *o, const char *kind, const char *selector, const char *name,
		 bool quiet, cJSON **ret_json, struct err *err)
{
	struct kubectl kubectl = kubectl_of(o);
	const char *args[READS_ARGS_MAX];
	size_t n = get_args(o, kind, selector, args);

	args[n++] = "--output=json";
	args[n++] = name ? "--" : NULL;
	args[n++] = name;
	args[n] = NULL;
	return kubectl_json(&kubectl, args, quiet, ret_json, err);
}

int read_failures(const struct options *o, cJSON **ret_list, struct err *err)
{
	if (o->store)
		return local_failures(o->store, ret_list, err);
	return read_objects(o, "rayfailures.afterglow.dev", o->selector, NULL, false, ret_list,
			    err);
}

int read_ray_pods(const struct options *o, const char *cluster, const char *selector,
		  cJSON **ret_list, struct err *err)
{
	_cleanup_strbuf_ struct strbuf all = STRBUF_INIT(SELECTOR_MAX);

	strbuf_adds(&all, RAY_PODS);
	if (cluster)
		strbuf_addf(&all, ",ray.io/cluster=%s", cluster);
	if (selector)
		strbuf_addf(&all, ",%s", selector);
	if (strbuf_failed(&all))
		return err_set(err, E2BIG, "the selector is too long");
	return read_objects(o, "pods", strbuf_str(&all), NULL, false, ret_list, err);
}

/*
 * Appends "ray.io/cluster in (a,b)", the clusters that KubeRay has made for the object. "": there
 * is none.
 */
static void clusters_select(const struct options *o, const char *owner, struct strbuf *selector)
{
	_cleanup_strbuf_ struct strbuf labels = STRBUF_INIT(SELECTOR_MAX);
	const char *slash = strchr(owner, '/');
	_cleanup_json_ cJSON *clusters = NULL;

	strbuf_addf(&labels, "ray.io/originated-from-crd=%.*s,ray.io/originated-from-cr-name=%s",
		    (int)(slash - owner), owner, slash + 1);
	read_objects(o, "rayclusters.ray.io", strbuf_str(&labels), NULL, true, &clusters, NULL);
	json_each(cluster, json_get(clusters, "items"))
		if (json_str(cluster, "metadata.name"))
			strbuf_addf(selector, "%s%s", selector->len ? "," : "ray.io/cluster in (",
				    json_str(cluster, "metadata.name"));
	if (selector->len)
		strbuf_addc(selector, ')');
}

const char *cluster_named(const char *what)
{
	const char *slash = strchr(what, '/');

	return !slash							     ? what :
	       strncmp(what, "RayCluster/", (size_t)(slash + 1 - what)) == 0 ? slash + 1 :
									       NULL;
}

int read_pods_of(const struct options *o, const char *what, cJSON **ret_list, struct err *err)
{
	_cleanup_strbuf_ struct strbuf selector = STRBUF_INIT(SELECTOR_MAX);
	const char *cluster = cluster_named(what);

	if (!cluster)
		clusters_select(o, what, &selector);
	if (!cluster && !selector.len) {
		*ret_list = NULL;
		return 0;
	}
	return read_ray_pods(o, cluster, selector.len ? strbuf_str(&selector) : NULL, ret_list,
			     err);
}

int read_pods_named(const struct options *o, const char *what, cJSON **ret_list, struct err *err)
{
	const char *name = strncmp(what, "pod/", 4) == 0 ? what + 4 : what;
	cJSON *pod = NULL;

	if ((name != what || !strchr(name, '/')) &&
	    read_objects(o, "pod", NULL, name, name == what, &pod, err) == 0) {
		*ret_list = cJSON_CreateObject();
		json_append(json_array_at(*ret_list, "items"), pod);
		return 0;
	}
	return name == what ? read_pods_of(o, what, ret_list, err) : -EIO;
}

const char *where_looked(const struct options *o)
{
	return o->all_namespaces || o->store ? "" :
	       o->namespace		     ? " in that namespace; -A looks in all of them" :
					       " in this namespace; -A looks in all of them";
}

int find_failure(const struct options *o, const cJSON *failures, const cJSON **ret_failure,
		 struct err *err)
{
	*ret_failure = o->argument ? failure_find(failures, o->argument) : local_newest(failures);
	if (*ret_failure)
		return 0;
	if (!o->argument)
		return err_set(err, EPROTO, "no failure was found");
	return err_set(err, EPROTO, "no failure and no %s with a failure is called \"%.253s\"%s",
		       o->store ? "command" : "pod, job, service, cluster or node", o->argument,
		       where_looked(o));
}
