/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a table of the processes of the node's pods. */
#include "node/process_table.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node/process_status.h"

#define OF_NODE CONTAINERS_MAX
#define OF_UNLISTED (CONTAINERS_MAX + 1) /* in a container for which there is no room */
#define PARTS (CONTAINERS_MAX + 2) /* of the table */
#define PIDS_MAX (4 * 1024 * 1024) /* the kernel's PID_MAX_LIMIT on 64 bits */
/*
 * Each process is looked at again once in so many sweeps, because it may have been moved to another
 * cgroup.
 */
#define LOOK_EVERY 32

struct entry {
	ino_t inode; /* of its directory in /proc: another process with this PID has another one */
	pid_t pid, inner;
	uint16_t container; /* index of the container, OF_NODE, or OF_UNLISTED */
	bool looked_twice;
};

struct rows {
	struct entry *all; /* in ascending order of PIDs */
	size_t n, room, max, left_out;
	uint32_t of_part[PARTS]; /* how many there are of each container, OF_NODE and OF_UNLISTED */
	/*
	 * A bit for each PID: its process has no row, because its part was full. Another process
	 * that gets this PID between two sweeps counts as that one for up to LOOK_EVERY sweeps.
	 * NULL: none.
	 */
	unsigned char *excess;
};

struct process_table {
	const char *proc;
	struct rows rows;
	struct pod_of_process *containers;
	bool used[CONTAINERS_MAX];
	unsigned int ages[CONTAINERS_MAX]; /* of the containers, in sweeps */
	size_t n_containers;
	unsigned int sweeps;
};

static void rows_release(struct rows *rows)
{
	free(rows->all);
	free(rows->excess);
}

int process_table_new(const char *proc, size_t max, struct process_table **ret_table,
		      struct err *err)
{
	struct process_table *t = calloc(1, sizeof(*t));

	if (!t)
		return err_set(err, ENOMEM, "processes");
	t->proc = proc;
	t->rows.max = max;
	t->containers = calloc(CONTAINERS_MAX, sizeof(*t->containers));
	if (t->containers) {
		*ret_table = t;
		return 0;
	}
	process_table_free(t);
	return err_set(err, ENOMEM, "processes");
}

void process_table_free(struct process_table *t)
{
	if (!t)
		return;
	rows_release(&t->rows);
	free(t->containers);
	free(t);
}

/* Returns the index of the container, or OF_UNLISTED if there are too many containers. */
static uint16_t process_table_add_container(struct process_table *t,
					    const struct pod_of_process *pod)
{
	size_t vacant = t->n_containers;

	for (size_t i = 0; i < t->n_containers; i++)
		if (!t->used[i])
			vacant = MIN(vacant, i);
		else if (strcmp(t->containers[i].container_id, pod->container_id) == 0 &&
			 strcmp(t->containers[i].pod_uid, pod->pod_uid) == 0)
			return (uint16_t)i;
	if (vacant == CONTAINERS_MAX)
		return OF_UNLISTED;
	t->n_containers = MAX(t->n_containers, vacant + 1);
	t->containers[vacant] = *pod;
	t->used[vacant] = true;
	t->ages[vacant] = 0;
	return (uint16_t)vacant;
}

static void process_row_look(struct process_table *t, struct entry *e)
{
	struct process_status status;
	struct pod_of_process pod;

	/*
	 * On cgroup v1 a process that exits is shown in "/". Then we keep the cgroup that it was
	 * in.
	 */
	if (pod_of_process(t->proc, e->pid, &pod, NULL) < 0 || !pod.container_id[0])
		return;
	e->container = process_table_add_container(t, &pod);
	if (!e->inner && process_status_read(t->proc, e->pid, &status, NULL) == 0)
		e->inner = status.container_pid;
}

static pid_t pid_of_name(const char *name)
{
	char *end;
	long pid = name[0] >= '1' && name[0] <= '9' ? strtol(name, &end, 10) : 0;

	return pid > 0 && pid <= INT32_MAX && *end == '\0' ? (pid_t)pid : 0;
}

/* Returns whether one more process of that part may have a row. */
static bool rows_may_add(const struct rows *rows, uint16_t part)
{
	size_t left = rows->max - MIN(rows->n, rows->max);

	return rows->of_part[part] < MAX(left, (size_t)PROCESSES_OF_CONTAINER);
}

static bool rows_add(struct rows *rows, const struct entry *e)
{
	if (rows->n == rows->room) {
		size_t room = MAX(rows->room * 2, (size_t)256);
		struct entry *grown = realloc(rows->all, room * sizeof(*grown));

		if (!grown)
			return false;
		rows->all = grown;
		rows->room = room;
	}
	rows->all[rows->n++] = *e;
	rows->of_part[e->container]++;
	return true;
}

static bool rows_lack(const struct rows *rows, pid_t pid)
{
	return rows->excess && pid < PIDS_MAX && (rows->excess[pid / 8] & 1 << pid % 8);
}

static void rows_leave_out(struct rows *rows, pid_t pid)
{
	rows->left_out++;
	if (!rows->excess)
		rows->excess = calloc(PIDS_MAX / 8, 1);
	if (rows->excess && pid < PIDS_MAX)
		rows->excess[pid / 8] |= (unsigned char)(1 << pid % 8);
}

static int process_table_compare(const void *key, const void *element)
{
	const struct entry *a = key, *b = element;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* A procfs lists PIDs in ascending order. */
static void rows_sort(struct rows *rows)
{
	size_t i = 1;

	while (i < rows->n && rows->all[i - 1].pid < rows->all[i].pid)
		i++;
	if (i < rows->n)
		qsort(rows->all, rows->n, sizeof(*rows->all), process_table_compare);
}

static const struct entry *process_row_find(const struct process_table *t, pid_t pid)
{
	const struct entry key = { .pid = pid };
	const struct rows *rows = &t->rows;

	return rows->n ? bsearch(&key, rows->all, rows->n, sizeof(key), process_table_compare) :
			 NULL;
}

/* Brings a process that the sweep lists into the new rows. Returns false if there is no memory. */
static bool process_table_see(struct process_table *t, struct entry e, struct rows *rows)
{
	const struct entry *before = process_row_find(t, e.pid);
	bool is_due = ((unsigned int)e.pid + t->sweeps) % LOOK_EVERY == 0;

	if (!before && !is_due && rows_lack(&t->rows, e.pid)) {
		rows_leave_out(rows, e.pid);
		return true;
	}
	if (before && before->inode != e.inode)
		before = NULL;
	if (before)
		e = *before;
	if (!before || !before->looked_twice || is_due) {
		e.looked_twice = before != NULL;
		process_row_look(t, &e);
	}
	if (rows_may_add(rows, e.container))
		return rows_add(rows, &e);
	rows_leave_out(rows, e.pid);
	return true;
}

int process_table_sweep(struct process_table *t, struct err *err)
{
	DIR *dir = opendir(t->proc);
	struct rows rows = { .max = t->rows.max };
	struct dirent *d;
	size_t listed = 0;

	if (!dir)
		return err_set(err, errno, "list %s", t->proc);
	t->sweeps++;
	for (size_t i = 0; i < t->n_containers; i++)
		t->ages[i]++;
	while (listed < PROCESSES_LISTED * rows.max && (d = readdir(dir))) {
		struct entry e = { .inode = d->d_ino,
				   .pid = pid_of_name(d->d_name),
				   .container = OF_NODE };

		if (!e.pid)
			continue;
		listed++;
		if (!process_table_see(t, e, &rows))
			break;
	}
	closedir(dir);
	rows_sort(&rows);
	rows_release(&t->rows);
	t->rows = rows;
	for (size_t i = 0; i < t->n_containers; i++)
		t->used[i] = t->rows.of_part[i] > 0;
	return 0;
}

enum process_known process_table_find(const struct process_table *t, pid_t pid,
				      const struct pod_of_process **ret_pod, pid_t *ret_inner)
{
	const struct entry *e = process_row_find(t, pid);

	if (!e || e->container == OF_UNLISTED)
		return PROCESS_UNKNOWN;
	/* The runtime may not yet have moved it into its container. */
	if (e->container == OF_NODE)
		return e->looked_twice ? PROCESS_OF_NODE : PROCESS_UNKNOWN;
	*ret_pod = &t->containers[e->container];
	*ret_inner = e->inner;
	return PROCESS_OF_POD;
}

enum process_known process_table_look(const struct process_table *t, pid_t pid,
				      struct pod_of_process *ret_pod, pid_t *ret_inner)
{
	const struct pod_of_process *known;
	struct pod_of_process now;
	enum process_known what = process_table_find(t, pid, &known, ret_inner);

	if (what != PROCESS_OF_POD)
		return what;
	/* On cgroup v1 a process that is on its way out is in no container. */
	if (pod_of_process(t->proc, pid, &now, NULL) == 0 && now.container_id[0] &&
	    strcmp(now.container_id, known->container_id) != 0)
		return PROCESS_UNKNOWN;
	*ret_pod = *known;
	return PROCESS_OF_POD;
}

size_t process_table_left_out(const struct process_table *t)
{
	return t->rows.left_out;
}

void process_table_containers(const struct process_table *t,
			      void (*fn)(const struct pod_of_process *c, unsigned int sweeps,
					 void *arg),
			      void *arg)
{
	for (size_t i = 0; i < t->n_containers; i++)
		if (t->used[i])
			fn(&t->containers[i], t->ages[i], arg);
}

pid_t process_table_any(const struct process_table *t, const struct pod_of_process *container)
{
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct entry *e = &t->rows.all[i];

		if (e->container < CONTAINERS_MAX &&
		    strcmp(t->containers[e->container].container_id, container->container_id) == 0)
			return e->pid;
	}
	return 0;
}
