/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the sidecar to a Ray pod. */
#include "operator/injection/inject.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/digest/report_mac.h"
#include "lib/json.h"
#include "lib/node_protocol.h"
#include "lib/sidecar_names.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/injection/launch_command.h"
#include "operator/injection/store_secrets.h"
#include "operator/podspec/pod_spec.h"
#include "operator/podspec/quantity.h"

#define BIN_DIR "/afterglow/bin"
#define RUN_DIR "/afterglow/run"
#define SPOOL_DIR "/afterglow/spool"
/* Mounted here, whether it is a file or a directory on the node. */
#define SYSLOG "/afterglow/syslog"
#define MEMORY_DIR "/afterglow/memory"
#define STORE_DIR "/afterglow/store"
#define NODE_DIR "/afterglow/node"
#define SOCKET RUN_DIR "/afterglow.sock"
#define NODE_SOCKET NODE_DIR "/" NODE_SOCKET_NAME
#define SIDECAR_UID 65532
#define HTTP_PORT 9095
#define HTTP_PORT_LAST 9099
#define KUBERNETES_GRACE_S 30
#define GRACE_RESERVE_S 5 /* reserved for the kubelet and for the end of the sidecar itself */
#define SIDECAR_GRACE_MAX_S ((int64_t)3600) /* the largest value of its --grace */
#define STACKS_AT_STOP_MAX_S ((int64_t)86400) /* the largest value of its --stacks-at-stop */
#define CORE_SHARE 8 /* a core may take 1/CORE_SHARE of the limit of the disk */
#define SPOOL_SHARE 4 /* bundles may take 1/SPOOL_SHARE of it, because they count against it, too */
#define SPOOL_DEFAULT ((int64_t)768 << 20) /* the sidecar's own */
#define MEMORY_LIMIT "256Mi"
#define DISK_LIMIT "1Gi" /* where a LimitRange asks for one; it is that of the spool */
/*
 * For pods where requests must equal limits. With less, the sidecar would be too slow when it is
 * needed; more would reduce Ray's CPUs.
 */
#define GUARANTEED_CPU "100m"
#define PROBE_TARGET_MAX 256

/*
 * Doubles each $ in a text that must arrive unchanged: Kubernetes replaces $(NAME) in command and
 * args by values, and $$ by $.
 */
static void add_literal(cJSON *array, const char *text)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(8192);

	for (const char *p = text; *p; p++) {
		if (*p == '$')
			strbuf_addc(&sb, '$');
		strbuf_addc(&sb, *p);
	}
	json_append_str(array, strbuf_str(&sb));
}

static void add_empty_dir(cJSON *pod_spec, const char *name, const char *medium, const char *size)
{
	cJSON *volume = json_named_new(name), *empty_dir = json_object_at(volume, "emptyDir");

	if (medium)
		json_set_str(empty_dir, "medium", medium);
	json_set_str(empty_dir, "sizeLimit", size);
	pod_volume_default(pod_spec, volume);
}

/*
 * All keys are optional, so the kubelet omits those that do not exist yet and adds them when they
 * come.
 */
static void add_launchers(cJSON *pod_spec, const struct launchers *launchers)
{
	cJSON *volume = json_named_new("afterglow-bin"),
	      *config_map = json_object_at(volume, "configMap");
	cJSON *items = json_array_at(config_map, "items");

	json_set_str(config_map, "name", LAUNCHER_CONFIGMAP);
	json_set(config_map, "optional", cJSON_CreateTrue());
	json_set_int(config_map, "defaultMode", 0555);
	for (size_t i = 0; i < launchers->n; i++) {
		cJSON *item = cJSON_CreateObject();

		json_set_str(item, "key", launchers->of[i].key);
		json_set_str(item, "path", launchers->of[i].file);
		json_append(items, item);
	}
	pod_volume_default(pod_spec, volume);
}

static void add_volumes(cJSON *pod_spec, const struct injection *in)
{
	char size[QUANTITY_TEXT_MAX];
	cJSON *volume;

	add_launchers(pod_spec, in->launchers);
	add_empty_dir(pod_spec, "afterglow-run", NULL, "16Mi");
	/*
	 * Adds the volume of the node agent, which reaches it below the kubelet's directory. Only
	 * the sidecar mounts it, so no other container can pose as the node.
	 */
	add_empty_dir(pod_spec, NODE_VOLUME, NULL, "1Mi");
	/*
	 * A pod that fills an emptyDir is evicted, so the sidecar may use only three quarters of
	 * it.
	 */
	add_empty_dir(
		pod_spec, "afterglow-spool", NULL,
		in->policy->store.spool_max ?
			quantity_format_bytes(
				MIN(in->policy->store.spool_max / 3, INT64_MAX / 4) * 4, size) :
			"1Gi");
	/*
	 * Adds the volume for the files that the sidecar writes all the time, and for a spool that
	 * cannot be written. It counts as the sidecar's memory, not Ray's.
	 */
	add_empty_dir(pod_spec, "afterglow-memory", "Memory", "32Mi");
	if (in->policy->syslog) {
		volume = json_named_new("afterglow-syslog");
		json_set_str(json_object_at(volume, "hostPath"), "path", in->policy->syslog);
		pod_volume_default(pod_spec, volume);
	}
	if (in->policy->store.url)
		store_secrets_add(pod_spec, in->policy);
	else if (in->store) {
		volume = json_named_new("afterglow-store");
		json_set_str(json_object_at(volume, "persistentVolumeClaim"), "claimName",
			     in->policy->store.claim);
		pod_volume_default(pod_spec, volume);
	}
}

static void add_value(cJSON *args, const char *option, const char *value)
{
	if (!value)
		return;
	json_append_str(args, option);
	add_literal(args, value);
}

static void add_hooks(cJSON *args, const char *option, const cJSON *commands)
{
	json_each(command, commands)
		add_value(args, option, command->valuestring);
}

static void add_bound(cJSON *args, const char *option, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	if (value > 0)
		add_value(args, option, text);
}

/*
 * Returns the container's limit of the disk, beyond which the kubelet evicts the pod; the sidecar
 * warns when Ray spills objects. 0: there is none.
 */
static int64_t disk_limit(const cJSON *ray)
{
	const char *limit = json_str(json_get(ray, "resources.limits"), "ephemeral-storage");
	int64_t bytes = 0;

	return limit && quantity_parse(limit, &bytes, NULL) >= 0 ? MAX(bytes, (int64_t)0) : 0;
}

/* Returns how much of the disk the bundles may take that wait there; 0: the sidecar's default. */
static int64_t spool_max(const cJSON *ray, const struct policy *policy)
{
	int64_t most = policy->store.spool_max, share = disk_limit(ray) / SPOOL_SHARE;

	return share > 0 && share < (most > 0 ? most : SPOOL_DEFAULT) ? share : most;
}

static void add_store_args(cJSON *args, const cJSON *ray, const struct injection *in)
{
	const struct policy *p = in->policy;

	if (p->store.url) {
		add_value(args, "--store", p->store.url);
		add_value(args, "--store-s3-endpoint", p->store.s3_endpoint);
		add_value(args, "--store-s3-region", p->store.s3_region);
		add_value(args, "--store-s3-encryption", p->store.s3_encryption);
		add_value(args, "--store-s3-kms-key-id", p->store.s3_kms_key_id);
		add_value(args, "--store-s3-role-arn", p->store.s3_role_arn);
		add_value(args, "--store-s3-sts-endpoint", p->store.s3_sts_endpoint);
		add_value(args, "--store-azure-endpoint", p->store.azure_endpoint);
		add_value(args, "--store-webhdfs-user", p->store.webhdfs_user);
		add_value(args, "--store-cores-prefix", p->store.cores_prefix);
		if (p->store.s3_path_style)
			json_append_str(args, "--store-s3-path-style");
		if (p->store.s3_bucket_key)
			json_append_str(args, "--store-s3-bucket-key");
		add_value(args, "--store-proxy", p->store.proxy);
		add_value(args, "--store-no-proxy", p->store.no_proxy);
		add_value(args, "--store-ca", p->store.ca_secret ? STORE_SECRETS_CA : NULL);
	} else if (in->store) {
		add_value(args, "--store", STORE_DIR);
		add_bound(args, "--keep-days", p->store.keep_days);
		add_bound(args, "--keep-bundles", p->store.keep_bundles);
		add_bound(args, "--keep-max", p->store.keep_max);
	}
	add_bound(args, "--spool-max", spool_max(ray, p));
}

/*
 * Returns after which end of Ray's container the sidecar exits; NULL: after none. A pod that is not
 * always restarted ends with its last container. With OnFailure, KubeRay, for example, waits for
 * that, and the sidecar would keep it waiting. A container's own policy precedes the pod's.
 */
static const char *leave_after(const cJSON *pod_spec, const cJSON *ray)
{
	const cJSON *owner = json_get(ray, "restartPolicy") ? ray : pod_spec;

	/* By these, a container that fails may be started again. */
	if (json_get(ray, "restartPolicyRules"))
		return "success";
	if (json_is(owner, "restartPolicy", "Never"))
		return "any";
	return json_is(owner, "restartPolicy", "OnFailure") ? "success" : NULL;
}

/*
 * Returns --grace for the sidecar. By default it exits 25 s after SIGTERM, which fits into
 * Kubernetes' 30 s. A pod with a longer grace period may need it for its bundles. 0: the default.
 */
static int64_t grace(const cJSON *pod_spec)
{
	int64_t seconds = json_int(pod_spec, "terminationGracePeriodSeconds", 0);

	return seconds > KUBERNETES_GRACE_S ? MIN(seconds - GRACE_RESERVE_S, SIDECAR_GRACE_MAX_S) :
					      0;
}

/*
 * Returns --stacks-at-stop for the sidecar: a fifth of the grace period before its end, but 2 s at
 * least, which the stacks of some processes take, and 10 s at most, so that few processes are
 * disturbed that would end in time.
 */
static int64_t stacks_at_stop(const cJSON *pod_spec)
{
	int64_t grace_s = json_int(pod_spec, "terminationGracePeriodSeconds", KUBERNETES_GRACE_S);
	int64_t before_s = MIN(MAX(grace_s / 5, (int64_t)2), (int64_t)10);

	return MIN(MAX(grace_s - before_s, (int64_t)1), STACKS_AT_STOP_MAX_S);
}

/*
 * Writes the value of the sidecar's --stacks-at-probe: the port and path that the liveness probe
 * asks by plain HTTP, with its httpGet or with the first wget of Ray's command. Returns false if
 * the probe asks otherwise, or names no port number.
 */
static bool stacks_at_probe(const cJSON *ray, char ret_target[static PROBE_TARGET_MAX])
{
	const cJSON *get = json_get(ray, "livenessProbe.httpGet"),
		    *words = json_get(ray, "livenessProbe.exec.command");
	const char *text = cJSON_GetStringValue(
			   cJSON_GetArrayItem(words, cJSON_GetArraySize(words) - 1)),
		   *url = text ? strstr(text, "http://localhost:") : NULL;

	if (get ? snprintf(ret_target, PROBE_TARGET_MAX, "%d%s", (int)json_int(get, "port", 0),
			   json_str(get, "path") ?: "/") >= PROBE_TARGET_MAX ||
			    json_get(get, "host") || json_is(get, "scheme", "HTTPS") :
		  !url || sscanf(url, "http://localhost:%255[^][ \t\r\n'\"|;&()<>]", ret_target) !=
				    1)
		return false;
	return strtoul(ret_target, NULL, 10) > 0 && !strpbrk(ret_target, " \t\r\n") &&
	       ret_target[strspn(ret_target, "0123456789")] == '/';
}

static void add_sidecar_args(cJSON *sidecar, const cJSON *pod_spec, const cJSON *ray,
			     const struct injection *in)
{
	cJSON *args = json_array_at(sidecar, "args");
	char text[24], target[PROBE_TARGET_MAX];

	add_value(args, "--socket", SOCKET);
	add_value(args, "--node-socket", NODE_SOCKET);
	add_value(args, "--spool", SPOOL_DIR);
	add_value(args, "--spool-fallback", MEMORY_DIR);
	add_store_args(args, ray, in);
	add_value(args, "--leave-after", leave_after(pod_spec, ray));
	add_bound(args, "--grace", grace(pod_spec));
	add_bound(args, "--disk-limit", disk_limit(ray));
	if (in->oom_group)
		json_append_str(args, "--oom-group");
	snprintf(text, sizeof(text), "%g", in->policy->recording.warn_at);
	add_value(args, "--warn-at", text);
	add_hooks(args, "--hook-at-threshold",
		  json_get(in->policy->recording.hooks, "atThreshold"));
	add_hooks(args, "--hook-at-death", json_get(in->policy->recording.hooks, "atDeath"));
	if (in->policy->recording.core_dumps != CORE_DUMPS_SUMMARY)
		add_value(args, "--cores",
			  in->policy->recording.core_dumps == CORE_DUMPS_FULL ? "full" : "off");
	add_bound(args, "--hold-on-failure", in->hold_s);
	if (in->policy->recording.stacks_at_stop)
		add_bound(args, "--stacks-at-stop", stacks_at_stop(pod_spec));
	if (in->policy->recording.stacks_at_stop && stacks_at_probe(ray, target))
		add_value(args, "--stacks-at-probe", target);
	add_bound(args, "--stacks-at-wait", in->policy->recording.stacks_at_wait);
	if (in->policy->recording.stacks_at_threshold)
		json_append_str(args, "--stacks-at-threshold");
	add_value(args, "--syslog", in->policy->syslog ? SYSLOG : NULL);
	add_bound(args, "--run-as", in->policy->recording.kernel_log ? SIDECAR_UID : 0);
}

static void add_sidecar_env(cJSON *sidecar, const struct injection *in)
{
	char store[300];

	container_env_field_default(sidecar, "POD_NAMESPACE", "metadata.namespace");
	container_env_field_default(sidecar, "POD_NAME", "metadata.name");
	container_env_field_default(sidecar, "POD_UID", "metadata.uid");
	container_env_field_default(sidecar, "NODE_NAME", "spec.nodeName");
	container_env_field_default(sidecar, REPORT_KEY_VARIABLE,
				    "metadata.annotations['" REPORT_KEY_ANNOTATION "']");
	container_env_default(sidecar, "AFTERGLOW_CLUSTER", in->cluster);
	if (in->store && !in->policy->store.url) {
		snprintf(store, sizeof(store), "pvc:%s", in->policy->store.claim);
		container_env_default(sidecar, "AFTERGLOW_STORE_NAME", store);
	}
}

/*
 * Lets the sidecar read the kernel log. Capabilities of a user other than root have no effect
 * (Kubernetes has no ambient ones). So the sidecar starts as root, changes to its user itself
 * (--run-as), and keeps only CAP_SYSLOG.
 */
static void add_kernel_log_security(cJSON *security)
{
	cJSON *add = json_array_at(json_object_at(security, "capabilities"), "add");

	json_set(security, "runAsNonRoot", cJSON_CreateFalse());
	json_set_int(security, "runAsUser", 0);
	json_append_str(add, "SYSLOG");
	json_append_str(add, "SETUID");
}

static void add_security(cJSON *sidecar, const struct policy *policy)
{
	cJSON *security = json_object_at(sidecar, "securityContext");

	json_set(security, "runAsNonRoot", cJSON_CreateTrue());
	json_set_int(security, "runAsUser", SIDECAR_UID);
	/* Files below /var/log belong to root and a group; fsGroup does not apply to them. */
	json_set_int(security, "runAsGroup",
		     policy->syslog && policy->syslog_group ? policy->syslog_group : SIDECAR_UID);
	json_set(security, "allowPrivilegeEscalation", cJSON_CreateFalse());
	json_set(security, "readOnlyRootFilesystem", cJSON_CreateTrue());
	json_append_str(json_array_at(json_object_at(security, "capabilities"), "drop"), "ALL");
	json_set_str(json_object_at(security, "seccompProfile"), "type", "RuntimeDefault");
	if (policy->recording.kernel_log)
		add_kernel_log_security(security);
}

static bool has_number(const char *text, const char *number)
{
	for (const char *at = text; (at = strstr(at, number)); at++)
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[strlen(number)]))
			return true;
	return false;
}

/*
 * Returns a port that the pod does not name, neither as a port nor in a command or variable; 0: all
 * are named. Its containers share their ports, and a program whose port is in use may not start.
 */
static int http_port(const cJSON *pod_spec)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(pod_spec);
	char number[8];

	for (int port = HTTP_PORT; text && port <= HTTP_PORT_LAST; port++) {
		snprintf(number, sizeof(number), "%d", port);
		if (!has_number(text, number))
			return port;
	}
	return 0;
}

/*
 * Serves /metrics, /healthz and /failures, except in the node's network: there a container's port
 * is one of the node's, and the scheduler would never place two such Ray pods on one node.
 */
static void add_http(cJSON *sidecar, const cJSON *pod_spec)
{
	cJSON *args = json_array_at(sidecar, "args"), *port;
	int number = json_bool(pod_spec, "hostNetwork", false) ? 0 : http_port(pod_spec);
	char text[24];

	if (!number)
		return;
	snprintf(text, sizeof(text), ":%d", number);
	add_value(args, "--http", text);
	port = json_named_new(SIDECAR_HTTP_PORT);
	json_set_int(port, "containerPort", number);
	json_set_str(port, "protocol", "TCP");
	json_append(json_array_at(sidecar, "ports"), port);
}

/*
 * Adds resources. The sidecar needs 2 MiB itself. Its children, which unwind, pack and ship, run
 * one after the other. In a pod with resources of its own the sidecar has no requests, because the
 * requests of all containers together may not exceed the pod's. A pod stays in its class of quality
 * of service, and what LimitRanges say about a container is kept, or the pod would be refused.
 */
static void add_resources(cJSON *sidecar, const cJSON *pod_spec, const struct injection *in)
{
	if (qos_is_of_pod(pod_spec) || qos_is_best_effort(pod_spec))
		return;
	if (in->policy->sidecar_resources)
		json_set(sidecar, "resources",
			 cJSON_Duplicate(in->policy->sidecar_resources, true));
	else
		container_set_resources(sidecar, "10m", NULL, "16Mi", MEMORY_LIMIT);
	cJSON *resources = json_get(sidecar, "resources");
	if (qos_is_guaranteed(pod_spec))
		qos_equalize(resources, GUARANTEED_CPU, MEMORY_LIMIT);
	qos_keep_rules(resources, &in->rules, GUARANTEED_CPU, MEMORY_LIMIT, DISK_LIMIT);
}

/* Adds the secrets to the whole pod: Kubernetes tries each of them for each image. */
static void add_pull_secrets(cJSON *pod_spec, const cJSON *names)
{
	json_each(name, names) {
		cJSON *secrets = json_array_at(pod_spec, "imagePullSecrets");

		if (!json_find(secrets, "name", name->valuestring))
			json_append(secrets, json_named_new(name->valuestring));
	}
}

static void add_sidecar(cJSON *pod_spec, const cJSON *ray, const struct injection *in)
{
	cJSON *sidecar = json_named_new(SIDECAR_CONTAINER);

	json_set_str(sidecar, "image", in->policy->sidecar_image);
	if (in->policy->sidecar_image_pull_policy)
		json_set_str(sidecar, "imagePullPolicy", in->policy->sidecar_image_pull_policy);
	add_sidecar_args(sidecar, pod_spec, ray, in);
	if (json_get(ray, "restartPolicy"))
		json_set_str(sidecar, "restartPolicy", json_str(ray, "restartPolicy"));
	add_http(sidecar, pod_spec);
	add_sidecar_env(sidecar, in);
	add_resources(sidecar, pod_spec, in);
	add_security(sidecar, in->policy);
	container_mount_default(sidecar, "afterglow-run", RUN_DIR, false);
	container_mount_default(sidecar, NODE_VOLUME, NODE_DIR, false);
	container_mount_default(sidecar, "afterglow-spool", SPOOL_DIR, false);
	container_mount_default(sidecar, "afterglow-memory", MEMORY_DIR, false);
	if (in->policy->syslog)
		container_mount_default(sidecar, "afterglow-syslog", SYSLOG, true);
	if (in->policy->store.url)
		store_secrets_mount(sidecar, in->policy);
	else if (in->store)
		container_mount_default(sidecar, "afterglow-store", STORE_DIR, false);
	json_append(json_get(pod_spec, "containers"), sidecar);
	add_pull_secrets(pod_spec, in->policy->sidecar_pull_secrets);
}

/*
 * Recognises the sidecar by the volumes that only it mounts, because a foreign container may have
 * its name.
 */
bool inject_is_done(const cJSON *pod_spec)
{
	const cJSON *sidecar =
		json_find(json_get(pod_spec, "containers"), "name", SIDECAR_CONTAINER);

	return json_find(json_get(sidecar, "volumeMounts"), "mountPath", RUN_DIR) != NULL &&
	       json_find(json_get(sidecar, "volumeMounts"), "mountPath", SPOOL_DIR) != NULL;
}

static bool any_begins_with(const cJSON *list, const char *member, const char *prefix)
{
	json_each(item, list)
		if (text_begins_with(json_str(item, member), prefix))
			return true;
	return false;
}

/*
 * Returns whether the container mounts a volume by a name that ours will have. One that mounts the
 * node agent's volume could pretend to be the node agent.
 */
static bool mounts_ours(const cJSON *container)
{
	return any_begins_with(json_get(container, "volumeMounts"), "name", "afterglow-");
}

bool inject_is_clear(const cJSON *pod_spec, const cJSON *ray)
{
	if (inject_is_done(pod_spec))
		return true;
	return !pod_container_find(pod_spec, mounts_ours) && !pod_has_sidecar(pod_spec) &&
	       !any_begins_with(json_get(pod_spec, "volumes"), "name", "afterglow-") &&
	       !any_begins_with(json_get(ray, "volumeMounts"), "mountPath", "/afterglow");
}

/*
 * Returns the smallest size of an emptyDir on the disk that the container mounts. 0: none has a
 * limit.
 */
static int64_t volume_limit(const cJSON *pod_spec, const cJSON *ray)
{
	int64_t least = 0, bytes;

	json_each(mount, json_get(ray, "volumeMounts")) {
		const cJSON *volume =
			json_find(json_get(pod_spec, "volumes"), "name", json_str(mount, "name"));
		const cJSON *empty_dir = json_get(volume, "emptyDir");
		const char *medium = json_str(empty_dir, "medium"),
			   *limit = json_str(empty_dir, "sizeLimit");

		/* An empty medium is the disk, too. */
		if ((!medium || !*medium) && limit && quantity_parse(limit, &bytes, NULL) >= 0 &&
		    bytes > 0 && (least == 0 || bytes < least))
			least = bytes;
	}
	return least;
}

/*
 * Returns how large a core may be. It counts against the limit of the disk or volume that it goes
 * to until the sidecar has kept it, and several processes may crash together.
 */
static int64_t core_max(const cJSON *pod_spec, const cJSON *ray, const struct policy *policy)
{
	int64_t limits[] = { disk_limit(ray), volume_limit(pod_spec, ray) },
		most = policy->recording.core_dump_limit;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (limits[i] > 0 && (most <= 0 || limits[i] / CORE_SHARE < most))
			most = MAX(limits[i] / CORE_SHARE, 1); /* 0 would be no bound */
	return most;
}

static bool wrap_command(const cJSON *pod_spec, cJSON *ray, const struct injection *in)
{
	const char *leave = leave_after(pod_spec, ray);

	return launch_command_wrap(
		ray, &(struct launch_script){
			     .launchers = in->launchers,
			     .dir = BIN_DIR,
			     .socket = SOCKET,
			     .container = json_str(ray, "name"),
			     .termination_log = json_str(ray, "terminationMessagePath"),
			     .wait_port = in->wait_port,
			     .prefix = in->prefix,
			     .ends_pod = leave,
			     .never_restarted = leave && strcmp(leave, "any") == 0,
			     .cores = in->policy->recording.core_dumps != CORE_DUMPS_OFF,
			     .cores_in_memory = in->policy->recording.core_dumps == CORE_DUMPS_FULL,
			     .cores_max = core_max(pod_spec, ray, in->policy),
		     });
}

bool inject(cJSON *pod_spec, const struct injection *in)
{
	cJSON *ray = in->ray ? in->ray : ray_container(pod_spec);

	if (inject_is_done(pod_spec))
		return true;
	if (!wrap_command(pod_spec, ray, in))
		return false;
	add_volumes(pod_spec, in);
	container_mount_default(ray, "afterglow-bin", BIN_DIR, true);
	/*
	 * The mount is read-only. So nobody in the container can put a socket of his own there, and
	 * the launcher can trust the one that it finds. Connecting needs no more.
	 */
	container_mount_default(ray, "afterglow-run", RUN_DIR, true);
	add_sidecar(pod_spec, ray, in);
	return true;
}
