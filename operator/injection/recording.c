/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether and how a Ray pod gets the sidecar. */
#include "operator/injection/recording.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"
#include "lib/strbuf.h"
#include "operator/injection/inject.h"
#include "operator/injection/inject_annotations.h"
#include "operator/injection/launch_command.h"
#include "operator/injection/report_key.h"
#include "operator/injection/store_secrets.h"
#include "operator/podspec/notes.h"
#include "operator/podspec/pod_spec.h"

static const struct {
	const char *name, *refusal;
} reasons[RECORDING_COUNT] = {
#define RECORDING(id, name, refusal) { name, refusal },
#include "operator/injection/recording.def"
#undef RECORDING
};

const char *recording_name(enum recording recording)
{
	return reasons[recording].name;
}

static bool is_for_windows(const cJSON *pod_spec)
{
	return json_is(pod_spec, "os.name", "windows") ||
	       TEXT_IS_ONE_OF(json_member(json_get(pod_spec, "nodeSelector"), "kubernetes.io/os"),
			      "windows");
}

/*
 * Returns whether a word leaves its process to the command behind it: an option, env. No command
 * begins with "fi".
 */
static bool hands_over(const char *word)
{
	return *word == '-' || *word == '$' || strchr(word, '=') ||
	       TEXT_IS_ONE_OF(word, "exec", "env", "busybox", "sh", "ash", "bash", "dash", "then",
			      "else", "fi");
}

/*
 * Returns whether the Ray container's command, or the last one in its line of shell, is an init
 * system that ends at once if it is not process 1, which the launcher would be: that of s6-overlay
 * (/init), systemd, and others of the same name.
 */
static bool must_be_process_1(const cJSON *ray)
{
	static const char *const lists[] = { "command", "args" };
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT(16384);
	bool begins = true, shell = false, init = false;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_each(word, json_get(ray, lists[i]))
			strbuf_addf(&line, "%s ", cJSON_IsString(word) ? word->valuestring : "");
	for (const char *p = strbuf_str(&line); *p; p++) {
		size_t len = strcspn(p, " \t\n\"'/;&|");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word)), p);
		p += len; /* a space is the last */
		shell = shell || (begins && TEXT_IS_ONE_OF(word, "sh", "ash", "bash", "dash"));
		if (len > 0 && begins && *p != '/' && !hands_over(word)) {
			init = TEXT_IS_ONE_OF(word, "init", "systemd", "s6-overlay-suexec",
					      "openrc-init", "runit-init", "runit");
			begins = false;
		}
		begins = begins || (shell && strchr(";&|\n", *p));
	}
	return init;
}

static enum recording recording_refusal(const cJSON *pod_spec, const cJSON *ray,
					const struct recording_request *r)
{
	if (!inject_wanted(r->cluster_annotations, r->pod_annotations))
		return RECORDING_OPTED_OUT;
	if (!r->policy->recording.enabled)
		return RECORDING_POLICY_OFF;
	if (!r->policy->sidecar_image || !r->launchers)
		return RECORDING_NOT_CONFIGURED;
	if (is_for_windows(pod_spec))
		return RECORDING_WINDOWS;
	if (!ray)
		return RECORDING_NO_RAY_CONTAINER;
	if (must_be_process_1(ray))
		return RECORDING_PROCESS_1;
	return inject_is_clear(pod_spec, ray) ? RECORDING_ON : RECORDING_NAME_TAKEN;
}

static void recording_note_refusal(enum recording recording, const struct recording_request *r,
				   cJSON *notes)
{
	if (recording == RECORDING_NOT_CONFIGURED)
		notes_addf(notes, NOTE_RECORDING, "NoSidecar",
			   "pods run without the sidecar: the operator has no %s",
			   r->launchers ? "sidecar image" : "launcher");
	else if (reasons[recording].refusal)
		notes_addf(notes, NOTE_RECORDING, recording_name(recording),
			   "group %s: its pods run without the sidecar: %s", r->group,
			   reasons[recording].refusal);
}

/*
 * Notes the settings that the namespace does not permit. Ray starts without them; with them it
 * would not start at all.
 */
static void note_gaps(const cJSON *pod_spec, const cJSON *ray, const struct recording_request *r,
		      cJSON *notes)
{
	const char *leak = report_key_leak(pod_spec, ray);

	if (r->policy->store.claim && r->store_claim_trouble)
		notes_addf(
			notes, NOTE_RECORDING, "StoreClaimMissing",
			"PersistentVolumeClaim %s of namespace %s %s: bundles stay in the pod and are lost with it",
			r->policy->store.claim, r->namespace, r->store_claim_trouble);
	if (r->policy->recording.kernel_log && r->kernel_log_refused)
		notes_addf(notes, NOTE_RECORDING, "KernelLogRefused",
			   "pods run without the kernel log: %s", r->kernel_log_refused);
	if (r->policy->syslog && r->kernel_log_refused)
		notes_addf(notes, NOTE_RECORDING, "SyslogRefused",
			   "pods run without the node's syslog: %s", r->kernel_log_refused);
	if (store_secrets_reader(pod_spec, r->policy))
		notes_addf(
			notes, NOTE_RECORDING, "CredentialsWithheld",
			"group %s: container %s sees the sidecar's processes and may trace them, so its pods get no "
			"credentials of the store: bundles stay in the pod and are lost with it",
			r->group, store_secrets_reader(pod_spec, r->policy));
	if (leak)
		notes_addf(notes, NOTE_RECORDING, "ReportsUnsigned",
			   "group %s: %s, so reports are not signed, and none is certain", r->group,
			   leak);
	if (json_bool(pod_spec, "hostNetwork", false))
		notes_addf(
			notes, NOTE_RECORDING, "NodeNetwork",
			"group %s: with hostNetwork the sidecar serves no HTTP, because its port may be in use on the node: processes "
			"that die while their container lives get no RayFailure; ends of containers do",
			r->group);
}

enum recording recording_apply(cJSON *pod_spec, const struct recording_request *r, cJSON *notes)
{
	struct policy policy = *r->policy;
	cJSON *ray = pod_ray_container(pod_spec, r->pod_annotations);
	struct injection in = {
		.ray = ray,
		.cluster = r->cluster,
		.wait_port = r->wait_port,
		.oom_group =
			inject_oom_group(r->cluster_annotations, r->pod_annotations, r->policy),
		.prefix = inject_prefix(r->cluster_annotations, r->pod_annotations),
		.hold_s = inject_hold(r->cluster_annotations, r->pod_annotations, r->policy),
		.store = r->policy->store.claim && !r->store_claim_trouble,
		.rules = r->rules,
		.policy = &policy,
		.launchers = r->launchers,
	};
	enum recording recording = recording_refusal(pod_spec, ray, r);

	if (r->kernel_log_refused) {
		policy.recording.kernel_log = false;
		policy.syslog = NULL; /* policy is a copy, so nothing is lost */
	}
	if (store_secrets_reader(pod_spec, r->policy))
		policy.store.url = NULL;
	if (recording == RECORDING_ON && !inject(pod_spec, &in))
		recording = RECORDING_NO_COMMAND;
	if (recording == RECORDING_ON)
		note_gaps(pod_spec, ray, r, notes);
	else
		recording_note_refusal(recording, r, notes);
	/* A cluster without the sidecar still needs workers that wait for their head. */
	if (recording != RECORDING_ON && recording != RECORDING_WINDOWS && r->wait_port)
		launch_command_wait(ray, r->wait_port);
	return recording;
}
