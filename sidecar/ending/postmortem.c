/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a report from what was observed, and writes it into its bundle. */
#include "sidecar/ending/postmortem.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ending/gather.h"
#include "sidecar/ending/memory_needs.h"
#include "sidecar/ending/page.h"
#include "sidecar/ray/ray_last_lines.h"
#include "sidecar/report/command_words.h"
#include "sidecar/report/diagnose.h"
#include "sidecar/report/report_json.h"
#include "sidecar/store/bundle.h"
#include "sidecar/verdict/at_limit.h"
#include "sidecar/verdict/classify.h"
#include "sidecar/verdict/memory_high.h"
#include "sidecar/verdict/oom_cause.h"
#include "sidecar/verdict/ray_process_verdict.h"
#include "sidecar/watch/gpu_words.h"
#include "sidecar/watch/spill_watch.h"

#define SAMPLES_FILE_MAX (4 << 20)
/* For each step of the reading. No launcher waits for the report of a process. */
#define READ_WITHIN_NS (300 * NS_PER_MS)
#define READ_OF_LIVING_WITHIN_NS (2 * NS_PER_SEC)
#define GATHER_WITHIN_NS (2 * NS_PER_SEC) /* for all of Ray's logs, or all collected files */
#define LIGHT_ROOM ((int64_t)512 << 10)

static int64_t to_unix_ns(int64_t boottime_ns)
{
	return boottime_ns ? now_realtime_ns() - (now_boottime_ns() - boottime_ns) : 0;
}

static int64_t to_boottime_ns(int64_t unix_ns)
{
	return now_boottime_ns() - (now_realtime_ns() - unix_ns);
}

/*
 * Adds to s the peak from the counters after the death, and also the limit if there was no sample.
 */
static struct snapshot with_counters(struct snapshot s, const struct ending *e)
{
	if (!e->after_known)
		return s;
	s.memory.peak = MAX(s.memory.peak, e->after.peak);
	if (!s.at_ns) {
		s.memory.limit = e->after.limit;
		s.memory.own_limit = e->after.own_limit;
	}
	return s;
}

/*
 * Fills in the limit that ran out. If it is that of a cgroup below, its own usage is known. If only
 * the kernel log names the cgroup, only the limit is known.
 */
static void use_limit_of_verdict(struct report *r, const struct cgroup_limit *limit)
{
	if (r->verdict.limit <= 0 || r->verdict.limit == r->memory.limit)
		return;
	r->memory.limit = r->verdict.limit;
	if (limit && limit->limit == r->verdict.limit && limit->usage >= 0) {
		r->memory.usage = MAX(limit->usage, limit->peak);
		r->memory.peak = limit->peak;
		r->memory_of_part = limit->place != CGROUP_LIMIT_ABOVE;
	}
}

/* Returns -1 if the limit that was met is perhaps none of the container's. */
static int64_t limit_that_was_met(const struct cgroup_limit *other, const struct memory *m)
{
	if (other)
		return other->place == CGROUP_LIMIT_ABOVE ? -1 : other->limit;
	return oom_peak_met(m->peak, m->limit) ? m->limit : -1;
}

/* Finds the processes that ran before the OOM kill and are gone now. */
static void find_victims(struct observer *o, const struct ending *e, const struct snapshot *last,
			 struct observation *seen)
{
	bool killed =
		o->oom_seen_ns || (e->after_known && e->after.oom_kill > o->baseline.oom_kill);
	bool by_kill = e->status_known && WIFSIGNALED(e->wait_status) &&
		       WTERMSIG(e->wait_status) == SIGKILL;
	int64_t limit = limit_that_was_met(seen->cgroup_limit, &last->memory);
	const struct process *largest;
	bool guessed;

	seen->latest = o->latest_ns ? o->latest : (struct memory)MEMORY_ABSENT;
	seen->latest_age_ns = o->latest_ns ? MAX(e->ended_ns - o->latest_ns, 0) : -1;
	seen->processes = last->n_processes;
	seen->zombies = last->zombies;
	seen->command_pid = o->command;
	seen->command_rss = observer_command_rss(o, last);
	/* Without the launcher all other processes ended with it. */
	seen->others_ended = e->container_lives || !e->status_known || !killed ||
			     observer_others_ended(o, last, e->ended_ns);
	if (e->after_known && e->after.oom_kill > o->baseline.oom_kill)
		observer_find_victim(o, last, e->ended_ns,
				     e->status_known && !by_kill ? o->command : 0);
	if (killed && !e->container_lives && !e->status_known && !o->cgroup_shared && !e->gap) {
		/*
		 * The launcher was killed, so all were. The report is made while the kernel still
		 * kills them: which are gone by now is chance, and the kernel begins with the
		 * largest.
		 */
		largest = o->oom_seen_ns && o->before_oom.n_top ? &o->before_oom.top[0] :
			  last->n_top				? &last->top[0] :
								  NULL;
		seen->victim = largest ? largest->name : NULL;
		seen->victim_pid = largest ? largest->pid : 0;
		return;
	}
	if (!o->victim[0])
		return;
	/* A SIGKILL ended the command about then, however small it was at the last look. */
	guessed = !(by_kill && o->victim_pid == o->command) &&
		  snapshot_is_from_before(last, limit, o->victim_pid);
	seen->victim = guessed ? NULL : o->victim;
	seen->victim_pid = o->victim_pid;
	seen->victim_rss = o->victim_rss;
}

/* Reads the kernel log. Returns true if it has to decide, and a line may still come. */
static bool look_into_kernel_log(struct observer *o, const struct ending *e,
				 const struct snapshot *last, struct observation *seen)
{
	bool killed = e->status_known && WIFSIGNALED(e->wait_status) &&
		      WTERMSIG(e->wait_status) == SIGKILL;
	bool counted = e->after_known && e->after.oom_kill > o->baseline.oom_kill;
	int64_t at_ns = e->gap ? to_boottime_ns(e->gap->until_unix_ns) : e->ended_ns;

	/*
	 * A clean exit is no failure, whatever the log contains, and reading all of the log takes
	 * the kernel a millisecond.
	 */
	if (e->status_known && e->wait_status == 0 && !o->kernel.options.off) {
		seen->kernel = KERNEL_EVIDENCE_ABSENT;
		seen->kernel.needs = NULL;
		return false;
	}
	kernel_log_look(&o->kernel, at_ns, last->top, last->n_top, &seen->kernel);
	return killed && !seen->kernel.needs && !seen->kernel.oom &&
	       (counted || seen->cgroup_unseen);
}

/* Finds how the worker ended whose death Ray logged. */
static void find_worker_end(const struct observer *o, const struct ending *e,
			    struct observation *seen)
{
	const struct watched_end *end =
		e->ray ? worker_watch_end_of(&o->workers, e->ray->event.pid, e->ray->at_ns) : NULL;

	seen->worker_ended = end != NULL;
	seen->worker_status = end && end->status_known ? end->wait_status : -1;
}

/*
 * Returns whose last lines the report needs: those of the process that ended first, or of a worker.
 * Those of a driver hold the exception that ended it. Returns false if it needs none.
 */
static bool last_lines_of(const struct postmortem *p, const struct verdict *v,
			  struct ray_process_life *ret_life)
{
	const struct ending *e = p->ending;
	const char *first = v->process.name;
	struct ray_process_life life = { .kind = ray_process_of_type(first, strlen(first)) };

	if (life.kind == RAY_PROCESS_NONE && e->ray && e->ray->event.kind == RAY_WORKER_CRASH)
		life.pid = e->ray->event.pid;
	if (life.kind == RAY_PROCESS_RAYLET)
		life.pid = v->process.pid;
	if (e->process && e->process->started_ns) {
		life.from_unix_ns = to_unix_ns(e->process->started_ns);
		life.until_unix_ns = to_unix_ns(e->process->ended_ns);
	}
	*ret_life = life;
	return life.kind != RAY_PROCESS_NONE || life.pid;
}

static void add_last_lines(struct postmortem *p, struct report *r)
{
	struct ray_process_life life;

	memcpy(r->last_lines, p->last_lines, sizeof(r->last_lines));
	if (!last_lines_of(p, &r->verdict, &life) || life.kind != RAY_PROCESS_DRIVER)
		return;
	r->error = p->error;
	ray_driver_stopped_verdict(&p->seen, r->last_lines, &r->verdict);
	snprintf(p->seen.exception, sizeof(p->seen.exception), "%s", r->error.line);
	if (r->error.name[0])
		ray_error_verdict(&r->error, &r->verdict);
	else if (ray_last_exception(r->last_lines, p->seen.exception))
		verdict_add_evidence(&r->verdict, "driver's log", "%s", p->seen.exception);
	else if (!r->last_lines[0])
		verdict_add_missing(
			&r->verdict, "what the driver wrote",
			"one job at a time: Ray's logs do not say whose driver wrote them");
}

#define FILES_SHOW "what the container's files show"
#define FILES_NEED "filesystems in the container that answer; one of them did not"

static void add_what_hangs(struct observer *o, const struct ending *e, struct verdict *v)
{
	if (ray_watch_hangs(o->ray))
		verdict_add_missing(v, "Ray's logs", POSTMORTEM_LOGS_NEED);
	if (e->limits_are_late || errand_busy(&o->files))
		verdict_add_missing(v, FILES_SHOW, FILES_NEED);
}

bool postmortem_look(struct postmortem *p)
{
	struct observer *o = p->observer;
	const struct ending *e = p->ending;
	const struct snapshot sampled =
		e->ray ? *ray_watch_snapshot(o->ray, &o->last, &o->previous, e->ray->event.pid) :
			 observer_last_of_life(o, e->ended_ns);

	p->last = e->ray ? sampled : with_counters(sampled, e);
	p->limit = cgroup_watch_limit(&o->cgroups, &p->last.memory);
	p->gpu = (struct gpu_error){ .kind = GPU_ERROR_NONE };
	p->seen = (struct observation){
		.container = p->container,
		.pod = p->options->id.pod,
		.container_lives = e->container_lives,
		.status_known = e->status_known,
		.wait_status = e->wait_status,
		.unstarted = e->unstarted,
		.ran_ns = e->ended_ns - e->started_ns,
		.cgroup_version = o->memcg.version,
		.cgroup_shared = o->cgroup_shared,
		.cgroup_unseen = o->cgroup_unseen ? o->cgroup_unseen :
						    cgroup_watch_unseen(&o->cgroups, e->ended_ns,
									!e->process && !e->ray),
		.cgroup_limit = p->limit,
		.isolation =
			cgroup_watch_isolation(&o->cgroups, &p->isolation) ? &p->isolation : NULL,
		.isolation_logged = ray_watch_isolation(o->ray, e->ended_ns),
		.before = o->baseline,
		.after = e->after,
		.after_known = e->after_known,
		.last = p->last.memory,
		/* The cgroup is as old as the container, unless other containers used it before. */
		.peak_met_age_ns = o->limit_met_ns ?
					   e->ended_ns - MAX(o->limit_met_ns,
							     o->cgroup_shared ? 0 : e->started_ns) :
					   -1,
		.least_usage = o->least_usage,
		.oom_age_ns = o->oom_seen_ns ? MAX(e->ended_ns - o->oom_seen_ns, 0) : -1,
		.oom_span_ns = o->oom_seen_ns ? MAX(o->oom_last_ns - o->oom_seen_ns, 0) : 0,
		.limits_before = o->limits,
		.limits = e->limits,
		.group_unsurvived =
			!e->container_lives && !e->status_known && !e->gap && o->group_seen_ns,
		.group_ended_by_us = e->group_ended_by_us,
		.pod_terminating = e->pod_terminating,
		.asked = e->asked,
		.gap = e->gap,
		.crash = e->crash,
		.core_needs = e->core_needs,
		.core_is_old = e->core_is_old,
		.core_is_unproved = e->core_is_unproved,
		.core_pid_lives = e->core_pid_lives,
		.container_over = e->container_over,
		.ended_ns = e->ended_ns,
		.watched_ends = o->workers.ends,
		.n_watched_ends = ARRAY_SIZE(o->workers.ends),
		.unread_end = o->workers.unread,
		.unread_held = snapshot_held(o->oom_seen_ns ? &o->before_oom : &sampled,
					     o->workers.unread.pid),
		.ends = o->processes.ends,
		.n_ends = o->processes.n_ends,
		.process_words = ray_watch_process_words(o->ray),
		.ray_start =
			process_watch_lived_until(&o->processes, RAY_PROCESS_START, e->ended_ns),
		.process = e->process,
		.process_oom_ns = e->process_oom_ns,
		.process_oom_reported = e->process_oom_reported,
		.spilled = o->spill ?
				   spill_watch_evidence(o->spill, p->spilled, sizeof(p->spilled)) :
				   NULL,
		.has_raylet = o->node.raylet > 0,
		.gpu_error = &p->gpu,
		.launcher_pid = o->launcher,
		.signals = p->signals,
		.n_signals = node_signals_list(&o->signals, p->signals),
		.ray_seen = e->ray && snapshot_has(&sampled, e->ray->event.pid),
		.ray = e->container_lives ? e->ray : ray_watch_last_words(o->ray, e->ended_ns),
	};

	if (o->counts_from_start)
		p->seen.limits_before.processes_refused = 0;
	if (e->container_lives)
		p->seen.limits_before.processes_refused =
			MAX(p->seen.limits_before.processes_refused, o->refused_told);
	p->seen.last_age_ns = p->last.at_ns && !e->gap ? MAX(e->ended_ns - p->last.at_ns, 0) : -1;
	find_victims(o, e, &p->last, &p->seen);
	find_worker_end(o, e, &p->seen);
	p->line_is_late = look_into_kernel_log(o, e, &p->last, &p->seen);
	p->looked = true;
	return p->line_is_late;
}

static void report_make(struct postmortem *p)
{
	const struct ending *e = p->ending;
	const struct record_options *options = p->options;
	struct observer *o = p->observer;
	struct snapshot *last = &p->last;
	struct report r = { .id = options->id,
			    .memory = last->memory,
			    .sample_age_ns =
				    last->at_ns && !e->gap ? e->ended_ns - last->at_ns : -1,
			    .n_top = last->n_top };

	classify(&p->seen, &r.verdict);
	add_last_lines(p, &r);
	signature_of(&p->seen, &r.verdict, last->n_top ? last->top[0].name : "", r.signature);
	use_limit_of_verdict(&r, p->limit);
	if (r.verdict.class != FAILURE_COMPLETED) {
		at_limit_of_history(o->history, &r.verdict);
		r.slowed_ns = memory_high_of_history(o->history, &r.verdict);
	}

	r.id.container = p->container;
	r.container_lives = e->container_lives;
	if (e->crash) {
		r.crash = *e->crash;
		r.backtrace = e->backtrace;
	}
	add_what_hangs(o, e, &r.verdict);
	r.started_unix_ns = to_unix_ns(e->started_ns) + o->unix_shift_ns;
	r.ended_unix_ns = to_unix_ns(e->ended_ns) + o->unix_shift_ns;
	memcpy(r.top, last->top, sizeof(r.top));
	r.n_processes = last->n_processes;
	r.components = last->components;
	report_leave_out_launcher(&r);
	r.zombies = last->zombies;
	r.machine = last->machine;
	/* Far from the memory limit the samples do not read it. */
	if (r.verdict.class == FAILURE_FILE_DESCRIPTORS_EXHAUSTED && !last->large.pid &&
	    last->n_top)
		large_process_read(o->root_fd, last->top[0].pid, &last->large);
	r.large = last->large;
	if (last->large.started_ns)
		r.large_age_ns = MAX(e->ended_ns - last->large.started_ns, 0);
	r.node = o->node;
	r.node.shm_used = last->at_ns ? last->shm_used : -1;
	r.warn_at = options->warn_at;
	r.shmem_at_start = o->shmem_at_start;
	if (r.n_top)
		trend_of_process(o->history, r.top[0].pid, &r.trend);
	r.still_running = e->still_running;
	r.stacks = e->stacks;
	r.of_command = options->own_launcher;
	r.left_behind = options->left_behind;
	r.of_slurm = r.of_command && options->slurm && !options->own_memcg;
	r.memory_shared = r.of_command && o->cgroup_shared;
	report_diagnose(&r);
	/* A death for lack of memory has a diagnosis of its own. */
	if (r.still_running && !strstr(r.diagnosis, r.still_running))
		verdict_add_evidence(&r.verdict, "stacks", "%s.", r.still_running);
	if (r.of_command)
		report_use_command_words(&r);
	*p->report = r;
}

/* --- The reading, in a child that has a copy of all that is known --- */

static bool reads_gpu_words(const struct postmortem *p)
{
	return !p->ending->container_lives && !p->ending->gap;
}

static void report_send(int fd, struct postmortem *p)
{
	report_make(p);
	errand_send(fd, p->report, sizeof(*p->report), -1);
}

static void postmortem_read(int fd, void *arg)
{
	struct postmortem *p = arg;
	struct observer *o = p->observer;
	struct ray_process_life life;
	int logs_fd = ray_watch_hangs(o->ray) ? -1 : ray_watch_logs_dir(o->ray);

	if (p->limits_of) {
		limits_read(o->root_fd, p->limits_of, &o->limits, &p->seen.limits);
		errand_send(fd, &p->seen.limits, sizeof(p->seen.limits), -1);
	}
	if (logs_fd >= 0 && reads_gpu_words(p))
		gpu_words_at_end(logs_fd, to_unix_ns(p->ending->ended_ns), &p->gpu);
	report_send(fd, p);
	if (logs_fd < 0 || !last_lines_of(p, &p->report->verdict, &life))
		return;
	ray_last_lines(logs_fd, &life, p->last_lines, sizeof(p->last_lines), &p->error);
	report_send(fd, p);
}

/* The report that the child has made takes the place of ours. */
static void postmortem_take(const void *data, size_t len, int *, void *arg)
{
	struct postmortem *p = arg;
	struct observer *o = p->observer;
	struct limits limits;

	background_limit(&p->child, p->within_ns);
	if (len == sizeof(*p->report))
		memcpy(p->report, data, len);
	else if (len == sizeof(limits)) {
		memcpy(&limits, data, len);
		o->refused_told = MAX(o->refused_told, limits.processes_refused);
	}
}

static void postmortem_unread(struct postmortem *p, const char *needs)
{
	if (!p->late_is_said)
		verdict_add_missing(&p->report->verdict, FILES_SHOW, needs);
	if (p->report->of_command)
		report_use_command_words(p->report);
}

static void postmortem_read_over(bool in_time, void *arg)
{
	struct postmortem *p = arg;

	if (!in_time) {
		observer_leave_errand(p->observer, &p->child.errand);
		postmortem_unread(p, FILES_NEED);
	}
	p->done(p->arg);
}

bool postmortem_report(struct postmortem *p)
{
	struct observer *o = p->observer;
	struct kernel_evidence first;
	struct ray_process_life life;

	if (!p->looked)
		postmortem_look(p);
	else if (p->line_is_late) {
		first = p->seen.kernel;
		look_into_kernel_log(o, p->ending, &p->last, &p->seen);
		if (!p->seen.kernel.oom)
			p->seen.kernel = first;
	}
	p->child = BACKGROUND_NONE;
	report_make(p);
	bool has_words = ray_watch_logs_dir(o->ray) >= 0 && !ray_watch_hangs(o->ray) &&
			 (reads_gpu_words(p) || last_lines_of(p, &p->report->verdict, &life));
	p->within_ns = p->ending->container_lives ? READ_OF_LIVING_WITHIN_NS : READ_WITHIN_NS;
	p->late_is_said = p->ending->limits_are_late;
	if (!p->base || !(has_words || p->limits_of) || errand_busy(&o->files))
		return false;
	if (background_start(&p->child, p->base, postmortem_read, p, p->within_ns, postmortem_take,
			     postmortem_read_over, p, NULL) < 0) {
		postmortem_unread(p, "a process that reads them: one more could not be started, as "
				     "when ulimit -u or pids.max is met");
		return false;
	}
	p->ending = NULL; /* the child has its copy, and ours may go */
	return true;
}

/* Writes samples.jsonl: one line for each sample, with times relative to the end. */
struct sample_lines {
	struct strbuf text;
	int64_t unix_shift_ns;
};

static void add_sample_line(const struct sample *s, void *arg)
{
	struct sample_lines *lines = arg;
	_cleanup_json_ cJSON *json = cJSON_CreateObject();
	_cleanup_free_ char *text = NULL;
	cJSON *top = cJSON_CreateArray();

	json_set(json, "time", report_json_time(to_unix_ns(s->at_ns) + lines->unix_shift_ns));
	json_set(json, "memory", report_json_memory(&s->memory, -1));
	cJSON_DeleteItemFromObject(json_get(json, "memory"), "sampleAgeMs");
	json_set_int(json, "processCount", s->n_processes);
	for (uint32_t i = 0; i < s->n_top; i++) {
		cJSON *p = cJSON_CreateObject();

		json_set_int(p, "pid", s->top[i].pid);
		json_set_str(p, "name", s->top[i].name);
		json_set_int(p, "rssBytes", s->top[i].rss);
		json_set_int(p, "sharedBytes", s->top[i].shared);
		json_append(top, p);
	}
	json_set(json, "processes", top);
	text = cJSON_PrintUnformatted(json);
	if (text)
		strbuf_addf(&lines->text, "%s\n", text);
}

static int add_text(struct bundle *b, const char *file, const struct strbuf *text, struct err *err)
{
	/* If the text reached its ceiling, its beginning is kept. */
	return bundle_add(b, file, strbuf_str(text), text->len, err);
}

/*
 * What else goes into a bundle. Each function adds its files, or an entry to the report's list of
 * what is missing. Each limits its bytes and its time. The container may be gone, but its root can
 * still be read through o->root_fd.
 */
static const struct {
	gather_fn gather;
	/*
	 * The directory of its files, if a filesystem in the container may block it; NULL: nothing
	 * can.
	 */
	const char *directory;
	const char *what, *needs; /* what is missing if it did not answer */
} gatherers[] = {
	{ gather_crash, NULL, NULL, NULL },
	{ gather_hooks, NULL, NULL, NULL },
	{ gather_kernel_log, NULL, NULL, NULL },
	{ gather_ray_words, NULL, NULL, NULL },
	{ gather_ray_logs, "logs", "Ray's logs", POSTMORTEM_LOGS_NEED },
	{ gather_collected, "collected", "the files that were to be collected",
	  "filesystems that answer, where the patterns of --collect lead: one did not" },
};

static void gather_all(struct bundle *b, struct report *r, const struct observer *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(gatherers); i++) {
		if (!gatherers[i].directory)
			gatherers[i].gather(b, o, r);
		else if (errand_try(GATHER_WITHIN_NS)) {
			gatherers[i].gather(b, o, r);
			errand_tried();
		} else {
			bundle_drop_directory(b, gatherers[i].directory);
			verdict_add_missing(&r->verdict, gatherers[i].what, gatherers[i].needs);
		}
	}
	if (r->of_command)
		report_use_command_words(r);
}

/* Adds the report alone, which says that nothing else was kept. */
static int fill_light(struct bundle *b, struct report *r, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX);
	_cleanup_strbuf_ struct strbuf json = STRBUF_INIT(REPORT_JSON_MAX);

	report_to_text(r, &text);
	report_to_json(r, &json);
	int rc = add_text(b, "report.txt", &text, err);
	return rc < 0 ? rc : add_text(b, "report.json", &json, err);
}

static int fill_bundle(struct bundle *b, struct report *r, const struct observer *o,
		       struct err *err)
{
	struct sample_lines lines = { STRBUF_INIT(SAMPLES_FILE_MAX), o->unix_shift_ns };
	_cleanup_json_ cJSON *processes = report_json_processes(r->top, r->n_top, true);
	_cleanup_free_ char *processes_text = cJSON_Print(processes);
	_cleanup_json_ cJSON *needs = memory_needs_json(o);
	_cleanup_free_ char *needs_text = cJSON_Print(needs);

	gather_all(b, r, o);
	history_each(o->history, add_sample_line, &lines);
	int rc = fill_light(b, r, err);
	if (rc >= 0 && processes_text)
		rc = bundle_add(b, "processes.json", processes_text, strlen(processes_text), err);
	if (rc >= 0 && needs_text && cJSON_IsObject(needs))
		rc = bundle_add(b, "task-memory.json", needs_text, strlen(needs_text), err);
	if (rc >= 0)
		rc = add_text(b, "samples.jsonl", &lines.text, err);
	if (rc >= 0)
		rc = page_add(b, r, o->history, to_boottime_ns(r->ended_unix_ns - o->unix_shift_ns),
			      err);
	strbuf_release(&lines.text);
	return rc;
}

/* Makes NAMESPACE/CLUSTER/POD.UID8/CONTAINER in a cluster, and local/NAME outside. */
void postmortem_parent_path(const struct identity *id, char *path, size_t size)
{
	char parts[4][256] = { "", "", "", "" };

	snprintf(parts[3], sizeof(parts[3]), "%s", id->container);
	bundle_sanitize(parts[3]);
	if (!id->namespace) {
		snprintf(path, size, "local/%s", parts[3]);
		return;
	}
	snprintf(parts[0], sizeof(parts[0]), "%s", id->namespace);
	snprintf(parts[1], sizeof(parts[1]), "%s", id->cluster ? id->cluster : "no-cluster");
	snprintf(parts[2], sizeof(parts[2]), "%s.%.8s", id->pod ? id->pod : "no-pod",
		 id->pod_uid ? id->pod_uid : "");
	for (size_t i = 0; i < 3; i++)
		bundle_sanitize(parts[i]);
	snprintf(path, size, "%s/%s/%s/%s", parts[0], parts[1], parts[2], parts[3]);
}

/* Makes a name such as 20261121T012906.324Z-KernelOOMContainer. */
static void bundle_name(const struct report *r, char *name, size_t size)
{
	char when[TIME_TEXT_MAX];
	size_t n = 0;

	time_format(r->ended_unix_ns, when);
	for (const char *p = when; *p; p++)
		if (*p != '-' && *p != ':')
			when[n++] = *p;
	when[n] = '\0';
	snprintf(name, size, "%s-%s", when, failure_class_name(r->verdict.class));
}

/* Reports the bundle's name. The bundle is about to become visible, or there will be none. */
static void tell_name(const struct observer *o, const struct report *r)
{
	if (o->naming)
		o->naming(r, o->naming_arg);
}

static int keep_in(struct report *r, const struct observer *o, const char *directory,
		   const char *called, int64_t room, struct err *err)
{
	char parent[BUNDLE_PATH_MAX], name[128];
	struct bundle *b;

	postmortem_parent_path(&r->id, parent, sizeof(parent));
	bundle_name(r, name, sizeof(name));
	int rc = bundle_begin(directory, parent, name, &b, err);
	if (rc < 0)
		return rc;
	bundle_set_room(b, room);
	/* The report contains its own place. */
	snprintf(r->bundle, sizeof(r->bundle), "%s/%s", called, bundle_path(b));
	snprintf(r->directory, sizeof(r->directory), "%s/%s", directory, bundle_path(b));
	rc = r->keeping.report_only ? fill_light(b, r, err) : fill_bundle(b, r, o, err);
	if (rc < 0)
		bundle_abort(b);
	else {
		tell_name(o, r);
		rc = bundle_commit(b, err);
	}
	if (rc < 0)
		r->bundle[0] = r->directory[0] = '\0';
	return rc;
}

int postmortem_keep(struct report *report, const struct observer *o,
		    const struct record_options *options, const char *directory,
		    struct spool *spool, struct err *err)
{
	const char *called = record_options_store_name(options);
	int64_t room = spool ? spool_room(spool) : INT64_MAX;
	struct err local = { 0 };

	if (!err)
		err = &local;
	if (!directory)
		return 0;
	if (spool && spool_admit(spool, report) == KEEP_COUNT) {
		tell_name(o, report);
		return 0;
	}
	int rc = keep_in(report, o, directory, called, room, err);
	if (rc < 0 && spool) {
		/*
		 * Something else has filled the disk meanwhile, or the disk fails. The report alone
		 * takes a few pages.
		 */
		if (rc == -ENOSPC || rc == -EDQUOT)
			spool_make_room(spool, LIGHT_ROOM);
		log_warning("%s: only the report is kept: %s", report->id.container, err_text(err));
		verdict_add_missing(
			&report->verdict, "all but this report",
			"room on the disk that bundles are written to, and a sound one");
		report->keeping.report_only = true;
		err->code = 0;
		rc = keep_in(report, o, directory, called, 0, err);
	}
	report->keeping.spooled = rc >= 0 && record_options_ships(options);
	return rc;
}
