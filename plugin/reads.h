/* SPDX-License-Identifier: Apache-2.0 */
/* Reads objects of the cluster, in the namespace and by the selector of the command line. */
#pragma once

#include <cjson/cJSON.h>

#include "plugin/kubectl_stream.h"
#include "plugin/options.h"

#define READS_ARGS_MAX 16

struct kubectl kubectl_of(const struct options *o);

/*
 * Fills args with "get KIND", the namespace and the selector (NULL: none). args has room for
 * READS_ARGS_MAX words; returns how many it has.
 */
size_t get_args(const struct options *o, const char *kind, const char *selector, const char **args);

/*
 * Read objects, which the caller owns. The errors are those of kubectl_json. selector, name: NULL:
 * all of them. quiet: kubectl's messages are dropped.
 */
int read_objects(const struct options *o, const char *kind, const char *selector, const char *name,
		 bool quiet, cJSON **ret_json, struct err *err);
int read_failures(const struct options *o, cJSON **ret_list, struct err *err);
/*
 * Reads the Ray pods of the namespace, or of all namespaces; only those of cluster and selector if
 * not NULL.
 */
int read_ray_pods(const struct options *o, const char *cluster, const char *selector,
		  cJSON **ret_list, struct err *err);
/*
 * Reads the Ray pods of what a person names: a RayCluster, or KIND/NAME of an object for which
 * KubeRay has made clusters. *ret_list is NULL where there is no cluster.
 */
int read_pods_of(const struct options *o, const char *what, cJSON **ret_list, struct err *err);
/*
 * The name of the RayCluster that a person names; NULL: it is another object, which has clusters.
 */
const char *cluster_named(const char *what);
/* Reads the pod called what, or pod/NAME, as a list; otherwise as read_pods_of. */
int read_pods_named(const struct options *o, const char *what, cJSON **ret_list, struct err *err);

/*
 * Finds the failure named o->argument, or the newest of the pod of that name. *ret_failure is owned
 * by failures.
 */
int find_failure(const struct options *o, const cJSON *failures, const cJSON **ret_failure,
		 struct err *err);

/* Returns the end of a sentence about something that was not found: a hint at -A, or "". Static. */
const char *where_looked(const struct options *o);
