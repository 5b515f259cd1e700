/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options by a table. */
#include "sidecar/ship/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/units.h"
#include "sidecar/ship/cores_prefix.h"

#define DEFAULT_STALL_S 30

const char ship_usage[] =
	"usage: afterglow-ship --store URL [OPTION...] BUNDLE\n"
	"Copies a finished bundle to a store. It skips files that are there already, and sends MANIFEST.json\n"
	"last. You may run it again at any time, also after it was killed.\n"
	"\n"
	"  --store URL         file:///DIR (or /DIR), s3://BUCKET/PREFIX, azure://ACCOUNT/CONTAINER/PREFIX,\n"
	"                      webhdfs://HOST:PORT/PATH, webhdfss://HOST:PORT/PATH (TLS)\n"
	"  --as PATH           the bundle's path below the store (default: BUNDLE's last component)\n"
	"  --cores-prefix PATH put cores below this path of the store, at PATH/AS/NAME, so that a lifecycle rule can\n"
	"                      remove them sooner; it begins with '_' (not for a directory)\n"
	"  --credentials DIR   files access-key-id, secret-access-key, session-token, or role-arn and\n"
	"                      web-identity-token (S3); account-key or sas-token (Azure); keytab, krb5.conf and\n"
	"                      perhaps principal, or delegation-token (WebHDFS with Kerberos); ca.crt. Without keys\n"
	"                      S3 uses EKS Pod Identity, Google Cloud Storage and Azure their workload identity\n"
	"  --ca FILE           accept only certificates that these authorities (PEM) signed\n"
	"  --deadline SECONDS  give up after this long (default: never)\n"
	"  --limit-rate SIZE   send at most this many bytes a second, as in 10Mi\n"
	"  --stall SECONDS     give up a request that has sent and received nothing for this long (default 30)\n"
	"  --s3-endpoint URL   address of the S3 server (default https://s3.REGION.amazonaws.com)\n"
	"  --s3-region R       the region (default us-east-1)\n"
	"  --s3-path-style     use https://HOST/BUCKET/KEY in place of https://BUCKET.HOST/KEY\n"
	"  --s3-part-size SIZE send large files in parts of this size, 5Mi to 1Gi (default 16Mi)\n"
	"  --s3-role-arn ARN   the role for web identity, in place of the file role-arn\n"
	"  --s3-sts-endpoint URL  address of STS for web identity (default https://sts.REGION.amazonaws.com)\n"
	"  --azure-endpoint URL  address of the account (default https://ACCOUNT.blob.core.windows.net)\n"
	"  --azure-block-size SIZE  send large files in blocks of this size, 1Mi to 1Gi (default 16Mi)\n"
	"  --webhdfs-user NAME the user's name, for an HDFS without Kerberos\n"
	"  --read              write the bundle --as PATH of the store to stdout as a tar archive; BUNDLE is\n"
	"                      not given then\n"
	"  --idle SECONDS      only wait this long: for a pod in which somebody runs --read\n"
	"  --help, --version\n"
	"\n"
	"It uses the proxies of https_proxy, http_proxy and no_proxy, and writes JSON lines to stdout; the last\n"
	"line is the result. Exit code 0: shipped. 1: failed, and trying again may help. 2: wrong options.\n"
	"3: failed, and somebody has to correct something first.\n";

enum value { TEXT, FLAG, SECONDS, SIZE };

static const struct {
	const char *name;
	enum value value;
	size_t at;
	int64_t min, max;
} table[] = {
	{ "--as", TEXT, offsetof(struct ship_options, as), 0, 0 },
	{ "--cores-prefix", TEXT, offsetof(struct ship_options, cores_prefix), 0, 0 },
	{ "--credentials", TEXT, offsetof(struct ship_options, credentials), 0, 0 },
	{ "--ca", TEXT, offsetof(struct ship_options, ca), 0, 0 },
	{ "--deadline", SECONDS, offsetof(struct ship_options, deadline_s), 1, 7 * 86400 },
	{ "--limit-rate", SIZE, offsetof(struct ship_options, rate), 1024, INT64_MAX },
	{ "--stall", SECONDS, offsetof(struct ship_options, stall_s), 1, 3600 },
	{ "--s3-endpoint", TEXT, offsetof(struct ship_options, s3_endpoint), 0, 0 },
	{ "--s3-region", TEXT, offsetof(struct ship_options, s3_region), 0, 0 },
	{ "--s3-role-arn", TEXT, offsetof(struct ship_options, s3_role_arn), 0, 0 },
	{ "--s3-sts-endpoint", TEXT, offsetof(struct ship_options, s3_sts_endpoint), 0, 0 },
	{ "--s3-path-style", FLAG, offsetof(struct ship_options, s3_path_style), 0, 0 },
	{ "--s3-part-size", SIZE, offsetof(struct ship_options, s3_part), S3_PART_MIN, S3_PART_MAX },
	{ "--azure-endpoint", TEXT, offsetof(struct ship_options, azure_endpoint), 0, 0 },
	{ "--azure-block-size", SIZE, offsetof(struct ship_options, azure_block), AZURE_BLOCK_MIN, AZURE_BLOCK_MAX },
	{ "--webhdfs-user", TEXT, offsetof(struct ship_options, webhdfs_user), 0, 0 },
	{ "--read", FLAG, offsetof(struct ship_options, read), 0, 0 },
	{ "--idle", SECONDS, offsetof(struct ship_options, idle_s), 1, 86400 },
	{ "--help", FLAG, offsetof(struct ship_options, help), 0, 0 },
	{ "--version", FLAG, offsetof(struct ship_options, version), 0, 0 },
};

static int parse_number(const char *text, enum value value, int64_t *ret_number)
{
	char *end;

	if (value == SIZE)
		return quantity_parse(text, ret_number, NULL);
	errno = 0;
	*ret_number = strtoll(text, &end, 10);
	return errno || end == text || *end ? -EINVAL : 0;
}

static int set_value(struct ship_options *o, size_t row, const char *text, struct err *err)
{
	void *at = (char *)o + table[row].at;
	int64_t number;

	if (table[row].value == TEXT) {
		*(const char **)at = text;
		return 0;
	}
	if (parse_number(text, table[row].value, &number) < 0 || number < table[row].min || number > table[row].max)
		return err_set(err, EINVAL, "%s takes %s from %lld to %lld, not '%s'", table[row].name,
			       table[row].value == SIZE ? "a size in bytes" : "seconds", (long long)table[row].min,
			       (long long)table[row].max, text);
	*(int64_t *)at = number;
	return 0;
}

static int take_option(struct ship_options *o, char **argv, int *i, struct err *err)
{
	size_t row = 0;

	while (row < ARRAY_SIZE(table) && strcmp(argv[*i], table[row].name) != 0)
		row++;
	if (row == ARRAY_SIZE(table))
		return err_set(err, EINVAL, "unknown option %s; --help lists them", argv[*i]);
	if (table[row].value == FLAG) {
		*(bool *)((char *)o + table[row].at) = true;
		return 0;
	}
	if (!argv[*i + 1] || !*argv[*i + 1])
		return err_set(err, EINVAL, "%s takes a value", argv[*i]);
	return set_value(o, row, argv[++*i], err);
}

static int check_endpoint(const char *option, const char *url, struct err *err)
{
	size_t scheme = !url ? 0 : strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;

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
		return err_set(err, EINVAL, "--cores-prefix is for a store s3://, azure:// or webhdfs://");
	return cores_prefix_check(o->cores_prefix, err) < 0 ? err_wrap(err, "--cores-prefix") : 0;
}

static int check(struct ship_options *o, const char *store, struct err *err)
{
	int r;

	if (!store)
		return err_set(err, EINVAL, "--store is missing");
	if (o->read && (o->bundle || !o->as))
		return err_set(err, EINVAL, "--read takes --as PATH, and no BUNDLE");
	if (!o->read && !o->bundle)
		return err_set(err, EINVAL, "BUNDLE is missing");
	r = store_url_parse(store, &o->store, err);
	if (r == 0)
		r = o->as ? store_path_check(o->as, err) : name_of_bundle(o->bundle, &o->as, err);
	if (r == 0)
		r = check_cores_prefix(o, err);
	if (r < 0)
		return r;
	if (strspn(o->s3_region, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != strlen(o->s3_region))
		return err_set(err, EINVAL, "--s3-region: '%s' is no region's name", o->s3_region);
	r = check_endpoint("--s3-endpoint", o->s3_endpoint, err);
	if (r == 0)
		r = check_endpoint("--azure-endpoint", o->azure_endpoint, err);
	return r < 0 ? r : check_endpoint("--s3-sts-endpoint", o->s3_sts_endpoint, err);
}

int ship_options_parse(char **argv, struct ship_options *ret_options, struct err *err)
{
	struct ship_options o = { .stall_s = DEFAULT_STALL_S, .s3_region = "us-east-1", .s3_part = S3_PART_DEFAULT,
				  .azure_block = AZURE_BLOCK_DEFAULT };
	const char *store = NULL;
	int r = 0;

	for (int i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "--store") == 0) {
			if (!argv[i + 1])
				return err_set(err, EINVAL, "--store takes a value");
			store = argv[++i];
		} else if (argv[i][0] == '-') {
			r = take_option(&o, argv, &i, err);
			if (r < 0)
				return r;
		} else if (o.bundle) {
			return err_set(err, EINVAL, "one BUNDLE at a time, not also %s", argv[i]);
		} else {
			o.bundle = argv[i];
		}
	}
	if (!o.help && !o.version && !o.idle_s)
		r = check(&o, store, err);
	if (r == 0)
		*ret_options = o;
	return r;
}
