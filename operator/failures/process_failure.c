/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the RayFailure of a process that died while its container lives on. Only the sidecar saw
 * it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/sidecar_names.h"
#include "lib/units.h"
#include "operator/failures/death.h"
#include "operator/failures/failures.h"
#include "operator/injection/report_key.h"
#include "operator/kube/object.h"

#define CLOCKS_NS (60 * NS_PER_SEC)

/*
 * Returns whether a report from the pod may claim this class. The mark containerLives on the
 * failure says that the container lives, whatever the class. But only Kubernetes knows what
 * happened to a pod or a node.
 */
static bool leaves_a_container_alive(const char *class)
{
	int number = failure_class_from_name(class);

	return number >= 0 && failure_class_is_of_process((enum failure_class)number);
}

/* Sets the number of the instance, if that instance is still running. */
static void set_instance(const struct death *d, int64_t ended_ns, struct ray_failure *f)
{
	const cJSON *status =
		json_find(json_get(d->pod, "status.containerStatuses"), "name", d->container);
	int64_t ns;

	if (!json_time(status, "state.running.startedAt", &ns) || ns > ended_ns)
		return;
	f->restart = json_int(status, "restartCount", 0);
	ray_failure_set(&f->container_id, json_str(status, "containerID"));
}

static int set_identity(const struct death *d, struct ray_failure *f, struct err *err)
{
	int64_t ns;

	/* Clocks of nodes differ by less. A report from the far future would be kept too long. */
	if (!json_time(d->report, "endedAt", &ns) || ns > d->now_ns + CLOCKS_NS)
		return err_set(err, EPROTO, "a failure without the time of its end");
	death_set_whose(d, f);
	set_instance(d, ns, f);
	f->container_lives = true;
	ray_failure_set(&f->started_at, json_str(d->report, "startedAt"));
	death_set_ended_at(d, json_str(d->report, "endedAt"), f);
	return 0;
}

static void set_name(const struct death *d, const char *id, struct ray_failure *f)
{
	char seed[512];

	snprintf(seed, sizeof(seed), "%.64s/%.63s/process/%.200s",
		 json_str_or(d->pod, "metadata.uid", ""), d->container, id);
	death_set_name(d, seed, f);
}

static int set_verdict(const struct death *d, struct ray_failure *f, struct err *err)
{
	const char *class = json_str(d->report, "class"),
		   *confidence = json_str(d->report, "confidence");
	const char *sentence = json_str(d->report, "sentence");

	if (!json_bool(d->report, "final", false) || !sentence || !leaves_a_container_alive(class))
		return err_set(err, EPROTO, "a failure of class %s that left its container alive",
			       class ? class : "?");
	f->class = (enum failure_class)failure_class_from_name(class);
	if (confidence)
		f->confidence = (enum confidence)confidence_from_name(confidence);
	ray_failure_set(&f->verdict, sentence);
	ray_failure_set(&f->signal, json_str(d->report, "signal"));
	return 0;
}

static int fill(const struct death *d, const char *id, struct ray_failure *f, struct err *err)
{
	int r = set_identity(d, f, err);

	if (r == 0)
		r = set_verdict(d, f, err);
	if (r < 0)
		return r;
	set_name(d, id, f);
	ray_failure_take_first(f, d->report);
	ray_failure_take_memory(f, d->report);
	ray_failure_take_notes(f, d->report);
	death_set_bundle(d, f);
	death_set_story(d, f);
	death_set_doubt(d, f);
	ray_failure_sign(f);
	return 0;
}

int failure_of_process(const cJSON *pod, const char *container, const char *id, const cJSON *report,
		       int64_t now_ns, struct ray_failure **ret_failure, struct err *err)
{
	size_t lost = oom_count();
	struct death d = { .pod = pod,
			   .container = container,
			   .now_ns = now_ns,
			   .report = (cJSON *)report,
			   .is_signed = report_key_of(pod) }; /* pod_report_parse has compared it */

	if (!object_label(pod, "ray.io/cluster") ||
	    !json_find(json_get(pod, "spec.containers"), "name", container) ||
	    strcmp(container, SIDECAR_CONTAINER) == 0)
		return err_set(err, EPROTO, "a failure of a container that the pod does not have");

	death_doubt_unsigned(&d);
	struct ray_failure *failure = ray_failure_new();
	int r = failure ? fill(&d, id, failure, err) : 0;
	if (r == 0 && oom_count() != lost)
		r = err_set(err, ENOMEM, "failure");
	if (r == 0)
		*ret_failure = TAKE_PTR(failure);
	ray_failure_free(failure);
	return r;
}
