/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums memory by what processes are: Ray's own components, tasks and actors by name,
 * idle workers, drivers, the rest. Pure: names and sizes come in, a short table goes out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/sample/proc_parse.h"

enum component_kind {
	COMPONENT_TASK, /* a task, or an actor: "ray::NAME" */
	COMPONENT_IDLE, /* workers that wait for a task */
	/* a Python program that is not Ray's; on a worker mostly the child of a task */
	COMPONENT_DRIVER,
	COMPONENT_RAYLET,
	COMPONENT_GCS,
	COMPONENT_DASHBOARD,
	COMPONENT_JOB_SUPERVISOR, /* one for each submitted job */
	/* log monitor, autoscaler, runtime environments, `ray start` itself, our launcher, ... */
	COMPONENT_HELPER,
	COMPONENT_OTHER,
};

const char *component_kind_name(enum component_kind kind); /* "task", "idle", ... */

#define COMPONENTS_MAX 16
#define COMPONENTS_SPILLING \
	"Ray's object spilling" /* the name of the workers that spill and restore objects */

struct component {
	enum component_kind kind;
	uint32_t count; /* processes */
	uint32_t
		/*
		 * of these, tasks' children that keep the title of their parent: a fork copies it
		 */
		children;
	int64_t own; /* bytes of RSS-SHR, of all its processes together */
	int64_t largest; /* bytes of RSS-SHR of its largest process */
	char name[PROCESS_NAME_MAX];
};

/* The components with the most memory; the others are counted together. */
struct components {
	struct component list[COMPONENTS_MAX];
	size_t n;
	uint32_t rest_count;
	int64_t rest_own;
};

/*
 * Finds the kind of a process and the name of its component, from its name and command
 * line as proc_parse_cmdline makes them. The methods of an actor count as the
 * actor: Ray titles its worker "ray::Actor.method" while the method runs.
 */
enum component_kind component_of(const char *name, const char *command,
				 char ret_name[static PROCESS_NAME_MAX]);

/*
 * Adds a process of that kind and label. is_child: its parent has the same. c must be initialized
 * to { 0 } before the first.
 */
void components_add_one(struct components *c, enum component_kind kind, const char *label,
			int64_t own, bool is_child);

/* Sorts the list, the largest component first. */
void components_sort(struct components *c);

/*
 * Sums all components: returns their bytes of RSS-SHR, *ret_count is how many processes they have.
 */
int64_t components_total(const struct components *c, uint32_t *ret_count);

/*
 * Sums all components of one kind: *ret_total is their bytes of RSS-SHR (may be NULL). Returns how
 * many processes they have.
 */
uint32_t components_of_kind(const struct components *c, enum component_kind kind,
			    int64_t *ret_total);
