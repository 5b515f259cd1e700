/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-sidecar. */
#include "sidecar/options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/digest/report_mac.h"
#include "lib/listen_address.h"
#include "lib/units.h"
#include "sidecar/socket/channel.h"
#include "sidecar/store/bundle.h"

const char sidecar_usage[] =
	"usage: afterglow-sidecar [OPTION...]\n"
	"       afterglow-sidecar exec [OPTION...] -- COMMAND [ARG...]\n"
	"Watches the memory of containers and explains why they died.\n"
	"\n"
	"Without a command it is the sidecar of a pod: it watches each container whose launcher\n"
	"(afterglow-launch) connects to the socket. Reports name the pod by the variables POD_NAMESPACE,\n"
	"POD_NAME, POD_UID, NODE_NAME and AFTERGLOW_CLUSTER, and the store by AFTERGLOW_STORE_NAME.\n"
	"  --socket PATH       listen on this socket for launchers (default " DEFAULT_SOCKET ")\n"
	"  --node-socket PATH  listen on this socket for the node agent; no other container may mount its\n"
	"                      directory (default: take nothing from the node)\n"
	"  --spool DIR         write bundles to this directory first (default " DEFAULT_SPOOL ")\n"
	"  --spool-fallback DIR  write bundles to this directory in memory while that of --spool cannot be\n"
	"                      written; at most 24Mi, and only with a store. If it is a tmpfs, samples\n"
	"                      are kept there as well, so that they never wait for a disk\n"
	"  --store URL         copy bundles there with afterglow-ship (default: they stay in the spool)\n"
	"  --spool-max SIZE, --spool-bundles N, --spool-days N\n"
	"                      keep no more than this in the spool (default 768Mi, 200, 0: any age); cores\n"
	"                      are removed first, then logs, whole bundles last\n"
	"  --full-bundles N    keep the first N bundles of a crash loop whole; of further crashes keep the\n"
	"                      report, and after ten only count them (default 1; 0: keep all whole)\n"
	"  --keep-max SIZE, --keep-bundles N, --keep-days N\n"
	"                      keep no more than this of this cluster in a store that is a directory\n"
	"                      (default 0: nothing is removed)\n"
	"  --run-as UID        when started as root, become this user and keep only the capability\n"
	"                      CAP_SYSLOG (1 to 2147483647; default: stay the same user)\n"
	"  --disk-limit SIZE   the ephemeral-storage limit of the Ray container: warn before spilled\n"
	"                      objects reach it (default: warn only before they fill the filesystem)\n"
	"  --grace SECONDS     after SIGTERM, go on shipping bundles for at most this long (0 to 3600,\n"
	"                      default 25); a container that still runs is watched until it ends\n"
	"  --leave-after END   end when the last container has ended: success, with exit code 0; any, with\n"
	"                      any exit code, once its bundle is shipped; none, only at SIGTERM (default)\n"
	"  --http ADDRESS:PORT serve /metrics, /healthz, /failures, /memory there; \":PORT\" means all addresses\n"
	"                      (default: nowhere)\n"
	"  --reconnect SECONDS after a restart, wait this long for launchers to reconnect; a container\n"
	"                      whose launcher does not is reported as ended (0 to 3600, default 15)\n"
	"\n"
	"exec runs COMMAND, watches it, and exits with its exit code (128+N after signal N; 125 if\n"
	"it could not be started with these options). It writes the report to stderr.\n"
	"  --memory-max SIZE   run COMMAND in a memory cgroup of its own with this limit (\"512Mi\", \"2G\";\n"
	"                      at least 4Mi); needs root or a delegated cgroup, v1 or v2\n"
	"  --store DIR|URL     keep bundles in DIR/local/NAME (default: afterglow in $XDG_STATE_HOME or\n"
	"                      ~/.local/state); to a URL they are copied at the end\n"
	"  --name NAME         the name of COMMAND in reports (default: its base name)\n"
	"\n"
	"prune brings a directory of bundles within the bounds: it removes cores first, bundles last\n"
	"       (afterglow-sidecar prune [--keep-bytes N] [--keep-bundles N] [--keep-seconds N]\n"
	"       [--below PATH] DIR). The sidecar runs it on its store. 0, the default, means no bound.\n"
	"\n"
	"Options of the sidecar and of exec:\n"
	"  A store is a directory (file:///DIR), s3://BUCKET/PREFIX, azure://ACCOUNT/CONTAINER/PREFIX,\n"
	"  webhdfs://HOST:PORT/PATH, or webhdfss:// with TLS; afterglow-ship --help explains them.\n"
	"  --credentials DIR   files with the credentials of the store (default " DEFAULT_CREDENTIALS
	")\n"
	"  --store-ca FILE     accept only certificates of the store that these authorities signed (PEM)\n"
	"  --store-s3-endpoint URL, --store-s3-region REGION, --store-s3-path-style\n"
	"                      for an S3 that is not AWS\n"
	"  --store-s3-role-arn ARN, --store-s3-sts-endpoint URL\n"
	"                      exchange the file web-identity-token at STS for keys of an hour\n"
	"  --store-azure-endpoint URL\n"
	"                      address of a storage account that is not in Azure's public cloud\n"
	"  --store-webhdfs-user NAME\n"
	"                      the user of an HDFS without Kerberos\n"
	"  --store-cores-prefix PATH\n"
	"                      put cores below this path of the store, apart from the other files, so that\n"
	"                      lifecycle rules can remove them sooner; it begins with '_' (not for a directory)\n"
	"  --warn-at FRACTION  print the first snapshot when this part of the limit is in use, 0.05 to 1\n"
	"                      (default 0.8), and further ones at 0.9, 0.95 and 0.98\n"
	"  --oom-group         when the OOM killer kills one process, end the whole container (by\n"
	"                      memory.oom.group on cgroup v2, by the launcher on v1)\n"
	"  --kernel-log WHEN   auto: read the kernel log (needs CAP_SYSLOG where dmesg_restrict is 1);\n"
	"                      off (default auto)\n"
	"  --syslog PATH       keep the tail of this file, or of the syslog file in this directory\n"
	"                      (default: none)\n"
	"  --collect PATTERN   add these files of the container to each bundle; repeatable; \"none\" adds none\n"
	"                      (default: the files of memray, mprof, cProfile and ray timeline)\n"
	"  --hook-at-threshold COMMAND, --hook-at-death COMMAND\n"
	"                      run COMMAND by /bin/sh in the container when its memory passes --warn-at (at\n"
	"                      most once a minute), or after a failure that the launcher survived;\n"
	"                      repeatable (8 each). AFTERGLOW_PID is the largest process,\n"
	"                      AFTERGLOW_REASON \"threshold\" or the class. The output (64 KiB of each)\n"
	"                      goes into the bundle: \"py-spy dump --pid $AFTERGLOW_PID\"\n"
	"  --hook-timeout SECONDS  end a hook after this long (1 to 600, default 10)\n"
	"  --hook-headroom SIZE  run no hook when less memory than this is free (default 64Mi; 0: always run)\n"
	"  --hold-on-failure SECONDS  keep a container that failed for this long, so that somebody can look at\n"
	"                      it (at most 86400; default 0: do not); afterglow-launch --release in\n"
	"                      the container, or SIGTERM, ends the hold\n"
	"  --cores MODE        what a bundle keeps of a core besides the backtrace: summary (stacks and notes;\n"
	"                      a debugger can open it), full, or off (cores are ignored; default\n"
	"                      summary). exec: if given, also where cores go to a filesystem in memory\n"
	"  --record-success    write a report for exit code 0 as well\n"
	"  --help, --version\n";

static int take_value(char **argv, int *i, const char **ret_value, struct err *err)
{
	if (!argv[*i + 1] || !*argv[*i + 1])
		return err_set(err, EINVAL, "%s takes a value", argv[*i]);
	*ret_value = argv[++*i];
	return 0;
}

static int parse_part(const char *option, const char *text, double min, double max, double *ret_value, struct err *err)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= min && value <= max))
		return err_set(err, EINVAL, "%s takes a number from %g to %g, not %s", option, min, max, text);
	*ret_value = value;
	return 0;
}

static int parse_whole(const char *option, const char *text, int64_t min, int64_t max, int64_t *ret_value, struct err *err)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < min || value > max)
		return err_set(err, EINVAL, "%s takes a whole number from %" PRId64 " to %" PRId64 ", not %s", option, min, max, text);
	*ret_value = value;
	return 0;
}

static int parse_size(const char *option, const char *text, int64_t min, int64_t *ret_value, struct err *err)
{
	int64_t value;

	if (quantity_parse(text, &value, NULL) < 0)
		return err_set(err, EINVAL, "%s takes a size such as 512Mi or 2G, not %s", option, text);
	if (value < min)
		return err_set(err, EINVAL, "%s takes at least %" PRId64 "Mi, not %s", option, min >> 20, text);
	*ret_value = value;
	return 0;
}

/* The files that memray, mprof, cProfile and ray timeline write by default. */
static const char *const default_collect[] = {
	"/tmp/memray-*.bin", "/tmp/mprofile_*.dat", "/tmp/*.prof", "/tmp/ray-timeline-*.json", "/home/ray/memray-*.bin",
	"/home/ray/mprofile_*.dat", "/home/ray/*.prof",
};

/* The first pattern replaces the default ones. "none" stands for no pattern. */
static int add_pattern(struct sidecar_options *o, const char *option, const char *pattern, struct err *err)
{
	struct record_options *r = &o->exec.record;
	size_t n = 0;

	(void)option;
	if (r->collect[0] == default_collect[0])
		memset(r->collect, 0, sizeof(r->collect));
	if (strcmp(pattern, "none") == 0)
		return 0;
	if (pattern[0] != '/')
		return err_set(err, EINVAL, "--collect takes a path from the container's root, or none, not %s", pattern);
	while (r->collect[n])
		n++;
	if (n == COLLECT_PATTERNS_MAX)
		return err_set(err, EINVAL, "--collect: at most %d patterns", COLLECT_PATTERNS_MAX);
	r->collect[n] = pattern;
	return 0;
}

static int add_hook(struct sidecar_options *o, const char *option, const char *command, struct err *err)
{
	struct record_options *r = &o->exec.record;
	enum hook_moment moment = strcmp(option, "--hook-at-death") == 0 ? HOOK_AT_DEATH : HOOK_AT_THRESHOLD;
	size_t n = 0;

	if (strlen(command) > HOOK_COMMAND_MAX)
		return err_set(err, EINVAL, "%s: a command of more than %d bytes", option, HOOK_COMMAND_MAX);
	while (r->hooks.commands[moment][n])
		n++;
	if (n == HOOK_COMMANDS_MAX)
		return err_set(err, EINVAL, "%s: at most %d commands", option, HOOK_COMMANDS_MAX);
	r->hooks.commands[moment][n] = command;
	return 0;
}

static int take_kernel_log(struct sidecar_options *o, const char *option, const char *value, struct err *err)
{
	if (strcmp(value, "auto") != 0 && strcmp(value, "off") != 0)
		return err_set(err, EINVAL, "%s takes auto or off, not %s", option, value);
	o->exec.record.kernel_log.off = strcmp(value, "off") == 0;
	return 0;
}

static int take_cores(struct sidecar_options *o, const char *option, const char *value, struct err *err)
{
	if (!cores_mode_parse(value, &o->exec.record.cores))
		return err_set(err, EINVAL, "%s takes off, summary or full, not %s", option, value);
	o->exec.cores_asked_for = true;
	return 0;
}

static int take_leave_after(struct sidecar_options *o, const char *option, const char *value, struct err *err)
{
	static const char *const names[] = { "none", "success", "any" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(value, names[i]) == 0) {
			o->exec.record.leave_after = (enum leave_after)i;
			return 0;
		}
	return err_set(err, EINVAL, "%s takes none, success or any, not %s", option, value);
}

/*
 * INT and COUNT are whole numbers, stored in an int and an int64_t. The value of OTHER is parsed by
 * its function `take`.
 */
enum kind { TEXT, INT, COUNT, SIZE, DAYS, PART, OTHER };
enum where { BOTH, RECORD, EXEC };

#define AT(member) offsetof(struct sidecar_options, exec.record.member)

static const struct row {
	const char *name;
	enum where where;
	enum kind kind;
	size_t at;
	double min, max;
	int (*take)(struct sidecar_options *o, const char *option, const char *value, struct err *err);
} table[] = {
	{ .name = "--socket", RECORD, TEXT, AT(socket_path) },
	{ .name = "--node-socket", RECORD, TEXT, AT(node_socket) },
	{ .name = "--spool", RECORD, TEXT, AT(spool) },
	{ .name = "--spool-fallback", RECORD, TEXT, AT(spool_fallback) },
	{ .name = "--store", BOTH, TEXT, AT(store.url) },
	{ .name = "--credentials", BOTH, TEXT, AT(store.credentials) },
	{ .name = "--store-ca", BOTH, TEXT, AT(store.ca) },
	{ .name = "--store-s3-endpoint", BOTH, TEXT, AT(store.s3_endpoint) },
	{ .name = "--store-s3-region", BOTH, TEXT, AT(store.s3_region) },
	{ .name = "--store-s3-role-arn", BOTH, TEXT, AT(store.s3_role_arn) },
	{ .name = "--store-s3-sts-endpoint", BOTH, TEXT, AT(store.s3_sts_endpoint) },
	{ .name = "--store-azure-endpoint", BOTH, TEXT, AT(store.azure_endpoint) },
	{ .name = "--store-webhdfs-user", BOTH, TEXT, AT(store.webhdfs_user) },
	{ .name = "--store-cores-prefix", BOTH, TEXT, AT(store.cores_prefix) },
	{ .name = "--name", EXEC, TEXT, offsetof(struct sidecar_options, exec.name) },
	{ .name = "--http", RECORD, TEXT, AT(http) },
	{ .name = "--syslog", BOTH, TEXT, AT(kernel_log.syslog) },
	{ .name = "--full-bundles", RECORD, INT, AT(spool_limits.full_per_loop), 0, 1000 },
	{ .name = "--run-as", RECORD, INT, offsetof(struct sidecar_options, run_as), 1, INT_MAX },
	{ .name = "--grace", RECORD, INT, AT(grace_s), 0, 3600 },
	{ .name = "--reconnect", RECORD, INT, AT(reconnect_s), 0, 3600 },
	{ .name = "--hook-timeout", BOTH, INT, AT(hooks.timeout_s), 1, 600 },
	{ .name = "--hold-on-failure", BOTH, INT, AT(hold_s), 0, 86400 },
	{ .name = "--spool-bundles", RECORD, COUNT, AT(spool_limits.quota.count), 0, 1000000 },
	{ .name = "--keep-bundles", RECORD, COUNT, AT(retention.count), 0, 1000000 },
	{ .name = "--spool-max", RECORD, SIZE, AT(spool_limits.quota.bytes) },
	{ .name = "--keep-max", RECORD, SIZE, AT(retention.bytes) },
	{ .name = "--disk-limit", RECORD, SIZE, AT(disk_limit) },
	{ .name = "--hook-headroom", BOTH, SIZE, AT(hooks.headroom) },
	{ .name = "--memory-max", EXEC, SIZE, offsetof(struct sidecar_options, exec.memory_max), .min = EXEC_MEMORY_MIN },
	{ .name = "--spool-days", RECORD, DAYS, AT(spool_limits.quota.age_ns), 0, 36500 },
	{ .name = "--keep-days", RECORD, DAYS, AT(retention.age_ns), 0, 36500 },
	{ .name = "--warn-at", BOTH, PART, AT(warn_at), 0.05, 1 },
	{ .name = "--collect", BOTH, OTHER, .take = add_pattern },
	{ .name = "--hook-at-threshold", BOTH, OTHER, .take = add_hook },
	{ .name = "--hook-at-death", BOTH, OTHER, .take = add_hook },
	{ .name = "--kernel-log", BOTH, OTHER, .take = take_kernel_log },
	{ .name = "--cores", BOTH, OTHER, .take = take_cores },
	{ .name = "--leave-after", RECORD, OTHER, .take = take_leave_after },
};

static const struct row *find_row(const struct sidecar_options *o, const char *option)
{
	enum where other = o->command == COMMAND_EXEC ? RECORD : EXEC;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].where != other && strcmp(option, table[i].name) == 0)
			return &table[i];
	return NULL;
}

static int set_value(struct sidecar_options *o, const struct row *row, const char *text, struct err *err)
{
	void *at = (char *)o + row->at;
	double part = 0;
	int64_t number = 0;
	int rc = 0;

	if (row->kind == INT || row->kind == COUNT)
		rc = parse_whole(row->name, text, (int64_t)row->min, (int64_t)row->max, &number, err);
	else if (row->kind == SIZE)
		rc = parse_size(row->name, text, (int64_t)row->min, &number, err);
	else if (row->kind == DAYS || row->kind == PART)
		rc = parse_part(row->name, text, row->min, row->max, &part, err);
	if (rc < 0)
		return rc;
	switch (row->kind) {
	case TEXT:
		*(const char **)at = text;
		return 0;
	case INT:
		*(int *)at = (int)number;
		return 0;
	case COUNT:
	case SIZE:
		*(int64_t *)at = number;
		return 0;
	case DAYS:
		*(int64_t *)at = (int64_t)(part * 86400) * NS_PER_SEC;
		return 0;
	case PART:
		*(double *)at = part;
		return 0;
	case OTHER:
		return row->take(o, row->name, text, err);
	}
	return 0;
}

static int parse_option(struct sidecar_options *o, char **argv, int *i, struct err *err)
{
	const char *option = argv[*i], *value = NULL;
	const struct row *row;

	if (strcmp(option, "--help") == 0)
		o->command = COMMAND_HELP;
	else if (strcmp(option, "--version") == 0)
		o->command = COMMAND_VERSION;
	else if (strcmp(option, "--oom-group") == 0)
		o->exec.record.oom_group = true;
	else if (strcmp(option, "--store-s3-path-style") == 0)
		o->exec.record.store.s3_path_style = true;
	else if (strcmp(option, "--record-success") == 0)
		o->exec.record.record_success = true;
	else {
		row = find_row(o, option);
		if (!row)
			return err_set(err, EINVAL, "unknown option %s (see --help)", option);
		return take_value(argv, i, &value, err) < 0 ? -err->code : set_value(o, row, value, err);
	}
	return 0;
}

/* An empty variable counts as absent. */
static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static const char *default_store(void)
{
	static char path[512];
	const char *state = environment("XDG_STATE_HOME"), *home = environment("HOME");

	if (state)
		snprintf(path, sizeof(path), "%s/afterglow", state);
	else
		snprintf(path, sizeof(path), "%s/.local/state/afterglow", home ? home : "");
	return path;
}

/*
 * Makes a relative directory absolute, by the working directory, because children write to it, too.
 */
static int finish_store(struct store_options *store, struct err *err)
{
	static char path[PATH_MAX];
	char cwd[PATH_MAX - 1];

	if (store->url && !strstr(store->url, "://") && store->url[0] != '/') {
		if (!getcwd(cwd, sizeof(cwd)))
			return err_set(err, errno, "--store %s", store->url);
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", cwd, store->url) >= sizeof(path))
			return err_set(err, ENAMETOOLONG, "--store %.200s", store->url);
		store->url = path;
	}
	return store_options_check(store, err);
}

static int finish_exec(struct sidecar_options *o, struct err *err)
{
	static char name[64], spool[600];
	struct record_options *r = &o->exec.record;
	const char *slash;

	if (!o->exec.argv[0])
		return err_set(err, EINVAL, "exec takes a command: afterglow-sidecar exec [OPTION...] -- COMMAND [ARG...]");
	if (!o->exec.name) {
		slash = strrchr(o->exec.argv[0], '/');
		snprintf(name, sizeof(name), "%s", slash && slash[1] ? slash + 1 : o->exec.argv[0]);
		bundle_sanitize(name);
		if (!launch_name_valid(name))
			name[0] = 'x'; /* such as "-sh" of a login shell, or "[" */
		o->exec.name = name;
	}
	if (!launch_name_valid(o->exec.name))
		return err_set(err, EINVAL, "--name takes at most %d letters, digits, '.', '_' and '-', not %.100s",
			       LAUNCH_NAME_MAX, o->exec.name);
	if (!r->store.url)
		r->store.url = default_store();
	if (finish_store(&r->store, err) < 0)
		return -err->code;
	if (!store_directory(r->store.url)) {
		snprintf(spool, sizeof(spool), "%s/spool", default_store());
		r->bundles = spool;
	}
	r->spool_limits = (struct spool_limits){ .final = store_directory(r->store.url) != NULL };
	r->report_fd = STDERR_FILENO;
	r->events = r->say_reports = false;
	return 0;
}

/* Children do not inherit the key. */
static const char *take_report_key(void)
{
	static char key[REPORT_KEY_LEN + 1];
	const char *value = environment(REPORT_KEY_VARIABLE);

	snprintf(key, sizeof(key), "%s", value ? value : "");
	unsetenv(REPORT_KEY_VARIABLE);
	return *key ? key : NULL;
}

static void take_pod_environment(struct record_options *r)
{
	r->id = (struct identity){
		.namespace = environment("POD_NAMESPACE"),
		.cluster = environment("AFTERGLOW_CLUSTER"),
		.pod = environment("POD_NAME"),
		.pod_uid = environment("POD_UID"),
		.node = environment("NODE_NAME"),
		.report_key = take_report_key(),
	};
	r->store_name = environment("AFTERGLOW_STORE_NAME");
}

int sidecar_options_parse(char **argv, struct sidecar_options *ret_options, struct err *err)
{
	struct sidecar_options o = {
		.command = COMMAND_RECORD,
		.run_as = -1,
		.exec.record = {
			.socket_path = DEFAULT_SOCKET,
			.warn_at = DEFAULT_WARN_AT,
			.cores = CORES_SUMMARY,
			.grace_s = DEFAULT_GRACE_S,
			.reconnect_s = DEFAULT_RECONNECT_S,
			.store.credentials = DEFAULT_CREDENTIALS,
			.spool_limits = { .quota = { .bytes = SPOOL_BYTES_DEFAULT, .count = SPOOL_COUNT_DEFAULT }, .full_per_loop = 1 },
			.hooks = { .timeout_s = DEFAULT_HOOK_TIMEOUT_S, .headroom = DEFAULT_HOOK_HEADROOM },
			.report_fd = STDOUT_FILENO,
			.events = true,
			.say_reports = true,
		},
	};
	int i = 1;

	for (size_t p = 0; p < ARRAY_SIZE(default_collect); p++)
		o.exec.record.collect[p] = default_collect[p];
	if (argv[i] && strcmp(argv[i], "exec") == 0) {
		o.command = COMMAND_EXEC;
		i++;
	} else
		o.exec.record.spool = DEFAULT_SPOOL;
	for (; argv[i] && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
		int rc = parse_option(&o, argv, &i, err);

		if (rc < 0)
			return rc;
	}
	if (argv[i] && strcmp(argv[i], "--") == 0)
		i++;
	o.exec.argv = argv + i;
	if (o.command == COMMAND_RECORD) {
		if (o.exec.record.http && !listen_address_is_valid(o.exec.record.http))
			return err_set(err, EINVAL, "--http takes ADDRESS:PORT or :PORT, not %.100s", o.exec.record.http);
		if (argv[i])
			return err_set(err, EINVAL, "unexpected argument %s (see --help)", argv[i]);
		if (finish_store(&o.exec.record.store, err) < 0)
			return -err->code;
		take_pod_environment(&o.exec.record);
	} else if (o.command == COMMAND_EXEC && finish_exec(&o, err) < 0)
		return -err->code;
	*ret_options = o;
	return 0;
}
