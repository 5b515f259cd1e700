/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses YAML to JSON, for configuration files and kubeconfigs: one document, scalars
 * typed as in YAML 1.2's core schema (so "yes" and "on" are strings), aliases
 * resolved. It is here and not in lib, so that the sidecar does not link libyaml.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

#include "lib/err.h"

#define YAML_DEPTH_MAX 64 /* nested collections */
#define YAML_NODES_MAX 100000 /* values after aliases are resolved: ends "billion laughs" */

/*
 * An empty document is JSON null. It refuses, and names the line of, syntax errors, a
 * second document, duplicate keys, keys that are collections, and merge keys.
 */
int yaml_to_json(const char *text, size_t len, cJSON **ret_json, struct err *err);

/*
 * Returns the line (from 1) of the key at a '.'-separated path of mapping keys; 0 if it is absent.
 */
int yaml_line(const char *text, size_t len, const char *path);
