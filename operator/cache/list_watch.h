/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the requests for a list, a watch or a stream (a watch that begins with all objects), and
 * interprets a refusal. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/strbuf.h"
#include "operator/kube/resource.h"

/* Which objects to ask for. */
struct list_watch {
	const struct resource *resource;
	const char *namespace; /* NULL: all */
	const char *label_selector; /* NULL: none */
	bool metadata_only;
};

/* Returns the value of the header Accept; NULL for ordinary JSON. */
const char *list_watch_accept(const struct list_watch *lw, bool list);

/*
 * Appends path and query of a list. token is the continue token of the previous page, "" for the
 * first page.
 */
void list_watch_list_path(const struct list_watch *lw, const char *token, bool unlimited,
			  struct strbuf *out);
/* Appends path and query of a watch from version rv on, or of a stream if rv is NULL. */
void list_watch_watch_path(const struct list_watch *lw, const char *rv, int timeout_s,
			   struct strbuf *out);

/* Returns whether that bookmark of a stream marks the end of the initial objects. */
bool list_watch_ends_initial(const cJSON *bookmark);

/*
 * Returns the HTTP code of a Status: 410 for each reason that means that a version is no longer
 * available; fallback if the Status has no code.
 */
int list_watch_code(const cJSON *status, int fallback);
