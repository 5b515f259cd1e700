/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the operator's command line. */
#include "operator/options.h"

#include <errno.h>

#include "lib/listen_address.h"

#define AT(member) offsetof(struct options, member)
#define COUNT_MAX 1000000

static int keep_age_parse(void *options, const char *option, const char *value, struct err *err)
{
	struct options *o = options;

	int r = retention_parse_age(value, &o->manager.retention.max_age_ns, err);

	return r < 0 ? err_wrap(err, "%s", option) : 0;
}

/* clang-format off */
static const struct option_row rows[] = {
	{ .help = "usage: afterglow-operator [OPTION]...\n"
		  "Writes a RayFailure for every death in a Ray pod. Beside KubeRay it adds the sidecar to Ray pods; with\n"
		  "--manage-clusters it makes the pods of RayClusters (ray.io/v1) itself.\n\n" },
	{ "--kubeconfig", "FILE", OPTION_GIVEN, AT(kubeconfig),
	  .help = "file with API server and credentials (default: $KUBECONFIG, else the pod's service account)" },
	{ "--context", "NAME", OPTION_GIVEN, AT(context), .help = "use this context of the kubeconfig (default: its current-context)" },
	{ "--namespace", "NS", OPTION_GIVEN, AT(manager.namespace),
	  .help = "watch this namespace only (default: all)" },
	{ "--config", "FILE", OPTION_GIVEN, AT(config), .help = "read the policy for all clusters from this YAML file" },
	{ "--sidecar-image", "IMAGE", OPTION_GIVEN, AT(sidecar_image),
	  .help = "the sidecar's image; without this option pods get no sidecar (in FILE of --config: sidecarImage)" },
	{ "--launcher", "PATH", OPTION_ANY, AT(launcher),
	  .help = "the launcher to put into Ray containers, for this machine's architecture; or a directory\n"
	  "with launchers x86_64 and aarch64 (" OPTIONS_LAUNCHER ")" },
	{ "--store-claim", "NAME", OPTION_GIVEN, AT(store_claim),
	  .help = "PersistentVolumeClaim in each namespace that keeps the bundles (storeClaim)" },
	{ "--oom-group", NULL, OPTION_FLAG, AT(oom_group),
	  .help = "on cgroup v1, end the whole container when the kernel OOM-kills a process (oomGroup)" },
	{ "--manage-clusters", NULL, OPTION_BOOL, AT(manager.manage_clusters),
	  .help = "make the pods of RayClusters in place of KubeRay (default false)" },
	{ "--kuberay-namespaces", "NS,...", OPTION_GIVEN, AT(manager.kuberay_namespaces),
	  .help = "with --manage-clusters: only in these namespaces a Lease of KubeRay counts, and it needs no proof\n"
	  "(default: in all, where its holder is proven to be KubeRay)" },
	{ "--leader-elect", NULL, OPTION_BOOL, AT(leader_elect),
	  .help = "of several replicas, act only while holding the Lease afterglow-operator (default false)" },
	{ "--lease-namespace", "NS", OPTION_GIVEN, AT(lease_namespace),
	  .help = "the namespace of that Lease (default: the kubeconfig's or the pod's namespace)" },
	{ "--record-deletions", NULL, OPTION_BOOL, AT(manager.record_deletions),
	  .help = "also write RayFailures of class PodDeleted (default false; always with --manage-clusters)" },
	{ "--keep-age", "AGE", OPTION_OTHER, 0, .help = "remove RayFailures this long after the death: 720h, 30d (default 0: never)",
	  .parse = keep_age_parse },
	{ "--keep-count", "N", OPTION_INT, AT(manager.retention.max_count),
	  .help = "keep the newest N RayFailures of each namespace (default 0: all)", .max = COUNT_MAX },
	{ "--metrics-address", "A:P", OPTION_ANY, AT(metrics_address),
	  .help = "serve /healthz, /readyz and /metrics here (default " OPTIONS_METRICS_ADDRESS "; \"\": nowhere)" },
	{ "--quote-verdicts", NULL, OPTION_BOOL, AT(manager.quote_verdicts),
	  .help = "let /metrics quote verdict and advice of the last failure of each kind, of all namespaces (default false)" },
	{ "--webhook-address", "A:P", OPTION_ANY, AT(manager.webhook_address),
	  .help = "serve the webhook here by HTTPS; :P means IPv4 and IPv6 (default: no webhook)" },
	{ "--webhook-service", "NAME", OPTION_GIVEN, AT(manager.certificates.service),
	  .help = "the Service of the webhook, in the operator's namespace" },
	{ "--webhook-secret", "NAME", OPTION_GIVEN, AT(manager.certificates.secret),
	  .help = "the Secret with the webhook's certificates, in the same namespace" },
	{ "--webhook-configuration", "NAME", OPTION_GIVEN, AT(manager.certificates.configuration),
	  .help = "the MutatingWebhookConfiguration into which the operator writes the CA" },
	{ "--webhook-certificates", "self|external", OPTION_EITHER, AT(manager.certificates.external),
	  .help = "self: the operator makes and renews them; external: it only reads the Secret (default self)",
	  .choices = (const char *const[]){ "self", "external", NULL } },
	{ "--check-ready", "URL", OPTION_GIVEN, AT(check_ready),
	  .help = "ask the operator at URL (http://HOST:8080/readyz) for at most a minute whether it is ready, print its\n"
	  "answer and end with 0 or 1; nothing else is done" },
	{ "--check-ca", "FILE", OPTION_GIVEN, AT(check_ca),
	  .help = "with --check-ready: ask the webhook at URL (https://HOST) for a certificate that an authority in FILE signed" },
	{ "--upgrade-crds", "DIR", OPTION_TEXT, AT(upgrade_crds),
	  .help = "upgrade the installed CRDs of which DIR has a JSON file, unless they are newer or not from the chart of\n"
	  "Afterglow; nothing else is done" },
	{ "--log-level", "LEVEL", OPTION_CHOICE, AT(log_level), .help = "error, warning, info or debug (default info)",
	  .choices = (const char *const[]){ "error", "warning", "info", "debug", NULL } },
	{ "--log-format", "FORMAT", OPTION_CHOICE, AT(log_format),
	  .help = "text, or json: a JSON object for each line (default text)",
	  .choices = (const char *const[]){ "text", "json", NULL } },
	{ "--help", .kind = OPTION_FLAG, .at = AT(help) },
	{ "--version", .kind = OPTION_FLAG, .at = AT(version), .help = "" },
};
/* clang-format on */

const struct option_table operator_options = OPTION_TABLE(rows, 27);

static int check_webhook(const struct options *o, struct err *err)
{
	const struct {
		const char *option, *value;
	} names[] = {
		{ "--webhook-service", o->manager.certificates.service },
		{ "--webhook-secret", o->manager.certificates.secret },
		{ "--webhook-configuration", o->manager.certificates.configuration },
	};

	if (!*o->manager.webhook_address)
		return 0;
	if (!listen_address_is_valid(o->manager.webhook_address))
		return err_set(
			err, EINVAL,
			"--webhook-address takes ADDRESS:PORT, [IPV6]:PORT or :PORT, not %.100s",
			o->manager.webhook_address);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!names[i].value)
			return err_set(err, EINVAL, "--webhook-address needs %s NAME",
				       names[i].option);
	return 0;
}

int options_parse(char **argv, struct options *ret_options, struct err *err)
{
	struct options o = {
		.metrics_address = OPTIONS_METRICS_ADDRESS,
		.manager.webhook_address = "",
		.log_level = LOG_LEVEL_INFO,
	};
	int n = options_take(&operator_options, 0, argv + 1, &o, err);

	if (n < 0)
		return n;
	if (argv[1 + n])
		return err_set(err, EINVAL, "unexpected argument %s (see --help)", argv[1 + n]);
	o.launcher_given = o.launcher != NULL;
	if (!o.launcher)
		o.launcher = OPTIONS_LAUNCHER;
	int r = check_webhook(&o, err);
	if (r == 0)
		*ret_options = o;
	return r;
}
