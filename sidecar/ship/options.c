/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options by a table. */
#include "sidecar/ship/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/s3_encryption.h"
#include "sidecar/ship/cores_prefix.h"

#define DEFAULT_STALL_S 30

#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

#define AT(member) offsetof(struct ship_options, member)

/* clang-format off */
static const struct option_row rows[] = {
	{ .help = "usage: afterglow-ship --store URL [OPTION...] BUNDLE\n"
		  "Copies a finished bundle to a store. It skips files that are there already, and sends MANIFEST.json\n"
		  "last. You may run it again at any time, also after it was killed.\n\n" },
	{ "--store", "URL", OPTION_TEXT, AT(store_text),
	  .help = "file:///DIR (or /DIR), s3://BUCKET/PREFIX, azure://ACCOUNT/CONTAINER/PREFIX,\n"
		  "webhdfs://HOST:PORT/PATH, webhdfss://HOST:PORT/PATH (TLS)" },
	{ "--as", "PATH", OPTION_TEXT, AT(as),
	  .help = "the bundle's path below the store (default: BUNDLE's last component)" },
	{ "--cores-prefix", "PATH", OPTION_TEXT, AT(cores_prefix),
	  .help = "put cores below this path of the store, at PATH/AS/NAME, so that a lifecycle rule can\n"
		  "remove them sooner; it begins with '_' (not for a directory)" },
	{ "--credentials", "DIR", OPTION_TEXT, AT(credentials),
	  .help = "files access-key-id, secret-access-key, session-token, or role-arn and\n"
		  "web-identity-token (S3); account-key or sas-token (Azure); keytab, krb5.conf and\n"
		  "perhaps principal, or delegation-token (WebHDFS with Kerberos); ca.crt. Without keys\n"
		  "S3 uses EKS Pod Identity, Google Cloud Storage and Azure their workload identity" },
	{ "--ca", "FILE", OPTION_TEXT, AT(ca),
	  .help = "accept only certificates that these authorities (PEM) signed" },
	{ "--proxy", "URL", OPTION_TEXT, AT(proxy),
	  .help = "reach the store by this proxy, http://HOST:PORT or https://HOST:PORT" },
	{ "--no-proxy", "HOSTS", OPTION_TEXT, AT(no_proxy),
	  .help = "reach these hosts, domains and networks without it: a list with commas" },
	{ "--deadline", "SECONDS", OPTION_COUNT, AT(deadline_s), .min = 1, .max = 7 * 86400,
	  .help = "give up after this long (default: never)" },
	{ "--limit-rate", "SIZE", OPTION_SIZE, AT(rate), .min = 1024,
	  .help = "send at most this many bytes a second, as in 10Mi" },
	{ "--stall", "SECONDS", OPTION_COUNT, AT(stall_s), .min = 1, .max = 3600,
	  .help = "give up a request that has sent and received next to nothing for this long (default 30)" },
	{ "--s3-endpoint", "URL", OPTION_TEXT, AT(s3_endpoint),
	  .help = "address of the S3 server (default https://s3.REGION.amazonaws.com)" },
	{ "--s3-region", "R", OPTION_TEXT, AT(s3_region), .help = "the region (default us-east-1)" },
	{ "--s3-path-style", NULL, OPTION_FLAG, AT(s3_path_style),
	  .help = "use https://HOST/BUCKET/KEY in place of https://BUCKET.HOST/KEY" },
	{ "--s3-part-size", "SIZE", OPTION_SIZE, AT(s3_part), .min = S3_PART_MIN, .max = S3_PART_MAX,
	  .help = "send large files in parts of this size, 5Mi to 1Gi (default 16Mi)" },
	{ "--s3-role-arn", "ARN", OPTION_TEXT, AT(s3_role_arn),
	  .help = "the role for web identity, in place of the file role-arn" },
	{ "--s3-sts-endpoint", "URL", OPTION_TEXT, AT(s3_sts_endpoint),
	  .help = "address of STS for web identity (default https://sts.REGION.amazonaws.com)" },
	{ "--s3-encryption", "TYPE", OPTION_TEXT, AT(s3_encryption),
	  .help = "AES256, aws:kms or aws:kms:dsse: how S3 encrypts objects (default: as the bucket says)" },
	{ "--s3-kms-key-id", "ID", OPTION_TEXT, AT(s3_kms_key_id),
	  .help = "the id, ARN or alias of the key for aws:kms (default: the account's aws/s3)" },
	{ "--s3-bucket-key", NULL, OPTION_FLAG, AT(s3_bucket_key),
	  .help = "with aws:kms: use an S3 Bucket Key, so that KMS gets fewer requests" },
	{ "--azure-endpoint", "URL", OPTION_TEXT, AT(azure_endpoint),
	  .help = "address of the account (default https://ACCOUNT.blob.core.windows.net)" },
	{ "--azure-block-size", "SIZE", OPTION_SIZE, AT(azure_block), .min = AZURE_BLOCK_MIN, .max = AZURE_BLOCK_MAX,
	  .help = "send large files in blocks of this size, 1Mi to 1Gi (default 16Mi)" },
	{ "--webhdfs-user", "NAME", OPTION_TEXT, AT(webhdfs_user),
	  .help = "the user's name, for an HDFS without Kerberos" },
	{ "--read", NULL, OPTION_FLAG, AT(read),
	  .help = "write the bundle --as PATH of the store to stdout as a tar archive; BUNDLE is\n"
		  "not given then" },
	{ "--idle", "SECONDS", OPTION_COUNT, AT(idle_s), .min = 1, .max = 86400,
	  .help = "only wait this long: for a pod in which somebody runs --read" },
	{ "--help", .kind = OPTION_FLAG, .at = AT(help) },
	{ "--version", .kind = OPTION_FLAG, .at = AT(version), .help = "" },
	{ .help = "\nWithout --proxy and --no-proxy it uses https_proxy, http_proxy and no_proxy of the environment.\n"
		  "It writes JSON lines to stdout; the last line is the result. Exit code 0: shipped.\n"
		  "1: failed, and trying again may help. 2: wrong options. 3: failed, and somebody has to correct something first.\n" },
};
/* clang-format on */

const struct option_table ship_options_table = OPTION_TABLE(rows, 22);

static int check_endpoint(const char *option, const char *url, struct err *err)
{
	size_t scheme = !url				 ? 0 :
			strncmp(url, "https://", 8) == 0 ? 8 :
			strncmp(url, "http://", 7) == 0	 ? 7 :
							   0;

	if (!url)
		return 0;
	if (!scheme || !url[scheme] || strpbrk(url, " ?#@\"\\") || strlen(url) > 512)
		return err_set(err, EINVAL, "%s takes https://HOST[:PORT], not '%s'", option, url);
	return 0;
}

/* Takes the last component of a path such as "/spool/x/20260121T012906Z-Segfault/". */
static int name_of_bundle(const char *bundle, const char **ret_name, struct err *err)
{
	static char name[256];
	size_t end = strlen(bundle), start;

	while (end > 0 && bundle[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && bundle[start - 1] != '/')
		start--;
	snprintf(name, sizeof(name), "%.*s", (int)(end - start), bundle + start);
	*ret_name = name;
	return store_path_check(name, err);
}

/*
 * The sidecar itself limits the size of a directory and removes cores first, so a directory needs
 * no prefix for cores.
 */
static int check_cores_prefix(const struct ship_options *o, struct err *err)
{
	if (!o->cores_prefix)
		return 0;
	if (o->store.kind == STORE_DIRECTORY)
		return err_set(err, EINVAL,
			       "--cores-prefix is for a store s3://, azure:// or webhdfs://");
	return cores_prefix_check(o->cores_prefix, err) < 0 ? err_wrap(err, "--cores-prefix") : 0;
}

static int check_encryption(const struct ship_options *o, struct err *err)
{
	static const char *const types[] = { S3_ENCRYPTIONS };
	size_t i = 0;

	while (o->s3_encryption && i < ARRAY_SIZE(types) && strcmp(o->s3_encryption, types[i]) != 0)
		i++;
	if (i == ARRAY_SIZE(types))
		return err_set(
			err, EINVAL,
			"--s3-encryption takes AES256, aws:kms or aws:kms:dsse, not '%.100s'",
			o->s3_encryption);
	if ((o->s3_kms_key_id || o->s3_bucket_key) && !s3_encryption_is_kms(o->s3_encryption))
		return err_set(
			err, EINVAL,
			"--s3-kms-key-id and --s3-bucket-key go with --s3-encryption aws:kms");
	if (o->s3_kms_key_id && (strlen(o->s3_kms_key_id) > S3_KMS_KEY_ID_MAX ||
				 o->s3_kms_key_id[strspn(o->s3_kms_key_id, WORD_LETTERS ":/")]))
		return err_set(err, EINVAL,
			       "--s3-kms-key-id takes an id, an ARN or an alias of a key");
	return 0;
}

static int ship_options_check(struct ship_options *o, struct err *err)
{
	if (!o->store_text)
		return err_set(err, EINVAL, "--store is missing");
	if (o->read && (o->bundle || !o->as))
		return err_set(err, EINVAL, "--read takes --as PATH, and no BUNDLE");
	if (!o->read && !o->bundle)
		return err_set(err, EINVAL, "BUNDLE is missing");
	int r = store_url_parse(o->store_text, &o->store, err);
	if (r == 0)
		r = o->as ? store_path_check(o->as, err) : name_of_bundle(o->bundle, &o->as, err);
	if (r == 0)
		r = check_cores_prefix(o, err);
	if (r < 0)
		return r;
	if (o->s3_region[strspn(o->s3_region, WORD_LETTERS)])
		return err_set(err, EINVAL, "--s3-region: '%s' is no region's name", o->s3_region);
	r = check_encryption(o, err);
	if (r == 0)
		r = check_endpoint("--proxy", o->proxy, err);
	if (r == 0)
		r = check_endpoint("--s3-endpoint", o->s3_endpoint, err);
	if (r == 0)
		r = check_endpoint("--azure-endpoint", o->azure_endpoint, err);
	return r < 0 ? r : check_endpoint("--s3-sts-endpoint", o->s3_sts_endpoint, err);
}

/* Returns 1, the number of words that BUNDLE has. */
static int bundle_take(struct ship_options *o, const char *word, struct err *err)
{
	if (o->bundle)
		return err_set(err, EINVAL, "one BUNDLE at a time, not also %s", word);
	o->bundle = word;
	return 1;
}

int ship_options_parse(char **argv, struct ship_options *ret_options, struct err *err)
{
	struct ship_options o = { .stall_s = DEFAULT_STALL_S,
				  .s3_region = "us-east-1",
				  .s3_part = S3_PART_DEFAULT,
				  .azure_block = AZURE_BLOCK_DEFAULT };
	int r = 0;

	for (int i = 1, n; argv[i]; i += n) {
		n = argv[i][0] == '-' ? option_take(&ship_options_table, 0, argv + i, &o, err) :
					bundle_take(&o, argv[i], err);
		if (n < 0)
			return n;
	}
	if (!o.help && !o.version && !o.idle_s)
		r = ship_options_check(&o, err);
	if (r == 0)
		*ret_options = o;
	return r;
}
