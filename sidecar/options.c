/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-sidecar. */
#include "sidecar/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/digest/report_mac.h"
#include "lib/docs.h"
#include "lib/listen_address.h"
#include "sidecar/socket/channel.h"
#include "sidecar/store/bundle.h"

enum {
	RECORD = 1 << COMMAND_RECORD,
	EXEC = 1 << COMMAND_EXEC,
	EXEC_ALONE = 1 << (COMMAND_EXEC + 1)
};

/*
 * The files that memray, mprof, cProfile and ray timeline write by default, and those that Ray's
 * guides to debugging memory and to profiling have people write. An image of Ray has /home/ray as
 * its working directory.
 */
/* clang-format off */
static const char *const default_collect[] = {
	"/tmp/memray-*.bin", "/tmp/mprofile_*.dat", "/tmp/*.prof", "/tmp/ray-timeline-*.json", "/home/ray/memray-*.bin",
	"/home/ray/mprofile_*.dat", "/home/ray/*.prof", "/tmp/ray/session_latest/logs/*.bin", "/tmp/memory_profile.dat",
	"/home/ray/memory_profile.dat", "/tmp/stats", "/home/ray/stats", "/tmp/timeline.json", "/home/ray/timeline.json",
};
/* clang-format on */

/* The first pattern replaces the default ones. "none" stands for no pattern. */
static int collect_parse(void *options, const char *option, const char *pattern, struct err *err)
{
	struct record_options *r = &((struct sidecar_options *)options)->exec.record;
	size_t n = 0;

	if (r->collect[0] == default_collect[0])
		memset(r->collect, 0, sizeof(r->collect));
	if (strcmp(pattern, "none") == 0)
		return 0;
	if (pattern[0] != '/')
		return err_set(err, EINVAL, "%s takes an absolute path, or none, not %s", option,
			       pattern);
	while (r->collect[n])
		n++;
	if (n == COLLECT_PATTERNS_MAX)
		return err_set(err, EINVAL, "%s: at most %d patterns", option,
			       COLLECT_PATTERNS_MAX);
	r->collect[n] = pattern;
	return 0;
}

static int hook_parse(void *options, const char *option, const char *command, struct err *err)
{
	struct record_options *r = &((struct sidecar_options *)options)->exec.record;
	enum hook_moment moment =
		strcmp(option, "--hook-at-death") == 0 ? HOOK_AT_DEATH : HOOK_AT_THRESHOLD;
	size_t n = 0;

	if (strlen(command) > HOOK_COMMAND_MAX)
		return err_set(err, EINVAL, "%s: a command of more than %d bytes", option,
			       HOOK_COMMAND_MAX);
	while (r->hooks.commands[moment][n])
		n++;
	if (n == HOOK_COMMANDS_MAX)
		return err_set(err, EINVAL, "%s: at most %d commands", option, HOOK_COMMANDS_MAX);
	r->hooks.commands[moment][n] = command;
	return 0;
}

static int cores_parse(void *options, const char *option, const char *value, struct err *err)
{
	struct sidecar_options *o = options;

	if (!cores_mode_parse(value, &o->exec.record.cores))
		return err_set(err, EINVAL, "%s takes off, summary or full, not %s", option, value);
	o->exec.cores_asked_for = true;
	return 0;
}

#define AT(member) offsetof(struct sidecar_options, exec.record.member)

/* clang-format off */
static const struct option_row rows[] = {
	{ .only = EXEC_ALONE, .help = "usage: afterglow run [OPTION...] -- COMMAND [ARG...]\n" },
	{ .only = RECORD,
	  .help = "usage: afterglow-sidecar [OPTION...]\n"
		  "       afterglow-sidecar exec [OPTION...] -- COMMAND [ARG...]\n"
		  "Watches the memory of containers and explains why they died.\n"
		  "\n"
		  "Without a command it is the sidecar of a pod: it watches each container whose launcher\n"
		  "(afterglow-launch) connects to the socket. Reports name the pod by the variables POD_NAMESPACE,\n"
		  "POD_NAME, POD_UID, NODE_NAME and AFTERGLOW_CLUSTER, and the store by AFTERGLOW_STORE_NAME.\n" },
	{ "--socket", "PATH", OPTION_TEXT, AT(socket_path), .only = RECORD,
	  .help = "listen on this socket for launchers (default " DEFAULT_SOCKET ")" },
	{ "--node-socket", "PATH", OPTION_TEXT, AT(node_socket), .only = RECORD,
	  .help = "listen on this socket for the node agent; no other container may mount its\n"
		  "directory (default: take nothing from the node)" },
	{ "--spool", "DIR", OPTION_TEXT, AT(spool), .only = RECORD,
	  .help = "write bundles to this directory first (default " DEFAULT_SPOOL ")" },
	{ "--spool-fallback", "DIR", OPTION_TEXT, AT(spool_fallback), .only = RECORD,
	  .help = "write bundles to this directory in memory while that of --spool cannot be\n"
		  "written; at most 24Mi, and only with a store. If it is a tmpfs, samples\n"
		  "are kept there as well, so that they never wait for a disk" },
	{ "--store", "URL", OPTION_TEXT, AT(store.url), .only = RECORD,
	  .help = "copy bundles there with afterglow-ship (default: they stay in the spool)" },
	{ "--spool-max", "SIZE", OPTION_SIZE, AT(spool_limits.quota.bytes), .only = RECORD },
	{ "--spool-bundles", "N", OPTION_COUNT, AT(spool_limits.quota.count), .max = 1000000, .only = RECORD },
	{ "--spool-days", "N", OPTION_DAYS, AT(spool_limits.quota.age_ns), .max = 36500, .only = RECORD,
	  .help = "keep no more than this in the spool (default 768Mi, 200, 0: any age); cores\n"
		  "are removed first, then logs, whole bundles last" },
	{ "--full-bundles", "N", OPTION_INT, AT(spool_limits.full_per_loop), .max = 1000, .only = RECORD,
	  .help = "keep the first N bundles of a crash loop whole; of further crashes keep the\n"
		  "report, and after ten only count them (default 1; 0: keep all whole)" },
	{ "--keep-max", "SIZE", OPTION_SIZE, AT(retention.bytes), .only = RECORD },
	{ "--keep-bundles", "N", OPTION_COUNT, AT(retention.count), .max = 1000000, .only = RECORD },
	{ "--keep-days", "N", OPTION_DAYS, AT(retention.age_ns), .max = 36500, .only = RECORD,
	  .help = "keep no more than this of this cluster in a store that is a directory\n"
		  "(default 0: nothing is removed)" },
	{ "--run-as", "UID", OPTION_INT, offsetof(struct sidecar_options, run_as), .min = 1, .max = INT_MAX,
	  .only = RECORD,
	  .help = "when started as root, become this user and keep only the capability\n"
		  "CAP_SYSLOG (1 to 2147483647; default: stay the same user)" },
	{ "--disk-limit", "SIZE", OPTION_SIZE, AT(disk_limit), .only = RECORD,
	  .help = "the ephemeral-storage limit of the Ray container: warn before spilled\n"
		  "objects reach it (default: warn only before they fill the filesystem)" },
	{ "--grace", "SECONDS", OPTION_INT, AT(grace_s), .max = 3600, .only = RECORD,
	  .help = "after SIGTERM, go on shipping bundles for at most this long (0 to 3600,\n"
		  "default 25); a container that still runs is watched until it ends" },
	{ "--leave-after", "END", OPTION_CHOICE, AT(leave_after), .only = RECORD,
	  .choices = (const char *const[]){ "none", "success", "any", NULL },
	  .help = "end when the last container has ended: success, with exit code 0; any, with\n"
		  "any exit code, once its bundle is shipped; none, only at SIGTERM (default)" },
	{ "--http", "ADDRESS:PORT", OPTION_TEXT, AT(http), .only = RECORD,
	  .help = "serve /metrics, /healthz, /failures, /memory there; \":PORT\" means all addresses\n"
		  "(default: nowhere)" },
	{ "--reconnect", "SECONDS", OPTION_INT, AT(reconnect_s), .max = 3600, .only = RECORD,
	  .help = "after a restart, wait this long for launchers to reconnect; a container\n"
		  "whose launcher does not is reported as ended (0 to 3600, default 15)" },
	{ .only = RECORD, .help = "\nexec, which `afterglow run` is as well:\n" },
	{ .only = EXEC,
	  .help = "Runs COMMAND, watches it, and exits with its exit code (128+N after signal N; 126 or 127 if it\n"
		  "cannot be executed). Writes the report to stderr.\n\n" },
	{ "--store", "DIR|URL", OPTION_TEXT, AT(store.url), .only = EXEC,
	  .help = "keep bundles in DIR/local/NAME (default: afterglow in $XDG_STATE_HOME or\n"
		  "~/.local/state); to a URL they are copied at the end" },
	{ "--memory-max", "SIZE", OPTION_SIZE, offsetof(struct sidecar_options, exec.memory_max),
	  .min = EXEC_MEMORY_MIN, .only = EXEC,
	  .help = "run COMMAND in a memory cgroup of its own with this limit (\"512Mi\", \"2G\";\n"
		  "at least 4Mi), v1 or v2. Without root or a delegated cgroup COMMAND runs without\n"
		  "the limit, and a line says so" },
	{ "--name", "NAME", OPTION_TEXT, offsetof(struct sidecar_options, exec.name), .only = EXEC,
	  .help = "the name of COMMAND in reports (default: its base name, or that of its Python script)" },
	{ .only = RECORD,
	  .help = "\n"
		  "stack prints the stacks of the processes that are watched now (afterglow-sidecar stack [PID|NAME]).\n"
		  "\n"
		  "prune brings a directory of bundles within the bounds: it removes cores first, bundles last\n"
		  "       (afterglow-sidecar prune [--keep-bytes N] [--keep-bundles N] [--keep-seconds N]\n"
		  "       [--below PATH] DIR). The sidecar runs it on its store. 0, the default, means no bound.\n"
		  "\n"
		  "Options of the sidecar and of exec:" },
	{ .help = "\nA store is a directory (file:///DIR), s3://BUCKET/PREFIX, azure://ACCOUNT/CONTAINER/PREFIX,\n"
		  "webhdfs://HOST:PORT/PATH, or webhdfss:// with TLS: " DOCS_PAGE("stores.md") " explains them.\n" },
	{ "--credentials", "DIR", OPTION_TEXT, AT(store.credentials),
	  .help = "files with the credentials of the store (default " DEFAULT_CREDENTIALS ")" },
	{ "--store-ca", "FILE", OPTION_TEXT, AT(store.ca),
	  .help = "accept only certificates of the store that these authorities signed (PEM)" },
	{ "--store-proxy", "URL", OPTION_TEXT, .at = AT(store.proxy) },
	{ "--store-no-proxy", "HOSTS", OPTION_TEXT, AT(store.no_proxy),
	  .help = "reach the store by this proxy, and these hosts without it, in place of\n"
		  "https_proxy and no_proxy of the environment" },
	{ "--store-s3-endpoint", "URL", OPTION_TEXT, .at = AT(store.s3_endpoint) },
	{ "--store-s3-region", "REGION", OPTION_TEXT, .at = AT(store.s3_region) },
	{ "--store-s3-path-style", NULL, OPTION_FLAG, AT(store.s3_path_style), .help = "for an S3 that is not AWS" },
	{ "--store-s3-role-arn", "ARN", OPTION_TEXT, .at = AT(store.s3_role_arn) },
	{ "--store-s3-sts-endpoint", "URL", OPTION_TEXT, AT(store.s3_sts_endpoint),
	  .help = "exchange the file web-identity-token at STS for keys of an hour" },
	{ "--store-s3-encryption", "TYPE", OPTION_TEXT, .at = AT(store.s3_encryption) },
	{ "--store-s3-kms-key-id", "ID", OPTION_TEXT, .at = AT(store.s3_kms_key_id) },
	{ "--store-s3-bucket-key", NULL, OPTION_FLAG, AT(store.s3_bucket_key),
	  .help = "have S3 encrypt by AES256, aws:kms or aws:kms:dsse" },
	{ "--store-azure-endpoint", "URL", OPTION_TEXT, AT(store.azure_endpoint),
	  .help = "address of a storage account that is not in Azure's public cloud" },
	{ "--store-webhdfs-user", "NAME", OPTION_TEXT, AT(store.webhdfs_user),
	  .help = "the user of an HDFS without Kerberos" },
	{ "--store-cores-prefix", "PATH", OPTION_TEXT, AT(store.cores_prefix),
	  .help = "put cores below this path of the store, apart from the other files, so that\n"
		  "lifecycle rules can remove them sooner; it begins with '_' (not for a directory)" },
	{ "--warn-at", "FRACTION", OPTION_FRACTION, AT(warn_at), .min = 50, .max = 1000,
	  .help = "print the first snapshot when this part of the limit is in use, 0.05 to 1\n"
		  "(default 0.8), and further ones at 0.9, 0.95 and 0.98" },
	{ "--oom-group", NULL, OPTION_FLAG, AT(oom_group),
	  .help = "when the OOM killer kills one process, end all that are watched (by\n"
		  "memory.oom.group on cgroup v2, by the launcher on v1)" },
	{ "--kernel-log", "WHEN", OPTION_EITHER, AT(kernel_log.off),
	  .choices = (const char *const[]){ "auto", "off", NULL },
	  .help = "auto: read the kernel log (needs CAP_SYSLOG where dmesg_restrict is 1);\n"
		  "off (default auto)" },
	{ "--syslog", "PATH", OPTION_TEXT, AT(kernel_log.syslog),
	  .help = "keep the tail of this file, or of the syslog file in this directory\n"
		  "(default: none)" },
	{ "--collect", "PATTERN", OPTION_OTHER, .parse = collect_parse,
	  .help = "add these files to each bundle; repeatable; \"none\" adds none\n"
		  "(default: the files of memray, mprof, cProfile and ray timeline)" },
	{ "--hook-at-threshold", "COMMAND", OPTION_OTHER, .parse = hook_parse },
	{ "--hook-at-death", "COMMAND", OPTION_OTHER, .parse = hook_parse,
	  .help = "run COMMAND by /bin/sh where the processes are, when memory use passes\n"
		  "--warn-at (at most once a minute), or after a failure that the launcher survived;\n"
		  "repeatable (8 each). AFTERGLOW_PID is the largest process,\n"
		  "AFTERGLOW_REASON \"threshold\" or the class. The output (64 KiB of each)\n"
		  "goes into the bundle: \"py-spy dump --pid $AFTERGLOW_PID\"" },
	{ "--hook-timeout", "SECONDS", OPTION_INT, AT(hooks.timeout_s), .min = 1, .max = 600,
	  .help = "end a hook after this long (1 to 600, default 10)" },
	{ "--hook-headroom", "SIZE", OPTION_SIZE, AT(hooks.headroom),
	  .help = "run no hook when less memory than this is free (default 64Mi; 0: always run)" },
	{ "--hold-on-failure", "SECONDS", OPTION_INT, AT(hold_s), .max = 86400,
	  .help = "after a failure wait for this long with the end, so that somebody can look at\n"
		  "what is there (at most 86400; default 0: do not); afterglow-launch --release\n"
		  "there, or SIGTERM, ends the hold" },
	{ "--cores", "MODE", OPTION_OTHER, .parse = cores_parse,
	  .help = "what a bundle keeps of a core besides the backtrace: summary (stacks and notes;\n"
		  "a debugger can open it), full, or off (cores are ignored; default\n"
		  "summary). For `afterglow run`: if given, also where cores go to memory" },
	{ "--stacks-at-stop", "SECONDS", OPTION_INT, AT(stacks_at_stop_s), .max = 86400,
	  .help = "this long after a request to stop, see where what still runs hangs, for the\n"
		  "report; it stands still for some milliseconds (default 0: do not)" },
	{ "--stacks-at-wait", "SECONDS", OPTION_INT, AT(stacks_at_wait_s), .max = 604800,
	  .help = "look at drivers of Ray jobs; when one has stood at the same wait of Ray for so long,\n"
		  "say that, and where all processes are (default 0: do not look)" },
	{ "--stacks-at-threshold", NULL, OPTION_FLAG, AT(stacks_at_threshold),
	  .help = "when memory use has risen above --warn-at, see where the processes are, for the\n"
		  "report, at most every 10 minutes; they stand still for some milliseconds" },
	{ "--stacks-at-probe", "PORT/PATH", OPTION_TEXT, AT(stacks_at_probe), .only = RECORD,
	  .help = "get http://127.0.0.1:PORT/PATH every 5 seconds; when it first fails, say where the\n"
		  "processes are, at most every 10 minutes; they stand still for some milliseconds" },
	{ "--record-success", NULL, OPTION_FLAG, AT(record_success), .help = "write a report for exit code 0 as well" },
	{ "--help", .kind = OPTION_FLAG, .at = offsetof(struct sidecar_options, help) },
	{ "--version", .kind = OPTION_FLAG, .at = offsetof(struct sidecar_options, version), .help = "" },
};
/* clang-format on */

static const struct option_table sidecar_options_table = OPTION_TABLE(rows, 22);

int sidecar_options_print_help(enum sidecar_command command)
{
	return options_print_help(&sidecar_options_table,
				  command == COMMAND_EXEC ? EXEC | EXEC_ALONE : RECORD | EXEC);
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
	const char *below;

	if (store->url && !strstr(store->url, "://") && store->url[0] != '/') {
		for (below = store->url; below[0] == '.' && (below[1] == '/' || !below[1]);)
			below += below[1] ? 2 : 1;
		if (!getcwd(cwd, sizeof(cwd)))
			return err_set(err, errno, "--store %s", store->url);
		if ((size_t)snprintf(path, sizeof(path), "%s%s%s", cwd, *below ? "/" : "", below) >=
		    sizeof(path))
			return err_set(err, ENAMETOOLONG, "--store %.200s", store->url);
		store->url = path;
	}
	return store_options_check(store, err);
}

static int finish_exec(struct sidecar_options *o, struct err *err)
{
	static char name[64], spool[600], host[HOST_NAME_MAX + 2];
	struct record_options *r = &o->exec.record;
	const char *program = o->exec.argv[0] ? path_base_name(o->exec.argv[0]) : "",
		   *script = program[0] ? o->exec.argv[1] : NULL;

	if (!o->exec.argv[0])
		return err_set(
			err, EINVAL,
			"a command is missing: afterglow run [OPTION...] -- COMMAND [ARG...]");
	if (!o->exec.name) {
		/* Of programs in Python the name is that of the script. */
		snprintf(name, sizeof(name), "%s",
			 strncmp(program, "python", 6) == 0 && script && script[0] != '-' ?
				 path_base_name(script) :
				 program);
		bundle_sanitize(name);
		if (!launch_name_valid(name))
			name[0] = 'x'; /* such as "-sh" of a login shell, or "[" */
		o->exec.name = name;
	}
	if (!launch_name_valid(o->exec.name))
		return err_set(
			err, EINVAL,
			"--name takes at most %d letters, digits, '.', '_' and '-', not %.100s",
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
	r->slurm = environment("SLURM_JOB_ID") != NULL;
	if (gethostname(host, sizeof(host) - 1) == 0)
		r->id.node = host;
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

static int finish_record(struct sidecar_options *o, struct err *err)
{
	struct record_options *r = &o->exec.record;

	if (r->http && !listen_address_is_valid(r->http))
		return err_set(err, EINVAL, "--http takes ADDRESS:PORT or :PORT, not %.100s",
			       r->http);
	if (o->exec.argv[0])
		return err_set(err, EINVAL, "unexpected argument %s (see --help)", o->exec.argv[0]);
	if (finish_store(&r->store, err) < 0)
		return -err->code;
	take_pod_environment(r);
	return 0;
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
	int i = 1, n;

	for (size_t p = 0; p < ARRAY_SIZE(default_collect); p++)
		o.exec.record.collect[p] = default_collect[p];
	if (argv[i] && strcmp(argv[i], "exec") == 0) {
		o.command = COMMAND_EXEC;
		i++;
	} else
		o.exec.record.spool = DEFAULT_SPOOL;
	n = options_take(&sidecar_options_table, 1U << o.command, argv + i, &o, err);
	if (n < 0)
		return n;
	o.exec.argv = argv + i + n;
	if (!o.help && !o.version &&
	    (o.command == COMMAND_EXEC ? finish_exec(&o, err) : finish_record(&o, err)) < 0)
		return -err->code;
	*ret_options = o;
	return 0;
}
