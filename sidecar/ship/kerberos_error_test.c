/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the sentences for errors of libkrb5. */
#include "sidecar/ship/kerberos_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <krb5.h>

static void each_error_has_its_kind_and_a_sentence(void **state)
{
	static const struct {
		krb5_error_code code;
		const char *text;
		enum fault_kind kind;
		const char *says;
	} rows[] = {
		{ KRB5_KDC_UNREACH, "x", FAULT_NETWORK, "no KDC" },
		{ KRB5_REALM_CANT_RESOLVE, "x", FAULT_NETWORK, "cannot be resolved" },
		{ KRB5_REALM_UNKNOWN, "x", FAULT_NETWORK, "krb5.conf names no KDC" },
		{ KRB5KRB_AP_ERR_SKEW, "x", FAULT_CLOCK, "clocks" },
		{ KRB5_KDCREP_SKEW, "x", FAULT_CLOCK, "clocks" },
		{ KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, "x", FAULT_CREDENTIALS,
		  "does not know this principal" },
		{ KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, "x", FAULT_CREDENTIALS,
		  "does not know the service" },
		{ KRB5KDC_ERR_PREAUTH_FAILED, "x", FAULT_CREDENTIALS, "keytab anew" },
		{ KRB5KDC_ERR_CLIENT_REVOKED, "x", FAULT_CREDENTIALS, "locked" },
		{ KRB5KDC_ERR_POLICY, "x", FAULT_PERMISSION, "policy" },
		{ ENOMEM, "x", FAULT_MEMORY, "memory" },
		/* Others have the library's own words, which may hold words of the KDC. */
		{ KRB5KRB_ERR_GENERIC, "KDC returned error string: boo", FAULT_SERVER,
		  "error string: boo" },
		{ 7, "two\nlines \x1b[31m\xff", FAULT_CREDENTIALS, "two?lines ?[31m?" },
		{ 7, "", FAULT_CREDENTIALS, "" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fault fault = { 0 };

		assert_int_equal(kerberos_fault(rows[i].code, rows[i].text, &fault), -1);
		if (fault.kind != rows[i].kind || !strstr(fault.text, rows[i].says))
			fail_msg("row %zu: %s: %s", i, fault_kind_name(fault.kind), fault.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		each_error_has_its_kind_and_a_sentence) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
