/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the identity with which requests to Azure Blob Storage are made, and renews its
 * credentials. It uses the first of these that exists:
 *   the SAS token of the Secret, which goes into the query of each request the account's key of the
 *   Secret, with which each request is signed workload identity: the variables that AKS sets name a
 *   token of the pod's service account, for which Microsoft Entra gives
 *     a token that is sent with each request
 */
#pragma once

#include "sidecar/ship/azure_sign.h"
#include "sidecar/ship/credentials.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/options.h"

enum azure_identity_kind { AZURE_SAS, AZURE_KEY, AZURE_WORKLOAD };

struct azure_identity {
	enum azure_identity_kind kind;
	const char *account;
	struct credentials credentials;
	unsigned char key[AZURE_KEY_MAX];
	size_t key_len;
	int64_t renew_ns; /* CLOCK_BOOTTIME; 0: nothing was fetched yet */
	char bearer_header[CREDENTIAL_MAX + 32]; /* for workload identity */
};

/* Reads the Secret and chooses the identity. options must outlive it. The caller releases it. */
int azure_identity_open(struct azure_identity *id, const struct ship_options *options,
			struct fault *fault);
void azure_identity_release(struct azure_identity *id);

/*
 * To be called before each request: fetches or renews the token if that is due, else does nothing.
 */
int azure_identity_renew(struct azure_identity *id, struct http *http, struct fault *fault);

/* The SAS token without the question mark, to be appended to a query; NULL: none. */
const char *azure_identity_sas(const struct azure_identity *id);

/* Makes the header "Authorization: ..." of a request; "" if it needs none. */
void azure_identity_authorize(const struct azure_identity *id, const struct azure_to_sign *request,
			      char *ret_header, size_t size);
