/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the names of a container's processes, and finds the components to which they belong. */
#include <string.h>

#include "lib/units.h"
#include "sidecar/sample/processes_internal.h"

/*
 * Reading a name takes 8 us, reading a size 1 us. So a name is read again only when it may have
 * changed: while the process is young and may be between fork and exec, when its memory has changed
 * (a worker changes its title with every task), and otherwise from time to time.
 */
#define YOUNG_NS NS_PER_SEC
#define NAME_FRESH_NS (100 * NS_PER_MS) /* a name is never read more often than this */
#define NAME_STALE_TOP_NS (2 * NS_PER_SEC) /* how often for the largest processes */
#define NAME_STALE_NS (30 * NS_PER_SEC) /* how often for all other processes, or */
/* This for each process, if that is longer: a ten-thousandth of a core. */
#define NAME_STALE_EACH_NS (60 * NS_PER_MS)
#define NAME_CHANGE ((int64_t)1 << 20) /* a change in bytes of RSS-SHR */
/* Each reading of a name uses up so much of the time that has passed: a thousandth of a core. */
#define NAME_AGAIN_NS (10 * NS_PER_MS)
#define NAME_FIRST_NS (2 * NS_PER_MS) /* the same for the first name of a process */
/* Limit of the time that is saved up, so that one sample does not take long. */
#define NAMES_SAVED_NS (640 * NS_PER_MS)
#define NAMES_LOOKS_MAX 512 /* entries looked at in one sample */

bool process_name_is_old(const struct entry *e)
{
	return entry_own(e) - e->named_own > NAME_CHANGE;
}

static bool name_is_due(const struct entry *e, int64_t now_ns, int64_t stale_ns)
{
	int64_t age = now_ns - e->named_ns, own = entry_own(e);

	if (!e->named_ns || age >= stale_ns)
		return true;
	return age >= NAME_FRESH_NS && (now_ns - e->first_ns < YOUNG_NS || process_name_is_old(e) ||
					e->named_own - own > NAME_CHANGE);
}

static void refresh_name(struct process_table *t, struct entry *e, int64_t now_ns)
{
	char data[2048], name[PROCESS_NAME_MAX], command[PROCESS_COMMAND_MAX] = "";

	t->new_names |= !e->named_ns;
	e->named_ns = now_ns;
	e->named_own = entry_own(e);
	ssize_t len = process_read(t, e->pid, "cmdline", data, sizeof(data));
	memcpy(name, process_title_name(e->title), strlen(process_title_name(e->title)) + 1);
	if (len <= 0 || !proc_parse_cmdline(data, (size_t)len, name, command) ||
	    process_title_is(e->title, name, command))
		return;
	struct process_title *title = process_title_new(name, command);
	if (!title)
		return;
	if (title->kind != e->title->kind ||
	    strcmp(process_title_label(title), process_title_label(e->title)) != 0)
		process_run_end(t, e);
	free(e->title);
	e->title = title;
}

void process_name_now(struct process_table *t, struct entry *e, int64_t now_ns)
{
	if (name_is_due(e, now_ns, NAME_STALE_TOP_NS))
		refresh_name(t, e, now_ns);
}

void process_table_refresh_names(struct process_table *t, int64_t now_ns)
{
	int64_t stale_ns = MAX(NAME_STALE_NS, (int64_t)t->n * NAME_STALE_EACH_NS);
	int64_t left_ns = t->named_ns ? MIN(now_ns - t->named_ns, NAMES_SAVED_NS) : NAMES_SAVED_NS;
	size_t start = t->name_at < t->n ? t->name_at : 0, looked = 0;

	if (left_ns < NAME_AGAIN_NS)
		return;
	t->named_ns = now_ns;
	t->naming = false;
	for (; looked < MIN(t->n, (size_t)NAMES_LOOKS_MAX) && left_ns > 0; looked++) {
		struct entry *e = &t->entries[(start + looked) % t->n];

		if (!e->ours || e->ended || !name_is_due(e, now_ns, stale_ns))
			continue;
		left_ns -= e->named_ns ? NAME_AGAIN_NS : NAME_FIRST_NS;
		t->naming |= !e->named_ns;
		refresh_name(t, e, now_ns);
	}
	t->name_at = start + looked;
}

bool process_table_new_names(const struct process_table *t)
{
	return t->new_names && !t->naming;
}

/*
 * Returns whether it is the child of a task that has the task's title, as those of a DataLoader
 * have.
 */
static bool keeps_title(const struct process_table *t, const struct entry *e)
{
	const struct entry *parent =
		e->title->kind == COMPONENT_TASK ? process_lookup(t, e->ppid) : NULL;

	return parent && parent->ours && parent->title->kind == COMPONENT_TASK &&
	       strcmp(process_title_label(parent->title), process_title_label(e->title)) == 0;
}

void process_table_components(const struct process_table *t, struct components *ret_components)
{
	*ret_components = (struct components){ .n = 0 };
	for (size_t i = 0; i < t->n; i++) {
		const struct entry *e = &t->entries[i];

		if (e->ours && !e->ended)
			components_add_one(ret_components, e->title->kind,
					   process_title_label(e->title), entry_own(e),
					   keeps_title(t, e));
	}
	components_sort(ret_components);
}

static bool is_zombie(const struct entry *e)
{
	return e->ours && e->ended;
}

/* The parent of more than half of them is found by a vote (Boyer and Moore), and then counted. */
void process_table_zombies(const struct process_table *t, struct zombies *ret_zombies)
{
	struct zombies z = { .n = 0 };
	uint32_t votes = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (!is_zombie(&t->entries[i]))
			continue;
		z.n++;
		if (votes == 0)
			z.parent = t->entries[i].ppid;
		votes = z.parent == t->entries[i].ppid ? votes + 1 : votes - 1;
	}
	for (size_t i = 0; i < t->n && votes; i++)
		z.of_parent += is_zombie(&t->entries[i]) && t->entries[i].ppid == z.parent;
	if (z.of_parent <= z.n / 2)
		z.of_parent = 0;
	if (!z.of_parent)
		z.parent = 0;
	const struct entry *parent = z.parent ? process_lookup(t, z.parent) : NULL;
	if (parent && parent->title)
		memcpy(z.name, process_title_name(parent->title),
		       strlen(process_title_name(parent->title)) + 1);
	*ret_zombies = z;
}

void process_describe(const struct entry *e, struct process *ret_process)
{
	struct process p = {
		.pid = e->pid, .rss = e->rss, .shared = e->shared, .growth = e->growth
	};
	const char *name = process_title_name(e->title), *command = process_title_command(e->title);

	memcpy(p.name, name, strlen(name) + 1);
	memcpy(p.command, command, strlen(command) + 1);
	*ret_process = p;
}

pid_t process_table_find(const struct process_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->entries[i].ours &&
		    strcmp(process_title_name(t->entries[i].title), name) == 0)
			return t->entries[i].pid;
	return 0;
}

void process_table_each(const struct process_table *t,
			void (*fn)(const struct process *p, void *arg), void *arg)
{
	for (size_t i = 0; i < t->n; i++) {
		struct process p;

		if (!t->entries[i].ours || t->entries[i].ended)
			continue;
		process_describe(&t->entries[i], &p);
		fn(&p, arg);
	}
}
