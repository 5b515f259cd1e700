/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the directories in which cores will appear. */
#include "sidecar/launch/core_dirs.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/macros.h"
#include "sidecar/launch/clock.h"
#include "sidecar/launch/core_limit.h"
#include "sidecar/launch/proc_file.h"

/* A directory in which no process has worked for so long is not watched any more. */
#define FORGET_NS (60 * NS_PER_SEC)
#define PROCESSES_MAX 8192

void core_dirs_init(struct core_dirs *d, pid_t launcher, const volatile rlim_t *core_limit)
{
	d->core_limit = core_limit;
	d->launcher = launcher;
	d->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	for (int i = 0; i < CORE_DIRS_MAX; i++)
		d->list[i].fd = -1;
}

static void let_go(struct core_dirs *d, struct core_dir *dir)
{
	inotify_rm_watch(d->inotify_fd, dir->watch);
	close(dir->fd);
	dir->fd = -1;
}

void core_dirs_clear(struct core_dirs *d)
{
	for (int i = 0; i < CORE_DIRS_MAX; i++)
		if (d->list[i].fd >= 0)
			let_go(d, &d->list[i]);
}

const struct core_dir *core_dirs_find(const struct core_dirs *d, int watch)
{
	for (int i = 0; i < CORE_DIRS_MAX; i++)
		if (d->list[i].fd >= 0 && d->list[i].watch == watch)
			return &d->list[i];
	return NULL;
}

void core_dirs_keep(struct core_dirs *d, const struct core_dir *dir, int64_t until_ns)
{
	d->list[dir - d->list].keep_until_ns = until_ns;
}

const char *core_dirs_file_component(const struct core_pattern *pattern)
{
	const char *slash = strrchr(pattern->text, '/');

	return slash ? slash + 1 : pattern->text;
}

void core_dir_each_name(const struct core_dir *dir,
			void (*fn)(const struct core_dir *dir, const char *name, void *arg),
			void *arg)
{
	_cleanup_dir_ DIR *stream =
		dir_of_fd(openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *entry;

	for (int n = 0; n < CORE_NAMES_MAX && (entry = dir_next(stream)); n++)
		fn(dir, entry->d_name, arg);
}

struct scan {
	struct core_dirs *dirs;
	int64_t now_ns;
	core_dir_fn fn;
	void *arg;
};

static struct core_dir *find_inode(struct core_dirs *d, dev_t dev, ino_t ino)
{
	for (int i = 0; i < CORE_DIRS_MAX; i++)
		if (d->list[i].fd >= 0 && d->list[i].dev == dev && d->list[i].ino == ino)
			return &d->list[i];
	return NULL;
}

/* Returns a free place, or that of the directory unused for longest; NULL if all are in use. */
static struct core_dir *make_place(struct scan *s)
{
	struct core_dir *oldest = NULL;

	for (int i = 0; i < CORE_DIRS_MAX; i++) {
		struct core_dir *dir = &s->dirs->list[i];

		if (dir->fd < 0)
			return dir;
		if (dir->seen_ns < s->now_ns && (!oldest || dir->seen_ns < oldest->seen_ns))
			oldest = dir;
	}
	if (oldest)
		let_go(s->dirs, oldest);
	return oldest;
}

static bool is_in_memory(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && core_place_is_in_memory(&fs);
}

/* Takes fd_taken. */
static void scan_add(struct scan *s, int fd_taken)
{
	_cleanup_close_ int fd = fd_taken;
	struct stat st;
	char path[40];

	if (fstat(fd, &st) < 0)
		return;
	struct core_dir *dir = find_inode(s->dirs, st.st_dev, st.st_ino);
	if (dir) {
		dir->seen_ns = s->now_ns;
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	dir = make_place(s);
	int watch =
		dir ? inotify_add_watch(s->dirs->inotify_fd, path, IN_CLOSE_WRITE | IN_ONLYDIR) :
		      -1;
	if (watch < 0)
		return;
	*dir = (struct core_dir){ .watch = watch,
				  .dev = st.st_dev,
				  .ino = st.st_ino,
				  .seen_ns = s->now_ns,
				  .in_memory = is_in_memory(fd) };
	dir->fd = TAKE_FD(fd);
	s->fn(dir, s->arg);
}

static void walk(struct scan *s, int fd, const char *rest);

struct matching {
	struct scan *scan;
	const char *component, *rest;
};

static void walk_name(const struct core_dir *dir, const char *name, void *arg)
{
	const struct matching *m = arg;
	struct core_name unused;
	int next = name[0] != '.' && core_component_match(m->component, name, &unused) ?
			   openat(dir->fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC) :
			   -1;

	if (next >= 0)
		walk(m->scan, next, m->rest);
}

/*
 * Follows the components of the pattern from fd, which it closes, into every directory that matches
 * a component with specifiers.
 */
static void walk(struct scan *s, int fd, const char *rest)
{
	const char *slash = strchr(rest, '/');
	char component[CORE_PATTERN_MAX + 16], literal[CORE_PATTERN_MAX + 16];

	if (!slash) {
		scan_add(s, fd);
		return;
	}
	snprintf(component, sizeof(component), "%.*s", (int)(slash - rest), rest);
	if (!component[0])
		walk(s, fd, slash + 1);
	else if (core_component_literal(component, literal)) {
		int next = openat(fd, literal, O_PATH | O_DIRECTORY | O_CLOEXEC);

		close(fd);
		if (next >= 0)
			walk(s, next, slash + 1);
	} else {
		core_dir_each_name(&(struct core_dir){ .fd = fd }, walk_name,
				   &(struct matching){ s, component, slash + 1 });
		close(fd);
	}
}

/*
 * Takes the core limit away again from a process that went to a directory in memory: its core would
 * count against the container's memory. Another limit than ours is somebody's choice.
 */
static void limit_withdraw(const struct core_dirs *d, pid_t pid)
{
	struct rlimit limit;

	if (!d->core_limit || !*d->core_limit || prlimit(pid, RLIMIT_CORE, NULL, &limit) < 0 ||
	    limit.rlim_cur != *d->core_limit)
		return;
	limit.rlim_cur = 0;
	prlimit(pid, RLIMIT_CORE, &limit, NULL);
}

/*
 * Watches the directory in which a process works. Most processes share a few directories, which
 * stat recognizes without opening them.
 */
static void scan_process(struct scan *s, pid_t pid, const char *pattern)
{
	struct core_dir *known;
	struct stat st;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	if (!strchr(pattern, '/')) {
		if (stat(path, &st) < 0)
			return; /* the process is another user's, a zombie, or gone */
		known = find_inode(s->dirs, st.st_dev, st.st_ino);
		if (known) {
			known->seen_ns = s->now_ns;
			if (known->in_memory)
				limit_withdraw(s->dirs, pid);
			return;
		}
	}
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && is_in_memory(fd))
		limit_withdraw(s->dirs, pid);
	if (fd >= 0)
		walk(s, fd, pattern);
}

/* Our processes, in the order of /proc, which is that of their PIDs. */
struct family {
	/* Parents: of new processes; 0 for others. */
	pid_t pids[PROCESSES_MAX], parents[PROCESSES_MAX];
	bool ours[PROCESSES_MAX];
	int n;
};

static pid_t parent_of(pid_t pid)
{
	char text[512];

	proc_file_read(pid, "stat", text, sizeof(text));
	const char *end = strrchr(text, ')'); /* "PID (COMM) STATE PPID"; COMM may be anything */
	return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

static int by_pid(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

/* Adds a process. Whether it is ours is looked up once, because that never changes. */
static void take_process(struct family *f, const struct family *before, pid_t pid)
{
	const pid_t *known = bsearch(&pid, before->pids, (size_t)before->n, sizeof(pid), by_pid);

	f->pids[f->n] = pid;
	f->ours[f->n] = known && before->ours[known - before->pids];
	f->parents[f->n++] = known ? 0 : parent_of(pid);
}

/* From the beginning. It stays open, see core_watch.h. */
static DIR *list_of_processes(void)
{
	static DIR *stream;

	if (stream)
		rewinddir(stream);
	else
		stream = opendir("/proc");
	return stream;
}

static void read_family(struct family *f, const struct family *before, bool all)
{
	DIR *stream = list_of_processes();
	const struct dirent *entry;

	f->n = 0;
	while (f->n < PROCESSES_MAX && (entry = dir_next(stream))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (all) {
			f->pids[f->n] = (pid_t)strtol(entry->d_name, NULL, 10);
			f->ours[f->n++] = true;
		} else
			take_process(f, before, (pid_t)strtol(entry->d_name, NULL, 10));
	}
}

static bool is_ours(const struct family *f, pid_t pid)
{
	const pid_t *found = bsearch(&pid, f->pids, (size_t)f->n, sizeof(pid), by_pid);

	return found && f->ours[found - f->pids];
}

/*
 * Marks the ancestor and its descendants, generation by generation, until a round finds none. The
 * ancestor is included because the command starts in its working directory.
 */
static void find_descendants(struct family *f, pid_t ancestor)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (int i = 0; i < f->n; i++)
			if (!f->ours[i] && (f->pids[i] == ancestor ||
					    (f->parents[i] && is_ours(f, f->parents[i])))) {
				f->ours[i] = true;
				changed = true;
			}
	}
}

static void scan_processes(struct scan *s, const char *pattern)
{
	/*
	 * One for this scan and one for the previous scan, in turn. They are static because they
	 * are too large for a stack.
	 */
	static struct family families[2];
	static int turn;
	struct family *f = &families[turn], *before = &families[!turn];

	turn = !turn;
	read_family(f, before, s->dirs->launcher == 1);
	if (s->dirs->launcher != 1)
		find_descendants(f, s->dirs->launcher);
	for (int i = 0; i < f->n; i++)
		if (f->ours[i] && f->pids[i] != getpid())
			scan_process(s, f->pids[i], pattern);
}

void core_dirs_scan(struct core_dirs *d, const struct core_pattern *pattern, int64_t now_ns,
		    core_dir_fn fn, void *arg)
{
	struct scan s = { .dirs = d, .now_ns = now_ns, .fn = fn, .arg = arg };

	if (d->inotify_fd < 0)
		return;
	if (pattern->target == CORE_TO_ABSOLUTE) {
		int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0)
			walk(&s, fd, pattern->text);
	} else if (pattern->target == CORE_TO_RELATIVE)
		scan_processes(&s, pattern->text);
	for (int i = 0; i < CORE_DIRS_MAX; i++)
		if (d->list[i].fd >= 0 && now_ns - d->list[i].seen_ns >= FORGET_NS &&
		    now_ns >= d->list[i].keep_until_ns)
			let_go(d, &d->list[i]);
}
