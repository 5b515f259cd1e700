/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a container and their memory. */
#include "sidecar/sample/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "sidecar/sample/rootfd.h"

/*
 * A name costs 8 us to read, a size 1 us. So a name is read anew when it may matter: while the process is
 * young and may be between fork and exec, when its memory has changed (a worker changes its title with every
 * task), and else now and then.
 */
#define YOUNG_NS NS_PER_SEC
#define NAME_FRESH_NS (100 * NS_PER_MS) /* never more often than this */
#define NAME_STALE_TOP_NS (2 * NS_PER_SEC) /* of the largest */
#define NAME_STALE_NS (30 * NS_PER_SEC) /* of the others */
#define NAME_CHANGE ((int64_t)1 << 20) /* bytes of RSS-SHR */
#define NAMES_AT_ONCE 64 /* of the others, in one sample */
#define NAMES_SPACING_NS (10 * NS_PER_MS) /* and at this pace: a thousandth of a core */
#define GROWTH_WINDOW_NS (2 * NS_PER_SEC) /* growth is measured over one to two of these */
#define GROWTH_MAX 1e18 /* bytes/s; what a forged /proc shows more is not worth an overflow */
#define STATM_FDS_MAX 512 /* kept open; the processes beyond are opened for each reading */

/* What a tracked process had at some time, for its growth. */
struct mark {
	int64_t at_ns, own;
};

struct entry {
	struct process p;
	int statm_fd;
	bool ours; /* false: no process of this container */
	pid_t doubtful_ppid; /* not 0: not ours as far as the sweep that found it could tell; to be looked up again */
	bool seen; /* in the sweep that is under way */
	bool gone; /* a glance found that */
	int64_t first_ns; /* first sight */
	int64_t named_ns; /* when its name was read, 0: never */
	int64_t named_own; /* what it had then */
	uint64_t code; /* pages of its program's code */
	enum component_kind kind; /* what the name says */
	char label[PROCESS_NAME_MAX];
	struct mark older, newer;
};

struct process_table {
	DIR *proc;
	int proc_fd; /* of proc */
	pid_t launcher;
	int64_t page_size;
	struct entry *entries; /* by PID, ascending */
	size_t n, cap;
	size_t n_fds;
	size_t count;
	int64_t grouped_ns; /* the last process_table_components */
	size_t rename_at; /* where it ran out of names to reread */
	pid_t largest[PROCESSES_TOP_MAX]; /* of the last process_table_top */
	size_t n_largest;
};

struct process_table *process_table_new(int root_fd, pid_t launcher, struct err *err)
{
	struct process_table *t = calloc(1, sizeof(*t));
	int fd;

	if (!t) {
		err_set(err, ENOMEM, "process table");
		return NULL;
	}
	t->launcher = launcher;
	t->page_size = sysconf(_SC_PAGESIZE);
	fd = rootfd_open(root_fd, "proc", O_RDONLY | O_DIRECTORY, err);
	t->proc = fd >= 0 ? fdopendir(fd) : NULL;
	if (!t->proc) {
		if (fd >= 0) {
			err_set(err, errno, "list /proc of the container");
			close(fd);
		}
		free(t);
		return NULL;
	}
	t->proc_fd = fd;
	return t;
}

void process_table_free(struct process_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		closep(&t->entries[i].statm_fd);
	free(t->entries);
	closedir(t->proc);
	free(t);
}

/* Reads proc/PID/FILE into buf with a final NUL; its length, or -errno. */
static ssize_t read_pid_file(const struct process_table *t, pid_t pid, const char *file, char *buf, size_t size)
{
	char path[40];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "%d/%s", (int)pid, file);
	fd = rootfd_open(t->proc_fd, path, O_RDONLY, NULL);
	if (fd < 0)
		return fd;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

bool process_table_dying(const struct process_table *t, pid_t pid)
{
	char text[512];
	ssize_t n = read_pid_file(t, pid, "stat", text, sizeof(text));

	return n == -ENOENT || n == -ESRCH || (n > 0 && proc_parse_dying(text));
}

/* The first entry whose PID is not below pid. */
static size_t find(const struct process_table *t, pid_t pid)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->entries[middle].p.pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct entry *lookup(const struct process_table *t, pid_t pid)
{
	size_t i = find(t, pid);

	return i < t->n && t->entries[i].p.pid == pid ? &t->entries[i] : NULL;
}

/*
 * A process is ours if its parent is. It stays so: orphans go to the launcher,
 * which is a subreaper. A parent that this sweep has not reached yet (PIDs
 * wrapped) is found by the next sweep.
 */
static bool is_ours(const struct process_table *t, pid_t pid, pid_t ppid)
{
	const struct entry *parent;

	if (t->launcher == 1 || pid == t->launcher || ppid == t->launcher)
		return true;
	parent = lookup(t, ppid);
	return parent && parent->ours;
}

static void keep_open(struct process_table *t, struct entry *e)
{
	char path[40];

	if (t->n_fds >= STATM_FDS_MAX)
		return;
	snprintf(path, sizeof(path), "%d/statm", (int)e->p.pid);
	e->statm_fd = rootfd_open(t->proc_fd, path, O_RDONLY, NULL);
	t->n_fds += e->statm_fd >= 0;
}

static void settle_doubt(struct process_table *t, struct entry *e)
{
	e->ours = is_ours(t, e->p.pid, e->doubtful_ppid);
	e->doubtful_ppid = 0;
	if (e->ours)
		keep_open(t, e);
}

static void classify(struct entry *e)
{
	e->kind = component_of(e->p.name, e->p.command, e->label);
}

static struct entry *add(struct process_table *t, size_t at, pid_t pid)
{
	char text[512];
	struct entry e = { .p = { .pid = pid, .growth = GROWTH_UNKNOWN }, .statm_fd = -1 };
	pid_t ppid;

	if (t->n >= PROCESSES_MAX)
		return NULL;
	if (read_pid_file(t, pid, "stat", text, sizeof(text)) <= 0 || !proc_parse_stat(text, &ppid, e.p.name))
		return NULL;
	e.ours = is_ours(t, pid, ppid);
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 64;
		struct entry *entries = realloc(t->entries, cap * sizeof(*entries));

		if (!entries)
			return NULL;
		t->entries = entries;
		t->cap = cap;
	}
	if (e.ours)
		keep_open(t, &e);
	else
		e.doubtful_ppid = ppid;
	memmove(&t->entries[at + 1], &t->entries[at], (t->n - at) * sizeof(e));
	t->n++;
	classify(&e);
	t->entries[at] = e;
	return &t->entries[at];
}

static void update_growth(struct entry *e, int64_t now_ns)
{
	int64_t own = process_own(&e->p);

	if (!e->newer.at_ns) {
		e->first_ns = now_ns;
		e->newer = e->older = (struct mark){ now_ns, own };
		return;
	}
	if (now_ns - e->newer.at_ns >= GROWTH_WINDOW_NS) {
		e->older = e->newer;
		e->newer = (struct mark){ now_ns, own };
	}
	if (now_ns > e->older.at_ns) {
		double growth = (double)(own - e->older.own) * (double)NS_PER_SEC / (double)(now_ns - e->older.at_ns);

		e->p.growth = (int64_t)MAX(MIN(growth, GROWTH_MAX), -GROWTH_MAX);
	}
}

/* False when the process is gone or a zombie: it holds no memory any more. */
static bool measure(const struct process_table *t, struct entry *e, int64_t now_ns)
{
	char text[128];
	uint64_t code;
	ssize_t n;

	if (e->statm_fd >= 0)
		n = pread(e->statm_fd, text, sizeof(text) - 1, 0);
	else
		n = read_pid_file(t, e->p.pid, "statm", text, sizeof(text));
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (!proc_parse_statm(text, t->page_size, &e->p.rss, &e->p.shared, &code))
		return false;
	/* It has executed another program, and has that one's name. */
	if (code != e->code)
		e->named_ns = 0;
	e->code = code;
	update_growth(e, now_ns);
	return true;
}

static void remove_unseen(struct process_table *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct entry *e = &t->entries[i];

		if (e->seen) {
			e->seen = false;
			if (&t->entries[kept] != e)
				t->entries[kept] = *e;
			kept++;
			continue;
		}
		t->n_fds -= e->statm_fd >= 0;
		closep(&e->statm_fd);
	}
	t->n = kept;
}

int process_table_sweep(struct process_table *t, int64_t now_ns, struct err *err)
{
	const struct dirent *d;
	size_t next = 0; /* /proc is in the order of PIDs, mostly */

	rewinddir(t->proc);
	t->count = 0;
	for (errno = 0; (d = readdir(t->proc)); errno = 0) {
		pid_t pid = isdigit((unsigned char)d->d_name[0]) ? (pid_t)strtol(d->d_name, NULL, 10) : 0;
		struct entry *e;
		size_t at;

		if (pid <= 0)
			continue;
		at = next < t->n && t->entries[next].p.pid == pid ? next : find(t, pid);
		next = at + 1;
		if (at < t->n && t->entries[at].p.pid == pid) {
			e = &t->entries[at];
			if (e->doubtful_ppid)
				settle_doubt(t, e);
		} else
			e = add(t, at, pid);
		if (!e) {
			/* Whose a process is that does not fit is not known, unless all are. */
			t->count += t->n >= PROCESSES_MAX && t->launcher == 1;
			continue;
		}
		e->seen = !e->ours || measure(t, e, now_ns);
		t->count += e->ours && e->seen;
	}
	if (errno)
		return err_set(err, errno, "list /proc of the container");
	remove_unseen(t);
	return 0;
}

static bool name_is_due(const struct entry *e, int64_t now_ns, int64_t stale_ns)
{
	int64_t age = now_ns - e->named_ns, own = process_own(&e->p);

	if (!e->named_ns || age >= stale_ns)
		return true;
	return age >= NAME_FRESH_NS && (now_ns - e->first_ns < YOUNG_NS || own - e->named_own > NAME_CHANGE ||
					e->named_own - own > NAME_CHANGE);
}

static void refresh_name(const struct process_table *t, struct entry *e, int64_t now_ns)
{
	char data[2048];
	ssize_t len;

	e->named_ns = now_ns;
	e->named_own = process_own(&e->p);
	len = read_pid_file(t, e->p.pid, "cmdline", data, sizeof(data));
	if (len > 0 && proc_parse_cmdline(data, (size_t)len, e->p.name, e->p.command))
		classify(e);
}

void process_table_glance(struct process_table *t, int64_t now_ns)
{
	for (size_t i = 0; i < t->n_largest; i++) {
		struct entry *e = lookup(t, t->largest[i]);

		if (!e || e->gone || measure(t, e, now_ns))
			continue;
		e->gone = true;
		t->count--;
	}
}

size_t process_table_top(struct process_table *t, int64_t now_ns, struct process *ret_top, size_t n)
{
	struct entry *top[PROCESSES_TOP_MAX];
	size_t found = 0;

	n = MIN(n, ARRAY_SIZE(top));
	for (size_t i = 0; i < t->n; i++) {
		struct entry *e = &t->entries[i];
		size_t at = found;

		if (!e->ours || e->gone)
			continue;
		while (at > 0 && process_own(&top[at - 1]->p) < process_own(&e->p))
			at--;
		if (at >= n)
			continue;
		found = MIN(found + 1, n);
		memmove(&top[at + 1], &top[at], (found - at - 1) * sizeof(top[0]));
		top[at] = e;
	}
	for (size_t i = 0; i < found; i++) {
		if (name_is_due(top[i], now_ns, NAME_STALE_TOP_NS))
			refresh_name(t, top[i], now_ns);
		ret_top[i] = top[i]->p;
		t->largest[i] = top[i]->p.pid;
	}
	t->n_largest = found;
	return found;
}

void process_table_components(struct process_table *t, int64_t now_ns, struct components *ret_components)
{
	int64_t allowed = MIN(MAX(now_ns - t->grouped_ns, 0) / NAMES_SPACING_NS + 1, (int64_t)NAMES_AT_ONCE);
	size_t start = t->rename_at < t->n ? t->rename_at : 0;

	*ret_components = (struct components){ .n = 0 };
	t->grouped_ns = now_ns;
	for (size_t i = 0; i < t->n; i++) {
		size_t at = (start + i) % t->n;
		struct entry *e = &t->entries[at];

		if (!e->ours)
			continue;
		if (allowed > 0 && name_is_due(e, now_ns, NAME_STALE_NS)) {
			refresh_name(t, e, now_ns);
			if (--allowed == 0)
				t->rename_at = at + 1;
		}
		components_add_one(ret_components, e->kind, e->label, process_own(&e->p));
	}
	components_sort(ret_components);
}

pid_t process_table_find(const struct process_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->entries[i].ours && strcmp(t->entries[i].p.name, name) == 0)
			return t->entries[i].p.pid;
	return 0;
}

void process_table_each(const struct process_table *t, void (*fn)(const struct process *p, void *arg), void *arg)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->entries[i].ours && !t->entries[i].gone)
			fn(&t->entries[i].p, arg);
}

size_t process_table_count(const struct process_table *t)
{
	return t->count;
}
