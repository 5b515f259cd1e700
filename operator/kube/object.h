/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an empty Kubernetes object, reads what each has, and makes a hash of text. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* apiVersion, kind, metadata {namespace, name}; the caller owns it. */
cJSON *object_new(const char *api_version, const char *kind, const char *ns, const char *name);

/* Return the value of that annotation or label; NULL if there is none. */
const char *object_annotation(const cJSON *object, const char *name);
const char *object_label(const cJSON *object, const char *name);

/* Returns the owner that controls the object; NULL: there is none. The API server accepts one. */
const cJSON *object_controller(const cJSON *object);

/* Returns whether the object's status has the condition of that type with status "True". */
bool object_condition_is_true(const cJSON *object, const char *type);

#define OBJECT_SECONDS_MAX 32
/* Writes the time in whole seconds, as conditions have it, and returns buf. */
const char *object_seconds(int64_t ns, char buf[static OBJECT_SECONDS_MAX]);
/*
 * Makes the condition that a status is to have. old_status has the present one, whose time of
 * transition stays while its status does; it may be NULL. A message that was cut within a letter is
 * mended. The caller owns it.
 */
cJSON *object_condition_new(const cJSON *old_status, const char *type, bool status,
			    const char *reason, const char *message, int64_t generation,
			    int64_t now_ns);

/*
 * Writes the first n characters (at most 64) of the lower-case hexadecimal SHA-256 of text, and a
 * NUL.
 */
void sha256_hex(const char *text, size_t len, size_t n, char *ret_hex);
