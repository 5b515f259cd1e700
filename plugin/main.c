/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl-afterglow: a plugin of kubectl that says what ended in Ray clusters, and why. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/printable.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "plugin/doctor.h"
#include "plugin/evidence.h"
#include "plugin/explain.h"
#include "plugin/failure_list.h"
#include "plugin/failure_text.h"
#include "plugin/kubectl_stream.h"
#include "plugin/live.h"
#include "plugin/memory.h"
#include "plugin/objects.h"
#include "plugin/options.h"
#include "plugin/page.h"
#include "plugin/reads.h"
#include "plugin/stack.h"
#include "plugin/table.h"
#include "plugin/terminal.h"

#define OUT_MAX (64 << 20)
#define SELECTOR_MAX 1024

static struct failure_filter filter_of(const struct options *o)
{
	return (struct failure_filter){ .class = o->class,
					.cluster = o->cluster,
					.owner = o->owner,
					.since_ns =
						o->since_ns ? now_realtime_ns() - o->since_ns : 0 };
}

/* --- Commands: each fills `out` and returns the exit code or a negative error ---------------- */

static void selector_add(struct strbuf *selector, const char *label, const char *value, int len)
{
	if (value)
		strbuf_addf(selector, "%s%s%.*s", selector->len ? "," : "", label, len, value);
}

/* Runs kubectl itself where it can print or watch the list: the filters are labels. */
static int list_by_kubectl(const struct options *o, struct err *err)
{
	struct kubectl kubectl = kubectl_of(o);
	_cleanup_strbuf_ struct strbuf selector = STRBUF_INIT(SELECTOR_MAX);
	const char *args[READS_ARGS_MAX], *slash = o->owner ? strchr(o->owner, '/') : NULL;

	if (o->since_ns || o->by_signature)
		return err_set(err, EINVAL, "%s cannot be used with %s",
			       o->by_signature ? "--by-signature" : "--since",
			       o->watch ? "--watch" : "--output");
	selector_add(&selector, "", o->selector, INT_MAX);
	selector_add(&selector, "afterglow.dev/class=", o->class, INT_MAX);
	selector_add(&selector, "ray.io/cluster=", o->cluster, INT_MAX);
	selector_add(&selector, "afterglow.dev/owner-kind=", o->owner,
		     slash ? (int)(slash - o->owner) : 0);
	selector_add(&selector, "afterglow.dev/owner-name=", slash ? slash + 1 : NULL, INT_MAX);
	if (strbuf_failed(&selector))
		return err_set(err, E2BIG, "the selector is too long");
	size_t n = get_args(o, "rayfailures.afterglow.dev", strbuf_str(&selector), args);
	if (o->output) {
		args[n++] = "--output";
		args[n++] = o->output;
	}
	if (o->watch)
		args[n++] = "--watch";
	args[n] = NULL;
	return kubectl_print(&kubectl, args, err);
}

static int plugin_list(const struct options *o, struct strbuf *out, struct err *err)
{
	struct failure_filter filter = filter_of(o);
	_cleanup_json_ cJSON *failures = NULL;

	bool signatures = o->by_signature && o->output && strcmp(o->output, "json") == 0;
	if (!o->store && (o->output || o->watch) && (o->watch || !signatures))
		return list_by_kubectl(o, err);
	int r = read_failures(o, &failures, err);
	if (r < 0)
		return r;
	if (o->output) {
		_cleanup_json_ cJSON *json =
			signatures ? failure_list_signatures_json(failures, &filter) :
				     failure_list_json(failures, &filter);

		document_print(json, signatures ? "Signatures" : "Failures", out);
		return 0;
	}
	size_t n =
		o->by_signature ?
			failure_list_signatures(failures, &filter, now_realtime_ns(), out) :
			failure_list(failures, &filter, o->all_namespaces, now_realtime_ns(), out);
	if (n == 0)
		stderr_note("No failures were found%s.\n", where_looked(o));
	return 0;
}

static int show_by_kubectl(const struct options *o, const cJSON *failure, struct err *err)
{
	struct kubectl kubectl = kubectl_of(o);

	return kubectl_print(&kubectl,
			     (const char *const[]){ "get", "rayfailures.afterglow.dev",
						    json_str(failure, "metadata.name"),
						    "--namespace",
						    json_str(failure, "metadata.namespace"),
						    "--output", o->output, NULL },
			     err);
}

static int plugin_show(const struct options *o, struct strbuf *out, struct err *err)
{
	_cleanup_json_ cJSON *failures = NULL;
	const cJSON *failure;
	int r = read_failures(o, &failures, err);

	if (r < 0)
		return r;
	r = find_failure(o, failures, &failure, err);
	if (r < 0)
		return r;
	if (o->store)
		return evidence_file(failure, o->output ? "report.json" : "report.txt", out, err);
	if (o->output)
		return show_by_kubectl(o, failure, err);
	failure_text(failure, out);
	return 0;
}

static int write_page(const struct options *o, struct strbuf *out, struct err *err)
{
	struct failure_filter filter = filter_of(o);
	_cleanup_json_ cJSON *failures = NULL;
	int r = read_failures(o, &failures, err);

	if (r < 0)
		return r;
	size_t n = page(failures, &filter, now_realtime_ns(), out);
	if (!o->argument)
		return 0;
	if (strbuf_failed(out))
		return err_set(err, ENOMEM, "page");
	r = file_put(AT_FDCWD, o->argument, strbuf_str(out), out->len, 0644, err);
	if (r < 0)
		return r;
	strbuf_reset(out);
	strbuf_addf(out, "%zu %s in %s\n", n, n == 1 ? "failure is" : "failures are", o->argument);
	return 0;
}

/*
 * Runs the launcher in the pod. Without --container, kubectl chooses the first. Whoever made the
 * pod may have put another program into its place, so what it prints drives no terminal.
 */
static int pod_release(const struct options *o, struct strbuf *out, struct err *err)
{
	const struct stream stream = { .on_data = stream_into_strbuf, .arg = out };
	struct kubectl kubectl = kubectl_of(o);
	const char *args[READS_ARGS_MAX] = { "exec", o->argument };
	size_t n = 2;

	if (o->namespace) {
		args[n++] = "--namespace";
		args[n++] = o->namespace;
	}
	if (o->container) {
		args[n++] = "--container";
		args[n++] = o->container;
	}
	args[n++] = "--";
	args[n++] = "/afterglow/bin/afterglow-launch";
	args[n++] = "--release";
	int r = kubectl_stream(&kubectl, args, &stream, err);
	if (out->len)
		mend_printable(out->data, out->len, "\n\t");
	return r;
}

static int incidents(const struct options *o, struct strbuf *out, struct err *err)
{
	struct failure_filter filter = filter_of(o);
	_cleanup_json_ cJSON *failures = NULL;
	int r = read_failures(o, &failures, err);

	if (r < 0)
		return r;
	if (o->output) {
		_cleanup_json_ cJSON *json =
			failure_list_incidents_json(failures, &filter, o->argument);

		document_print(json, "Incidents", out);
		return 0;
	}
	if (failure_list_incidents(failures, &filter, o->argument, now_realtime_ns(), out))
		return 0;
	if (o->argument)
		return err_set(err, EPROTO, "there is no incident \"%.253s\"%s", o->argument,
			       where_looked(o));
	stderr_note("No failure caused others%s.\n", where_looked(o));
	return 0;
}

static int plugin_explain(const struct options *o, struct strbuf *out, struct err *err)
{
	return explain(o->argument, o->output, o->of_command, out, err);
}

static int plugin_examine(const struct options *o, struct strbuf *out, struct err *err)
{
	struct kubectl kubectl = kubectl_of(o);
	const char *where = o->namespace ? "--namespace" : "--all-namespaces", *name = o->namespace,
		   *all = "--all-namespaces";
	struct doctor_facts facts = { 0 };
	const struct {
		const cJSON **ret_list;
		const char *args[8];
		/* clang-format off */
	} reads[] = {
		{ &facts.crds, { "get", "crd", "--output=json" } },
		{ &facts.operators, { "get", "deployments", "--output=json", "--selector=app.kubernetes.io/name=afterglow", all } },
		{ &facts.webhooks, { "get", "mutatingwebhookconfigurations", "--output=json", "--selector=app.kubernetes.io/name=afterglow" } },
		{ &facts.pods, { "get", "pods", "--output=json", "--selector=ray.io/is-ray-node=yes", where, name } },
		{ &facts.claims, { "get", "persistentvolumeclaims", "--output=json", where, name } },
		{ &facts.nodes, { "get", "nodes", "--output=json" } },
		{ &facts.node_agents, { "get", "pods", "--output=json", "--selector=app.kubernetes.io/name=afterglow-node", all } },
	};
	/* clang-format on */
	_cleanup_json_ cJSON *version = NULL, *json = o->output ? cJSON_CreateObject() : NULL;
	int r = kubectl_json(&kubectl, (const char *const[]){ "get", "--raw", "/version", NULL },
			     false, &version, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++)
		kubectl_json(&kubectl, reads[i].args, true, (cJSON **)reads[i].ret_list, NULL);
	struct doctor_result result =
		doctor(&facts, json ? json_array_at(json, "findings") : NULL, out);
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++)
		cJSON_Delete((cJSON *)*reads[i].ret_list);
	if (json) {
		strbuf_reset(out);
		document_print(json, "Findings", out);
	}
	return result.broken ? 1 : 0;
}

static int (*const plugin_runs[COMMAND_COUNT])(const struct options *o, struct strbuf *out,
					       struct err *err) = {
#define COMMAND(id, name, least, most, arguments, summary, run, help) [COMMAND_##id] = run,
#include "plugin/commands.def"
#undef COMMAND
};

static int plugin_print(const struct strbuf *out, struct err *err)
{
	return strbuf_failed(out) ? err_set(err, ENOMEM, "output") :
	       !out->len	  ? 0 :
				    terminal_write(STDOUT_FILENO, out->data, out->len, err);
}

static int plugin_fail(const struct options *o, const struct err *err, int code)
{
	stderr_note("%s: %s\n", o->program, err_text(err));
	return code;
}

int main(int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(OUT_MAX);
	struct options o = { .program = "kubectl afterglow" };
	struct err err = { 0 };

	if (argc > 1 && strcmp(argv[1], "__complete") == 0) {
		options_complete(argv + 2, argc - 2, &out);
		return plugin_print(&out, &err) < 0 ? plugin_fail(&o, &err, 1) : 0;
	}
	if (options_parse(argv, &o, &err) < 0)
		return plugin_fail(&o, &err, 2);
	if (o.version)
		strbuf_adds(&out, "kubectl-afterglow " AFTERGLOW_VERSION "\n");
	else if (o.help)
		command_add_help(o.command, &out);
	int r = o.version || o.help ? 0 : plugin_runs[o.command](&o, &out, &err);
	if (r < 0)
		return plugin_fail(&o, &err, err.code == EINVAL ? 2 : 1);
	return plugin_print(&out, &err) < 0 ? plugin_fail(&o, &err, 1) : r;
}
