/* SPDX-License-Identifier: Apache-2.0 */
/* Warns about a container while it runs: its memory, its growth, and a disk that fills up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/report/command_words.h"
#include "sidecar/report/report_json.h"
#include "sidecar/verdict/stop_request.h"

#define SAY_SPACING_NS (5 * NS_PER_SEC)
#define REQUEST_PATIENCE_NS (2 * NS_PER_SEC) /* for a command that ends when it is asked to */
#define MESSAGE_WITHIN_NS (500 * NS_PER_MS) /* enough for a disk that answers */
#define LOOKS_MAX 3 /* at a termination log that grows */
#define REARM 0.05 /* a threshold counts as left when usage is this much of the limit below it */

/* --- The termination log --- */

struct message {
	int fd;
	const struct report *report; /* NULL: ours is taken away */
	bool final;
	struct message_place place; /* of our last message */
	struct message_written done;
};

/*
 * Writes behind what the container wrote there itself, which the kubelet would show without us. It
 * shows the last 4096 bytes. A file that has grown or shrunk since our last message was written by
 * the container, so all of it counts as its own. The disk is the kubelet's and may be slow, or
 * frozen.
 */
static void message_write(int fd, void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TERMINATION_MESSAGE_MAX + 1);
	struct message *m = arg;
	size_t room, looks = 0;
	char last = '\n';
	off_t size, at;

	do {
		size = lseek(m->fd, 0, SEEK_END);
		at = MAX(size == m->place.end ? m->place.begin : size, (off_t)0);
		room = TERMINATION_MESSAGE_MAX -
		       MIN((size_t)at, (size_t)TERMINATION_MESSAGE_MAX / 2);
		strbuf_reset(&text);
		if (m->report && at > 0 && pread(m->fd, &last, 1, at - 1) == 1 && last != '\n')
			strbuf_addc(&text, '\n');
		if (m->report)
			report_to_termination_message(m->report, m->final, room - text.len, &text);
		/* It may have written meanwhile: a pod that is to end asks both of us at once. */
	} while (lseek(m->fd, 0, SEEK_END) != size && ++looks < LOOKS_MAX);
	size = at + (off_t)text.len;
	bool written = pwrite(m->fd, strbuf_str(&text), text.len, at) == (ssize_t)text.len &&
		       ftruncate(m->fd, size) == 0;
	m->done = (struct message_written){ written ? 0 : errno, { at, size } };
	errand_send(fd, &m->done, sizeof(m->done), -1);
}

/*
 * The place stands in the history: a launcher that connects again, or a new sidecar, must not take
 * our message for the container's.
 */
static void message_note(struct container *c, const struct message_written *done)
{
	struct life life = *history_life(c->observer.history);

	life.message = done->place;
	history_set_life(c->observer.history, &life);
	if (done->error)
		log_warning_limited("%s: the termination message was not written: %s",
				    c->hello.name, strerror(done->error));
}

static void message_on_end(bool, void *arg)
{
	struct container *c = arg;
	_cleanup_free_ struct next_message *next = TAKE_PTR(c->next_message);
	const struct message_place *place = &history_life(c->observer.history)->message;

	message_note(c, c->message.answered ? &c->message_written :
					      &(struct message_written){ ETIMEDOUT, *place });
	if (next)
		container_write_message(c, next->takes_away ? NULL : &next->report, next->final);
	if (c->concluded)
		container_dismiss(c);
}

bool container_writes_message(const struct container *c)
{
	return c->message.event;
}

void container_write_message(struct container *c, const struct report *r, bool final)
{
	struct message m = { .fd = c->termination_fd, .report = r, .final = final };

	if (c->termination_fd < 0)
		return;
	free(TAKE_PTR(c->next_message));
	if (container_writes_message(c) && (c->next_message = malloc(sizeof(*c->next_message)))) {
		c->next_message->takes_away = !r;
		c->next_message->final = final;
		if (r)
			c->next_message->report = *r;
		return;
	}
	/* One that was late does not keep this one out. */
	background_cancel(&c->message);
	m.place = history_life(c->observer.history)->message;
	if (background_start(&c->message, c->base, message_write, &m, MESSAGE_WITHIN_NS, NULL,
			     message_on_end, c, NULL) >= 0)
		return;
	/* No process could be started, perhaps because of a fork bomb. */
	message_write(-1, &m);
	message_note(c, &m.done);
}

void container_settle_message(struct container *c)
{
	while (background_await(&c->message, MESSAGE_WITHIN_NS))
		;
}

/* --- Thresholds: the higher ones follow from the first --- */

static int threshold_step(double first, double fraction)
{
	const double steps[] = { first, 0.9, 0.95, 0.98 };
	int step = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i] >= first && fraction >= steps[i])
			step = (int)i + 1;
	return step;
}

static void describe_snapshot(const struct container *c, struct report *r)
{
	const struct snapshot *s = &c->observer.last;
	char spilled[EVIDENCE_TEXT_MAX];
	int64_t now = now_boottime_ns();

	*r = (struct report){
		.id = c->options->id,
		.memory = s->memory,
		.sample_age_ns = MAX(now - s->at_ns, 0),
		.n_processes = s->n_processes,
		.n_top = s->n_top,
		.started_unix_ns = now_realtime_ns() - (now - c->hello.started_ns),
	};
	r->id.container = c->hello.name;
	memcpy(r->top, s->top, sizeof(r->top));
	report_leave_out_launcher(r);
	verdict_say(&r->verdict, "%s%s uses %s of its memory limit of %s (%.0f %%).",
		    c->options->own_launcher ? "" : "Container ", c->hello.name,
		    SIZE_TEXT(s->memory.usage), SIZE_TEXT(s->memory.limit),
		    100.0 * (double)s->memory.usage / (double)s->memory.limit);
	if (spill_watch_evidence(&c->spill, spilled, sizeof(spilled)))
		verdict_add_evidence(&r->verdict, "Ray", "%s", spilled);
}

static void say_snapshot(struct container *c, const struct report *r)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX);
	char when[TIME_TEXT_MAX];

	strbuf_addf(&text, "[afterglow] %s %s\n[afterglow]   ",
		    time_format(now_realtime_ns(), when), r->verdict.sentence);
	report_process_table(r->top, r->n_top, "[afterglow]   ", &text);
	container_say(c, strbuf_str(&text));
}

/* --- A request to stop --- */

/*
 * A batch scheduler that stops a job kills all of its processes some time later, and us with them:
 * this line is all that we can say.
 */
void container_check_request(struct container *c, int64_t now_ns)
{
	char asked[200];
	struct report r;

	if (!c->options->own_launcher || !c->asked.signal || c->request_said ||
	    now_ns - c->asked.at_ns < REQUEST_PATIENCE_NS)
		return;
	c->request_said = true;
	describe_snapshot(c, &r);
	verdict_say(
		&r.verdict,
		"%s was asked to stop and goes on: %s. If SIGKILL ends all processes here at once, no report follows.",
		c->hello.name,
		stop_request_describe(
			&(struct observation){ .asked = c->asked, .ended_ns = now_ns }, asked,
			sizeof(asked)));
	report_use_command_words(&r);
	say_snapshot(c, &r);
}

/*
 * The kubelet gives the containers of a pod that it evicts for its disk two seconds, and kills all
 * of them at the same moment, so no report may follow.
 */
void container_pod_terminating(struct container *c)
{
	struct report r;

	c->terminating_ns = c->terminating_ns ?: now_boottime_ns();
	if (c->state != CONTAINER_RUNNING)
		return;
	describe_snapshot(c, &r);
	verdict_say(&r.verdict, "Afterglow was asked to stop while container %s ran.",
		    c->hello.name);
	if (r.verdict.n_evidence)
		container_write_message(c, &r, false);
}

/* --- Spilled objects --- */

static cJSON *spill_fields(const struct spill_watch *w, const char *text)
{
	const struct spill_forecast *f = &w->forecast;
	cJSON *fields = cJSON_CreateObject();

	json_set_str(fields, "sentence", text);
	json_set_str(fields, "directory", w->where);
	json_set_int(fields, "spilledBytes", f->bytes);
	json_set_int(fields, "logBytes", w->disk.logs);
	json_set_int(fields, "growthBytesPerSecond", f->rate);
	json_set_int(fields, "roomBytes", f->room);
	json_set_int(fields, "secondsLeft", f->left_ns / NS_PER_SEC);
	json_set_str(fields, "bound", f->bound == SPILL_LIMIT ? "ephemeral-storage" : "filesystem");
	return fields;
}

void container_check_spill(struct container *c, int64_t now_ns)
{
	struct observer *o = &c->observer;
	const struct spill_place place = { .root_fd = o->root_fd,
					   .logs_fd = ray_watch_logs_dir(o->ray),
					   .errand = &c->spilling,
					   .launcher = c->hello.launcher,
					   .limit = c->options->disk_limit };
	char text[400], line[440];

	if (!spill_watch_poll(&c->spill, &place, &o->node, now_ns))
		return;
	spill_describe(&c->spill.forecast, &c->spill.disk, c->spill.where, text, sizeof(text));
	container_emit(c, "disk-filling", spill_fields(&c->spill, text));
	snprintf(line, sizeof(line), "[afterglow] %s\n", text);
	container_say(c, line);
}

/* --- Memory that grows for hours --- */

void container_check_growth(struct container *c, int64_t now_ns)
{
	enum memory_change change =
		memory_watch_poll(&c->memory, &c->observer.last.memory, c->observer.table, now_ns);
	char text[400], line[440];

	if (change == MEMORY_CEASED_TO_GROW)
		container_emit(c, "memory-growing-ended", cJSON_CreateObject());
	if (change != MEMORY_BEGAN_TO_GROW)
		return;
	memory_watch_describe(&c->memory.forecast, text, sizeof(text));
	container_emit(c, "memory-growing", memory_watch_to_json(&c->memory.forecast));
	snprintf(line, sizeof(line), "[afterglow] %s\n", text);
	container_say(c, line);
}

void container_check_threshold(struct container *c, int64_t now_ns)
{
	const struct memory *m = &c->observer.last.memory;
	struct report r;

	if (m->limit <= 0 || m->usage < 0)
		return;
	/* Memory that the kernel can reclaim at once does not count. */
	double fraction = (double)(m->usage - MAX(m->inactive_file, 0)) / (double)m->limit;
	int step = threshold_step(c->options->warn_at, fraction);
	if (step < c->step && threshold_step(c->options->warn_at, fraction + REARM) < c->step)
		c->step = step;
	if (step > 0 && step <= c->step && c->full_waits)
		container_check_full(c, now_ns, fraction);
	if (step <= c->step)
		return;
	c->step = step;
	describe_snapshot(c, &r);
	container_write_message(c, &r, false);
	container_check_full(c, now_ns, fraction);
	hooks_due(c->hooks, HOOK_AT_THRESHOLD, r.n_top ? r.top[0].pid : 0, "threshold", now_ns);
	if (c->logged_ns && now_ns - c->logged_ns < SAY_SPACING_NS && step < 3)
		return;
	c->logged_ns = now_ns;
	/* Under the command's limit the kernel may take us as well, while it still frees memory. */
	if (c->options->own_launcher && c->observer.cgroup_shared && step >= 3)
		verdict_continue(&r.verdict,
				 ". If the OOM killer takes Afterglow as well, no report follows.");
	say_snapshot(c, &r);
	container_emit(c, "threshold", report_json_of_snapshot(&r));
}
