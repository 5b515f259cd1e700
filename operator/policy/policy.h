/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings that the operator applies to every RayCluster unless the cluster itself
 * overrides them: memory budgets, the sidecar's image, the store. They come from one YAML
 * file (the Helm chart's ConfigMap), and for some clusters from RayPolicies
 * (policy_resolve.h). policy_keys.def lists all settings.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "operator/policy/retention.h"

#define POLICY_HOLD_MAX_S 86400

/*
 * The annotation of pods that names the policies they were made by (policy_resolve.h), unless only
 * the operator's own applies.
 */
#define POLICY_ANNOTATION "afterglow.dev/policy"

/*
 * What is done with settings of memory safety that a RayCluster leaves out: they are set, or only
 * reported, or neither. A later mode does less than an earlier one.
 */
enum memory_mode { MEMORY_MODE_UNSET, MEMORY_MODE_APPLY, MEMORY_MODE_WARN, MEMORY_MODE_OFF };

/* The modes in force; neither is MEMORY_MODE_UNSET. */
struct memory_modes {
	enum memory_mode settings; /* the head's CPUs, the workers' limit, Ray's memory monitor */
	enum memory_mode
		budgets; /* memory and object-store-memory, which Ray's scheduler counts with */
};

enum core_dumps { CORE_DUMPS_SUMMARY, CORE_DUMPS_OFF, CORE_DUMPS_FULL };

/* The blocks that a policy object sets or leaves out as a whole, by their names below spec. */
enum policy_block {
	POLICY_MEMORY,
	POLICY_RECORDING,
	POLICY_STORE,
	POLICY_RETENTION,
	POLICY_BLOCKS
};

/*
 * Members are in the order of policy_keys.def, which has their valid values; a comment names the
 * key of the operator's file.
 */
struct policy_store {
	char *claim; /* storeClaim, a PVC in the cluster's own namespace; NULL: none */
	/* storeURL, s3://, azure:// or webhdfs://, in place of a claim; NULL: none */
	char *url;
	/* storeS3Endpoint, storeS3Region: of an S3 that is not AWS; NULL: not set */
	char *s3_endpoint;
	char *s3_region;
	bool s3_path_style; /* storeS3PathStyle: https://HOST/BUCKET/KEY */
	char *s3_encryption; /* storeS3Encryption, of objects; NULL: the bucket decides */
	/* storeS3KMSKeyID, storeS3BucketKey: with aws:kms; NULL: the account's aws/s3 */
	char *s3_kms_key_id;
	bool s3_bucket_key;
	/* storeS3RoleARN: keys by web identity, in place of a Secret; NULL: not used */
	char *s3_role_arn;
	/* storeS3STSEndpoint, which issues the keys; NULL: AWS's of the region */
	char *s3_sts_endpoint;
	/* storeS3TokenAudience, storeS3TokenExpiry (seconds) of the pod's token for it; */
	char *s3_token_audience;
	int64_t s3_token_expiry; /* NULL, 0: the defaults */
	/* storeAzureEndpoint: of an account that is not in Azure's public cloud; NULL: not set */
	char *azure_endpoint;
	char *webhdfs_user; /* storeWebHDFSUser; NULL: none */
	/* storeCoresPrefix, path below a storeURL where cores go; NULL: to the other files */
	char *cores_prefix;
	/* storeCredentialsSecret, in the cluster's own namespace, may be absent; NULL: none */
	char *credentials_secret;
	char *ca_secret; /* storeCASecret, its ca.crt; NULL: the system's authorities */
	/* storeProxy, storeNoProxy: how a storeURL is reached; NULL: directly */
	char *proxy;
	char *no_proxy;
	/* storeKeepDays, storeKeepBundles, storeKeepMax: of each cluster's part of a claim; */
	int64_t keep_days;
	int64_t keep_bundles; /* 0: all */
	int64_t keep_max;
	int64_t spool_max; /* spoolMax, bytes of the pod's spool; 0: the sidecar's default */
};

struct policy_memory {
	enum memory_mode mode; /* memoryMode, of all settings; unset: Apply for all but budgets */
	enum memory_mode
		budgets; /* memoryBudgets; unset: as mode, or the default of policy_memory_modes */
	char *head_num_cpus; /* headNumCPUs, "0"; NULL (key is null): all of them, as with KubeRay */
	/* workerMemoryLimit, bytes for workers without one; 0: none is set */
	int64_t worker_memory_limit;
	/* rayMemoryFraction, ceiling of --memory as a part of the limit */
	double ray_memory_fraction;
	/* objectStoreFraction, of the limit for --object-store-memory */
	double object_store_fraction;
	double headroom_fraction; /* headroom "10%": kept free of both, as a part of the limit, or */
	int64_t headroom_bytes; /* headroom "500Mi": in bytes; 0: the fraction holds */
	/* usageThreshold, RAY_memory_usage_threshold; 0: Ray's own (0.95) */
	double usage_threshold;
	/* monitorRefreshMs, RAY_memory_monitor_refresh_ms; -1: Ray's 250 */
	int64_t monitor_refresh_ms;
};

struct policy_recording {
	bool enabled; /* recordingEnabled, true; false: as without sidecarImage */
	double warn_at; /* warnAt, the sidecar's --warn-at, a part of the limit */
	bool oom_group; /* oomGroup, the sidecar's --oom-group */
	bool kernel_log; /* kernelLog: the sidecar gets CAP_SYSLOG */
	/* coreDumps, which cores the sidecar keeps; off: none are asked for */
	enum core_dumps core_dumps;
	/* coreDumpLimit, the launcher's --cores-max, bytes; 0: its default */
	int64_t core_dump_limit;
	/* hooks: {atThreshold: [COMMAND], atDeath: [COMMAND]}; NULL: none */
	cJSON *hooks;
	/* holdOnFailure, the sidecar's --hold-on-failure, seconds; 0: not at all */
	int64_t hold_on_failure;
	bool stacks_at_stop; /* stacksAtStop, the sidecar's --stacks-at-stop */
	/* stacksAtWait, the sidecar's --stacks-at-wait, seconds; 0: not at all */
	int64_t stacks_at_wait;
	bool stacks_at_threshold; /* stacksAtThreshold, the sidecar's --stacks-at-threshold */
};

struct policy {
	/* sidecarImage; NULL: pods get neither sidecar nor launcher */
	char *sidecar_image;
	char *sidecar_image_pull_policy; /* sidecarImagePullPolicy; NULL: Kubernetes' default */
	/* sidecarResources, as of a container; NULL: the sidecar's own */
	cJSON *sidecar_resources;
	/* sidecarImagePullSecrets, [NAME], in the cluster's own namespace; NULL: none */
	cJSON *sidecar_pull_secrets;
	char *cluster_domain; /* clusterDomain, "cluster.local" */
	/*
	 * syslog, the place of the node's syslog: the sidecar mounts it read-only; NULL: it does
	 * not
	 */
	char *syslog;
	/* syslogGroup, the group that the sidecar runs with to read it; 0: its own */
	int64_t syslog_group;
	/* redisCleanup, true: the keys of a deleted cluster are deleted from Redis */
	bool redis_cleanup;
	bool login_shell; /* loginShell, false: Ray's commands run in `bash -cl` */
	struct policy_memory memory;
	struct policy_recording recording;
	struct policy_store store;
	/* of RayFailures; the operator's own is --keep-age and --keep-count */
	struct retention retention;
};

/* Sets the defaults. Release with policy_release. */
int policy_init(struct policy *ret_policy, struct err *err);
void policy_release(struct policy *p);

/* Makes a copy, which the caller releases. Returns 0 or -ENOMEM. */
int policy_copy(const struct policy *from, struct policy *ret_policy, struct err *err);
/*
 * Replaces all settings of one block by those of from. After -ENOMEM, to can only be released with
 * policy_release.
 */
int policy_copy_block(struct policy *to, enum policy_block block, const struct policy *from,
		      struct err *err);
/* Returns "memory", "recording", "store" or "retention". */
const char *policy_block_name(enum policy_block block);

/*
 * Sets the defaults overlaid with the YAML text, which must be one mapping (or
 * empty). An error names the key, its line and the valid values. name is
 * the name of the text's file.
 */
int policy_parse(const char *text, size_t len, const char *name, struct policy *ret_policy,
		 struct err *err);

/*
 * Returns the modes in force. by_default is the mode of budgets where the policy says nothing about
 * them. Budgets never do more than mode allows.
 */
struct memory_modes policy_memory_modes(const struct policy *p, enum memory_mode by_default);

/*
 * Returns whether the sidecar asks for what the Pod Security levels baseline and restricted refuse.
 */
static inline bool policy_needs_privilege(const struct policy *p)
{
	return p->recording.kernel_log || p->syslog;
}

/* Reads the file (at most 1 MiB) and parses it. */
int policy_load(const char *path, struct policy *ret_policy, struct err *err);

/*
 * Replaces one of the string fields (a command-line option wins over the file) by a copy of value;
 * NULL: none.
 */
int policy_set_string(char **field, const char *value, struct err *err);
