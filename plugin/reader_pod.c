/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the pod through which a bundle is read. */
#include "plugin/reader_pod.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/docs.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "plugin/pod_sidecar.h"

#define SIDECAR_UID 65532
#define CLAIM_MARK "pvc:"
#define STORE_DIR "/afterglow/store"
#define STORE_VOLUME "afterglow-store" /* as operator/injection/inject.c calls it */
#define CREDENTIALS_DIR "/afterglow/credentials"

/* The options of the sidecar's store, and how afterglow-ship calls them. */
static const struct {
	const char *sidecar, *ship;
	bool flag;
} options[] = {
	{ "--store-s3-endpoint", "--s3-endpoint", false },
	{ "--store-s3-region", "--s3-region", false },
	{ "--store-s3-role-arn", "--s3-role-arn", false },
	{ "--store-s3-sts-endpoint", "--s3-sts-endpoint", false },
	{ "--store-s3-path-style", "--s3-path-style", true },
	{ "--store-azure-endpoint", "--azure-endpoint", false },
	{ "--store-webhdfs-user", "--webhdfs-user", false },
	{ "--store-ca", "--ca", false },
	{ "--store-proxy", "--proxy", false },
	{ "--store-no-proxy", "--no-proxy", false },
};
_Static_assert(READER_ARGS_MAX >= 5 + 2 * ARRAY_SIZE(options) + 2,
	       "all options of a sidecar have room");

/*
 * Returns what follows the store and a slash in bundle, or NULL if the bundle is in another store.
 */
static const char *path_in(const char *bundle, const char *store)
{
	size_t len = strlen(store);

	while (len > 0 && store[len - 1] == '/')
		len--;
	return strncmp(bundle, store, len) == 0 && bundle[len] == '/' && bundle[len + 1] ?
		       bundle + len + 1 :
		       NULL;
}

/* Returns whether the pod's sidecar writes to the claim. */
static bool has_claim(const cJSON *pod, const char *claim)
{
	const cJSON *volume = json_find(json_get(pod, "spec.volumes"), "name", STORE_VOLUME);
	return json_is(volume, "persistentVolumeClaim.claimName", claim);
}

/*
 * Returns a Ray pod of the namespace whose sidecar has this store; claim NULL: one that is no
 * claim. A RayFailure may have the words of a tenant, so a claim that no sidecar uses is not
 * mounted for it.
 */
static const cJSON *template_of(const cJSON *pods, const char *bundle, const char *claim,
				const char **ret_store)
{
	json_each(pod, json_get(pods, "items")) {
		const cJSON *sidecar = pod_sidecar(pod);
		const char *store = pod_sidecar_value(sidecar, "--store");

		if (sidecar && (claim ? has_claim(pod, claim) : store && path_in(bundle, store))) {
			*ret_store = store;
			return pod;
		}
	}
	return NULL;
}

/*
 * --- The pod
 * --------------------------------------------------------------------------------------------
 */

static void copy(cJSON *to, const cJSON *from, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(from, name);

	if (value)
		json_set(to, name, cJSON_Duplicate(value, true));
}

/* Adds a volume to the pod, and mounts it in the reader at path. */
static void add_volume(cJSON *spec, cJSON *container, cJSON *volume, const char *path)
{
	cJSON *mount = json_named_new(json_str(volume, "name"));

	json_set_str(mount, "mountPath", path);
	cJSON_AddTrueToObject(mount, "readOnly");
	json_append(json_array_at(container, "volumeMounts"), mount);
	json_append(json_array_at(spec, "volumes"), volume);
}

static void add_claim(cJSON *spec, cJSON *container, const char *claim)
{
	cJSON *volume = json_named_new("store"),
	      *source = json_object_at(volume, "persistentVolumeClaim");

	json_set_str(source, "claimName", claim);
	cJSON_AddTrueToObject(source, "readOnly");
	add_volume(spec, container, volume, STORE_DIR);
}

/*
 * Copies the variables that tell a client of Azure where to get tokens. AKS's webhook set them; the
 * token itself is in a volume.
 */
static void add_environment(cJSON *container, const cJSON *template)
{
	static const char *const names[] = { "AZURE_CLIENT_ID", "AZURE_TENANT_ID",
					     "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const cJSON *variable =
			json_find(json_get(pod_sidecar(template), "env"), "name", names[i]);

		if (variable)
			json_append(json_array_at(container, "env"),
				    cJSON_Duplicate(variable, true));
	}
}

/*
 * Copies the Secrets and tokens that the sidecar uses for its store, but not the volumes that it
 * writes to.
 */
static void add_credentials(cJSON *spec, cJSON *container, const cJSON *template)
{
	json_each(mount, json_get(pod_sidecar(template), "volumeMounts")) {
		const cJSON *volume = json_find(json_get(template, "spec.volumes"), "name",
						json_str(mount, "name"));
		const char *path = json_str(mount, "mountPath");

		if (path && volume &&
		    (cJSON_HasObjectItem(volume, "secret") ||
		     cJSON_HasObjectItem(volume, "projected")))
			add_volume(spec, container, cJSON_Duplicate(volume, true), path);
	}
}

static void add_security(cJSON *spec, cJSON *container, const cJSON *template)
{
	cJSON *of_pod = json_object_at(spec, "securityContext"),
	      *own = json_object_at(container, "securityContext");
	const cJSON *theirs = json_get(template, "spec.securityContext");
	int64_t user = json_int(pod_sidecar(template), "securityContext.runAsUser", 0);

	/* The claim was made writable for this group. */
	copy(of_pod, theirs, "fsGroup");
	copy(of_pod, theirs, "supplementalGroups");
	json_set_str(json_object_at(of_pod, "seccompProfile"), "type", "RuntimeDefault");
	/* A sidecar that reads the kernel log starts as root. The reader does not. */
	json_set_int(own, "runAsUser", user > 0 ? user : SIDECAR_UID);
	cJSON_AddTrueToObject(own, "runAsNonRoot");
	cJSON_AddTrueToObject(own, "readOnlyRootFilesystem");
	cJSON_AddFalseToObject(own, "allowPrivilegeEscalation");
	json_append_str(json_array_at(json_object_at(own, "capabilities"), "drop"), "ALL");
}

static cJSON *container_of(const cJSON *template, const char *image)
{
	cJSON *container = json_named_new(READER_CONTAINER), *args;
	char life[24];

	json_set_str(container, "image", image);
	copy(container, pod_sidecar(template), "imagePullPolicy");
	copy(container, pod_sidecar(template), "resources");
	json_append_str(json_array_at(container, "command"), "/usr/bin/afterglow-ship");
	snprintf(life, sizeof(life), "%d", READER_LIFE_S);
	args = json_array_at(container, "args");
	json_append_str(args, "--idle");
	json_append_str(args, life);
	return container;
}

static cJSON *make_pod(const cJSON *failure, const cJSON *template, const char *name,
		       const char *image)
{
	cJSON *pod = cJSON_CreateObject(), *metadata, *spec,
	      *container = container_of(template, image);

	json_set_str(pod, "apiVersion", "v1");
	json_set_str(pod, "kind", "Pod");
	metadata = json_object_at(pod, "metadata");
	json_set_str(metadata, "name", name);
	json_set_str(metadata, "namespace", json_str(failure, "metadata.namespace"));
	json_set_str(json_object_at(metadata, "labels"), "app.kubernetes.io/name",
		     "afterglow-reader");
	spec = json_object_at(pod, "spec");
	json_append(json_array_at(spec, "containers"), container);
	json_set_str(spec, "restartPolicy", "Never");
	json_set_int(spec, "activeDeadlineSeconds", READER_LIFE_S);
	json_set_int(spec, "terminationGracePeriodSeconds", 0);
	cJSON_AddFalseToObject(spec, "automountServiceAccountToken");
	copy(spec, json_get(template, "spec"), "imagePullSecrets");
	copy(spec, json_get(template, "spec"), "serviceAccountName");
	copy(spec, json_get(template, "spec"), "tolerations");
	add_security(spec, container, template);
	return pod;
}

/*
 * --- The command
 * ----------------------------------------------------------------------------------------
 */

static void make_args(struct reader_pod *r, const cJSON *sidecar)
{
	size_t n = 0;

	r->args[n++] = "--read";
	r->args[n++] = "--store";
	r->args[n++] = r->store;
	r->args[n++] = "--as";
	r->args[n++] = r->path;
	for (size_t i = 0; sidecar && i < ARRAY_SIZE(options); i++) {
		const char *value =
			options[i].flag ? NULL : pod_sidecar_value(sidecar, options[i].sidecar);

		if (options[i].flag ? !pod_sidecar_has_flag(sidecar, options[i].sidecar) : !value)
			continue;
		r->args[n++] = options[i].ship;
		if (value)
			r->args[n++] = value;
	}
	if (json_find(json_get(sidecar, "volumeMounts"), "mountPath", CREDENTIALS_DIR)) {
		r->args[n++] = "--credentials";
		r->args[n++] = CREDENTIALS_DIR;
	}
}

static int split_claim(const char *bundle, char claim[static READER_TEXT_MAX], struct reader_pod *r,
		       struct err *err)
{
	const char *name = bundle + strlen(CLAIM_MARK), *slash = strchr(name, '/');

	if (!slash || slash == name || !slash[1])
		return err_set(err, EPROTO, "\"%.200s\" names no bundle in a claim", bundle);
	snprintf(claim, READER_TEXT_MAX, "%.*s", (int)(slash - name), name);
	snprintf(r->store, sizeof(r->store), "%s", STORE_DIR);
	snprintf(r->path, sizeof(r->path), "%s", slash + 1);
	return 0;
}

static bool is_in_a_store(const char *bundle)
{
	static const char *const marks[] = { CLAIM_MARK, "s3://", "azure://", "webhdfs://",
					     "webhdfss://" };

	for (size_t i = 0; bundle && i < ARRAY_SIZE(marks); i++)
		if (strncmp(bundle, marks[i], strlen(marks[i])) == 0)
			return true;
	return false;
}

int reader_pod_make(const cJSON *failure, const cJSON *pods, const char *name, const char *image,
		    struct reader_pod *ret_pod, struct err *err)
{
	const char *bundle = json_str(failure, "spec.bundle"), *store = NULL;
	bool is_claim = bundle && strncmp(bundle, CLAIM_MARK, strlen(CLAIM_MARK)) == 0;
	char claim[READER_TEXT_MAX] = "";
	struct reader_pod r = { 0 };

	if (!is_in_a_store(bundle))
		return err_set(
			err, EPROTO,
			bundle ? "the failure has no bundle in a store: it was only in the pod, at "
				 "%.200s (" DOCS_PAGE("storage.md") ")" :
				 "the failure has no bundle in a store",
			bundle);
	if (is_claim && split_claim(bundle, claim, &r, err) < 0)
		return -EPROTO;
	const cJSON *template = template_of(pods, bundle, is_claim ? claim : NULL, &store),
		    *sidecar = pod_sidecar(template);
	if (!template && (!is_claim || !image))
		return err_set(
			err, EPROTO, "no Ray pod of the namespace has a sidecar with that store%s",
			is_claim ?
				". If its bundles are really on that claim, --image says which image reads it" :
				"; only its options say how the store is read");
	if (!is_claim) {
		snprintf(r.store, sizeof(r.store), "%s", store);
		snprintf(r.path, sizeof(r.path), "%s", path_in(bundle, store));
	}
	*ret_pod = r;
	make_args(ret_pod, is_claim ? NULL : sidecar);
	ret_pod->pod =
		make_pod(failure, template, name, image ? image : json_str(sidecar, "image"));
	cJSON *spec = json_get(ret_pod->pod, "spec"),
	      *container =
		      json_get(spec, "containers") ? json_get(spec, "containers")->child : NULL;
	if (is_claim)
		add_claim(spec, container, claim);
	else {
		add_credentials(spec, container, template);
		add_environment(container, template);
	}
	return 0;
}

void reader_pod_release(struct reader_pod *r)
{
	cJSON_Delete(r->pod);
	*r = (struct reader_pod){ 0 };
}
