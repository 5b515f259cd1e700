/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets tickets with libkrb5. The clock of this machine may be wrong: libkrb5 then goes by the KDC's
 * (kdc_timesync).
 */
#include "sidecar/ship/kerberos.h"

#include <krb5.h>
#include <limits.h>
#include <profile.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/ship/kerberos_error.h"
#include "sidecar/ship/negotiate.h"

#define NAME_MAX_ 256 /* bytes of a principal, for messages */
#define HOST_MAX_ 256

struct kerberos {
	krb5_context context;
	krb5_keytab keytab;
	krb5_principal principal;
	char name[NAME_MAX_];
};

static int kerberos_explain(const struct kerberos *k, krb5_error_code code, struct fault *fault)
{
	const char *text = krb5_get_error_message(k->context, code);

	kerberos_fault(code, text, fault);
	krb5_free_error_message(k->context, text);
	return -1;
}

/* --- The Secret --- */

static int read_config(struct kerberos *k, const char *path, struct fault *fault)
{
	profile_t profile = NULL;

	if (!path)
		return fault_set(fault, FAULT_CREDENTIALS,
				 "there is a keytab, but no krb5.conf beside it");
	krb5_error_code code = profile_init((const_profile_filespec_t[]){ path, NULL }, &profile);
	if (code == 0)
		code = krb5_init_context_profile(profile, KRB5_INIT_CONTEXT_SECURE, &k->context);
	if (profile)
		profile_release(profile);
	if (code == 0)
		return 0;
	kerberos_explain(k, code, fault);
	return fault_wrap(fault, "krb5.conf");
}

/* The first entry of the keytab says whose key it has. */
static krb5_error_code first_of_keytab(struct kerberos *k)
{
	krb5_kt_cursor cursor;
	krb5_keytab_entry entry;
	krb5_error_code code = krb5_kt_start_seq_get(k->context, k->keytab, &cursor);

	if (code)
		return code;
	code = krb5_kt_next_entry(k->context, k->keytab, &entry, &cursor);
	krb5_kt_end_seq_get(k->context, k->keytab, &cursor);
	if (code)
		return code;
	code = krb5_copy_principal(k->context, entry.principal, &k->principal);
	krb5_free_keytab_entry_contents(k->context, &entry);
	return code;
}

static krb5_error_code choose_principal(struct kerberos *k, const struct credentials *c)
{
	krb5_error_code code;
	char *name;

	if (c->principal)
		code = krb5_parse_name(k->context, c->principal, &k->principal);
	else
		code = first_of_keytab(k);
	if (code == 0)
		code = krb5_unparse_name(k->context, k->principal, &name);
	if (code)
		return code;
	snprintf(k->name, sizeof(k->name), "%s", name);
	krb5_free_unparsed_name(k->context, name);
	return 0;
}

static int kerberos_take_secret(struct kerberos *k, const struct credentials *c,
				struct fault *fault)
{
	char name[PATH_MAX + 8];

	if (read_config(k, c->krb5_conf, fault) < 0)
		return -1;
	snprintf(name, sizeof(name), "FILE:%s", c->keytab);
	krb5_error_code code = krb5_kt_resolve(k->context, name, &k->keytab);
	if (code == 0)
		code = choose_principal(k, c);
	return code ? kerberos_explain(k, code, fault) : 0;
}

int kerberos_new(const struct credentials *credentials, struct kerberos **ret_kerberos,
		 struct fault *fault)
{
	struct kerberos *k = calloc(1, sizeof(*k));

	if (!k)
		return fault_set(fault, FAULT_MEMORY, "Kerberos: out of memory");
	if (kerberos_take_secret(k, credentials, fault) < 0) {
		kerberos_free(k);
		return fault_wrap(fault, "Kerberos");
	}
	*ret_kerberos = k;
	return 0;
}

void kerberos_free(struct kerberos *k)
{
	if (!k)
		return;
	if (k->context) {
		krb5_free_principal(k->context, k->principal);
		if (k->keytab)
			krb5_kt_close(k->context, k->keytab);
		krb5_free_context(k->context);
	}
	free(k);
}

const char *kerberos_principal(const struct kerberos *k)
{
	return k->name;
}

/* --- Tickets --- */

/* Gets the ticket with which further tickets are requested, into a cache in memory. */
static krb5_error_code log_in(struct kerberos *k, krb5_ccache cache)
{
	krb5_creds ticket = { 0 };
	krb5_error_code code = krb5_get_init_creds_keytab(k->context, &ticket, k->principal,
							  k->keytab, 0, NULL, NULL);

	if (code)
		return code;
	code = krb5_cc_initialize(k->context, cache, k->principal);
	if (code == 0)
		code = krb5_cc_store_cred(k->context, cache, &ticket);
	krb5_free_cred_contents(k->context, &ticket);
	return code;
}

/* "[::1]:9870" has the host "::1". */
static void kerberos_host_of(const char *address, char host[static HOST_MAX_])
{
	bool brackets = address[0] == '[';

	snprintf(host, HOST_MAX_, "%.*s", (int)strcspn(address + brackets, brackets ? "]" : ":"),
		 address + brackets);
}

static krb5_error_code get_ticket(struct kerberos *k, krb5_ccache cache, const char *address,
				  krb5_creds **ret_ticket)
{
	char host[HOST_MAX_];
	krb5_creds wanted = { .client = k->principal };

	kerberos_host_of(address, host);
	krb5_error_code code =
		krb5_sname_to_principal(k->context, host, "HTTP", KRB5_NT_SRV_HST, &wanted.server);
	if (code == 0)
		code = krb5_get_credentials(k->context, 0, cache, &wanted, ret_ticket);
	krb5_free_principal(k->context, wanted.server);
	return code;
}

/*
 * Makes the AP-REQ as a GSS-API library does: with a key for this session and a sequence number,
 * though no message uses them.
 */
static krb5_error_code make_request(struct kerberos *k, krb5_creds *ticket, krb5_data *ret_request)
{
	krb5_data checksum = { .data = (char *)negotiate_checksum,
			       .length = sizeof(negotiate_checksum) };
	krb5_auth_context auth = NULL;
	krb5_error_code code = krb5_auth_con_init(k->context, &auth);

	if (code)
		return code;
	krb5_auth_con_setflags(k->context, auth, KRB5_AUTH_CONTEXT_DO_SEQUENCE);
	code = krb5_auth_con_set_req_cksumtype(k->context, auth, NEGOTIATE_CHECKSUM);
	if (code == 0)
		code = krb5_mk_req_extended(k->context, &auth, AP_OPTS_USE_SUBKEY, &checksum,
					    ticket, ret_request);
	krb5_auth_con_free(k->context, auth);
	return code;
}

static int authorize(struct kerberos *k, krb5_ccache cache, const char *host, struct strbuf *header,
		     struct fault *fault)
{
	krb5_creds *ticket = NULL;
	krb5_data request = { 0 };
	krb5_error_code code = log_in(k, cache);

	if (code) {
		kerberos_explain(k, code, fault);
		return fault_wrap(fault, "Kerberos, %s", k->name);
	}
	code = get_ticket(k, cache, host, &ticket);
	if (code == 0)
		code = make_request(k, ticket, &request);
	krb5_free_creds(k->context, ticket);
	if (code) {
		kerberos_explain(k, code, fault);
		return fault_wrap(fault, "Kerberos, %s for the service HTTP at %s", k->name, host);
	}
	negotiate_header(request.data, request.length, header);
	krb5_free_data_contents(k->context, &request);
	if (strbuf_failed(header))
		return fault_set(fault, FAULT_PROTOCOL,
				 "Kerberos: the ticket for %s is too long for its server", host);
	return 0;
}

int kerberos_authorize(struct kerberos *k, const char *host, struct strbuf *header,
		       struct fault *fault)
{
	krb5_ccache cache;
	krb5_error_code code = krb5_cc_new_unique(k->context, "MEMORY", NULL, &cache);

	if (code)
		return kerberos_explain(k, code, fault);
	int r = authorize(k, cache, host, header, fault);
	krb5_cc_destroy(k->context, cache);
	return r;
}
