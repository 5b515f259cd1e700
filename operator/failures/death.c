/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the fields that RayFailures of containers and of processes have in common. */
#include "operator/failures/death.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "operator/failures/owner.h"
#include "operator/failures/pod_deletion.h"
#include "operator/kube/object.h"

/*
 * Together with the container (63), hash and dashes it fits into the 253 characters of an object's
 * name
 */
#define NAME_POD_MAX 160
#define HASH_LEN 10

bool death_is_reported(const struct death *d)
{
	return d->report && !d->provisional;
}

void death_doubt_unsigned(struct death *d)
{
	if (d->is_signed || !death_is_reported(d) ||
	    !json_is(d->report, "confidence", confidence_name(CONFIDENCE_CERTAIN)))
		return;
	d->doubted = true;
	json_set_str(d->report, "confidence", confidence_name(CONFIDENCE_LIKELY));
}

void death_set_doubt(const struct death *d, struct ray_failure *f)
{
	if (d->doubted)
		ray_failure_add_missing(
			f,
			"proof that the sidecar wrote its report: it is not signed, and any program of the pod could have written it",
			"a pod that has a key to sign its reports, as new pods have, and in which no other container can read that key");
}

void death_set_whose(const struct death *d, struct ray_failure *f)
{
	struct owner owner;

	ray_failure_set(&f->namespace, json_str(d->pod, "metadata.namespace"));
	ray_failure_set(&f->cluster, object_label(d->pod, "ray.io/cluster"));
	ray_failure_set(&f->group, object_label(d->pod, "ray.io/group"));
	ray_failure_set(&f->node_type, object_label(d->pod, "ray.io/node-type"));
	ray_failure_set(&f->pod, json_str(d->pod, "metadata.name"));
	ray_failure_set(&f->pod_uid, json_str(d->pod, "metadata.uid"));
	ray_failure_set(&f->pod_created_at, json_str(d->pod, "metadata.creationTimestamp"));
	ray_failure_set(&f->node, json_str(d->pod, "spec.nodeName"));
	if (!json_bool(json_get(d->pod, "spec"), "hostNetwork", false))
		ray_failure_set(&f->pod_ip, json_str(d->pod, "status.podIP"));
	ray_failure_set(&f->container, d->container);
	if (owner_parse(object_annotation(d->pod, OWNER_ANNOTATION), &owner))
		ray_failure_set_owner(f, &owner);
}

void death_set_name(const struct death *d, const char *seed, struct ray_failure *f)
{
	const char *pod = json_str(d->pod, "metadata.name");
	char name[300], hash[HASH_LEN + 1];

	sha256_hex(seed, strlen(seed), HASH_LEN, hash);
	snprintf(name, sizeof(name), "%.*s-%.63s-%s", NAME_POD_MAX, pod ? pod : "pod", d->container,
		 hash);
	ray_failure_set(&f->name, name);
}

void death_set_ended_at(const struct death *d, const char *ended_at, struct ray_failure *f)
{
	ray_failure_set(&f->ended_at, ended_at);
	f->pod_deleted = pod_deletion_is_before(d->pod, ended_at);
}

void death_set_story(const struct death *d, struct ray_failure *f)
{
	ray_failure_set(&f->signature,
			death_is_reported(d) ? json_str(d->report, "signature") : NULL);
	f->story = story_facts_of(d->pod, d->container, death_is_reported(d));
}

/*
 * Returns whether it is the name of a store: "pvc:claim", "s3://bucket/prefix" and others, a
 * directory, or "spool", which stays in the pod.
 */
static bool is_store(const char *text, size_t len)
{
	static const char *const schemes[] = { "s3://", "azure://", "webhdfs://", "webhdfss://",
					       "/" };

	if ((len > 4 && strncmp(text, "pvc:", 4) == 0) || strncmp(text, "spool/", 6) == 0)
		return !memchr(text, '/', len);
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (len > strlen(schemes[i]) && strncmp(text, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return false;
}

/*
 * Accepts "<store>/<namespace>/<cluster>/<pod>.<uid8>/<container>/<name>" of this pod only, because
 * a report could name the bundle of another.
 */
static bool bundle_is_ours(const struct death *d, const char *bundle)
{
	const char *ns = json_str_or(d->pod, "metadata.namespace", ""),
		   *cluster = object_label(d->pod, "ray.io/cluster");
	const char *pod = json_str_or(d->pod, "metadata.name", ""),
		   *uid = json_str_or(d->pod, "metadata.uid", "");
	char path[512];

	if (strstr(bundle, ".."))
		return false;
	for (const char *p = bundle; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._:/@+=-", *p))
			return false;
	snprintf(path, sizeof(path), "/%s/%s/%s.%.8s/%s/", ns, cluster, pod, uid, d->container);
	const char *name = strrchr(bundle, '/');
	if (!name || !name[1])
		return false;
	size_t len = (size_t)(name + 1 - bundle);
	if (len == strlen(path) - 1) /* without a store */
		return memcmp(bundle, path + 1, len) == 0;
	return len > strlen(path) && memcmp(bundle + len - strlen(path), path, strlen(path)) == 0 &&
	       is_store(bundle, len - strlen(path));
}

void death_set_bundle(const struct death *d, struct ray_failure *f)
{
	const char *bundle = death_is_reported(d) ? json_str(d->report, "bundle") : NULL;

	if (!bundle)
		return;
	if (bundle_is_ours(d, bundle))
		ray_failure_set(&f->bundle, bundle);
	else
		ray_failure_add_missing(
			f, "the bundle: the termination message names a bundle of another pod",
			"a look into the store");
}
