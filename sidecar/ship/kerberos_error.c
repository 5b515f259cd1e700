/* SPDX-License-Identifier: Apache-2.0 */
/* The errors of libkrb5 that have a sentence of ours. */
#include "sidecar/ship/kerberos_error.h"

#include <errno.h>
#include <krb5.h>

#define SHOWN_MAX 200 /* bytes of the library's words */

static const char clock_sentence[] =
	"the clocks of this machine and of the KDC differ too much: set them right";
static const char key_sentence[] =
	"the keytab's key is not the one that the KDC has: make the keytab anew";

static const struct {
	krb5_error_code code;
	enum fault_kind kind;
	const char *sentence; /* NULL: the library's own words are used */
} rows[] = {
	{ ENOMEM, FAULT_MEMORY, "out of memory" },
	{ KRB5_KDC_UNREACH, FAULT_NETWORK, "no KDC of this realm answers" },
	{ KRB5KDC_ERR_SVC_UNAVAILABLE, FAULT_NETWORK, "the KDC is not available" },
	/* A KDC says no more than this while its database, such as an LDAP server, is down. */
	{ KRB5KRB_ERR_GENERIC, FAULT_SERVER, NULL },
	/* DNS may only be down, so another attempt may help. */
	{ KRB5_REALM_UNKNOWN, FAULT_NETWORK,
	  "krb5.conf names no KDC of this realm, and DNS does not either" },
	{ KRB5_REALM_CANT_RESOLVE, FAULT_NETWORK,
	  "the names of this realm's KDCs cannot be resolved" },
	{ KRB5_CONFIG_NODEFREALM, FAULT_CREDENTIALS,
	  "krb5.conf has no default_realm, and the principal names no realm" },
	{ KRB5KRB_AP_ERR_SKEW, FAULT_CLOCK, clock_sentence },
	{ KRB5_KDCREP_SKEW, FAULT_CLOCK, clock_sentence },
	{ KRB5KRB_AP_ERR_TKT_NYV, FAULT_CLOCK, clock_sentence },
	{ KRB5KDC_ERR_NEVER_VALID, FAULT_CLOCK, clock_sentence },
	{ KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, FAULT_CREDENTIALS,
	  "the KDC does not know this principal" },
	{ KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, FAULT_CREDENTIALS,
	  "the KDC does not know the service: the store's URL must name the NameNode as the KDC does, and rdns = false in krb5.conf may help" },
	{ KRB5KDC_ERR_PREAUTH_FAILED, FAULT_CREDENTIALS, key_sentence },
	{ KRB5KRB_AP_ERR_BAD_INTEGRITY, FAULT_CREDENTIALS, key_sentence },
	{ KRB5KDC_ERR_NAME_EXP, FAULT_CREDENTIALS, "the principal has expired" },
	{ KRB5KDC_ERR_KEY_EXP, FAULT_CREDENTIALS,
	  "the principal's password has expired: make the keytab anew" },
	{ KRB5KDC_ERR_CLIENT_REVOKED, FAULT_CREDENTIALS, "the principal is locked" },
	{ KRB5KDC_ERR_POLICY, FAULT_PERMISSION, "the KDC's policy does not allow it" },
	{ KRB5KDC_ERR_ETYPE_NOSUPP, FAULT_CREDENTIALS,
	  "the KDC supports none of the encryption types that the keytab and krb5.conf have" },
	{ KRB5_KT_NOTFOUND, FAULT_CREDENTIALS,
	  "the keytab has no key of this principal that can be used" },
	{ KRB5_KT_END, FAULT_CREDENTIALS, "the keytab has no key" },
	{ KRB5_KEYTAB_BADVNO, FAULT_CREDENTIALS, "the keytab is damaged, or is no keytab" },
	{ KRB5_KT_FORMAT, FAULT_CREDENTIALS, "the keytab is damaged, or is no keytab" },
};

int kerberos_fault(int32_t code, const char *text, struct fault *fault)
{
	enum fault_kind kind = FAULT_CREDENTIALS;
	size_t i = 0;

	while (i < ARRAY_SIZE(rows) && rows[i].code != code)
		i++;
	if (i < ARRAY_SIZE(rows)) {
		if (rows[i].sentence)
			return fault_set(fault, rows[i].kind, "%s", rows[i].sentence);
		kind = rows[i].kind;
	}
	return fault_set(fault, kind, "%.*s", SHOWN_MAX, text);
}
