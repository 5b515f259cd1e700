/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a table of the processes of the node's pods. */
#include "node/process_table.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node/process_status.h"

#define OF_NODE UINT16_MAX
#define OF_UNLISTED (UINT16_MAX - 1) /* in a container for which there is no room */
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

struct process_table {
	const char *proc;
	struct entry *entries; /* in ascending order of PIDs */
	size_t n, room;
	struct pod_of_process *containers;
	bool used[CONTAINERS_MAX];
	unsigned int ages[CONTAINERS_MAX]; /* of the containers, in sweeps */
	size_t n_containers;
	unsigned int sweeps;
};

int process_table_new(const char *proc, struct process_table **ret_table, struct err *err)
{
	struct process_table *t = calloc(1, sizeof(*t));

	if (!t)
		return err_set(err, ENOMEM, "processes");
	t->proc = proc;
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
	free(t->entries);
	free(t->containers);
	free(t);
}

static bool is_listed(const struct entry *e)
{
	return e->container < CONTAINERS_MAX;
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

struct entries {
	struct entry *all;
	size_t n, room;
};

static bool process_table_append(struct entries *list, const struct entry *e)
{
	if (list->n == list->room) {
		size_t room = MIN(MAX(list->room * 2, (size_t)256), (size_t)PROCESSES_MAX);
		struct entry *grown = room > list->room ? realloc(list->all, room * sizeof(*grown)) : NULL;

		if (!grown)
			return false;
		list->all = grown;
		list->room = room;
	}
	list->all[list->n++] = *e;
	return true;
}

static int process_table_compare(const void *key, const void *element)
{
	const struct entry *a = key, *b = element;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static const struct entry *process_row_find(const struct process_table *t, pid_t pid)
{
	const struct entry key = { .pid = pid };

	return t->n ? bsearch(&key, t->entries, t->n, sizeof(key), process_table_compare) : NULL;
}

static void process_table_see(struct process_table *t, const struct entry *before, struct entry *e)
{
	if (before && before->inode != e->inode)
		before = NULL;
	if (before)
		*e = *before;
	if (before && before->looked_twice && ((unsigned int)e->pid + t->sweeps) % LOOK_EVERY != 0)
		return;
	e->looked_twice = before != NULL;
	process_row_look(t, e);
}

static void forget_unused(struct process_table *t)
{
	memset(t->used, 0, sizeof(t->used));
	for (size_t i = 0; i < t->n; i++)
		if (is_listed(&t->entries[i]))
			t->used[t->entries[i].container] = true;
}

int process_table_sweep(struct process_table *t, struct err *err)
{
	DIR *dir = opendir(t->proc);
	struct entries list = { 0 };
	struct dirent *d;
	bool ascending = true;

	if (!dir)
		return err_set(err, errno, "list %s", t->proc);
	t->sweeps++;
	for (size_t i = 0; i < t->n_containers; i++)
		t->ages[i]++;
	while ((d = readdir(dir))) {
		struct entry e = { .inode = d->d_ino,
				   .pid = pid_of_name(d->d_name),
				   .container = OF_NODE };

		if (!e.pid)
			continue;
		process_table_see(t, process_row_find(t, e.pid), &e);
		ascending = ascending && (list.n == 0 || e.pid > list.all[list.n - 1].pid);
		if (!process_table_append(&list, &e))
			break;
	}
	closedir(dir);
	/* A procfs lists PIDs in ascending order. */
	if (!ascending)
		qsort(list.all, list.n, sizeof(*list.all), process_table_compare);
	free(t->entries);
	t->entries = list.all;
	t->n = list.n;
	forget_unused(t);
	return 0;
}

enum process_known process_table_find(const struct process_table *t, pid_t pid, const struct pod_of_process **ret_pod,
				      pid_t *ret_inner)
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

size_t process_table_count(const struct process_table *t)
{
	return t->n;
}

void process_table_containers(const struct process_table *t, void (*fn)(const struct pod_of_process *c, unsigned int sweeps, void *arg),
			      void *arg)
{
	for (size_t i = 0; i < t->n_containers; i++)
		if (t->used[i])
			fn(&t->containers[i], t->ages[i], arg);
}

pid_t process_table_any(const struct process_table *t, const struct pod_of_process *container)
{
	for (size_t i = 0; i < t->n; i++)
		if (is_listed(&t->entries[i]) &&
		    strcmp(t->containers[t->entries[i].container].container_id, container->container_id) == 0)
			return t->entries[i].pid;
	return 0;
}
