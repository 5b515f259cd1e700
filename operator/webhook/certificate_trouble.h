/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs trouble with the webhook's certificates. The check that finds it is repeated every few
 * seconds, so each trouble is logged once, until it changes or is over.
 */
#pragma once

#include "operator/kube/client_response.h"

struct certificate_trouble {
	char reported[ERR_TEXT_MAX]; /* the last message; "": there is no trouble */
	bool now; /* trouble was reported in this check */
};

void trouble_say(struct certificate_trouble *trouble, const char *fmt, ...) _printf_(2, 3);
/*
 * Reports a request that failed. verb is of the API: "get", "patch", "create". A 403 names the
 * missing right.
 */
void trouble_secret(struct certificate_trouble *trouble, const struct client_response *response,
		    const char *verb, const char *namespace, const char *name);
void trouble_configuration(struct certificate_trouble *trouble,
			   const struct client_response *response, const char *verb,
			   const char *name);
/* Call this at the end of a check: if it found no trouble, logs that the trouble is over. */
void trouble_settle(struct certificate_trouble *trouble);
