/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the operator's command line. */
#include "operator/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "lib/listen_address.h"

static const char help[] =
	"usage: afterglow-operator [OPTION]...\n"
	"Writes a RayFailure for every death in a Ray pod. Beside KubeRay it adds the sidecar to Ray pods; with\n"
	"--manage-clusters it makes the pods of RayClusters (ray.io/v1) itself.\n"
	"\n"
	"  --kubeconfig FILE        file with API server and credentials (default: $KUBECONFIG, else the pod's service account)\n"
	"  --context NAME           use this context of the kubeconfig (default: its current-context)\n"
	"  --namespace NS           watch this namespace only (default: all)\n"
	"  --config FILE            read the policy for all clusters from this YAML file\n"
	"  --sidecar-image IMAGE    the sidecar's image; without this option pods get no sidecar (in FILE of --config: sidecarImage)\n"
	"  --launcher PATH          the launcher to put into Ray containers, for this machine's architecture; or a directory\n"
	"                           with launchers x86_64 and aarch64 (" OPTIONS_LAUNCHER ")\n"
	"  --store-claim NAME       PersistentVolumeClaim in each namespace that keeps the bundles (storeClaim)\n"
	"  --oom-group              on cgroup v1, end the whole container when the kernel OOM-kills a process (oomGroup)\n"
	"  --manage-clusters[=BOOL] make the pods of RayClusters in place of KubeRay (default false)\n"
	"  --kuberay-namespaces NS,...  with --manage-clusters: only in these namespaces a Lease of KubeRay counts, and it needs no proof\n"
	"                           (default: in all, where its holder is proven to be KubeRay)\n"
	"  --leader-elect[=BOOL]    of several replicas, act only while holding the Lease afterglow-operator (default false)\n"
	"  --lease-namespace NS     the namespace of that Lease (default: the kubeconfig's or the pod's namespace)\n"
	"  --qps N                  at most N requests a second to the API server, besides watches and the Lease (default 0: no limit)\n"
	"  --burst N                with --qps, up to N requests at once after a pause (default 200)\n"
	"  --record-deletions[=BOOL]  also write RayFailures of class PodDeleted (default false; always with --manage-clusters)\n"
	"  --keep-age AGE           remove RayFailures this long after the death: 720h, 30d (default 0: never)\n"
	"  --keep-count N           keep the newest N RayFailures of each namespace (default 0: all)\n"
	"  --metrics-address A:P    serve /healthz, /readyz and /metrics here (default " OPTIONS_METRICS_ADDRESS
	"; \"\": nowhere)\n"
	"  --webhook-address A:P    serve the webhook here by HTTPS; :P means IPv4 and IPv6 (default: no webhook)\n"
	"  --webhook-service NAME   the Service of the webhook, in the operator's namespace\n"
	"  --webhook-secret NAME    the Secret with the webhook's certificates, in the same namespace\n"
	"  --webhook-configuration NAME  the MutatingWebhookConfiguration into which the operator writes the CA\n"
	"  --webhook-certificates self|external  self: the operator makes and renews them; external: it only reads the Secret (default self)\n"
	"  --check-ready URL        ask the operator at URL (http://HOST:8080/readyz) for at most a minute whether it is ready, print its\n"
	"                           answer and end with 0 or 1; nothing else is done\n"
	"  --upgrade-crds DIR       upgrade the installed CRDs of which DIR has a JSON file, unless they are newer or not from the chart of\n"
	"                           Afterglow; nothing else is done\n"
	"  --log-level LEVEL        error, warning, info or debug (default info)\n"
	"  --log-format FORMAT      text, or json: a JSON object for each line (default text)\n"
	"  --help, --version\n";

const char *options_help(void)
{
	return help;
}

enum option_id {
	OPT_KUBECONFIG = 1,
	OPT_NAMESPACE,
	OPT_CONFIG,
	OPT_SIDECAR_IMAGE,
	OPT_LAUNCHER,
	OPT_STORE_CLAIM,
	OPT_OOM_GROUP,
	OPT_MANAGE_CLUSTERS,
	OPT_KUBERAY_NAMESPACES,
	OPT_RECORD_DELETIONS,
	OPT_LEADER_ELECT,
	OPT_LEASE_NAMESPACE,
	OPT_CHECK_READY,
	OPT_UPGRADE_CRDS,
	OPT_CONTEXT,
	OPT_QPS,
	OPT_BURST,
	OPT_KEEP_AGE,
	OPT_KEEP_COUNT,
	OPT_METRICS_ADDRESS,
	OPT_WEBHOOK_ADDRESS,
	OPT_WEBHOOK_SERVICE,
	OPT_WEBHOOK_SECRET,
	OPT_WEBHOOK_CONFIGURATION,
	OPT_WEBHOOK_CERTIFICATES,
	OPT_LOG_LEVEL,
	OPT_LOG_FORMAT,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option table[] = {
	{ "kubeconfig", required_argument, NULL, OPT_KUBECONFIG },
	{ "namespace", required_argument, NULL, OPT_NAMESPACE },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "sidecar-image", required_argument, NULL, OPT_SIDECAR_IMAGE },
	{ "launcher", required_argument, NULL, OPT_LAUNCHER },
	{ "store-claim", required_argument, NULL, OPT_STORE_CLAIM },
	{ "oom-group", no_argument, NULL, OPT_OOM_GROUP },
	{ "manage-clusters", optional_argument, NULL, OPT_MANAGE_CLUSTERS },
	{ "kuberay-namespaces", required_argument, NULL, OPT_KUBERAY_NAMESPACES },
	{ "record-deletions", optional_argument, NULL, OPT_RECORD_DELETIONS },
	{ "leader-elect", optional_argument, NULL, OPT_LEADER_ELECT },
	{ "lease-namespace", required_argument, NULL, OPT_LEASE_NAMESPACE },
	{ "check-ready", required_argument, NULL, OPT_CHECK_READY },
	{ "upgrade-crds", required_argument, NULL, OPT_UPGRADE_CRDS },
	{ "context", required_argument, NULL, OPT_CONTEXT },
	{ "qps", required_argument, NULL, OPT_QPS },
	{ "burst", required_argument, NULL, OPT_BURST },
	{ "keep-age", required_argument, NULL, OPT_KEEP_AGE },
	{ "keep-count", required_argument, NULL, OPT_KEEP_COUNT },
	{ "metrics-address", required_argument, NULL, OPT_METRICS_ADDRESS },
	{ "webhook-address", required_argument, NULL, OPT_WEBHOOK_ADDRESS },
	{ "webhook-service", required_argument, NULL, OPT_WEBHOOK_SERVICE },
	{ "webhook-secret", required_argument, NULL, OPT_WEBHOOK_SECRET },
	{ "webhook-configuration", required_argument, NULL, OPT_WEBHOOK_CONFIGURATION },
	{ "webhook-certificates", required_argument, NULL, OPT_WEBHOOK_CERTIFICATES },
	{ "log-level", required_argument, NULL, OPT_LOG_LEVEL },
	{ "log-format", required_argument, NULL, OPT_LOG_FORMAT },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ 0 },
};

static int log_level_from_name(const char *name, enum log_level *ret_level, struct err *err)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	return err_set(err, EINVAL, "--log-level %s: must be error, warning, info or debug", name);
}

static int log_format_from_name(const char *name, enum log_format *ret_format, struct err *err)
{
	if (strcmp(name, "text") != 0 && strcmp(name, "json") != 0)
		return err_set(err, EINVAL, "--log-format %s: must be text or json", name);
	*ret_format = strcmp(name, "json") == 0 ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT;
	return 0;
}

static int bool_from_text(const char *option, const char *text, bool *ret_value, struct err *err)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return err_set(err, EINVAL, "%s=%s: must be true or false", option, text);
	*ret_value = strcmp(text, "true") == 0;
	return 0;
}

static int count_from_text(const char *option, const char *text, unsigned *ret_value, struct err *err)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || value > 1000000)
		return err_set(err, EINVAL, "%s %s: must be a number from 0 to 1000000", option, text);
	*ret_value = (unsigned)value;
	return 0;
}

/* An empty value, which charts write for "not set", counts as no option. */
static const char *given(const char *value)
{
	return *value ? value : NULL;
}

static int set(struct options *o, enum option_id id, const char *value, struct err *err)
{
	int r;

	switch (id) {
	case OPT_KUBECONFIG:
		o->kubeconfig = given(value);
		return 0;
	case OPT_NAMESPACE:
		o->namespace = given(value);
		return 0;
	case OPT_KUBERAY_NAMESPACES:
		o->kuberay_namespaces = given(value);
		return 0;
	case OPT_CONFIG:
		o->config = given(value);
		return 0;
	case OPT_SIDECAR_IMAGE:
		o->sidecar_image = given(value);
		return 0;
	case OPT_LAUNCHER:
		o->launcher = value;
		o->launcher_given = true;
		return 0;
	case OPT_STORE_CLAIM:
		o->store_claim = given(value);
		return 0;
	case OPT_OOM_GROUP:
		o->oom_group = true;
		return 0;
	case OPT_RECORD_DELETIONS:
		return bool_from_text("--record-deletions", value ? value : "true", &o->record_deletions, err);
	case OPT_MANAGE_CLUSTERS:
		return bool_from_text("--manage-clusters", value ? value : "true", &o->manage_clusters, err);
	case OPT_LEADER_ELECT:
		return bool_from_text("--leader-elect", value ? value : "true", &o->leader_elect, err);
	case OPT_LEASE_NAMESPACE:
		o->lease_namespace = given(value);
		return 0;
	case OPT_CHECK_READY:
		o->check_ready = given(value);
		return 0;
	case OPT_UPGRADE_CRDS:
		o->upgrade_crds = value;
		return *value ? 0 : err_set(err, EINVAL, "--upgrade-crds: no directory is given");
	case OPT_KEEP_AGE:
		r = retention_parse_age(value, &o->retention.max_age_ns, err);
		return r < 0 ? err_wrap(err, "--keep-age") : 0;
	case OPT_KEEP_COUNT:
		return count_from_text("--keep-count", value, &o->retention.max_count, err);
	case OPT_METRICS_ADDRESS:
		o->metrics_address = value;
		return 0;
	case OPT_WEBHOOK_ADDRESS:
		o->webhook_address = value;
		return 0;
	case OPT_WEBHOOK_SERVICE:
		o->webhook_service = given(value);
		return 0;
	case OPT_WEBHOOK_SECRET:
		o->webhook_secret = given(value);
		return 0;
	case OPT_WEBHOOK_CONFIGURATION:
		o->webhook_configuration = given(value);
		return 0;
	case OPT_WEBHOOK_CERTIFICATES:
		if (strcmp(value, "self") != 0 && strcmp(value, "external") != 0)
			return err_set(err, EINVAL, "--webhook-certificates %s: must be self or external", value);
		o->webhook_certificates_external = strcmp(value, "external") == 0;
		return 0;
	case OPT_LOG_LEVEL:
		return log_level_from_name(value, &o->log_level, err);
	case OPT_LOG_FORMAT:
		return log_format_from_name(value, &o->log_format, err);
	case OPT_CONTEXT:
		o->context = given(value);
		return 0;
	case OPT_QPS:
		return count_from_text("--qps", value, &o->qps, err);
	case OPT_BURST:
		return count_from_text("--burst", value, &o->burst, err);
	case OPT_HELP:
		o->help = true;
		return 0;
	case OPT_VERSION:
		o->version = true;
		return 0;
	}
	return err_set(err, EINVAL, "option %d", (int)id);
}

static int check_webhook(const struct options *o, struct err *err)
{
	const struct {
		const char *option, *value;
	} names[] = {
		{ "--webhook-service", o->webhook_service },
		{ "--webhook-secret", o->webhook_secret },
		{ "--webhook-configuration", o->webhook_configuration },
	};

	if (!*o->webhook_address)
		return 0;
	if (!listen_address_is_valid(o->webhook_address))
		return err_set(err, EINVAL, "--webhook-address takes ADDRESS:PORT, [IPV6]:PORT or :PORT, not %.100s",
			       o->webhook_address);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!names[i].value)
			return err_set(err, EINVAL, "--webhook-address needs %s NAME", names[i].option);
	return 0;
}

int options_parse(int argc, char *argv[], struct options *ret_options, struct err *err)
{
	struct options o = {
		.launcher = OPTIONS_LAUNCHER,
		.metrics_address = OPTIONS_METRICS_ADDRESS,
		.webhook_address = "",
		.qps = OPTIONS_QPS,
		.burst = OPTIONS_BURST,
		.log_level = LOG_LEVEL_INFO,
	};
	int id;

	optind = 0; /* tests parse several command lines */
	opterr = 0;
	while ((id = getopt_long(argc, argv, "+:", table, NULL)) != -1) {
		if (id == ':')
			return err_set(err, EINVAL, "%s needs a value", argv[optind - 1]);
		if (id == '?')
			return err_set(err, EINVAL, "unknown option %s (try --help)", argv[optind - 1]);
		int r = set(&o, (enum option_id)id, optarg, err);
		if (r < 0)
			return r;
	}
	if (optind < argc)
		return err_set(err, EINVAL, "unexpected argument %s (try --help)", argv[optind]);
	int r = check_webhook(&o, err);
	if (r == 0)
		*ret_options = o;
	return r;
}
