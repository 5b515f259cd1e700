/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps the webhook's certificates from being in order, logged once until it is another or over: the look
 * that finds it comes again every few seconds.
 */
#ifndef AFTERGLOW_OPERATOR_WEBHOOK_CERTIFICATE_TROUBLE_H
#define AFTERGLOW_OPERATOR_WEBHOOK_CERTIFICATE_TROUBLE_H

#include "operator/kube/client_response.h"

struct certificate_trouble {
	char said[ERR_TEXT_MAX]; /* last; "": all is well */
	bool now; /* something was said in this look */
};

void trouble_say(struct certificate_trouble *trouble, const char *fmt, ...) _printf_(2, 3);
/* A request that failed; verb is of the API: "get", "patch", "create". A 403 names the right that is missing. */
void trouble_secret(struct certificate_trouble *trouble, const struct client_response *response, const char *verb,
		    const char *namespace, const char *name);
void trouble_configuration(struct certificate_trouble *trouble, const struct client_response *response, const char *verb,
			   const char *name);
/* The look is over: without trouble, what was said before has passed. */
void trouble_settle(struct certificate_trouble *trouble);

#endif
