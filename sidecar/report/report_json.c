/* SPDX-License-Identifier: Apache-2.0 */
/* Writes report.json, and the line of JSON in the termination message. */
#include "sidecar/report/report_json.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"

cJSON *report_json_number(int64_t value_or_absent)
{
	return value_or_absent < 0 ? cJSON_CreateNull() :
				     cJSON_CreateNumber((double)value_or_absent);
}

static void set_known(cJSON *json, const char *name, const char *text)
{
	json_set_str(json, name, text && *text ? text : NULL);
}

cJSON *report_json_time(int64_t unix_ns)
{
	return unix_ns ? cJSON_CreateString(TIME_TEXT(unix_ns)) : cJSON_CreateNull();
}

cJSON *report_json_memory(const struct memory *m, int64_t sample_age_ns)
{
	cJSON *json = cJSON_CreateObject();

	json_set(json, "limitBytes", report_json_number(m->limit));
	json_set(json, "usageBytes", report_json_number(m->usage));
	json_set(json, "peakBytes", report_json_number(m->peak));
	json_set(json, "anonBytes", report_json_number(m->anon));
	json_set(json, "fileBytes", report_json_number(m->file));
	json_set(json, "shmemBytes", report_json_number(m->shmem));
	/* A sample that was taken after the death has no age at it. */
	json_set(json, "sampleAgeMs",
		 report_json_number(sample_age_ns == -1 ? -1 : MAX(sample_age_ns, 0) / NS_PER_MS));
	return json;
}

/* Adds the members that only report.json has: the three accountings, and rarely used counters. */
static cJSON *json_memory_in_full(const struct report *r)
{
	const struct memory *m = &r->memory;
	cJSON *json = report_json_memory(m, r->sample_age_ns),
	      *accounting = json_object_at(json, "accounting");

	json_set(accounting, "kernelBytes", report_json_number(m->usage));
	json_set(accounting, "kubeletWorkingSetBytes", report_json_number(memory_kubelet(m)));
	json_set(accounting, "rayBytes", report_json_number(memory_ray(m)));
	json_set(json, "shared", cJSON_CreateBool(r->memory_shared));
	json_set(json, "kernelMemoryBytes", report_json_number(m->kernel));
	json_set(json, "swapBytes", report_json_number(m->swap));
	if (m->psi_some < 0 && m->psi_full < 0) {
		json_set_str(json, "pressure", NULL);
		return json;
	}
	cJSON *pressure = json_object_at(json, "pressure");
	json_set(pressure, "someAvg10Percent",
		 m->psi_some < 0 ? cJSON_CreateNull() :
				   cJSON_CreateNumber((double)m->psi_some / 100));
	json_set(pressure, "fullAvg10Percent",
		 m->psi_full < 0 ? cJSON_CreateNull() :
				   cJSON_CreateNumber((double)m->psi_full / 100));
	return json;
}

static cJSON *json_object_store(const struct ray_node *n)
{
	if (n->raylet <= 0)
		return cJSON_CreateNull();
	cJSON *json = cJSON_CreateObject();
	json_set(json, "budgetBytes", report_json_number(n->object_store));
	json_set(json, "shmSizeBytes", report_json_number(n->shm_size));
	json_set(json, "shmUsedBytes", report_json_number(n->shm_used));
	return json;
}

cJSON *report_json_components(const struct components *c)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < c->n; i++) {
		cJSON *json = cJSON_CreateObject();

		json_set_str(json, "kind", component_kind_name(c->list[i].kind));
		json_set_str(json, "name", c->list[i].name);
		json_set_int(json, "count", c->list[i].count);
		json_set_int(json, "bytes", c->list[i].own);
		json_set_int(json, "largestBytes", c->list[i].largest);
		json_append(array, json);
	}
	return array;
}

cJSON *report_json_processes(const struct process *top, size_t n, bool with_command)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++) {
		const struct process *p = &top[i];
		cJSON *json = cJSON_CreateObject();

		json_set_int(json, "pid", p->pid);
		json_set_str(json, "name", p->name);
		if (with_command)
			set_known(json, "command", p->command);
		json_set_int(json, "rssBytes", p->rss);
		json_set_int(json, "sharedBytes", p->shared);
		if (p->growth == GROWTH_UNKNOWN)
			json_set_str(json, "growthBytesPerSecond", NULL);
		else
			json_set_int(json, "growthBytesPerSecond", p->growth);
		json_append(array, json);
	}
	return array;
}

cJSON *report_json_evidence(const struct verdict *v)
{
	cJSON *array = cJSON_CreateArray();

	for (unsigned int i = 0; i < v->n_evidence; i++)
		json_append_pair(array, "source", v->evidence[i].source, "text",
				 v->evidence[i].text);
	return array;
}

cJSON *report_json_missing(const struct verdict *v)
{
	cJSON *array = cJSON_CreateArray();

	for (unsigned int i = 0; i < v->n_missing; i++)
		json_append_pair(array, "what", v->missing[i].what, "needs", v->missing[i].needs);
	return array;
}

static cJSON *json_lines(const char *text)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		char line[256];

		len = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)MIN(len, sizeof(line) - 1), text);
		json_append(array, cJSON_CreateString(line));
	}
	return array;
}

cJSON *report_json_process(const struct report *r, bool in_few_words)
{
	const struct verdict_process *p = &r->verdict.process;

	if (!p->name[0])
		return cJSON_CreateNull();
	cJSON *json = json_named_new(p->name);
	json_set(json, "pid", report_json_number(p->pid ? p->pid : -1));
	json_set_str(json, "signal", signal_name(p->signal));
	json_set(json, "exitCode", report_json_number(p->exit_code));
	if (p->worker_id[0])
		json_set_str(json, "workerID", p->worker_id);
	if (!in_few_words)
		json_set(json, "lastLines", json_lines(r->last_lines));
	return json;
}

cJSON *report_json_crash(const struct crash_info *c, bool in_few_words)
{
	cJSON *json, *frame;

	if (!c->known)
		return cJSON_CreateNull();
	json = cJSON_CreateObject();
	json_set_int(json, "pid", c->pid);
	json_set_int(json, "tid", c->tid);
	set_known(json, "process", c->comm);
	json_set_str(json, "signal", signal_name(c->signal));
	set_known(json, "code", c->code);
	set_known(json, "faultAddress", c->fault_address);
	if (c->function[0] || c->module[0]) {
		frame = json_object_at(json, "frame");
		set_known(frame, "function", c->function);
		set_known(frame, "module", c->module);
		set_known(frame, "offset", c->offset);
		set_known(frame, "source", c->source);
		if (!in_few_words)
			set_known(frame, "buildId", c->build_id);
	} else
		json_set_str(json, "frame", NULL);
	set_known(json, "python", c->python);
	if (in_few_words)
		return json;
	set_known(json, "executable", c->executable);
	json_set(json, "threads", report_json_number(c->threads ? (int64_t)c->threads : -1));
	set_known(json, "summary", c->sentence);
	json_set(json, "coreCut", cJSON_CreateBool(c->cut));
	json_set_int(json, "coreLeftOutBytes", c->left_out);
	return json;
}

void report_json_add_ray(const struct report *r, cJSON *json)
{
	const struct ray_error *e = &r->error;

	if (r->node.id[0])
		json_set_str(json, "rayNodeID", r->node.id);
	if (!e->name[0])
		return;
	cJSON *error = json_object_at(json, "rayError");
	json_set_str(error, "name", e->name);
	set_known(error, "nodeID", e->node_id);
	set_known(error, "workerID", e->worker_id);
	set_known(error, "actorID", e->actor_id);
	set_known(error, "ip", e->ip);
	json_set(error, "pid", report_json_number(e->pid ? e->pid : -1));
}

cJSON *report_json_of_snapshot(const struct report *r)
{
	cJSON *json = cJSON_CreateObject();

	json_set_str(json, "sentence", r->verdict.sentence);
	json_set(json, "memory", report_json_memory(&r->memory, r->sample_age_ns));
	json_set(json, "processes", report_json_processes(r->top, r->n_top, false));
	return json;
}

cJSON *report_json_of_verdict(const struct report *r)
{
	const struct verdict *v = &r->verdict;
	cJSON *json = cJSON_CreateObject();

	json_set_str(json, "class", failure_class_name(v->class));
	json_set_str(json, "confidence", confidence_name(v->confidence));
	json_set_str(json, "sentence", v->sentence);
	json_set(json, "exitCode", report_json_number(v->exit_code));
	json_set_str(json, "signal", signal_name(v->signal));
	return json;
}

cJSON *report_json_of_worker(const struct report *r, const struct ray_finding *finding)
{
	cJSON *json = report_json_of_verdict(r);

	json_set(json, "pid", report_json_number(finding->event.pid ? finding->event.pid : -1));
	set_known(json, "task", finding->event.task);
	set_known(json, "detail", finding->event.detail);
	set_known(json, "bundle", r->bundle);
	return json;
}

cJSON *report_json_of_workers(const struct ray_summary *s, const char *text)
{
	cJSON *json = cJSON_CreateObject();

	json_set_str(json, "sentence", text);
	json_set_int(json, "killedByRay", s->memory_kills);
	json_set_int(json, "killedByKernel", s->kernel_kills);
	json_set_int(json, "crashed", s->crashes);
	json_set_int(json, "filesExhausted", s->fds_exhausted);
	json_set_int(json, "seconds", s->span_ns / NS_PER_SEC);
	return json;
}

static cJSON *json_repeats(const struct keeping *k)
{
	if (!k->repeats)
		return cJSON_CreateNull();
	cJSON *json = cJSON_CreateObject();
	json_set_int(json, "count", (int64_t)k->repeats);
	json_set(json, "since", report_json_time(k->repeats_since_unix_ns));
	json_set(json, "reportOnly", cJSON_CreateBool(k->report_only));
	return json;
}

static cJSON *json_dropped(const struct keeping *k)
{
	if (!k->dropped_cores && !k->dropped_files && !k->dropped_bundles)
		return cJSON_CreateNull();
	cJSON *json = cJSON_CreateObject();
	json_set_int(json, "cores", (int64_t)k->dropped_cores);
	json_set_int(json, "files", (int64_t)k->dropped_files);
	json_set_int(json, "bundles", (int64_t)k->dropped_bundles);
	return json;
}

static cJSON *json_crash(const struct report *r)
{
	cJSON *json = report_json_crash(&r->crash, false);

	if (r->crash.known)
		json_set_str(json, "coresPrefix", report_cores_prefix(r));
	return json;
}

void report_to_json(const struct report *r, struct strbuf *out)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();
	const struct verdict *v = &r->verdict;
	_cleanup_free_ char *text = NULL;

	json_set_str(json, "apiVersion", "afterglow.dev/v1alpha1");
	json_set_str(json, "kind", "Report");
	json_set_str(json, "class", failure_class_name(v->class));
	json_set_str(json, "confidence", confidence_name(v->confidence));
	json_set_str(json, "sentence", v->sentence);
	set_known(json, "signature", r->signature);
	json_set(json, "exitCode", report_json_number(v->exit_code));
	json_set_str(json, "signal", signal_name(v->signal));
	json_set(json, "containerLives", cJSON_CreateBool(r->container_lives));
	json_set(json, "process", report_json_process(r, false));
	report_json_add_ray(r, json);
	if (r->node.session[0]) {
		json_set_str(json, "raySession", r->node.session);
		json_set(json, "rayHead", cJSON_CreateBool(r->node.head));
	}
	set_known(json, "namespace", r->id.namespace);
	set_known(json, "cluster", r->id.cluster);
	set_known(json, "pod", r->id.pod);
	set_known(json, "podUID", r->id.pod_uid);
	set_known(json, "node", r->id.node);
	json_set_str(json, "container", r->id.container);
	json_set(json, "startedAt", report_json_time(r->started_unix_ns));
	json_set(json, "endedAt", report_json_time(r->ended_unix_ns));
	json_set(json, "memory", json_memory_in_full(r));
	json_set(json, "objectStore", json_object_store(&r->node));
	json_set(json, "components", report_json_components(&r->components));
	json_set(json, "processes", report_json_processes(r->top, r->n_top, true));
	json_set(json, "crash", json_crash(r));
	if (r->still_running)
		json_set_str(json, "stillRunning", r->still_running);
	json_set(json, "evidence", report_json_evidence(v));
	json_set(json, "missing", report_json_missing(v));
	set_known(json, "diagnosis", r->diagnosis);
	set_known(json, "advice", r->advice);
	json_set(json, "repeats", json_repeats(&r->keeping));
	json_set(json, "dropped", json_dropped(&r->keeping));
	set_known(json, "bundle", r->bundle);
	text = cJSON_Print(json);
	if (text) {
		strbuf_adds(out, text);
		strbuf_addc(out, '\n');
	}
}
