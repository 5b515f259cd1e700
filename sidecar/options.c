/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of afterglow-sidecar. */
#include "sidecar/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/units.h"
#include "sidecar/http/server.h"
#include "sidecar/record/channel.h"
#include "sidecar/store/bundle.h"

const char sidecar_usage[] =
	"usage: afterglow-sidecar [OPTION...]\n"
	"       afterglow-sidecar exec [OPTION...] -- COMMAND [ARG...]\n"
	"Watches the memory of containers and says why they died.\n"
	"\n"
	"Without a command: records the containers of this pod whose afterglow-launch connects\n"
	"to the socket. Namespace, pod and node come from POD_NAMESPACE, POD_NAME, POD_UID,\n"
	"NODE_NAME and AFTERGLOW_CLUSTER, the store's name in reports from AFTERGLOW_STORE_NAME.\n"
	"  --socket PATH       listen there (default " DEFAULT_SOCKET ")\n"
	"  --spool DIR         bundles are written there first (default " DEFAULT_SPOOL ")\n"
	"  --spool-fallback DIR  there instead, while DIR of --spool cannot be written; a place in memory,\n"
	"                      of which at most 24Mi are used. Only on the way to a store\n"
	"  --store URL         and brought there by afterglow-ship (default: they stay in the spool)\n"
	"  --spool-max SIZE, --spool-bundles N, --spool-days N\n"
	"                      keep no more than this in the spool (default 768Mi, 200, 0: any age); cores\n"
	"                      go first, then logs, whole bundles last\n"
	"  --full-bundles N    of the same crash in a loop, keep so many whole, of further ones the\n"
	"                      report, and after ten only their number (default 1; 0: all are whole)\n"
	"  --keep-max SIZE, --keep-bundles N, --keep-days N\n"
	"                      of this cluster's part of a store that is a directory, remove what is\n"
	"                      beyond (default 0: nothing is removed)\n"
	"  --run-as UID        started as root, become this user with CAP_SYSLOG as the only capability\n"
	"  --grace SECONDS     after SIGTERM, wait this long for the containers to end (default 25)\n"
	"  --http ADDRESS:PORT serve /metrics, /healthz and /failures there; \":PORT\": on all addresses\n"
	"  --reconnect SECONDS after a restart, wait this long for the launchers of before; whose\n"
	"                      does not come back has ended meanwhile (default 15)\n"
	"\n"
	"exec: runs COMMAND and records it, here and now; exits as COMMAND does (128+N after\n"
	"signal N; 125 if it could not be started as asked). The report goes to stderr.\n"
	"  --memory-max SIZE   in a memory cgroup of its own with this limit (\"512Mi\", \"2G\"; at\n"
	"                      least 4Mi); needs root or a delegated cgroup, v1 or v2\n"
	"  --store DIR|URL     keep bundles in DIR/local/NAME (default: afterglow in $XDG_STATE_HOME or\n"
	"                      ~/.local/state); to a URL they are brought at the end\n"
	"  --name NAME         what reports call COMMAND (default: its base name)\n"
	"\n"
	"prune: removes what is too much of a directory of bundles\n"
	"       (afterglow-sidecar prune [--keep-bytes N] [--keep-bundles N] [--keep-seconds N]\n"
	"       [--below PATH] DIR); the recorder runs it on its store.\n"
	"\n"
	"Both:\n"
	"  A store is a directory (file:///DIR), s3://BUCKET/PREFIX, webhdfs://HOST:PORT/PATH, or\n"
	"  webhdfss:// with TLS. afterglow-ship, beside this program, says more.\n"
	"  --credentials DIR   files with which the store lets us in (default " DEFAULT_CREDENTIALS ")\n"
	"  --store-ca FILE     the store's certificate is to be of these authorities\n"
	"  --store-s3-endpoint URL, --store-s3-region REGION, --store-s3-path-style\n"
	"                      for an S3 that is not AWS\n"
	"  --store-s3-role-arn ARN, --store-s3-sts-endpoint URL\n"
	"                      keys of an hour for the token in web-identity-token, by STS\n"
	"  --store-webhdfs-user NAME\n"
	"  --warn-at FRACTION  first snapshot when this much of the limit is in use, 0.05 to 1\n"
	"                      (default 0.8); further ones at 0.9, 0.95 and 0.98\n"
	"  --oom-group         when the OOM killer takes one process, end the whole container:\n"
	"                      memory.oom.group on cgroup v2, by the launcher on v1\n"
	"  --kernel-log WHEN   auto: read the kernel log (needs CAP_SYSLOG where dmesg_restrict is 1);\n"
	"                      off (default auto)\n"
	"  --syslog PATH       keep the tail of this file, or of the syslog file in this directory\n"
	"  --collect PATTERN   these files of the container go into a bundle; repeatable, \"none\" for\n"
	"                      none (default: where memray, mprof, cProfile and ray timeline put theirs)\n"
	"  --hook-at-threshold COMMAND, --hook-at-death COMMAND\n"
	"                      run by /bin/sh in the container when its memory passes --warn-at (at\n"
	"                      most once a minute), and after a failure that the launcher survived;\n"
	"                      repeatable (8 each). AFTERGLOW_PID is the largest process,\n"
	"                      AFTERGLOW_REASON \"threshold\" or the class. The output (64 KiB of each)\n"
	"                      goes into the bundle: \"py-spy dump --pid $AFTERGLOW_PID\"\n"
	"  --hook-timeout SECONDS  end a hook after this long (default 10)\n"
	"  --hook-headroom SIZE  run none with less memory than this left (default 64Mi)\n"
	"  --hold-on-failure SECONDS  keep a container that failed this long, for a look at it;\n"
	"                      afterglow-launch --release in the container, or SIGTERM, ends it\n"
	"  --cores MODE        what is kept of a core that a process dumps, beside its backtrace: summary\n"
	"                      (stacks and notes, which a debugger opens), full, or off: no core is\n"
	"                      looked at (default summary)\n"
	"  --record-success    make a record of exit code 0 too\n"
	"  --help, --version\n";

static int take_value(char **argv, int *i, const char **ret_value, struct err *err)
{
	if (!argv[*i + 1] || !*argv[*i + 1])
		return err_set(err, EINVAL, "%s takes a value", argv[*i]);
	*ret_value = argv[++*i];
	return 0;
}

static int parse_number(const char *option, const char *text, double min, double max, double *ret_value, struct err *err)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= min && value <= max))
		return err_set(err, EINVAL, "%s takes a number from %g to %g, not %s", option, min, max, text);
	*ret_value = value;
	return 0;
}

static int parse_size(const char *option, const char *text, int64_t *ret_value, struct err *err)
{
	if (quantity_parse(text, ret_value, err) < 0)
		return err_wrap(err, "%s", option);
	if (*ret_value < EXEC_MEMORY_MIN)
		return err_set(err, EINVAL, "%s takes at least 4Mi, not %s", option, text);
	return 0;
}

/* What memray, mprof, cProfile and ray timeline write where they are not told otherwise. */
static const char *const default_collect[] = {
	"/tmp/memray-*.bin", "/tmp/mprofile_*.dat", "/tmp/*.prof", "/tmp/ray-timeline-*.json", "/home/ray/memray-*.bin",
	"/home/ray/mprofile_*.dat", "/home/ray/*.prof",
};

/* The first pattern takes the place of the default ones; "none" is none. */
static int add_pattern(struct recorder_options *r, const char *pattern, struct err *err)
{
	size_t n = 0;

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

static int add_hook(struct recorder_options *r, const char *option, const char *command, struct err *err)
{
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

/* --hook-*, --hold-on-failure; -ENOENT when it is none of these. */
static int parse_hook_option(struct recorder_options *r, char **argv, int *i, struct err *err)
{
	const char *option = argv[*i], *value;
	bool hold = strcmp(option, "--hold-on-failure") == 0;
	double number;
	int rc;

	if (!hold && strncmp(option, "--hook-", 7) != 0)
		return -ENOENT;
	if (!hold && strcmp(option, "--hook-at-threshold") != 0 && strcmp(option, "--hook-at-death") != 0 &&
	    strcmp(option, "--hook-timeout") != 0 && strcmp(option, "--hook-headroom") != 0)
		return -ENOENT;
	rc = take_value(argv, i, &value, err);
	if (rc < 0)
		return rc;
	if (strncmp(option, "--hook-at-", 10) == 0)
		return add_hook(r, option, value, err);
	if (strcmp(option, "--hook-headroom") == 0)
		return quantity_parse(value, &r->hooks.headroom, err) < 0 ? err_wrap(err, "%s", option) : 0;
	rc = parse_number(option, value, hold ? 0 : 1, hold ? 86400 : 600, &number, err);
	if (rc >= 0)
		*(hold ? &r->hold_s : &r->hooks.timeout_s) = (int)number;
	return rc;
}

/* One option that takes a value; -ENOENT when it is none of these. */
static int parse_bound(struct recorder_options *r, char **argv, int *i, struct err *err)
{
	const char *option = argv[*i], *value;
	const struct {
		const char *name;
		int64_t *target;
		enum { SIZE, NUMBER, DAYS } kind;
	} bounds[] = {
		{ "--spool-max", &r->spool_limits.quota.bytes, SIZE },
		{ "--spool-bundles", &r->spool_limits.quota.count, NUMBER },
		{ "--spool-days", &r->spool_limits.quota.age_ns, DAYS },
		{ "--keep-max", &r->retention.bytes, SIZE },
		{ "--keep-bundles", &r->retention.count, NUMBER },
		{ "--keep-days", &r->retention.age_ns, DAYS },
	};
	double number;

	for (size_t b = 0; b < ARRAY_SIZE(bounds); b++) {
		if (strcmp(option, bounds[b].name) != 0)
			continue;
		if (take_value(argv, i, &value, err) < 0)
			return -err->code;
		if (bounds[b].kind == SIZE)
			return quantity_parse(value, bounds[b].target, err) < 0 ? err_wrap(err, "%s", option) : 0;
		if (parse_number(option, value, 0, bounds[b].kind == DAYS ? 36500 : 1e6, &number, err) < 0)
			return -err->code;
		*bounds[b].target = bounds[b].kind == DAYS ? (int64_t)(number * 86400) * NS_PER_SEC : (int64_t)number;
		return 0;
	}
	return -ENOENT;
}

static int parse_valued(struct sidecar_options *o, char **argv, int *i, struct err *err)
{
	struct recorder_options *r = &o->exec.recorder;
	bool exec = o->command == COMMAND_EXEC;
	const char *option = argv[*i], *value;
	double number;
	const struct {
		const char *name;
		const char **target;
		bool fits;
	} texts[] = {
		{ "--socket", &r->socket_path, !exec },
		{ "--spool", &r->spool, !exec },
		{ "--spool-fallback", &r->spool_fallback, !exec },
		{ "--store", &r->store.url, true },
		{ "--credentials", &r->store.credentials, true },
		{ "--store-ca", &r->store.ca, true },
		{ "--store-s3-endpoint", &r->store.s3_endpoint, true },
		{ "--store-s3-region", &r->store.s3_region, true },
		{ "--store-s3-role-arn", &r->store.s3_role_arn, true },
		{ "--store-s3-sts-endpoint", &r->store.s3_sts_endpoint, true },
		{ "--store-webhdfs-user", &r->store.webhdfs_user, true },
		{ "--name", &o->exec.name, exec },
		{ "--http", &r->http, !exec },
		{ "--syslog", &r->kernel_log.syslog, true },
	};

	for (size_t t = 0; t < ARRAY_SIZE(texts); t++)
		if (texts[t].fits && strcmp(option, texts[t].name) == 0)
			return take_value(argv, i, texts[t].target, err);
	if (!exec && strcmp(option, "--full-bundles") == 0) {
		int rc = take_value(argv, i, &value, err);

		if (rc >= 0)
			rc = parse_number(option, value, 0, 1000, &number, err);
		if (rc >= 0)
			r->spool_limits.full_per_loop = (unsigned int)number;
		return rc;
	}
	if (strcmp(option, "--collect") == 0) {
		int rc = take_value(argv, i, &value, err);

		return rc < 0 ? rc : add_pattern(r, value, err);
	}
	if (exec && strcmp(option, "--memory-max") == 0) {
		int rc = take_value(argv, i, &value, err);

		return rc < 0 ? rc : parse_size(option, value, &o->exec.memory_max, err);
	}
	if (strcmp(option, "--kernel-log") == 0) {
		int rc = take_value(argv, i, &value, err);

		if (rc >= 0 && strcmp(value, "auto") != 0 && strcmp(value, "off") != 0)
			return err_set(err, EINVAL, "--kernel-log takes auto or off, not %s", value);
		r->kernel_log.off = rc >= 0 && strcmp(value, "off") == 0;
		return rc;
	}
	if (strcmp(option, "--cores") == 0) {
		int rc = take_value(argv, i, &value, err);

		if (rc >= 0 && !cores_mode_parse(value, &r->cores))
			return err_set(err, EINVAL, "--cores takes off, summary or full, not %s", value);
		return rc;
	}
	if (strcmp(option, "--warn-at") == 0) {
		int rc = take_value(argv, i, &value, err);

		return rc < 0 ? rc : parse_number(option, value, 0.05, 1.0, &r->warn_at, err);
	}
	if (!exec && strcmp(option, "--run-as") == 0) {
		int rc = take_value(argv, i, &value, err);

		if (rc >= 0)
			rc = parse_number(option, value, 1, 0x7fffffff, &number, err);
		if (rc >= 0)
			o->run_as = (int)number;
		return rc;
	}
	if (!exec && (strcmp(option, "--grace") == 0 || strcmp(option, "--reconnect") == 0)) {
		int rc = take_value(argv, i, &value, err);

		if (rc >= 0)
			rc = parse_number(option, value, 0, 3600, &number, err);
		if (rc >= 0)
			*(option[2] == 'g' ? &r->grace_s : &r->reconnect_s) = (int)number;
		return rc;
	}
	if (!exec && (strncmp(option, "--spool-", 8) == 0 || strncmp(option, "--keep-", 7) == 0))
		return parse_bound(r, argv, i, err);
	return parse_hook_option(r, argv, i, err);
}

static int parse_option(struct sidecar_options *o, char **argv, int *i, struct err *err)
{
	const char *option = argv[*i];
	int rc;

	if (strcmp(option, "--help") == 0)
		o->command = COMMAND_HELP;
	else if (strcmp(option, "--version") == 0)
		o->command = COMMAND_VERSION;
	else if (strcmp(option, "--oom-group") == 0)
		o->exec.recorder.oom_group = true;
	else if (strcmp(option, "--store-s3-path-style") == 0)
		o->exec.recorder.store.s3_path_style = true;
	else if (strcmp(option, "--record-success") == 0)
		o->exec.recorder.record_success = true;
	else {
		rc = parse_valued(o, argv, i, err);
		return rc == -ENOENT ? err_set(err, EINVAL, "unknown option %s (see --help)", option) : rc;
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

/* A relative directory is one below the working directory, also for the children that write to it. */
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
	struct recorder_options *r = &o->exec.recorder;
	const char *slash;

	if (!o->exec.argv[0])
		return err_set(err, EINVAL, "exec takes a command: afterglow-sidecar exec [OPTION...] -- COMMAND [ARG...]");
	if (!o->exec.name) {
		slash = strrchr(o->exec.argv[0], '/');
		snprintf(name, sizeof(name), "%s", slash && slash[1] ? slash + 1 : o->exec.argv[0]);
		bundle_sanitize(name);
		if (!launch_name_valid(name))
			name[0] = 'x'; /* "-sh", "[" */
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

static void take_pod_environment(struct recorder_options *r)
{
	r->id = (struct identity){
		.namespace = environment("POD_NAMESPACE"),
		.cluster = environment("AFTERGLOW_CLUSTER"),
		.pod = environment("POD_NAME"),
		.pod_uid = environment("POD_UID"),
		.node = environment("NODE_NAME"),
	};
	r->store_name = environment("AFTERGLOW_STORE_NAME");
}

int sidecar_options_parse(char **argv, struct sidecar_options *ret_options, struct err *err)
{
	struct sidecar_options o = {
		.command = COMMAND_RECORD,
		.run_as = -1,
		.exec.recorder = {
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
		o.exec.recorder.collect[p] = default_collect[p];
	if (argv[i] && strcmp(argv[i], "exec") == 0) {
		o.command = COMMAND_EXEC;
		i++;
	} else
		o.exec.recorder.spool = DEFAULT_SPOOL;
	for (; argv[i] && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
		int rc = parse_option(&o, argv, &i, err);

		if (rc < 0)
			return rc;
	}
	if (argv[i] && strcmp(argv[i], "--") == 0)
		i++;
	o.exec.argv = argv + i;
	if (o.command == COMMAND_RECORD) {
		if (o.exec.recorder.http && !http_address_valid(o.exec.recorder.http))
			return err_set(err, EINVAL, "--http takes ADDRESS:PORT or :PORT, not %.100s", o.exec.recorder.http);
		if (argv[i])
			return err_set(err, EINVAL, "unexpected argument %s (see --help)", argv[i]);
		if (finish_store(&o.exec.recorder.store, err) < 0)
			return -err->code;
		take_pod_environment(&o.exec.recorder);
	} else if (o.command == COMMAND_EXEC && finish_exec(&o, err) < 0)
		return -err->code;
	*ret_options = o;
	return 0;
}
