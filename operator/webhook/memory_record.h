/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotation afterglow.dev/memory-safety: what memory safety set in a
 * RayCluster, by group and field, and the limit it was computed from:
 *
 *	{"head":{"limit":"8Gi","set":{"rayStartParams.num-cpus":"0", ...}},
 *	 "workers":{"small":{"limit":"4Gi","set":{"limits.memory":"4Gi", ...}}}}
 *
 * Users can write it, so everything in it is checked: an entry that memory
 * safety could not have written counts as absent. A group whose entry does not
 * fit into RECORD_MAX is not changed at all, so that the annotation always
 * distinguishes our values from the user's.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/strbuf.h"
#include "lib/strmap.h"
#include "operator/failures/infeasible.h"
#include "operator/webhook/group_memory.h"

#define RECORD_ANNOTATION MEMORY_SAFETY_ANNOTATION
#define RECORD_MAX 16384 /* bytes; the API server takes 256 KiB for all annotations of an object */
#define RECORD_NAME_MAX 63 /* bytes of a group's name: it becomes the value of a label */

struct memory_record {
	struct group_values *head; /* NULL: no entry */
	struct strmap workers; /* by name; values are struct group_values * */
};

/*
 * Reads the record in the object's annotation; it is empty if none can be read. Release it.
 * Returns 0 or -ENOMEM.
 */
int memory_record_read(const cJSON *object, struct memory_record *ret_record, struct err *err);
void memory_record_release(struct memory_record *record);

/* Returns the entry of a group; NULL if there is none. name is ignored for the head. */
const struct group_values *memory_record_get(const struct memory_record *record, enum ray_node node,
					     const char *name);

/*
 * Writes a record: the head first (if at all), then workers in the order of the spec. Zeroed, it is
 * empty.
 */
struct record_writer {
	struct strbuf text;
	bool workers, head;
};
#define RECORD_WRITER_INIT ((struct record_writer){ .text = STRBUF_INIT(RECORD_MAX) })
void record_writer_release(struct record_writer *w);
/* Returns false if the entry does not fit; then nothing was added. */
bool record_writer_add(struct record_writer *w, enum ray_node node, const char *name,
		       const struct group_values *values);
/* Returns the annotation's text; NULL if there is no entry. Owned by w. */
const char *record_writer_text(struct record_writer *w);
