/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads credentials from a directory with one file for each, such as a mounted Secret. They are
 * read anew for each run, never printed, and overwritten when they are released.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/strbuf.h"
#include "sidecar/ship/fault.h"

/* Bytes. The longest credential is a web identity token of a few kB. */
#define CREDENTIAL_MAX 16384

struct credentials {
	/* NULL: there is no such file */
	char *access_key_id, *secret_access_key, *session_token;
	char *role_arn, *web_identity_token;
	char *account_key, *sas_token; /* of Azure */
	char *delegation_token;
	char *principal; /* of Kerberos */
	/* The paths of ca.crt, keytab and krb5.conf, not their content. */
	char *ca, *keytab, *krb5_conf;
	bool open_to_all; /* every user of the machine may read at least one of the files */
};

/*
 * Reads all credentials of dir. If dir is NULL or does not exist, there are none. Blanks and line
 * ends around a value are removed. FAULT_CREDENTIALS: a file cannot be read, or does not hold a
 * single printable word. The caller releases the result.
 */
int credentials_read(const char *dir, struct credentials *ret_credentials, struct fault *fault);
void credentials_release(struct credentials *c);

/* Overwrites and frees a credential, and sets it to NULL. */
static inline void credential_forget(char **value)
{
	if (*value)
		explicit_bzero(*value, strlen(*value));
	free(*value);
	*value = NULL;
}
#define _cleanup_credential_ _cleanup_(credential_forget)

/* Reads a single credential from a file. The caller forgets *ret_value. */
int credential_read_file(const char *path, char **ret_value, struct fault *fault);

/*
 * Overwrites what text holds, such as a request or an answer with a credential in it. Its copies in
 * freed memory are not reached.
 */
static inline void credential_wipe(struct strbuf *text)
{
	if (text->data)
		explicit_bzero(text->data, text->len);
}

/*
 * Whether s is a single printable word. Nothing else is sent in a header, where a line break would
 * begin another header.
 */
bool credential_is_word(const char *s);
