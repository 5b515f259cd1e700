/* SPDX-License-Identifier: Apache-2.0 */
/* afterglow-operator parses the options, runs the event loop, and ends in an orderly way. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/crds/crd_upgrade.h"
#include "operator/kube/client.h"
#include "operator/kube/kubeconfig.h"
#include "operator/kube/leadership.h"
#include "operator/kube/metrics.h"
#include "operator/launcher/launcher.h"
#include "operator/manager/manager.h"
#include "operator/manager/ready_check.h"
#include "operator/manager/server.h"
#include "operator/options.h"
#include "operator/policy/policy.h"

/* Messages of leader election are handled before sockets and signals. */
#define PRIORITIES 2
/* Less than the 30 s that the kubelet gives by default. */
#define DRAIN_S 25
#define CHECK_PATIENCE_NS (60 * NS_PER_SEC)
#define CHECK_ANSWER_MAX (64 << 10)

/* Everything that lives as long as the program. */
struct program {
	struct options options;
	struct policy policy;
	struct launchers launchers;
	struct metrics metrics;
	struct event_base *base;
	struct client *client;
	struct manager *controller;
	struct leadership *leadership; /* NULL: there is no leader election */
	char lease_name[320];
	struct server *server;
	struct event *on_term, *on_int, *drain;
	struct err lost; /* why the Lease was lost */
	bool acts; /* manager_begin was called */
	bool stopping;
};

static void program_release(struct program *p)
{
	struct event *events[] = { p->on_term, p->on_int, p->drain };

	server_free(p->server);
	/* The calls are freed first, because their callbacks point into the controller. */
	manager_free(p->controller);
	leadership_free(p->leadership);
	client_free(p->client);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		event_drop(events[i]);
	if (p->base)
		event_base_free(p->base);
	metrics_release(&p->metrics);
	launchers_release(&p->launchers);
	policy_release(&p->policy);
}

static void on_closed(void *arg)
{
	struct program *p = arg;

	event_base_loopbreak(p->base);
}

static void on_released(void *arg)
{
	struct program *p = arg;

	manager_close(p->controller, on_closed, p);
}

static void on_idle(void *arg)
{
	struct program *p = arg;

	log_info("stopped: no write is under way");
	if (p->leadership)
		leadership_stop(p->leadership, on_released, p);
	else
		on_released(p);
}

static void on_drain_over(evutil_socket_t, short, void *arg)
{
	struct program *p = arg;

	log_warning("stopped after %d s: some writes or a connection did not end before", DRAIN_S);
	event_base_loopbreak(p->base);
}

static void on_signal(evutil_socket_t fd, short, void *arg)
{
	struct program *p = arg;

	if (p->stopping)
		return;
	p->stopping = true;
	log_info("%s: finishing the writes that are under way",
		 fd == SIGTERM ? "SIGTERM" : "SIGINT");
	event_add(p->drain, &(struct timeval){ .tv_sec = DRAIN_S });
	manager_stop(p->controller, on_idle, p);
}

static void on_request(void *arg, const char *method, int code)
{
	struct program *p = arg;

	metrics_add(&p->metrics, METRIC_REQUESTS, 1, "code=\"%d\",method=\"%s\",host=\"%s\"", code,
		    method, client_host(p->client));
}

static void on_credential_trouble(void *, const struct err *err)
{
	log_warning("keeping the previous credentials: %s", err_text(err));
}

static int load_policy(struct program *p, struct err *err)
{
	const struct options *o = &p->options;
	int r = o->config ? policy_load(o->config, &p->policy, err) : policy_init(&p->policy, err);

	if (r < 0)
		return err_wrap(err, o->config ? "--config" : "policy");
	if (o->sidecar_image)
		r = policy_set_string(&p->policy.sidecar_image, o->sidecar_image, err);
	if (r == 0 && o->store_claim)
		r = policy_set_string(&p->policy.store.claim, o->store_claim, err);
	if (o->oom_group)
		p->policy.recording.oom_group = true;
	return r;
}

/*
 * Loads the launcher. Without it Ray runs without a sidecar, which is no reason not to start,
 * unless the option was given.
 */
static int load_launcher(struct program *p, struct err *err)
{
	struct err why = { 0 };

	if (launchers_load(p->options.launcher, &p->launchers, &why) == 0)
		return 0;
	if (p->options.launcher_given) {
		*err = why;
		return err_wrap(err, "--launcher");
	}
	log_warning("pods go without the launcher (--launcher PATH): %s", err_text(&why));
	return 0;
}

static int find_api_server(const struct options *o, struct kubeconfig *ret_config, struct err *err)
{
	const char *files = getenv("KUBECONFIG");

	if (o->kubeconfig)
		return kubeconfig_load(o->kubeconfig, o->context, ret_config, err);
	if (files && *files)
		return kubeconfig_load(files, o->context, ret_config, err);
	if (!getenv("KUBERNETES_SERVICE_HOST"))
		return err_set(
			err, EINVAL,
			"no API server: give --kubeconfig FILE or $KUBECONFIG; in a pod its service account is used");
	return kubeconfig_in_cluster(getenv("KUBERNETES_SERVICE_HOST"),
				     getenv("KUBERNETES_SERVICE_PORT"), SERVICE_ACCOUNT_DIR,
				     ret_config, err);
}

static int start_loop(struct program *p, struct err *err)
{
	p->base = event_base_new();
	if (!p->base || event_base_priority_init(p->base, PRIORITIES) < 0)
		return err_set(err, ENOMEM, "event loop");
	p->on_term = evsignal_new(p->base, SIGTERM, on_signal, p);
	p->on_int = evsignal_new(p->base, SIGINT, on_signal, p);
	p->drain = evtimer_new(p->base, on_drain_over, p);
	if (!p->on_term || !p->on_int || !p->drain || evsignal_add(p->on_term, NULL) < 0 ||
	    evsignal_add(p->on_int, NULL) < 0)
		return err_set(err, ENOMEM, "event loop");
	return 0;
}

static int start_client(struct program *p, struct err *err)
{
	struct kubeconfig config = { 0 };
	int r = find_api_server(&p->options, &config, err);

	if (r == 0)
		r = client_new(p->base, &config, &p->client, err);
	if (r < 0)
		return r;
	client_observe(p->client, on_request, on_credential_trouble, p);
	return 0;
}

/* --- Leader election --- */

static bool is_leader(void *arg)
{
	const struct program *p = arg;

	return p->acts && leadership_is_held(p->leadership);
}

static void on_acquired(void *arg)
{
	struct program *p = arg;

	log_info("this replica acts: it holds the lease as %s", leadership_identity(p->leadership));
	/*
	 * This is not set earlier: the main loop must not begin anything before it knows that it
	 * has the Lease.
	 */
	p->acts = true;
	manager_begin(p->controller);
}

/* The next leader continues half-done work from the state of the cluster. */
static void on_lost(void *arg, const char *why)
{
	struct program *p = arg;

	err_set(&p->lost, EOWNERDEAD, "the lease %s is lost: %s", p->lease_name, why);
	event_base_loopbreak(p->base);
}

static void on_lease_trouble(void *, const struct err *err)
{
	if (err)
		log_warning("lease: %s", err_text(err));
	else
		log_info("lease: recovered");
}

/* Returns our own namespace: that of the Lease, and of the webhook's Service and Secret. */
static const char *own_namespace(const struct program *p)
{
	return p->options.lease_namespace ? p->options.lease_namespace :
					    client_namespace(p->client);
}

/*
 * Starts leader election. Operators for single namespaces do not compete with an operator for all.
 */
static int start_leadership(struct program *p, struct err *err)
{
	const struct options *o = &p->options;
	struct kubeconfig config = { 0 };
	struct leadership_options options = {
		.base = p->base,
		.namespace = own_namespace(p),
		.name = p->lease_name,
		.on_acquired = on_acquired,
		.on_lost = on_lost,
		.on_trouble = on_lease_trouble,
		.on_credentials = on_credential_trouble,
		.on_request = on_request,
		.arg = p,
	};

	if (!o->leader_elect)
		return 0;
	snprintf(p->lease_name, sizeof(p->lease_name), "afterglow-operator%s%s",
		 o->manager.namespace ? "." : "", o->manager.namespace ? o->manager.namespace : "");
	int r = find_api_server(o, &config, err);
	if (r == 0)
		r = leadership_new(&options, &config, &p->leadership, err);
	if (r == 0)
		client_set_fence(p->client, is_leader, p);
	return r;
}

static void on_metrics(void *arg, struct strbuf *out)
{
	struct program *p = arg;

	if (p->leadership)
		metrics_set(&p->metrics, METRIC_LEADER, leadership_is_held(p->leadership),
			    "name=\"%s\"", p->lease_name);
	manager_metrics(p->controller, out);
}

/* A leader that cannot renew the Lease is of no use, so the kubelet may end it. */
static bool on_health(void *arg, struct strbuf *out)
{
	const struct program *p = arg;
	bool overdue = p->leadership && leadership_is_overdue(p->leadership);

	strbuf_adds(out, overdue ? "the renewal of the lease is overdue\n" : "ok\n");
	return !overdue;
}

static bool on_ready(void *arg, struct strbuf *out)
{
	const struct program *p = arg;

	if (p->leadership)
		strbuf_addf(out, "lease: held by %s%s\n",
			    leadership_is_held(p->leadership) ? "this replica, " : "",
			    *leadership_holder(p->leadership) ? leadership_holder(p->leadership) :
								"nobody");
	return manager_ready(p->controller, out);
}

static int start_controller(struct program *p, struct err *err)
{
	struct manager_options options = {
		.base = p->base,
		.client = p->client,
		.own_namespace = own_namespace(p),
		.config = p->options.manager,
		.policy = &p->policy,
		.launchers = p->launchers.n > 0 ? &p->launchers : NULL,
		.metrics = &p->metrics,
		.is_leader = p->leadership ? is_leader : NULL,
		.arg = p,
	};
	options.config.certificates.namespace = options.own_namespace;
	int r = manager_new(&options, &p->controller, err);

	if (r < 0 || !*p->options.metrics_address)
		return r;
	struct server_handlers handlers = {
		.health = on_health,
		.ready = on_ready,
		.metrics = on_metrics,
		.arg = p,
	};
	return server_new(p->base, p->options.metrics_address, &handlers, &p->server, err);
}

static int run(struct program *p, struct err *err)
{
	int r = load_policy(p, err);

	if (r == 0)
		r = load_launcher(p, err);
	if (r == 0)
		r = start_loop(p, err);
	if (r == 0)
		r = start_client(p, err);
	if (r == 0)
		r = start_leadership(p, err);
	if (r == 0)
		r = start_controller(p, err);
	if (r < 0)
		return r;
	log_info("afterglow-operator %s: API server %s, namespace %s, sidecar image %s",
		 AFTERGLOW_VERSION, client_server(p->client),
		 p->options.manager.namespace ? p->options.manager.namespace : "(all)",
		 p->policy.sidecar_image ? p->policy.sidecar_image : "(none)");
	manager_start(p->controller);
	r = p->leadership ? leadership_start(p->leadership, err) : 0;
	if (r < 0)
		return r;
	if (event_base_dispatch(p->base) < 0)
		return err_set(err, EIO, "event loop");
	if (p->lost.code)
		*err = p->lost;
	return -p->lost.code;
}

static int upgrade_crds(struct program *p, struct err *err)
{
	p->base = event_base_new();
	int r = p->base ? start_client(p, err) : err_set(err, ENOMEM, "event loop");

	return r < 0 ? r : crd_upgrade(p->base, p->client, p->options.upgrade_crds, err);
}

static int check_ready(const struct options *o)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(CHECK_ANSWER_MAX);
	struct err err = { 0 };
	int r = ready_check(o->check_ready, o->check_ca, CHECK_PATIENCE_NS, &answer, &err);

	fputs(strbuf_str(&answer), stdout);
	if (r < 0)
		log_error("%s", err_text(&err));
	return r < 0 || fflush(stdout) != 0 ? 1 : 0;
}

int main(int, char **argv)
{
	struct program program = { 0 };
	struct err err = { 0 };

	if (options_parse(argv, &program.options, &err) < 0) {
		fprintf(stderr, "afterglow-operator: %s\n", err_text(&err));
		return 2;
	}
	if (program.options.help)
		return options_print_help(&operator_options, 0);
	if (program.options.version)
		return puts("afterglow-operator " AFTERGLOW_VERSION) == EOF || fflush(stdout) != 0;
	log_set_level(program.options.log_level);
	log_set_format(program.options.log_format);
	signal(SIGPIPE, SIG_IGN); /* a client of /metrics that disconnects must not end us */
	if (program.options.check_ready)
		return check_ready(&program.options);
	int r = program.options.upgrade_crds ? upgrade_crds(&program, &err) : run(&program, &err);
	if (r < 0)
		log_error("%s", err_text(&err));
	program_release(&program);
	return r < 0 ? 1 : 0;
}
