/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common parts of the readers of a kubeconfig: fields, files, and errors with their place.
 */
#pragma once

#include <cjson/cJSON.h>

#include "operator/kube/kubeconfig.h"

/* The place of the fields that are being read. */
struct reader {
	const char *name; /* the file */
	char section[64]; /* "users[2].user" */
};

int reader_copy(const char *text, char **ret_copy, struct err *err);
int field_error(const struct reader *r, int code, const char *field, const char *what, struct err *err);
/* Reads a string field of obj; NULL if it is absent, empty or null. Another type is an error. */
int read_string(const struct reader *r, const cJSON *obj, const char *field, const char **ret_text, struct err *err);
/* Files in a kubeconfig are relative to the kubeconfig. */
int resolve_file(const struct reader *r, const char *file, char **ret_path, struct err *err);
/* Inline data in field_data (base64) wins over a file in field_file, as in kubectl. */
int read_pem(const struct reader *r, const cJSON *obj, const char *field_data, const char *field_file,
	     struct credential *c, struct err *err);

/* Reads a whole entry of users (kubeconfig_user.c). */
int read_user(const struct reader *r, const cJSON *user, struct kubeconfig *k, struct err *err);
