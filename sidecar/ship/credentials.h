/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials: each one file of a directory, as a mounted Secret has them. Read
 * anew for each run, never printed, wiped when they are let go.
 */
#ifndef AFTERGLOW_SIDECAR_SHIP_CREDENTIALS_H
#define AFTERGLOW_SIDECAR_SHIP_CREDENTIALS_H

#include <stdbool.h>

#include "sidecar/ship/fault.h"

/* The longest are tokens: a web identity of a few kB, an HDFS delegation token of some hundred bytes. */
#define CREDENTIAL_MAX 16384

struct credentials {
	/* NULL: no such file */
	char *access_key_id, *secret_access_key, *session_token;
	char *role_arn, *web_identity_token;
	char *delegation_token;
	char *ca; /* path of ca.crt, not its text */
	bool open_to_all; /* one of them may be read by every user of the machine */
};

/* dir NULL: none at all. Blanks and line ends around a value are dropped. */
int credentials_read(const char *dir, struct credentials *ret_credentials, struct fault *fault);
void credentials_release(struct credentials *c);

/* One that lies in a file of its own; *ret_value is wiped and freed by the caller. */
int credential_read_file(const char *path, char **ret_value, struct fault *fault);

/* One printable word: anything else would end up inside a header. */
bool credential_is_word(const char *s);

#endif
