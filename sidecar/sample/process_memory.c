/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory of a container's processes, and finds the largest. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/units.h"
#include "sidecar/sample/processes_internal.h"
#include "sidecar/sample/rootfd.h"

#define GROWTH_WINDOW_NS (2 * NS_PER_SEC) /* growth is measured over one to two such times */
#define GROWTH_MAX 1e18 /* bytes/s; a forged /proc may show more, which must not overflow */
/*
 * The kernel keeps a page for each descriptor of a statm that was read, and charges it to the
 * sidecar. With more processes than this, those that rest get no descriptor.
 */
#define STATM_FDS_MAX 256
/* of so many files that may be open, one; a look at a process takes another */
#define STATM_FDS_SHARE 4
#define REST_CHANGE ((int64_t)64 << 10) /* bytes of RSS-SHR; a smaller difference is no change */
#define REST_AFTER 3 /* a process rests after so many readings without a change */

ssize_t process_read(const struct process_table *t, pid_t pid, const char *file, char *buf,
		     size_t size)
{
	char path[40];

	snprintf(path, sizeof(path), "%d/%s", (int)pid, file);
	int fd = rootfd_open_no_fuse(t->proc_fd, path, O_RDONLY, NULL);
	if (fd < 0)
		return fd;
	ssize_t n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

static void keep_open(struct process_table *t, struct entry *e)
{
	char path[40];
	struct rlimit files;

	if (e->statm_fd >= 0 || t->n_fds >= STATM_FDS_MAX ||
	    (getrlimit(RLIMIT_NOFILE, &files) == 0 && t->n_fds >= files.rlim_cur / STATM_FDS_SHARE))
		return;
	snprintf(path, sizeof(path), "%d/statm", (int)e->pid);
	e->statm_fd = rootfd_open_no_fuse(t->proc_fd, path, O_RDONLY, NULL);
	t->n_fds += e->statm_fd >= 0;
}

static void close_statm(struct process_table *t, struct entry *e)
{
	if (e->statm_fd < 0)
		return;
	close(TAKE_FD(e->statm_fd));
	t->n_fds--;
}

void entry_release(struct process_table *t, struct entry *e)
{
	process_run_end(t, e);
	close_statm(t, e);
	free(TAKE_PTR(e->title));
}

static void update_growth(struct entry *e, int64_t now_ns)
{
	int64_t own = entry_own(e);

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
		double growth = (double)(own - e->older.own) * (double)NS_PER_SEC /
				(double)(now_ns - e->older.at_ns);

		e->growth = (int64_t)MAX(MIN(growth, GROWTH_MAX), -GROWTH_MAX);
	}
}

static bool read_memory(struct process_table *t, struct entry *e)
{
	char text[128];
	uint64_t code;
	ssize_t n;

	if (e->statm_fd >= 0)
		n = pread(e->statm_fd, text, sizeof(text) - 1, 0);
	else
		n = process_read(t, e->pid, "statm", text, sizeof(text));
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (!proc_parse_statm(text, t->page_size, &e->rss, &e->shared, &code))
		return false;
	/* The process has executed another program, and has its name now. */
	if (code != e->code)
		e->named_ns = 0;
	e->code = code;
	return true;
}

bool process_is_active(const struct process_table *t, const struct entry *e)
{
	return t->n <= STATM_FDS_MAX || e->quiet < REST_AFTER;
}

bool process_measure(struct process_table *t, struct entry *e, int64_t now_ns)
{
	bool lived = !e->ended;
	int64_t before = lived ? entry_own(e) : 0, change;

	e->ended = !read_memory(t, e);
	if (e->ended) {
		t->ends += lived;
		t->own -= before;
		e->rss = e->shared = 0;
		e->quiet = REST_AFTER;
		process_run_end(t, e);
		close_statm(t, e);
		return false;
	}
	change = entry_own(e) - before;
	t->own += change;
	update_growth(e, now_ns);
	if (change >= REST_CHANGE || -change >= REST_CHANGE)
		e->quiet = 0;
	else if (e->quiet < REST_AFTER)
		e->quiet++;
	if (process_is_active(t, e))
		keep_open(t, e);
	else
		close_statm(t, e);
	return true;
}

int64_t process_table_own(const struct process_table *t)
{
	return t->own;
}

size_t process_table_read_resting(struct process_table *t, int64_t now_ns, size_t max)
{
	size_t start = t->read_at < t->n ? t->read_at : 0, looked = 0;

	for (; looked < t->n && max > 0; looked++) {
		struct entry *e = &t->entries[(start + looked) % t->n];
		bool ended = e->ended;

		if (!e->ours || process_is_active(t, e))
			continue;
		max--;
		process_measure(t, e, now_ns);
		t->count += (size_t)(ended && !e->ended);
		t->count -= (size_t)(!ended && e->ended);
	}
	t->read_at = t->n ? (start + looked) % t->n : 0;
	process_leaders_forget(t);
	return looked;
}

/* --- The largest processes --- */

void process_leaders_forget(struct process_table *t)
{
	t->n_leaders = 0;
}

static bool may_lead(const struct entry *e)
{
	return e->ours && !e->ended;
}

/* Inserts the entry among the largest so far, of which the list has at most max. */
static size_t process_memory_insert(const struct process_table *t, size_t *list, size_t n,
				    size_t max, size_t at)
{
	int64_t own = entry_own(&t->entries[at]);
	size_t place = n;

	while (place > 0 && entry_own(&t->entries[list[place - 1]]) < own)
		place--;
	if (place >= max)
		return n;
	n = MIN(n + 1, max);
	memmove(&list[place + 1], &list[place], (n - place - 1) * sizeof(list[0]));
	list[place] = at;
	return n;
}

static void find_leaders(struct process_table *t)
{
	t->n_leaders = 0;
	for (size_t i = 0; i < t->n; i++)
		if (may_lead(&t->entries[i]))
			t->n_leaders = process_memory_insert(t, t->leaders, t->n_leaders,
							     PROCESSES_TOP_MAX, i);
	t->leaders_floor = t->n_leaders == PROCESSES_TOP_MAX ?
				   entry_own(&t->entries[t->leaders[PROCESSES_TOP_MAX - 1]]) :
				   INT64_MIN;
}

static size_t process_memory_pick(const struct process_table *t, size_t *ret_list, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < t->n_leaders; i++)
		if (may_lead(&t->entries[t->leaders[i]]))
			found = process_memory_insert(t, ret_list, found, n, t->leaders[i]);
	return found;
}

size_t process_table_top(struct process_table *t, int64_t now_ns, struct process *ret_top, size_t n)
{
	size_t list[PROCESSES_TOP_MAX], found = 0;

	n = MIN(n, ARRAY_SIZE(list));
	if (t->n_leaders > 0)
		found = process_memory_pick(t, list, n);
	/*
	 * Since then only the leaders were read, so another process may have more by now than the
	 * last of them.
	 */
	if (found < n || (n > 0 && entry_own(&t->entries[list[n - 1]]) < t->leaders_floor)) {
		find_leaders(t);
		found = process_memory_pick(t, list, n);
	}
	for (size_t i = 0; i < found; i++) {
		process_name_now(t, &t->entries[list[i]], now_ns);
		process_describe(&t->entries[list[i]], &ret_top[i]);
		t->largest[i] = ret_top[i].pid;
	}
	t->n_largest = found;
	return found;
}

void process_table_glance(struct process_table *t, int64_t now_ns)
{
	for (size_t i = 0; i < t->n_largest; i++) {
		struct entry *e = process_lookup(t, t->largest[i]);

		if (e && !e->ended && !process_measure(t, e, now_ns))
			t->count--;
	}
}
