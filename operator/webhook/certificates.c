/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the webhook's certificates in the cluster. Each turn sends one request at a time: it reads
 * the Secret, reads the configuration, and takes one step.
 */
#include "operator/webhook/certificates.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "operator/webhook/certificate_plan.h"
#include "operator/webhook/certificate_trouble.h"
#include "operator/webhook/webhook_configuration.h"

#define LOOK_S 30
#define LOOK_UNREADY_S 2
#define RETRY_S 5
/*
 * A leader with a webhook has looked by then, and published the CA, or it has trouble and is not
 * ready itself.
 */
#define LEADER_PUBLISHES_NS (60 * NS_PER_SEC)
/*
 * A rotation has four steps. If there are more without a pause, there may be two writers, or an API
 * server that loses writes. Then pauses follow.
 */
#define STEPS_MAX 8
#define PATH_LEN_MAX 1024

struct certificates {
	struct certificates_options o;
	struct x509_names names;
	struct event *timer;
	struct client_call *call;
	struct certificate_content secret, memory;
	bool has_secret, has_memory;
	char version[128]; /* of the Secret */
	cJSON *configuration; /* as it was read last; NULL: it cannot be read */
	struct x509_bundle published;
	bool uneven;
	int64_t repaired_ns;
	enum certificate_step step; /* in progress */
	unsigned steps; /* steps without a pause */
	bool look_again;
	int64_t began_ns; /* CLOCK_BOOTTIME: when this replica was started */
	char *served; /* the leaf that on_leaf got last */
	bool known; /* the API server has verified it once */
	struct certificate_trouble trouble;
};

/*
 * --- Requests
 * ---------------------------------------------------------------------------------------------
 */

static void certificates_arm(struct certificates *c, int seconds)
{
	event_add(c->timer, &(struct timeval){ .tv_sec = seconds });
}

static void certificates_rest(struct certificates *c)
{
	trouble_settle(&c->trouble);
	c->steps = 0;
	certificates_arm(c, c->look_again	  ? 0 :
			    c->trouble.now	  ? RETRY_S :
			    certificates_ready(c) ? LOOK_S :
						    LOOK_UNREADY_S);
}

static void certificates_on_timer(evutil_socket_t, short, void *arg)
{
	certificates_look(arg);
}

static bool certificates_acts(const struct certificates *c)
{
	return !c->o.place.external && (!c->o.may_write || c->o.may_write(c->o.arg));
}

static void certificates_ask(struct certificates *c, const struct client_request *request,
			     const struct strbuf *path, client_done_fn done)
{
	struct client_request whole = *request;
	struct err err = { 0 };

	whole.path = strbuf_str(path);
	if (strbuf_failed(path))
		err_set(&err, ENAMETOOLONG, "path of a request");
	else if (client_start(c->o.client, &whole, done, c, &c->call, &err) == 0)
		return;
	trouble_say(&c->trouble, "%s", err_text(&err));
	certificates_rest(c);
}

static void secret_path(const struct certificates *c, bool one, struct strbuf *path)
{
	resource_path(resource_find("v1", "Secret"), c->o.place.namespace,
		      one ? c->o.place.secret : NULL, NULL, path);
}

static void configuration_path(const struct certificates *c, struct strbuf *path)
{
	resource_path(
		resource_find("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
		NULL, c->o.place.configuration, NULL, path);
}

/* --- Taking a step --------------------------------------------------------------------------- */

/* Reads everything again, because our step, or somebody else, has changed it. */
static void certificates_go_on(struct certificates *c)
{
	if (++c->steps >= STEPS_MAX) {
		trouble_say(
			&c->trouble,
			"%u steps did not bring the certificates into order: somebody else changes the Secret or the webhook"
			" configuration",
			c->steps);
		certificates_rest(c);
		return;
	}
	certificates_look(c);
}

/*
 * Returns whether the refusal is no trouble: in a conflict somebody else was faster, or there is a
 * new leader.
 */
static bool is_refused_quietly(const struct certificates *c, const struct client_response *response)
{
	return response->status == 409 || !certificates_acts(c);
}

static void on_secret_written(void *arg, struct client_response *response)
{
	struct certificates *c = arg;

	c->call = NULL;
	certificate_secret_free(TAKE_PTR(response->object));
	if (response->status / 100 == 2) {
		log_info("webhook certificates: this replica %s (Secret %s/%s)",
			 certificate_step_text(c->step), c->o.place.namespace, c->o.place.secret);
		certificates_go_on(c);
		return;
	}
	/* A 404 for a patch means that the Secret was deleted meanwhile. */
	if (is_refused_quietly(c, response) || (response->status == 404 && c->has_secret)) {
		certificates_arm(c, 1);
		return;
	}
	trouble_secret(&c->trouble, response, c->has_secret ? "patch" : "create",
		       c->o.place.namespace, c->o.place.secret);
	certificates_rest(c);
}

static void write_secret(struct certificates *c, const struct certificate_content *content)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_LEN_MAX);
	cJSON *secret = certificate_content_secret(content, c->has_secret),
	      *metadata = json_object_at(secret, "metadata");
	struct client_request request = { .method = c->has_secret ? "PATCH" : "POST" };

	if (c->has_secret) {
		request.content_type = "application/merge-patch+json";
		json_set_str(metadata, "resourceVersion", c->version);
	}
	json_set_str(metadata, "namespace", c->o.place.namespace);
	json_set_str(metadata, "name", c->o.place.secret);
	char *body = secret ? cJSON_PrintUnformatted(secret) : NULL;
	certificate_secret_free(secret);
	if (!body) {
		trouble_say(&c->trouble, "there is no memory for the Secret");
		certificates_rest(c);
		return;
	}
	request.body = body;
	secret_path(c, c->has_secret, &path);
	strbuf_adds(&path, "?fieldManager=afterglow");
	certificates_ask(c, &request, &path, on_secret_written);
	pem_free_key(body);
}

static void on_published(void *arg, struct client_response *response)
{
	struct certificates *c = arg;

	c->call = NULL;
	if (response->status / 100 == 2) {
		log_info("webhook certificates: this replica %s (MutatingWebhookConfiguration %s)",
			 certificate_step_text(c->step), c->o.place.configuration);
		certificates_go_on(c);
		return;
	}
	if (is_refused_quietly(c, response)) {
		certificates_arm(c, 1);
		return;
	}
	trouble_configuration(&c->trouble, response, "patch", c->o.place.configuration);
	certificates_rest(c);
}

static void certificates_publish(struct certificates *c, const struct x509_bundle *bundle)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_LEN_MAX);
	_cleanup_free_ char *text = x509_bundle_text(bundle);
	_cleanup_json_ cJSON *patch =
		text ? webhook_configuration_patch(c->configuration, text) : NULL;
	_cleanup_free_ char *body = patch ? cJSON_PrintUnformatted(patch) : NULL;
	struct client_request request = {
		.method = "PATCH",
		.content_type = "application/strategic-merge-patch+json",
		.body = body,
	};

	if (!body) {
		trouble_say(&c->trouble, "there is no memory for the webhook configuration");
		certificates_rest(c);
		return;
	}
	if (!x509_bundle_has_all(&c->published, bundle))
		c->repaired_ns = now_realtime_ns();
	configuration_path(c, &path);
	strbuf_adds(&path, "?fieldManager=afterglow");
	certificates_ask(c, &request, &path, on_published);
}

static void carry_out(struct certificates *c, const struct certificate_world *world,
		      const struct certificate_decision *decision)
{
	_cleanup_content_ struct certificate_content content = { 0 };
	struct err err = { 0 };

	c->step = decision->step;
	if (decision->step == CERTIFICATE_WAIT) {
		certificates_rest(c);
		return;
	}
	if (decision->step == CERTIFICATE_PUBLISH) {
		certificates_publish(c, &decision->bundle);
		return;
	}
	if (certificate_make(world, decision, &content, &err) < 0) {
		trouble_say(&c->trouble, "%s", err_text(&err));
		certificates_rest(c);
		return;
	}
	if (decision->step != CERTIFICATE_NEW) {
		write_secret(c, &content);
		return;
	}
	log_info("webhook certificates: this replica %s", certificate_step_text(decision->step));
	certificate_content_move(&c->memory, &content);
	c->has_memory = true;
	certificates_go_on(c);
}

static void certificates_act(struct certificates *c)
{
	_cleanup_decision_ struct certificate_decision decision = { 0 };
	int64_t now_ns = now_realtime_ns();
	const struct certificate_world world = {
		.secret = c->has_secret ? &c->secret : NULL,
		.memory = c->has_memory ? &c->memory : NULL,
		.published = c->configuration ? &c->published : NULL,
		.uneven = c->uneven,
		.repaired_ns = MIN(c->repaired_ns, now_ns),
		.names = &c->names,
		.now_ns = now_ns,
	};

	certificate_decide(&world, &decision);
	carry_out(c, &world, &decision);
}

/*
 * --- Reading the configuration
 * ----------------------------------------------------------------------------
 */

/* A replica that cannot read the configuration assumes that another one does. */
static void see_whether_known(struct certificates *c)
{
	_cleanup_x509_ X509 *leaf = c->served ? x509_first(c->served) : NULL;

	if (!c->configuration || (leaf && x509_verifies(leaf, &c->published, now_realtime_ns())))
		c->known = true;
}

static void certificates_on_configuration(void *arg, struct client_response *response)
{
	struct certificates *c = arg;
	struct err err = { 0 };

	c->call = NULL;
	cJSON_Delete(TAKE_PTR(c->configuration));
	if (response->status / 100 != 2)
		trouble_configuration(&c->trouble, response, "get", c->o.place.configuration);
	else if (webhook_configuration_read(response->object, &c->published, &c->uneven, &err) < 0)
		trouble_say(&c->trouble, "MutatingWebhookConfiguration %s: %s",
			    c->o.place.configuration, err_text(&err));
	else
		c->configuration = TAKE_PTR(response->object);
	if (c->configuration && c->o.on_configuration)
		c->o.on_configuration(c->o.arg,
				      json_str(c->configuration, "metadata.creationTimestamp"));
	see_whether_known(c);
	if (certificates_acts(c))
		certificates_act(c);
	else
		certificates_rest(c);
}

static void read_configuration(struct certificates *c)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_LEN_MAX);

	configuration_path(c, &path);
	certificates_ask(c, &(struct client_request){ .method = "GET" }, &path,
			 certificates_on_configuration);
}

/*
 * --- Reading the Secret
 * -----------------------------------------------------------------------------------
 */

static void set_metrics(struct certificates *c)
{
	_cleanup_x509_ X509 *ca = x509_first(c->secret.bundle), *leaf = x509_first(c->secret.leaf);

	if (ca)
		metrics_set(c->o.metrics, METRIC_WEBHOOK_CERTIFICATE_EXPIRY,
			    (double)(x509_ends_ns(ca) / NS_PER_SEC), "certificate=\"ca\"");
	if (leaf)
		metrics_set(c->o.metrics, METRIC_WEBHOOK_CERTIFICATE_EXPIRY,
			    (double)(x509_ends_ns(leaf) / NS_PER_SEC), "certificate=\"leaf\"");
}

static bool is_good(const struct certificates *c)
{
	_cleanup_x509_ X509 *leaf = c->o.place.external ? x509_first(c->secret.leaf) : NULL;
	int64_t now_ns = now_realtime_ns();

	/*
	 * With external certificates, the program that writes them decides which authorities are
	 * trusted.
	 */
	if (c->o.place.external)
		return leaf && x509_is_valid(leaf, now_ns) &&
		       x509_key_matches(leaf, c->secret.leaf_key) &&
		       x509_has_names(leaf, &c->names);
	return certificate_leaf_is_good(&c->secret, &c->names, now_ns);
}

/* A leaf that was not accepted is offered again at the next check. */
static void certificates_serve(struct certificates *c)
{
	_cleanup_free_ char *leaf = NULL;
	struct err err = { 0 };

	if (c->served && strcmp(c->served, c->secret.leaf) == 0)
		return;
	leaf = strdup(c->secret.leaf);
	if (!leaf || c->o.on_leaf(c->o.arg, c->secret.leaf, c->secret.leaf_key, &err) < 0) {
		trouble_say(&c->trouble, "the certificate cannot be served: %s",
			    leaf ? err_text(&err) : "out of memory");
		return;
	}
	free(c->served);
	c->served = TAKE_PTR(leaf);
}

static void accept_secret(struct certificates *c)
{
	_cleanup_content_ struct certificate_content copy = { 0 };
	bool good = is_good(c);

	metrics_add(c->o.metrics, METRIC_WEBHOOK_CERTIFICATE_READS, 1, "result=\"%s\"",
		    good ? "good" : "bad");
	set_metrics(c);
	if (!good && c->o.place.external)
		trouble_say(&c->trouble,
			    "Secret %s/%s: tls.crt and tls.key are not a valid certificate "
			    "for the names %s to %s and its key."
			    " With --webhook-certificates external, something else must renew them",
			    c->o.place.namespace, c->o.place.secret, c->names.dns[0],
			    c->names.dns[2]);
	if (!good)
		return;
	certificates_serve(c);
	if (!c->o.place.external && certificate_content_copy(&c->secret, &copy) == 0) {
		certificate_content_move(&c->memory, &copy);
		c->has_memory = true;
	}
}

/* Returns false if the answer does not show whether there is a Secret. */
static bool certificates_take_secret(struct certificates *c, struct client_response *response)
{
	const char *version = json_str(response->object, "metadata.resourceVersion");
	struct err err = { 0 };

	c->has_secret = response->status / 100 == 2;
	if (response->status == 404) {
		metrics_add(c->o.metrics, METRIC_WEBHOOK_CERTIFICATE_READS, 1, "result=\"absent\"");
		if (c->o.place.external)
			trouble_say(
				&c->trouble,
				"there is no Secret %s/%s: with --webhook-certificates external, something else must create it",
				c->o.place.namespace, c->o.place.secret);
		return true;
	}
	if (!c->has_secret || certificate_content_read(response->object, &c->secret, &err) < 0) {
		metrics_add(c->o.metrics, METRIC_WEBHOOK_CERTIFICATE_READS, 1, "result=\"error\"");
		if (err.code)
			response->err = err;
		trouble_secret(&c->trouble, response, "get", c->o.place.namespace,
			       c->o.place.secret);
		return false;
	}
	snprintf(c->version, sizeof(c->version), "%s", version ? version : "");
	accept_secret(c);
	return true;
}

static void on_secret(void *arg, struct client_response *response)
{
	struct certificates *c = arg;

	c->call = NULL;
	if (certificates_take_secret(c, response) && !c->o.place.external)
		read_configuration(c);
	else
		certificates_rest(c);
}

/*
 * --- Life
 * -------------------------------------------------------------------------------------------------
 */

void certificates_look(struct certificates *c)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_LEN_MAX);

	c->look_again = c->call != NULL;
	if (c->call)
		return;
	event_del(c->timer);
	c->trouble.now = false;
	secret_path(c, true, &path);
	certificates_ask(c, &(struct client_request){ .method = "GET" }, &path, on_secret);
}

bool certificates_leader_has_none(const struct certificates *c)
{
	int64_t patience_ns =
		c->o.leader_publishes_ns ? c->o.leader_publishes_ns : LEADER_PUBLISHES_NS;

	/* During a look it is not known whether there is trouble. */
	return !c->o.place.external && !c->known && !certificates_acts(c) && !c->trouble.now &&
	       !c->call && now_boottime_ns() - c->began_ns >= patience_ns;
}

bool certificates_ready(const struct certificates *c)
{
	return (c->served && (c->known || c->o.place.external)) || certificates_leader_has_none(c);
}

int certificates_new(const struct certificates_options *options,
		     struct certificates **ret_certificates, struct err *err)
{
	struct certificates *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, ENOMEM, "webhook certificates");
	c->o = *options;
	c->began_ns = now_boottime_ns();
	c->timer = evtimer_new(options->base, certificates_on_timer, c);
	int r = c->timer ? x509_service_names(options->place.service, options->place.namespace,
					      NULL, &c->names, err) :
			   err_set(err, ENOMEM, "webhook certificates");
	if (r < 0) {
		certificates_free(c);
		return r;
	}
	*ret_certificates = c;
	return 0;
}

void certificates_free(struct certificates *c)
{
	if (!c)
		return;
	client_cancel(c->call);
	event_drop(c->timer);
	certificate_content_release(&c->secret);
	certificate_content_release(&c->memory);
	x509_bundle_release(&c->published);
	cJSON_Delete(c->configuration);
	free(c->served);
	free(c);
}
