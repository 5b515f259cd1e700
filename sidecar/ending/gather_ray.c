/* SPDX-License-Identifier: Apache-2.0 */
/* Adds Ray's logs, and the files that the options ask for, to a bundle. */
#include "sidecar/ending/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ending/root_glob.h"
#include "sidecar/ray/ray_files.h"
#include "sidecar/sample/root_walk.h"
#include "sidecar/sample/rootfd.h"

#define TAIL_MAX (64 * 1024) /* bytes of one log */
#define LOGS_MAX (1024 * 1024) /* bytes of all logs together */
#define WORKERS_MAX 4
#define DRIVERS_MAX 2 /* a cluster may run many jobs; the newest is the one that runs */
#define COLLECT_FILES_MAX 32
#define COLLECT_MAX ((int64_t)64 << 20) /* bytes of collected files when the container died */
/* The same when only a worker died, because there may be many such reports */
#define COLLECT_ALIVE_MAX ((int64_t)16 << 20)

/* In the order of their importance, in case the bound is reached. */
/* clang-format off */
static const char *const ray_logs[] = {
	"ray_process_exit.log", "raylet.out", "raylet.err", "gcs_server.out", "gcs_server.err", "events/event_RAYLET.log", "monitor.log",
	"monitor.err", "monitor.out", "dashboard_agent.log", "dashboard_agent.err", "dashboard_agent.out",
	"runtime_env_agent.log", "runtime_env_agent.err", "runtime_env_agent.out", "dashboard.log", "dashboard.err",
	"log_monitor.log", "log_monitor.err", "ray_client_server.err", "debug_state.txt",
};
/* clang-format on */

struct logs {
	struct bundle *b;
	int dir_fd;
	size_t total;
	bool cut;
};

static void add_log(const char *name, void *arg)
{
	struct logs *l = arg;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TAIL_MAX);
	const char *slash = strrchr(name, '/');
	struct err err = { 0 };
	char component[256], file[300];

	if (l->total >= LOGS_MAX) {
		l->cut = true;
		return;
	}
	if (!ray_file_tail(l->dir_fd, name, MIN((size_t)TAIL_MAX, LOGS_MAX - l->total), &text))
		return;
	snprintf(component, sizeof(component), "%s", slash ? slash + 1 : name);
	bundle_sanitize(component);
	snprintf(file, sizeof(file), "logs/%s", component);
	if (bundle_add(l->b, file, strbuf_str(&text), text.len, &err) < 0)
		log_warning("%s", err_text(&err));
	l->total += text.len;
}

/*
 * Finds the workers that the report is about: those that Ray named, those that the kernel killed,
 * the largest.
 */
static size_t concerned(const struct observer *o, const struct report *r,
			const struct ray_finding *finding, pid_t pids[static WORKERS_MAX])
{
	size_t n = 0;

	if (finding && finding->event.pid)
		pids[n++] = finding->event.pid;
	if (o->victim[0] && o->victim_pid > 0)
		pids[n++] = o->victim_pid;
	for (size_t i = 0; i < r->n_top && n < WORKERS_MAX; i++) {
		bool known = strncmp(r->top[i].name, "ray::", 5) != 0 ||
			     strcmp(r->top[i].name, "ray::IDLE") == 0;

		for (size_t j = 0; j < n && !known; j++)
			known = pids[j] == r->top[i].pid;
		if (!known)
			pids[n++] = r->top[i].pid;
	}
	return n;
}

/*
 * Adds the logs of job drivers. On the head, the program of `ray job submit` writes there, so they
 * contain the error of a RayJob.
 */
static void add_driver_logs(struct logs *l)
{
	char names[DRIVERS_MAX][RAY_FILE_NAME_MAX + 1];
	size_t n = ray_files_newest(l->dir_fd, "job-driver-", ".log", names, DRIVERS_MAX);

	for (size_t i = 0; i < n; i++)
		add_log(names[i], l);
}

/* Adds Ray's logs, first those of the process that ended first. */
static void add_ray_logs(struct logs *l, const struct report *r)
{
	const char *first[RAY_PROCESS_LOGS_MAX + 1] = { NULL };
	const struct verdict_process *process = &r->verdict.process;

	ray_process_logs(ray_process_of_type(process->name, strlen(process->name)), first);
	for (size_t i = 0; first[i]; i++)
		add_log(first[i], l);
	for (size_t i = 0; i < ARRAY_SIZE(ray_logs); i++)
		if (!text_is_one_of(ray_logs[i], first))
			add_log(ray_logs[i], l);
}

static void add_words(struct bundle *b, const struct ray_finding *finding)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(8192);
	const struct ray_event *e = &finding->event;
	const struct {
		const char *label, *value;
		/* clang-format off */
	} lines[] = {
		{ "said in", finding->file }, { "task", e->task }, { "worker", e->worker_id }, { "held", e->held },
		{ "memory", e->memory }, { "detail", e->detail }, { "signal", finding->logged_signal },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (lines[i].value[0])
			strbuf_addf(&text, "%-8s %s\n", lines[i].label, lines[i].value);
	if (e->pid)
		strbuf_addf(&text, "%-8s %d\n", "PID", (int)e->pid);
	if (e->table[0])
		strbuf_addf(&text,
			    "\nRay's table (its figures are USS):\nPID\tMEM(GB)\tCOMMAND\n%s",
			    e->table);
	bundle_add(b, "ray.txt", strbuf_str(&text), text.len, NULL);
}

void gather_ray_words(struct bundle *b, const struct observer *o, struct report *)
{
	const struct ray_finding *finding = ray_watch_subject(o->ray, now_boottime_ns());

	if (finding)
		add_words(b, finding);
}

void gather_ray_logs(struct bundle *b, const struct observer *o, struct report *r)
{
	struct logs l = { .b = b, .dir_fd = ray_watch_logs_dir(o->ray) };
	const struct ray_finding *finding = ray_watch_subject(o->ray, now_boottime_ns());
	pid_t pids[WORKERS_MAX];
	size_t n = concerned(o, r, finding, pids);

	if (l.dir_fd < 0) {
		if (r->id.pod || o->processes.n > 0 || o->processes.n_ends > 0)
			verdict_add_missing(&r->verdict, "Ray's logs",
					    "a Ray session below /tmp/ray");
		return;
	}
	for (size_t i = 0; i < n; i++)
		ray_files_of_pid(l.dir_fd, pids[i], add_log, &l);
	add_driver_logs(&l);
	add_ray_logs(&l, r);
	if (l.cut)
		verdict_add_missing(&r->verdict, "some of Ray's logs",
				    "more room than the 1 MiB that logs have in a bundle");
}

/* --- collected/ --- */

struct collection {
	struct bundle *b;
	int root_fd;
	bool own_root; /* as in root_walk.h: others of this machine have files in /tmp, too */
	/* the start of the command, Unix time: with own_root, an older file is another job's */
	int64_t since_ns;
	int64_t room;
	struct {
		dev_t dev;
		ino_t ino;
	} taken[COLLECT_FILES_MAX];
	unsigned int files;
	bool cut;
};

/* Two patterns may name one file. */
static bool was_taken(const struct collection *c, const struct stat *st)
{
	for (unsigned int i = 0; i < c->files; i++)
		if (c->taken[i].dev == st->st_dev && c->taken[i].ino == st->st_ino)
			return true;
	return false;
}

/*
 * Another user may make a hard link to a file that only we may read, where fs.protected_hardlinks
 * is 0.
 */
static bool is_wanted(const struct collection *c, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size > 0 &&
	       (!c->own_root ||
		(st->st_nlink == 1 && (st->st_uid == geteuid() || st->st_uid == 0) &&
		 st->st_mtim.tv_sec >= c->since_ns / NS_PER_SEC));
}

/*
 * Copies to "collected/tmp_x.prof": the path with '_' for every character that is no letter or
 * digit. If another file has that name, it becomes "collected/2-tmp_x.prof".
 */
static int copy_collected(struct collection *c, const char *path, int fd, size_t size,
			  struct err *err)
{
	char flat[200], file[256];
	size_t len = strlen(path), skip = len >= sizeof(flat) ? len - sizeof(flat) + 1 : 0;

	snprintf(flat, sizeof(flat), "%s", path + skip);
	bundle_sanitize(flat);
	snprintf(file, sizeof(file), "collected/%s", flat);
	int rc = bundle_copy(c->b, file, fd, size, err);
	if (rc != -EEXIST)
		return rc;
	snprintf(file, sizeof(file), "collected/%u-%s", c->files + 1, flat);
	return bundle_copy(c->b, file, fd, size, err);
}

static bool collect(const char *path, void *arg)
{
	struct collection *c = arg;
	_cleanup_close_ int path_fd = rootfd_open(c->root_fd, path, O_PATH, NULL), fd = -1;
	struct err err = { 0 };
	struct stat st;

	if (path_fd < 0 || fstat(path_fd, &st) < 0 || !is_wanted(c, &st) || was_taken(c, &st))
		return true;
	if (c->files == COLLECT_FILES_MAX || st.st_size > c->room) {
		c->cut = true;
		return c->files < COLLECT_FILES_MAX;
	}
	fd = rootfd_open(c->root_fd, path, O_RDONLY, &err);
	if (fd < 0 || fstat(fd, &st) < 0 || !is_wanted(c, &st)) {
		c->cut = true; /* our uid may not read it, or it was replaced */
		return true;
	}
	if (copy_collected(c, path, fd, (size_t)MIN((int64_t)st.st_size, c->room), &err) < 0) {
		log_warning("%s", err_text(&err));
		c->cut = true;
		return false;
	}
	c->room -= st.st_size;
	c->taken[c->files].dev = st.st_dev;
	c->taken[c->files++].ino = st.st_ino;
	return true;
}

void gather_collected(struct bundle *b, const struct observer *o, struct report *r)
{
	struct collection c = {
		.b = b,
		.root_fd = o->root_fd,
		.own_root = root_walk_is_own(o->root_fd),
		.since_ns = r->started_unix_ns,
		.room = MIN(r->verdict.exit_code < 0 ? COLLECT_ALIVE_MAX : COLLECT_MAX,
			    bundle_room(b)),
	};

	for (size_t i = 0; o->root_fd >= 0 && o->collect && o->collect[i]; i++)
		if (!root_glob(o->root_fd, o->collect[i], collect, &c))
			c.cut = true;
	if (c.cut)
		verdict_add_missing(&r->verdict, "some files that were to be collected",
				    "fewer, smaller or readable ones: 32 files, 64 MiB in all");
}
