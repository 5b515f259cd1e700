/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how afterglow-ship is called, what its result means, and when it is called again. */
#include "sidecar/spool/ship_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/units.h"
#include "sidecar/ship/cores_prefix.h"

#define RETRY_AFTER_MAX_S 600
#define RUN_MIN_S 3600
#define RUN_MAX_S 86400
#define RUN_BYTES_PER_S (64 << 10)

const char *store_directory(const char *url)
{
	if (url[0] == '/')
		return url;
	return text_begins_with(url, "file:///") ? url + strlen("file://") : NULL;
}

static int check_kind(const char *option, const char *value, bool fits, const char *kind,
		      struct err *err)
{
	return value && !fits ? err_set(err, EINVAL, "%s is for a store %s", option, kind) : 0;
}

static int check_address(const char *option, const char *url, struct err *err)
{
	if (!url || text_begins_with(url, "https://") || text_begins_with(url, "http://"))
		return 0;
	return err_set(err, EINVAL,
		       "%s takes an address such as https://minio.example:9000, not %.200s", option,
		       url);
}

int store_options_check(const struct store_options *o, struct err *err)
{
	bool s3 = o->url && text_begins_with(o->url, "s3://"),
	     azure = o->url && text_begins_with(o->url, "azure://");
	bool hdfs = o->url && (text_begins_with(o->url, "webhdfs://") ||
			       text_begins_with(o->url, "webhdfss://"));
	const char *host = o->url ? strstr(o->url, "://") : NULL;

	if (o->url && !s3 && !azure && !hdfs && !store_directory(o->url))
		return err_set(
			err, EINVAL,
			"--store takes a directory, file:///DIRECTORY, s3://BUCKET/PREFIX, azure://ACCOUNT/CONTAINER/PREFIX, "
			"webhdfs://HOST:PORT/PATH or webhdfss:// for TLS, not %.200s",
			o->url);
	if ((s3 || azure || hdfs) && (!host[3] || host[3] == '/'))
		return err_set(err, EINVAL, "--store %.200s names no %s", o->url,
			       s3    ? "bucket" :
			       azure ? "storage account" :
				       "host");
	if (azure && (!strchr(host + 3, '/') || !strchr(host + 3, '/')[1]))
		return err_set(err, EINVAL, "--store %.200s names no container", o->url);
	if (check_kind("--store-s3-endpoint", o->s3_endpoint, s3, "s3://", err) < 0 ||
	    check_kind("--store-s3-region", o->s3_region, s3, "s3://", err) < 0 ||
	    check_kind("--store-s3-path-style", o->s3_path_style ? "" : NULL, s3, "s3://", err) <
		    0 ||
	    check_kind("--store-s3-role-arn", o->s3_role_arn, s3, "s3://", err) < 0 ||
	    check_kind("--store-s3-sts-endpoint", o->s3_sts_endpoint, s3, "s3://", err) < 0 ||
	    check_kind("--store-s3-encryption", o->s3_encryption, s3, "s3://", err) < 0 ||
	    check_kind("--store-proxy", o->proxy, s3 || azure || hdfs,
		       "s3://, azure:// or webhdfs://", err) < 0 ||
	    check_kind("--store-azure-endpoint", o->azure_endpoint, azure, "azure://", err) < 0 ||
	    check_kind("--store-webhdfs-user", o->webhdfs_user, hdfs, "webhdfs://", err) < 0 ||
	    check_kind("--store-cores-prefix", o->cores_prefix, s3 || azure || hdfs,
		       "s3://, azure:// or webhdfs://", err) < 0)
		return -err->code;
	if (o->cores_prefix && cores_prefix_check(o->cores_prefix, err) < 0)
		return err_wrap(err, "--store-cores-prefix");
	if (check_address("--store-s3-endpoint", o->s3_endpoint, err) < 0)
		return -err->code;
	if (check_address("--store-azure-endpoint", o->azure_endpoint, err) < 0)
		return -err->code;
	return check_address("--store-s3-sts-endpoint", o->s3_sts_endpoint, err);
}

char *const *ship_environment(void)
{
	/* clang-format off */
	static const char *const wanted[] = {
		"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "RES_OPTIONS", "LOCALDOMAIN", "ASAN_OPTIONS",
		/*
		 * These say where to get keys and tokens, but contain none. The webhooks of EKS and
		 * AKS set them in each container.
		 */
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "GCE_METADATA_HOST",
		"AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_AUTHORITY_HOST",
	};
	/* clang-format on */
	static char *env[ARRAY_SIZE(wanted) + 1];
	size_t n = 0;

	for (char **e = environ; *e; e++)
		for (size_t i = 0; i < ARRAY_SIZE(wanted) && n < ARRAY_SIZE(wanted); i++) {
			size_t len = strlen(wanted[i]);

			if (strncmp(*e, wanted[i], len) == 0 && (*e)[len] == '=')
				env[n++] = *e;
		}
	env[n] = NULL;
	return env;
}

void ship_args(const struct store_options *o, const char *program, const char *as,
	       const char *deadline, const char *bundle, const char *ret_argv[static SHIP_ARGS_MAX])
{
	const struct {
		const char *option, *value;
		/* clang-format off */
	} pairs[] = {
		{ "--store", o->url }, { "--credentials", o->credentials }, { "--ca", o->ca },
		{ "--proxy", o->proxy }, { "--no-proxy", o->no_proxy },
		{ "--s3-endpoint", o->s3_endpoint }, { "--s3-region", o->s3_region }, { "--s3-role-arn", o->s3_role_arn },
		{ "--s3-sts-endpoint", o->s3_sts_endpoint }, { "--azure-endpoint", o->azure_endpoint },
		{ "--s3-encryption", o->s3_encryption }, { "--s3-kms-key-id", o->s3_kms_key_id },
		{ "--webhdfs-user", o->webhdfs_user },
		{ "--cores-prefix", o->cores_prefix },
		{ "--as", as }, { "--deadline", deadline },
	};
	/* clang-format on */
	size_t n = 0;

	_Static_assert(2 * ARRAY_SIZE(pairs) + 5 <= SHIP_ARGS_MAX,
		       "all of them fit, with program, bundle, two flags and NULL");
	ret_argv[n++] = program;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (pairs[i].value) {
			ret_argv[n++] = pairs[i].option;
			ret_argv[n++] = pairs[i].value;
		}
	if (o->s3_path_style)
		ret_argv[n++] = "--s3-path-style";
	if (o->s3_bucket_key)
		ret_argv[n++] = "--s3-bucket-key";
	ret_argv[n++] = bundle;
	ret_argv[n] = NULL;
}

static const char *const kinds[] = {
#define X(id, name, retry, after) name,
	FAULT_KINDS(X)
#undef X
		"hung",
	"program",
	"other",
};

const char *ship_kind_name(enum ship_kind k)
{
	return kinds[k];
}

static enum ship_kind ship_plan_kind_of(const char *name)
{
	for (enum ship_kind k = 0; name && k < SHIP_KIND_COUNT; k++)
		if (strcmp(kinds[k], name) == 0)
			return k;
	return SHIP_OTHER;
}

void ship_line(const char *line, size_t len, struct ship_result *result)
{
	_cleanup_json_ cJSON *json = NULL;

	if (json_parse(line, len, &json, NULL) < 0)
		return;
	const char *result_text = json_str(json, "result");
	if (!result_text)
		return;
	const char *error = json_str(json, "error");
	*result = (struct ship_result){
		.has_result = true,
		.shipped = strcmp(result_text, "shipped") == 0,
		.retry = json_bool(json, "retry", true),
		.retry_after_ns = MIN(MAX(json_int(json, "retryAfterSeconds", 0), (int64_t)0),
				      (int64_t)RETRY_AFTER_MAX_S) *
				  NS_PER_SEC,
		.kind = ship_plan_kind_of(json_str(json, "kind")),
	};
	snprintf(result->error, sizeof(result->error), "%s", error ? error : "no reason was given");
}

void ship_ended(int status, enum ship_end end, struct ship_result *result)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (end == SHIP_END_GRACE && !result->has_result) {
		*result = (struct ship_result){ .retry = true, .kind = SHIP_DEADLINE };
		snprintf(result->error, sizeof(result->error),
			 "the time that the pod had left was over");
		return;
	}
	if (end == SHIP_END_HUNG) {
		*result = (struct ship_result){ .retry = true, .kind = SHIP_HUNG };
		snprintf(result->error, sizeof(result->error),
			 "the store gave no sign of life for %d s",
			 (int)(SHIP_PATIENCE_NS / NS_PER_SEC));
		return;
	}
	if (result->has_result && result->shipped == (code == 0) && code >= 0)
		return;
	*result = (struct ship_result){ .retry = true, .kind = SHIP_PROGRAM };
	if (code >= 0)
		snprintf(result->error, sizeof(result->error),
			 "afterglow-ship ended with exit code %d and without a result", code);
	else
		snprintf(result->error, sizeof(result->error),
			 "afterglow-ship was ended by signal %d", WTERMSIG(status));
}

int64_t ship_run_s(int64_t bytes)
{
	return MIN(RUN_MIN_S + bytes / RUN_BYTES_PER_S, (int64_t)RUN_MAX_S);
}

int64_t ship_backoff(unsigned int failures, const struct ship_result *last, bool stopping,
		     double random)
{
	int64_t wait = NS_PER_SEC << MIN(failures > 0 ? failures - 1 : 0, 9U);

	wait = MIN(last->retry ? wait : SHIP_BACKOFF_MAX_NS, SHIP_BACKOFF_MAX_NS);
	wait = (int64_t)((double)wait * (0.75 + 0.5 * random));
	/* A fault that should have passed but persists is retried less and less often. */
	wait = MAX(wait, last->retry_after_ns);
	return stopping ? MIN(wait, SHIP_BACKOFF_STOPPING_NS) : wait;
}
