/* SPDX-License-Identifier: Apache-2.0 */
/* Turns an error of libkrb5 into a fault: what is wrong, and what would be right. Pure. */
#pragma once

#include <stdint.h>

#include "sidecar/ship/fault.h"

/*
 * Sets the fault of a krb5_error_code. text has the library's own words, which may contain words of
 * the KDC; they are shown, printable, if the code is not in our table. The caller prefixes whose
 * ticket the fault is about. Returns -1.
 */
int kerberos_fault(int32_t code, const char *text, struct fault *fault);
