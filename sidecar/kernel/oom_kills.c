/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the OOM kills in a kernel log. */
#include "sidecar/kernel/oom_kills.h"

#include <ctype.h>
#include <string.h>

#include "lib/kernel_text.h"
#include "lib/macros.h"

/* Rows of threads in one table: few processes go on without their first thread */
#define THREADS_MAX 16
/*
 * Between two lines of a group: the kernel kills its processes in one loop, which prints a line for
 * each
 */
#define GROUP_GAP_US 100000
#define JOINED_MAX 1024
#define TELLING_MIN 16 /* a shorter tail of a cgroup's path identifies nothing */
/*
 * Hexadecimal digits of a container's ID or a UID; two paths that end with so many equal digits are
 * not equal by chance.
 */
#define ID_DIGITS_MIN 12

struct finder {
	const struct kmsg_log *log;
	void (*visit)(const struct oom_kill *k, void *arg);
	void *arg;
	bool open; /* `kill` is in use */
	int64_t group_us; /* of the last line of the group */
	struct oom_kill kill;
	struct kmsg_columns columns;
	struct {
		int64_t tid, pid;
	} threads[THREADS_MAX];
	size_t n_threads;
};

static void oom_kills_begin(struct finder *f, size_t i)
{
	f->open = true;
	f->columns = (struct kmsg_columns){ 0 };
	f->n_threads = 0;
	f->kill = (struct oom_kill){
		.time_us = -1,
		.pid = -1,
		.uid = -1,
		.anon = -1,
		.file = -1,
		.shmem = -1,
		.limit = -1,
		.first = i,
		.last = i,
	};
}

static void oom_kills_end(struct finder *f)
{
	if (f->open && f->kill.killed > 0)
		f->visit(&f->kill, f->arg);
	f->open = false;
}

static void on_row(struct finder *f, const struct kmsg_line *l)
{
	f->kill.processes++;
	if (l->tgid < 0 || l->tgid == l->pid || f->n_threads == THREADS_MAX)
		return;
	f->threads[f->n_threads].tid = l->pid;
	f->threads[f->n_threads++].pid = l->tgid;
}

static int64_t process_of(const struct finder *f, int64_t tid)
{
	for (size_t i = 0; i < f->n_threads; i++)
		if (f->threads[i].tid == tid)
			return f->threads[i].pid;
	return tid;
}

/*
 * Returns whether record i begins a group. If there are more than ten reports in five seconds, the
 * kernel prints only the kills. In such a report the first kill is followed by the line that says
 * that the whole cgroup is killed, so it does not belong to an earlier group.
 */
static bool begins_a_group(const struct finder *f, size_t i)
{
	struct kmsg_line next;

	for (i++; i < f->log->n; i++) {
		const struct kmsg_entry *e = &f->log->entries[i];

		if (!kmsg_is_believed(e))
			continue;
		return kmsg_parse_line(kmsg_text(f->log, i), e->len, &next) == KMSG_OOM_GROUP;
	}
	return false;
}

static bool is_of_group(const struct finder *f, size_t i)
{
	return f->kill.group && f->log->entries[i].time_us - f->group_us <= GROUP_GAP_US &&
	       !begins_a_group(f, i);
}

static void on_killed(struct finder *f, size_t i, const struct kmsg_line *l)
{
	struct oom_kill *k = &f->kill;
	int64_t time_us = f->log->entries[i].time_us, pid = process_of(f, l->pid);

	if (k->killed > 0 && !is_of_group(f, i)) {
		oom_kills_end(f);
		oom_kills_begin(f, i);
	}
	f->group_us = time_us;
	k->last = i;
	/* With memory.oom.group the first victim is named a second time. */
	if (k->killed > 0 && pid == k->pid)
		return;
	if (k->killed++ > 0) {
		if (k->n_group_pids < OOM_GROUP_MAX)
			k->group_pids[k->n_group_pids++] = pid;
		return;
	}
	k->killed_at = i;
	k->time_us = time_us;
	k->pid = pid;
	k->is_process = f->columns.tgid && f->n_threads < THREADS_MAX;
	if (l->uid >= 0)
		k->uid = l->uid;
	k->anon = l->anon;
	k->file = l->file;
	k->shmem = l->shmem;
	if (l->scope != KMSG_SCOPE_UNKNOWN)
		k->scope = l->scope;
	memcpy(k->name, l->name, sizeof(k->name));
}

static void oom_kills_on_line(struct finder *f, size_t i, const struct kmsg_line *l)
{
	struct oom_kill *k = &f->kill;

	if (l->kind == KMSG_OTHER || l->kind == KMSG_CRASH)
		return;
	if (l->kind == KMSG_OOM_INVOKED || (!f->open && l->kind != KMSG_OOM_ROW)) {
		oom_kills_end(f);
		oom_kills_begin(f, i);
	}
	switch (l->kind) {
	case KMSG_OOM_MEMORY:
		k->limit = l->limit;
		break;
	case KMSG_OOM_TABLE:
		f->columns = l->columns;
		k->processes = 0;
		break;
	case KMSG_OOM_CONSTRAINT:
		k->scope = l->scope;
		k->uid = l->uid;
		memcpy(k->task_memcg, l->task_memcg, sizeof(k->task_memcg));
		memcpy(k->oom_memcg, l->oom_memcg, sizeof(k->oom_memcg));
		break;
	case KMSG_OOM_CHOSEN:
		if (k->killed > 0) {
			oom_kills_end(f);
			oom_kills_begin(f, i);
		}
		if (l->scope != KMSG_SCOPE_UNKNOWN)
			k->scope = l->scope;
		break;
	case KMSG_OOM_KILLED:
		on_killed(f, i, l);
		break;
	case KMSG_OOM_GROUP:
		k->group = true;
		memcpy(k->group_memcg, l->task_memcg, sizeof(k->group_memcg));
		f->group_us = f->log->entries[i].time_us;
		if (!k->task_memcg[0])
			memcpy(k->task_memcg, l->task_memcg, sizeof(k->task_memcg));
		break;
	case KMSG_OTHER:
	case KMSG_CRASH:
	case KMSG_OOM_INVOKED:
	case KMSG_OOM_ROW:
		break;
	}
	if (f->open)
		k->last = i;
}

/*
 * Joins records and parses the line. syslog(2) breaks a line at a newline in a process's name; the
 * parts have the same time. Returns how many records were joined.
 */
static size_t parse_joined(const struct kmsg_log *log, size_t i, struct kmsg_line *ret_line)
{
	static const char *const worth[] = { "oom-kill:constraint=",
					     "Memory cgroup out of memory: ", "Out of memory: ",
					     "Killed process " };
	const struct kmsg_entry *e = &log->entries[i];
	char joined[JOINED_MAX];
	size_t len = MIN(e->len, sizeof(joined)), n = 1;
	bool broken = false;

	if (kmsg_parse_line(kmsg_text(log, i), e->len, ret_line) != KMSG_OTHER)
		return 1;
	for (size_t w = 0; w < ARRAY_SIZE(worth); w++)
		broken = broken || (e->len > strlen(worth[w]) &&
				    memcmp(kmsg_text(log, i), worth[w], strlen(worth[w])) == 0);
	if (!broken || e->time_us < 0)
		return 1;
	memcpy(joined, kmsg_text(log, i), len);
	for (; i + n < log->n && log->entries[i + n].time_us == e->time_us &&
	       log->entries[i + n].priority == e->priority &&
	       len + 1 + log->entries[i + n].len <= sizeof(joined) && n < KMSG_NAME_MAX;
	     n++) {
		joined[len++] = '\n';
		memcpy(joined + len, kmsg_text(log, i + n), log->entries[i + n].len);
		len += log->entries[i + n].len;
		if (kmsg_parse_line(joined, len, ret_line) != KMSG_OTHER)
			return n + 1;
	}
	ret_line->kind = KMSG_OTHER;
	return 1;
}

void oom_kills_find(const struct kmsg_log *log, void (*visit)(const struct oom_kill *k, void *arg),
		    void *arg)
{
	struct finder f = { .log = log, .visit = visit, .arg = arg };
	struct kmsg_line line;
	size_t n;

	for (size_t i = 0; i < log->n; i += n) {
		int64_t rss;

		n = 1;
		if (!kmsg_is_believed(&log->entries[i]))
			continue;
		n = parse_joined(log, i, &line);
		if (line.kind == KMSG_OOM_ROW && f.open) {
			if (kmsg_parse_row(kmsg_text(log, i), log->entries[i].len, &f.columns,
					   &line, &rss))
				on_row(&f, &line);
			continue;
		}
		oom_kills_on_line(&f, i, &line);
		if (f.open && f.kill.last == i)
			f.kill.last = i + n - 1;
	}
	oom_kills_end(&f);
}

bool oom_kill_took(const struct oom_kill *k, int64_t pid)
{
	if (k->pid == pid)
		return true;
	for (unsigned int i = 0; i < k->n_group_pids; i++)
		if (k->group_pids[i] == pid)
			return true;
	return false;
}

int64_t oom_kill_rss(const struct oom_kill *k)
{
	return k->anon < 0 ? -1 : k->anon + MAX(k->file, 0) + MAX(k->shmem, 0);
}

/* Returns the part of a path after the last "/..", "" for the root. */
static const char *telling_part(const char *cgroup)
{
	for (const char *up; (up = strstr(cgroup, "/..")) && (!up[3] || up[3] == '/');)
		cgroup = up + 3;
	return strcmp(cgroup, "/") == 0 ? "" : cgroup;
}

static bool names_pod(const char *path, const char *uid)
{
	return strlen(uid) >= TELLING_MIN && kernel_path_in_pod(path, strlen(path), uid);
}

/*
 * Returns the rest of path after our cgroup, of whose path perhaps only the end is known; NULL if
 * path is not in it. Another pod may make a cgroup below its own that has the name of ours.
 */
static const char *rest_behind(const char *path, const struct oom_self *self)
{
	const char *part = telling_part(self->cgroup);

	if (!part[0])
		return NULL;
	if (part == self->cgroup && path_is_below(path, part))
		return path + strlen(part);
	if (strlen(part) < TELLING_MIN || (self->pod_uid && !names_pod(path, self->pod_uid)))
		return NULL;
	for (const char *p = path; (p = strstr(p, part)); p++)
		if (path_is_below(p, part))
			return p + strlen(part);
	return NULL;
}

static bool has_id(const char *part)
{
	size_t run = 0;

	for (; *part && run < ID_DIGITS_MIN; part++)
		run = isxdigit((unsigned char)*part) ? run + 1 : 0;
	return run == ID_DIGITS_MIN;
}

/*
 * Returns whether the end of the path identifies the cgroup. "/user.slice/session-1.scope" does
 * not, because every machine in a container has it.
 */
static bool tail_is_nobody_elses(const char *path, const char *cgroup)
{
	return (telling_part(cgroup) == cgroup && path_is_below(path, cgroup)) ||
	       has_id(telling_part(cgroup));
}

static bool leads_into(const char *path, const struct oom_self *self)
{
	return rest_behind(path, self) != NULL;
}

enum oom_match oom_kill_match(const struct oom_kill *k, const struct oom_self *self)
{
	bool known = telling_part(self->cgroup)[0] != '\0';

	if (!k->task_memcg[0])
		return OOM_CGROUP_UNKNOWN;
	if (leads_into(k->task_memcg, self))
		return tail_is_nobody_elses(k->task_memcg, self->cgroup) ? OOM_OURS :
									   OOM_CGROUP_UNKNOWN;
	if (!self->pod_uid)
		return known ? OOM_NOT_OURS : OOM_CGROUP_UNKNOWN;
	if (!names_pod(k->task_memcg, self->pod_uid))
		return OOM_NOT_OURS;
	return known ? OOM_NOT_OURS : OOM_CGROUP_UNKNOWN;
}

enum oom_where oom_kill_where(const struct oom_kill *k, const struct oom_self *self)
{
	if (k->scope == KMSG_SCOPE_GLOBAL)
		return OOM_WHERE_NODE;
	if (!k->oom_memcg[0])
		return OOM_WHERE_UNKNOWN;
	if (strcmp(k->oom_memcg, k->task_memcg) == 0 || leads_into(k->oom_memcg, self))
		return OOM_WHERE_CONTAINER;
	return self->pod_uid && names_pod(k->oom_memcg, self->pod_uid) ? OOM_WHERE_POD :
									 OOM_WHERE_ABOVE;
}

const char *oom_kill_below(const struct oom_kill *k, const struct oom_self *self)
{
	const char *rest = rest_behind(k->oom_memcg, self);

	return rest && *rest == '/' ? rest + 1 : rest;
}
