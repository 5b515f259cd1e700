/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes RayFailures from a pod.
 *
 * There are two sources. The sidecar's report has the cgroup's counters, but it stands where the
 * Ray container can write, so it is signed (lib/digest/report_mac.h). The pod's status cannot be
 * forged, but it shows little. The exit code decides: a report with another exit code is not
 * believed. Who sent a SIGKILL or SIGTERM is known only from the pod's status.
 */
#include "operator/failures/failures.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/exit_code.h"
#include "lib/json.h"
#include "lib/oom.h"
#include "lib/sidecar_names.h"
#include "lib/units.h"
#include "operator/failures/death.h"
#include "operator/failures/made_up_end.h"
#include "operator/failures/podview.h"
#include "operator/failures/signature.h"
#include "operator/failures/story.h"
#include "operator/failures/termination.h"
#include "operator/injection/report_key.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"

/* --- Which source to believe ----------------------------------------------------------------- */

static bool contradicts(const cJSON *report, int64_t exit_code)
{
	return !json_str(report, "class") || json_int(report, "exitCode", -1) != exit_code ||
	       json_is(report, "class", failure_class_name(FAILURE_COMPLETED));
}

/* The webhook puts the launcher before the command of this container. */
static bool is_ray_container(const struct death *d)
{
	return TEXT_IS_ONE_OF(pod_ray_container_name(d->pod), d->container);
}

/*
 * Returns whether the report is about another end: an old line, signed for an earlier instance of
 * the container. Both times are of the node's clock, the kubelet's in whole seconds.
 */
static bool is_replayed(const struct death *d)
{
	int64_t ended_ns, started_ns;

	return json_time(d->report, "endedAt", &ended_ns) &&
	       json_time(d->terminated, "startedAt", &started_ns) &&
	       ended_ns < started_ns - NS_PER_SEC;
}

/*
 * Drops the report if the pod has a key and its sidecar did not sign the line for this end: every
 * process of the container can write the message.
 */
static void check_writer(struct death *d, const char *message)
{
	const char *key = report_key_of(d->pod), *line;
	size_t len = 0;

	line = key ? termination_line(message, strlen(message), &len) : NULL;
	d->is_signed = line && report_mac_holds(key, REPORT_MAC_TERMINATION, line, len);
	d->forged = key && !d->is_signed;
	if (d->forged)
		d->distrust =
			"the sidecar's report: the one in the termination message is not signed by the pod's sidecar, so "
			"something else in the pod wrote it, or the sidecar is older than the operator";
	else if (d->is_signed && is_replayed(d))
		d->distrust =
			"the sidecar's report: the one in the termination message is about an end before this container's start";
	if (d->distrust)
		cJSON_Delete(TAKE_PTR(d->report));
}

static void read_report(struct death *d)
{
	bool has = pod_has_sidecar(json_get(d->pod, "spec")), watched = has && is_ray_container(d);
	const char *message = watched ? json_str(d->terminated, "message") : NULL;
	struct err err = { 0 };
	int r = message ? termination_parse(message, strlen(message), &d->report, &err) : -ENOENT;

	if (r == 0)
		check_writer(d, message);
	if (d->distrust)
		return;
	if (r == -ENOENT)
		d->distrust =
			watched ? "the sidecar's report: it did not reach the termination message" :
			has ? "the sidecar's report: the sidecar watches Ray's container, and this is another container" :
			      "the sidecar's report: the pod has no sidecar";
	else if (r < 0)
		d->distrust =
			"the sidecar's report: its line in the termination message is damaged";
	else if (!json_bool(d->report, "final", false))
		d->provisional = true;
	else if (contradicts(d->report, json_int(d->terminated, "exitCode", 0))) {
		d->distrust =
			"the sidecar's report: the one in the termination message contradicts the kubelet's exit code";
		cJSON_Delete(TAKE_PTR(d->report));
	}
}

/*
 * If the node agent has proof of the end, takes it in place of the sidecar's report. If the sidecar
 * left a snapshot, memory and processes still come from that.
 */
static void read_node(struct death *d)
{
	cJSON *report = death_is_reported(d) || !is_ray_container(d) ?
				NULL :
				unmet_ends_report(d->unmet, d->container, d->terminated);

	if (!report)
		return;
	if (d->report && json_get(d->report, "memory")) {
		json_set(report, "memory", cJSON_Duplicate(json_get(d->report, "memory"), true));
		json_set(report, "processes",
			 cJSON_Duplicate(json_get(d->report, "processes"), true));
	}
	cJSON_Delete(d->report);
	d->report = report;
	d->provisional = false;
	d->distrust = NULL;
	d->forged = false;
	d->from_node = true;
	d->is_signed = report_key_of(d->pod);
}

/*
 * Returns whether it is the class of an end of Ray's own processes, which also end when the pod is
 * stopped.
 */
static bool is_rays_own(int class)
{
	return IS_ONE_OF(class, FAILURE_RAYLET_FAILED, FAILURE_GCS_FAILED,
			 FAILURE_RAY_PROCESS_FAILED, FAILURE_GCS_LOST);
}

static enum confidence report_confidence(const cJSON *report)
{
	int confidence = confidence_from_name(json_str(report, "confidence"));

	return confidence < 0 ? CONFIDENCE_UNKNOWN : (enum confidence)confidence;
}

static bool is_sure(const cJSON *report)
{
	return report_confidence(report) == CONFIDENCE_CERTAIN;
}

/*
 * Returns whether the report is about the crash of a process. `ray stop` in a preStop hook kills
 * what does not end in time, and raylet may abort without its GCS; but a request to stop causes no
 * crash.
 */
static bool is_crash_of_process(const cJSON *report)
{
	const char *signal = json_str(report, "process.signal");

	return signal && *signal &&
	       !TEXT_IS_ONE_OF(signal, "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP");
}

/* Returns whether the kubelet reports an OOM kill that the sidecar did not see. */
static bool witnesses_disagree(const struct death *d, int class)
{
	return d->view.class == FAILURE_KERNEL_OOM_CONTAINER && class == FAILURE_KILLED;
}

/*
 * Returns whether the pod's status may still replace or explain the class. The sidecar of an
 * evicted pod is asked to stop like that of a deleted pod, and a process that is asked to stop may
 * exit with any code.
 */
static bool is_open_question(int class)
{
	return IS_ONE_OF(class, FAILURE_KILLED, FAILURE_TERMINATED, FAILURE_POD_DELETED,
			 FAILURE_UNKNOWN, FAILURE_APPLICATION_ERROR);
}

/*
 * Returns whether the pod's status decides. The sidecar cannot see who sent a signal and what
 * happened to the pod.
 */
static bool view_outranks(const struct death *d)
{
	if (!death_is_reported(d))
		return true;
	int class = failure_class_from_name(json_str(d->report, "class"));
	if (failure_class_is_oom(class))
		return !is_sure(d->report) && d->view.from_outside &&
		       d->view.confidence == CONFIDENCE_CERTAIN;
	if (is_rays_own(class))
		return !(is_sure(d->report) && is_crash_of_process(d->report)) &&
		       d->view.from_outside && d->view.class != FAILURE_UNKNOWN;
	/* It may not know who sent the SIGKILL. */
	if (witnesses_disagree(d, class) && !is_sure(d->report))
		return true;
	return is_open_question(class) && d->view.from_outside && d->view.class != FAILURE_UNKNOWN;
}

/*
 * --- The RayFailure
 * --------------------------------------------------------------------------------------
 */

static void set_name(const struct death *d, struct ray_failure *f)
{
	const char *id = json_str(d->terminated, "containerID"),
		   *uid = json_str_or(d->pod, "metadata.uid", "");
	char seed[512];

	/*
	 * An instance without an ID has its number in the name. Of instances that wait to start,
	 * each reason counts once.
	 */
	if (d->never_ran)
		snprintf(seed, sizeof(seed), "%s/%s/waiting/%s", uid, d->container,
			 json_str(d->terminated, "reason"));
	else if (id && *id)
		snprintf(seed, sizeof(seed), "%s", id);
	/* Whether its number goes up depends on whether its pod is deleted. */
	else if (d->forgotten)
		snprintf(seed, sizeof(seed), "%s/%s/forgotten", uid, d->container);
	else
		snprintf(seed, sizeof(seed), "%s/%s/%" PRId64, uid, d->container, d->restart);
	death_set_name(d, seed, f);
}

static void set_identity(const struct death *d, struct ray_failure *f)
{
	const char *finished = json_str(d->terminated, "finishedAt"),
		   *started = json_str(d->terminated, "startedAt");
	char now[TIME_TEXT_MAX];
	int64_t ns;

	death_set_whose(d, f);
	ray_failure_set(&f->container_id, json_str(d->terminated, "containerID"));
	f->restart = d->restart;
	if (started && time_parse(started, &ns, NULL) == 0 && ns > 0)
		ray_failure_set(&f->started_at, started);
	/* A container that never ran has no end of its own (the kubelet writes 1970 or nothing). */
	if (!finished || time_parse(finished, &ns, NULL) < 0 || ns <= 0)
		finished = time_format(d->now_ns, now);
	death_set_ended_at(d, finished, f);
	if (!d->never_ran && !d->lost)
		f->exit_code = json_int(d->terminated, "exitCode", 0);
	ray_failure_set(&f->kubernetes_reason, json_str(d->terminated, "reason"));
}

static void set_kubelet_evidence(const struct death *d, struct ray_failure *f)
{
	const char *reason = json_str(d->terminated, "reason");
	char text[256], tame[64] = "";

	if (reason)
		text_tame(reason, tame, sizeof(tame));
	snprintf(text, sizeof(text), "exit code %" PRId64 "%s%s",
		 json_int(d->terminated, "exitCode", 0), *tame ? ", reason " : "", tame);
	if (!d->never_ran && !d->lost)
		ray_failure_add_evidence(f, "kubelet", text);
	if (d->view.evidence[0])
		ray_failure_add_evidence(f, "pod status", d->view.evidence);
}

/* Takes class and sentence from the pod's status. */
static void set_views_verdict(const struct death *d, struct ray_failure *f)
{
	f->class = d->view.class;
	f->confidence = d->view.confidence;
	ray_failure_set(&f->verdict, d->view.sentence);
	if (d->view.from_outside)
		f->ended_by = d->view.by;
}

/* Takes class and sentence from the sidecar's report. */
static void set_reports_verdict(const struct death *d, struct ray_failure *f)
{
	const char *sentence = json_str(d->report, "sentence");

	f->class = (enum failure_class)failure_class_from_name(json_str(d->report, "class"));
	f->confidence = report_confidence(d->report);
	ray_failure_set(&f->verdict, sentence ? sentence : d->view.sentence);
}

static void set_verdict(const struct death *d, struct ray_failure *f)
{
	const char *signal = death_is_reported(d) ? json_str(d->report, "signal") : NULL;

	if (view_outranks(d))
		set_views_verdict(d, f);
	else
		set_reports_verdict(d, f);
	if (witnesses_disagree(d, (int)f->class))
		f->confidence = CONFIDENCE_LIKELY;
	if (!signal && d->view.signal)
		signal = signal_name(d->view.signal);
	ray_failure_set(&f->signal, signal);
}

static void set_sidecars_gaps(const struct death *d, struct ray_failure *f)
{
	if (d->provisional) {
		ray_failure_add_evidence(
			f, "snapshot",
			"memory and processes are from a snapshot that the sidecar wrote while the "
			"container still ran");
		ray_failure_add_missing(
			f, "the sidecar's report: only a snapshot from before the end is there",
			"a sidecar that outlives the Ray container");
	} else if (d->forged) {
		ray_failure_add_evidence(
			f, "termination message",
			"its last line is not signed by the sidecar of this pod: it is not believed");
		ray_failure_add_missing(
			f, d->distrust,
			"a look at what runs in the container, or the sidecar's image of this release");
	} else if (d->distrust && d->view.class != FAILURE_START_FAILURE) {
		ray_failure_add_missing(
			f, d->distrust,
			is_ray_container(d) ?
				"the Afterglow sidecar and launcher running in the pod" :
				"the container's own logs");
	}
}

static void set_gaps(const struct death *d, struct ray_failure *f)
{
	set_sidecars_gaps(d, f);
	death_set_doubt(d, f);
	if (d->lost)
		ray_failure_add_missing(
			f,
			"the container's end: nothing on its node reported that it ended, or how",
			"the node's kernel log and disk, if it comes back");
	else if (d->view.lost && !death_is_reported(d))
		ray_failure_add_missing(
			f,
			"the exit code: the kubelet lost the container and reported 137 in place of its exit code",
			"the node's kubelet and runtime logs");
	if (!death_is_reported(d) && d->view.oom_open)
		ray_failure_add_missing(
			f,
			"whether the OOM killer ended it: the kubelet says OOMKilled also after a kill that the container survived",
			"the sidecar's report, or the node's kernel log");
	if (witnesses_disagree(d, (int)f->class))
		ray_failure_add_missing(
			f, "why the kubelet says OOMKilled: the sidecar saw no OOM kill at the end",
			"the node's kernel log");
	if (!death_is_reported(d) &&
	    (d->view.class == FAILURE_KILLED || d->view.class == FAILURE_TERMINATED))
		ray_failure_add_missing(
			f, "who sent the signal",
			"the pod's events (a failed probe?) and the node's kernel log");
}

/* Adds the sources that saw the end as evidence. */
static void look(struct death *d)
{
	if (d->never_ran)
		podview_not_started(d->pod, d->container, d->terminated, &d->view);
	else if (!d->lost) {
		read_report(d);
		read_node(d);
		podview_classify(d->pod, d->container, d->terminated, d->current, &d->view);
		death_doubt_unsigned(d);
	}
}

/* Returns whether the node agent may have proof of a SIGKILL that nobody has reported. */
static bool may_come_from_node(const struct death *d, const struct ray_failure *f)
{
	return !death_is_reported(d) && !d->never_ran && !d->lost && !d->view.lost &&
	       is_ray_container(d) && f->container_id &&
	       f->exit_code == EXIT_CODE_OF_SIGNAL(SIGKILL) &&
	       (f->class == FAILURE_KERNEL_OOM_CONTAINER || f->class == FAILURE_KILLED) &&
	       unmet_sidecar_was_away(d->pod, d->terminated);
}

/*
 * --- Advice where no sidecar reports -----------------------------------------------------------
 */

/*
 * KubeRay gives wait-gcs-ready 256Mi, and the submitter 1Gi, which only the template of K8sJobMode
 * changes.
 */
static const char *advice_for(const struct death *d)
{
	if (strcmp(d->container, "wait-gcs-ready") == 0)
		return "KubeRay sets the limit of wait-gcs-ready, and no pod template changes it: set ENABLE_INIT_CONTAINER_INJECTION=false "
		       "for KubeRay's operator, and wait for the GCS in an init container of your own with a larger limit";
	if (!pod_ray_container_name(d->pod))
		return "raise resources.limits.memory of this container in spec.submitterPodTemplate of the RayJob; without a template "
		       "KubeRay sets 1Gi";
	if (strcmp(d->container, SUBMITTER_CONTAINER) == 0)
		return "KubeRay sets the limit of ray-job-submitter in SidecarMode, and no template changes it: set submissionMode: K8sJobMode, "
		       "and a larger limit in spec.submitterPodTemplate";
	return "raise resources.limits.memory of this container in the pod template";
}

/* Says what the pod itself shows of an OOM kill: nothing reports on containers beside Ray's. */
static void set_advice(const struct death *d, struct ray_failure *f)
{
	const char *limit = podview_memory_limit(d->pod, d->container);
	char text[256];

	if (f->class != FAILURE_KERNEL_OOM_CONTAINER || death_is_reported(d))
		return;
	if (*limit) {
		snprintf(text, sizeof(text), "The memory limit of container %.63s is %.32s",
			 d->container, limit);
		ray_failure_set(&f->advice, advice_for(d));
	} else {
		snprintf(
			text, sizeof(text),
			"Container %.63s has no memory limit of its own: the limit of the pod or of a cgroup above it "
			"was reached, or the node had no memory left",
			d->container);
	}
	ray_failure_set(&f->diagnosis, text);
}

static void fill(const struct death *d, struct ray_failure *f)
{
	set_identity(d, f);
	set_name(d, f);
	set_verdict(d, f);
	ray_failure_take_memory(f, d->report);
	if (death_is_reported(d))
		ray_failure_take_first(f, d->report);
	ray_failure_take_notes(f, d->report);
	set_kubelet_evidence(d, f);
	set_gaps(d, f);
	set_advice(d, f);
	death_set_bundle(d, f);
	death_set_story(d, f);
	ray_failure_sign(f);
	f->from_node = d->from_node;
	f->sidecar_was_away = may_come_from_node(d, f);
}

/* Returns NULL if there is no memory, which is noted. */
static struct ray_failure *failure_new(struct death *d)
{
	struct ray_failure *failure = ray_failure_new();

	if (!failure)
		return NULL;
	look(d);
	fill(d, failure);
	cJSON_Delete(TAKE_PTR(d->report));
	return failure;
}

void failure_seal(cJSON *object)
{
	cJSON *spec = json_get(object, "spec");

	signature_set(json_str(spec, "signature"), spec);
	story_write(object);
}

/* --- What is still undecided ----------------------------------------------------------------- */

bool failure_is_open(const cJSON *pod, const struct ray_failure *f)
{
	/* The deletion of the pod is the explanation. */
	if (!ray_failure_text(f->container) || json_str(pod, "metadata.deletionTimestamp") ||
	    f->exit_code == RAY_FAILURE_NONE)
		return false;
	/*
	 * An OOM kill that is not proved may be one that the container survived until its pod was
	 * evicted.
	 */
	return (failure_class_is_oom((int)f->class) ? f->confidence != CONFIDENCE_CERTAIN :
						      is_open_question((int)f->class)) &&
	       podview_is_open(pod, f->container, ray_failure_text(f->container_id));
}

bool failure_supersedes(const struct ray_failure *later, const struct ray_failure *earlier)
{
	return later->class != FAILURE_POD_DELETED && later->class != earlier->class;
}

/*
 * --- The pod
 * --------------------------------------------------------------------------------------------
 */

static void add_death(const cJSON *pod, const cJSON *status, bool current,
		      const struct unmet_ends *unmet, int64_t now_ns, struct ray_failures *failures)
{
	const cJSON *terminated =
		json_get(status, current ? "state.terminated" : "lastState.terminated");
	bool forgotten = !current && made_up_forgotten(status);
	struct death d = {
		.pod = pod,
		.container = json_str(status, "name"),
		.terminated = terminated,
		.current = current || forgotten,
		.forgotten = !current && made_up_end(terminated),
		.restart = made_up_restart_of(pod, status, current),
		.unmet = unmet,
		.now_ns = now_ns,
	};

	if (!cJSON_IsObject(terminated) || json_int(terminated, "exitCode", 0) == 0 ||
	    (current && !made_up_had_run(status)))
		return;
	ray_failures_add(failures, failure_new(&d));
}

static void add_failed_start(const cJSON *pod, const cJSON *status, int64_t now_ns,
			     struct ray_failures *failures)
{
	const cJSON *waiting = json_get(status, "state.waiting");
	struct death d = {
		.pod = pod,
		.container = json_str(status, "name"),
		.terminated = waiting,
		.never_ran = true,
		.current = true,
		.restart = json_int(status, "restartCount", 0),
		.now_ns = now_ns,
	};

	if (podview_cannot_start(json_str(waiting, "reason")))
		ray_failures_add(failures, failure_new(&d));
}

static void add_deaths(const cJSON *pod, const cJSON *statuses, const struct unmet_ends *unmet,
		       int64_t now_ns, struct ray_failures *failures)
{
	json_each(status, statuses) {
		const char *name = json_str(status, "name");

		if (!name || strcmp(name, SIDECAR_CONTAINER) == 0)
			continue;
		add_death(pod, status, false, unmet, now_ns, failures);
		add_death(pod, status, true, unmet, now_ns, failures);
		add_failed_start(pod, status, now_ns, failures);
	}
}

int failures_from_pod_and_node(const cJSON *pod, const struct unmet_ends *unmet, int64_t now_ns,
			       struct ray_failures *failures, struct err *err)
{
	size_t lost = oom_count();

	if (object_label(pod, "ray.io/cluster")) {
		add_deaths(pod, json_get(pod, "status.initContainerStatuses"), unmet, now_ns,
			   failures);
		add_deaths(pod, json_get(pod, "status.containerStatuses"), unmet, now_ns, failures);
	}
	return oom_count() == lost ? 0 : err_set(err, ENOMEM, "failures");
}

int failures_from_pod(const cJSON *pod, int64_t now_ns, struct ray_failures *failures,
		      struct err *err)
{
	return failures_from_pod_and_node(pod, NULL, now_ns, failures, err);
}

/*
 * --- A pod that is gone
 * ----------------------------------------------------------------------------------
 */

static void add_lost(const cJSON *pod, const cJSON *status, int64_t now_ns,
		     struct ray_failures *failures)
{
	_cleanup_json_ cJSON *unknown = cJSON_CreateObject();
	const cJSON *running = json_get(status, "state.running");
	struct death d = {
		.pod = pod,
		.container = json_str(status, "name"),
		.terminated = unknown,
		.lost = true,
		.current = true,
		.restart = json_int(status, "restartCount", 0),
		.now_ns = now_ns,
	};

	if (!running || !d.container || strcmp(d.container, SIDECAR_CONTAINER) == 0 ||
	    !podview_lost(pod, d.container, &d.view))
		return;
	json_set_str(unknown, "startedAt", json_str(running, "startedAt"));
	json_set_str(unknown, "containerID", json_str(status, "containerID"));
	ray_failures_add(failures, failure_new(&d));
}

int failures_from_gone_pod(const cJSON *pod, int64_t now_ns, struct ray_failures *failures,
			   struct err *err)
{
	size_t lost = oom_count();
	int r = failures_from_pod(pod, now_ns, failures, err);

	if (r < 0)
		return r;
	if (object_label(pod, "ray.io/cluster"))
		json_each(status, json_get(pod, "status.containerStatuses"))
			add_lost(pod, status, now_ns, failures);
	return oom_count() == lost ? 0 : err_set(err, ENOMEM, "failures");
}
