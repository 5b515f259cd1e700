/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands read of the cluster, in the namespace and by the selector that the command line names. */
#ifndef AFTERGLOW_PLUGIN_READS_H
#define AFTERGLOW_PLUGIN_READS_H

#include <cjson/cJSON.h>

#include "plugin/kubectl.h"
#include "plugin/options.h"

#define READS_ARGS_MAX 16

struct kubectl kubectl_of(const struct options *o);

/* "get KIND" with the namespace and the selector (NULL: none). Returns how many words args has then, of READS_ARGS_MAX. */
size_t get_args(const struct options *o, const char *kind, const char *selector, const char **args);

/* The caller owns the lists. */
int read_failures(const struct options *o, cJSON **ret_list, struct err *err);
/* The Ray pods of the namespace, or of all. cluster, selector: narrow them; NULL: they do not. */
int read_ray_pods(const struct options *o, const char *cluster, const char *selector, cJSON **ret_list, struct err *err);
/* One pod. */
int read_pod(const struct options *o, const char *name, cJSON **ret_pod, struct err *err);
/* Any object, of which an absence or a missing right is an answer as well: NULL then, and kubectl's words are dropped. */
cJSON *read_quietly(const struct options *o, const char *const *args);

/* The failure called o->argument, or the newest of the pod of that name. *ret_failure is owned by failures. */
int find_failure(const struct options *o, const cJSON *failures, const cJSON **ret_failure, struct err *err);

/* For the end of a sentence that says what was not found: where else to look. */
const char *where_looked(const struct options *o);

#endif
