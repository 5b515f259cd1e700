/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the API server is asked for a list, a watch or a stream (a watch that begins with all there
 * is), and what its no means. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_CACHE_LIST_WATCH_H
#define AFTERGLOW_OPERATOR_CACHE_LIST_WATCH_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/strbuf.h"
#include "operator/kube/resource.h"

/* Which objects. */
struct list_watch {
	const struct resource *resource;
	const char *namespace; /* NULL: all */
	const char *label_selector; /* NULL: none */
	bool metadata_only;
};

/* For the header Accept; NULL: JSON as it is. */
const char *list_watch_accept(const struct list_watch *lw, bool list);

/* Append path and query. token: of the page before, "" for the first. */
void list_watch_list_path(const struct list_watch *lw, const char *token, bool unlimited,
			  struct strbuf *out);
/* rv: from which version on; NULL: a stream. */
void list_watch_watch_path(const struct list_watch *lw, const char *rv, int timeout_s,
			   struct strbuf *out);

/* Whether that bookmark of a stream says that all there is has come. */
bool list_watch_ends_initial(const cJSON *bookmark);

/*
 * What a Status says, as a code: 410 for all that ends a version's life. fallback: for one that has
 * none.
 */
int list_watch_code(const cJSON *status, int fallback);

#endif
