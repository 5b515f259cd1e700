/* SPDX-License-Identifier: Apache-2.0 */
/* The RayFailure of a process that died while its container lives. Nobody but the sidecar saw it. */
#include <errno.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "operator/failures/death.h"
#include "operator/failures/failures.h"
#include "operator/injection/inject.h"
#include "operator/kube/object.h"

#define CLOCKS_NS (60 * NS_PER_SEC)

/*
 * That the container lives is the sidecar's mark on the failure (containerLives), whatever its class. But the fate of a pod or
 * a node only Kubernetes knows, and nobody in the pod may say it.
 */
static bool leaves_a_container_alive(const char *class)
{
	int number = class ? failure_class_from_name(class) : -1;

	return number >= 0 && failure_class_is_of_process((enum failure_class)number);
}

/* Of which instance it was, when that one still runs. */
static void set_instance(const struct death *d, int64_t ended_ns, cJSON *spec)
{
	const cJSON *status = json_find(json_get(d->pod, "status.containerStatuses"), "name", d->container);
	const char *started = json_str(status, "state.running.startedAt");
	int64_t ns;

	if (!started || time_parse(started, &ns, NULL) < 0 || ns > ended_ns)
		return;
	json_set_int(spec, "restartCount", json_int(status, "restartCount", 0));
	death_set_text(spec, "containerID", json_str(status, "containerID"));
}

static int set_process_identity(const struct death *d, cJSON *spec, struct err *err)
{
	const char *ended = json_str(d->report, "endedAt");
	int64_t ns;

	/* Clocks of nodes differ by less, and what is of next year would outlive its retention. */
	if (!ended || time_parse(ended, &ns, NULL) < 0 || ns > d->now_ns + CLOCKS_NS)
		return err_set(err, EPROTO, "a failure without the time of its end");
	death_set_whose(d, spec);
	set_instance(d, ns, spec);
	json_set(spec, "containerLives", cJSON_CreateTrue());
	death_set_text(spec, "startedAt", json_str(d->report, "startedAt"));
	death_set_text(spec, "endedAt", ended);
	return 0;
}

static void set_process_name(const struct death *d, const char *id, cJSON *metadata)
{
	const char *uid = json_str(d->pod, "metadata.uid");
	char seed[512];

	snprintf(seed, sizeof(seed), "%.64s/%.63s/process/%.200s", uid ? uid : "", d->container, id);
	death_set_name(d, seed, metadata);
}

static int fill_process(struct death *d, const char *id, cJSON *failure, struct err *err)
{
	cJSON *metadata = json_get(failure, "metadata"), *spec = json_object_at(failure, "spec");
	const char *class = json_str(d->report, "class"), *confidence = json_str(d->report, "confidence");
	const char *sentence = json_str(d->report, "sentence");
	int r = set_process_identity(d, spec, err);

	if (r < 0)
		return r;
	if (!json_bool(d->report, "final", false) || !sentence || !leaves_a_container_alive(class))
		return err_set(err, EPROTO, "a failure of class %s that left its container alive", class ? class : "?");
	set_process_name(d, id, metadata);
	death_set_times(d, metadata, spec);
	death_set_labels(d, metadata, class);
	death_set_owner(d, failure);
	json_set_str(spec, "class", class);
	json_set_str(spec, "confidence", confidence ? confidence : confidence_name(CONFIDENCE_UNKNOWN));
	json_set_str(spec, "verdict", sentence);
	death_set_text(spec, "signal", json_str(d->report, "signal"));
	death_set_process(d, spec);
	death_set_memory(d, spec);
	death_set_evidence(d, spec);
	death_set_bundle(d, spec);
	death_set_story(d, failure);
	return 0;
}

int failure_of_process(const cJSON *pod, const char *container, const char *id, const cJSON *report, int64_t now_ns,
		       cJSON **ret_failure, struct err *err)
{
	size_t lost = oom_count();
	struct death d = { .pod = pod, .container = container, .now_ns = now_ns, .report = (cJSON *)report };
	_cleanup_json_ cJSON *failure = object_new("afterglow.dev/v1alpha1", "RayFailure", json_str(pod, "metadata.namespace"), "");
	int r;

	if (!death_label(pod, "ray.io/cluster") || !json_find(json_get(pod, "spec.containers"), "name", container) ||
	    strcmp(container, SIDECAR_CONTAINER) == 0)
		return err_set(err, EPROTO, "a failure of a container that the pod does not have");
	r = fill_process(&d, id, failure, err);
	if (r < 0)
		return r;
	if (oom_count() != lost)
		return err_set(err, ENOMEM, "failure");
	*ret_failure = TAKE_PTR(failure);
	return 0;
}
