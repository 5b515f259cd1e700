/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the processes of a container. */
#include "sidecar/sample/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/units.h"
#include "sidecar/sample/processes_internal.h"
#include "sidecar/sample/rootfd.h"

#define CAP_MIN 64 /* entries */
#define RESTING_SHARE 16 /* a sweep reads this part of those that rest */
/*
 * The container may show any directory as its /proc, and a sweep runs on the event loop. The kernel
 * lists processes by their PIDs: to take one up that is not the last of the table, or that is gone
 * when it is looked at, is rare and costs more.
 */
#define LISTED_MAX (8 * PROCESSES_MAX) /* entries of the directory; the rest is not looked at */
#define STRAYS_MAX 1024 /* in one sweep; the rest is taken up by the next ones */

static size_t n_tracked; /* in all tables */

struct process_table *process_table_new(int root_fd, pid_t launcher, struct err *err)
{
	struct process_table *t = calloc(1, sizeof(*t));

	if (!t) {
		err_set(err, ENOMEM, "process table");
		return NULL;
	}
	t->launcher = launcher;
	t->page_size = sysconf(_SC_PAGESIZE);
	int fd = rootfd_open_no_fuse(root_fd, "proc", O_RDONLY | O_DIRECTORY, err);
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
		entry_release(t, &t->entries[i]);
	n_tracked -= t->n;
	free(t->entries);
	free(t->tasks);
	closedir(t->proc);
	free(t);
}

bool process_table_dying(const struct process_table *t, pid_t pid)
{
	char text[512];
	ssize_t n = process_read(t, pid, "stat", text, sizeof(text));

	return n == -ENOENT || n == -ESRCH || (n > 0 && proc_parse_dying(text));
}

bool process_table_lives_since(const struct process_table *t, pid_t pid, int64_t at_ns)
{
	char text[512];
	unsigned long long start;

	if (process_read(t, pid, "stat", text, sizeof(text)) <= 0 ||
	    !proc_parse_start(text, &start) || proc_parse_dying(text))
		return false;
	return start <= (unsigned long long)MAX(at_ns, (int64_t)0) /
				(unsigned long long)(NS_PER_SEC / sysconf(_SC_CLK_TCK));
}

/* Returns the index of the first entry with at least this PID. */
static size_t processes_find(const struct process_table *t, pid_t pid)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->entries[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct entry *process_lookup(const struct process_table *t, pid_t pid)
{
	size_t i = processes_find(t, pid);

	return i < t->n && t->entries[i].pid == pid ? &t->entries[i] : NULL;
}

enum process_owner process_table_owner(const struct process_table *t, pid_t pid)
{
	const struct entry *e = process_lookup(t, pid);

	return !e || e->doubtful ? PROCESS_UNKNOWN : e->ours ? PROCESS_OURS : PROCESS_FOREIGN;
}

/*
 * Returns whether the process belongs to the container: it does if its parent does, and for ever,
 * because orphans go to the launcher, which is a subreaper. If PIDs wrapped, the parent may come
 * later in this sweep; then the next sweep finds the process.
 */
static bool processes_is_ours(const struct process_table *t, pid_t pid, pid_t ppid)
{
	if (t->launcher == 1 || pid == t->launcher || ppid == t->launcher)
		return true;
	const struct entry *parent = process_lookup(t, ppid);
	return parent && parent->ours;
}

/* Reads who the process is. Returns false if it is gone or there is no memory. */
static bool introduce(const struct process_table *t, pid_t pid, ino_t inode,
		      struct entry *ret_entry)
{
	struct entry e = { .pid = pid, .inode = inode, .growth = GROWTH_UNKNOWN, .statm_fd = -1 };
	char text[512], name[PROCESS_NAME_MAX] = "";
	static const char no_command[PROCESS_COMMAND_MAX];
	pid_t ppid;

	if (process_read(t, pid, "stat", text, sizeof(text)) <= 0 ||
	    !proc_parse_stat(text, &ppid, name))
		return false;
	e.ours = processes_is_ours(t, pid, ppid);
	e.doubtful = !e.ours;
	e.ppid = ppid;
	e.title = process_title_new(name, no_command);
	if (!e.title)
		return false;
	*ret_entry = e;
	return true;
}

static void settle_doubt(struct process_table *t, struct entry *e)
{
	e->ours = processes_is_ours(t, e->pid, e->ppid);
	e->doubtful = false;
	/* The names of foreign processes are not needed. */
	if (!e->ours)
		free(TAKE_PTR(e->title));
}

static bool processes_resize(struct process_table *t, size_t cap)
{
	struct entry *entries = realloc(t->entries, cap * sizeof(*entries));

	if (!entries)
		return false;
	t->entries = entries;
	t->cap = cap;
	return true;
}

static bool processes_make_room(struct process_table *t)
{
	return t->n < t->cap || processes_resize(t, t->cap ? t->cap * 2 : CAP_MIN);
}

static bool has_room(const struct process_table *t)
{
	return t->n < PROCESSES_OWN || (t->n < PROCESSES_MAX && n_tracked < PROCESSES_MAX);
}

static bool takes_more(const struct process_table *t)
{
	return has_room(t) && t->strays < STRAYS_MAX;
}

static struct entry *processes_add(struct process_table *t, size_t at, pid_t pid, ino_t inode)
{
	struct entry e;

	if (!takes_more(t) || !processes_make_room(t))
		return NULL;
	if (!introduce(t, pid, inode, &e)) {
		t->strays++;
		return NULL;
	}
	t->strays += at < t->n;
	memmove(&t->entries[at + 1], &t->entries[at], (t->n - at) * sizeof(e));
	t->n++;
	n_tracked++;
	t->entries[at] = e;
	return &t->entries[at];
}

static void processes_note_end(struct process_table *t, const struct entry *e)
{
	if (!e->ours || e->ended)
		return;
	t->own -= entry_own(e);
	t->ends++;
}

/* Replaces an entry whose PID now belongs to another process. Returns NULL if that is gone, too. */
static struct entry *processes_replace(struct process_table *t, struct entry *old, ino_t inode)
{
	struct entry e;

	if (!introduce(t, old->pid, inode, &e))
		return NULL;
	processes_note_end(t, old);
	entry_release(t, old);
	*old = e;
	return old;
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
		processes_note_end(t, e);
		entry_release(t, e);
	}
	n_tracked -= t->n - kept;
	t->n = kept;
	/* What many processes needed is not kept for the few that are left. */
	if (t->cap > CAP_MIN && kept < t->cap / 4)
		processes_resize(t, t->cap / 2);
}

/* Returns the number that the name consists of, or 0. */
static pid_t pid_of(const char *name)
{
	pid_t pid = 0;

	for (; *name >= '0' && *name <= '9' && pid < 100000000; name++)
		pid = pid * 10 + (*name - '0');
	return *name ? 0 : pid;
}

/*
 * Returns the entry of a process in /proc; NULL if it could not be read or there is no room. *next
 * is the index where the search begins.
 */
static struct entry *processes_listed(struct process_table *t, pid_t pid, ino_t inode, size_t *next)
{
	size_t at = *next < t->n && t->entries[*next].pid == pid ? *next : processes_find(t, pid);
	struct entry *e = &t->entries[at];

	*next = at + 1;
	if (at == t->n || e->pid != pid)
		return processes_add(t, at, pid, inode);
	if (e->inode != inode)
		return processes_replace(t, e, inode);
	if (e->doubtful)
		settle_doubt(t, e);
	return e;
}

static int processes_sweep(struct process_table *t, int64_t now_ns, bool all, struct err *err)
{
	const struct dirent *d;
	size_t next = 0; /* /proc is in the order of PIDs, mostly */
	unsigned int left = LISTED_MAX;

	rewinddir(t->proc);
	t->count = 0;
	t->strays = 0;
	for (errno = 0; left > 0 && (d = readdir(t->proc)); errno = 0, left--) {
		pid_t pid = pid_of(d->d_name);
		struct entry *e = pid > 0 ? processes_listed(t, pid, d->d_ino, &next) : NULL;

		if (!e) {
			/*
			 * A process that the table does not take counts only if all processes of
			 * /proc are the container's.
			 */
			t->count += pid > 0 && !takes_more(t) && t->launcher == 1;
			continue;
		}
		e->seen = true;
		if (!e->ours)
			continue;
		if (all || process_is_active(t, e))
			process_measure(t, e, now_ns);
		t->count += !e->ended;
	}
	if (errno)
		return err_set(err, errno, "list /proc of the container");
	remove_unseen(t);
	process_leaders_forget(t);
	t->new_names = false;
	return 0;
}

int process_table_sweep(struct process_table *t, int64_t now_ns, struct err *err)
{
	return processes_sweep(t, now_ns, true, err);
}

int process_table_sweep_active(struct process_table *t, int64_t now_ns, struct err *err)
{
	int r = processes_sweep(t, now_ns, false, err);

	if (r == 0)
		process_table_read_resting(t, now_ns, t->n / RESTING_SHARE + 1);
	return r;
}

size_t process_table_count(const struct process_table *t)
{
	return t->count;
}

int64_t process_table_ends(const struct process_table *t)
{
	return t->ends;
}
