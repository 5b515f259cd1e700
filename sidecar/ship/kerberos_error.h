/* SPDX-License-Identifier: Apache-2.0 */
/* Turns an error of libkrb5 into a fault: what is wrong, and what would be right. Pure. */
#ifndef AFTERGLOW_SIDECAR_SHIP_KERBEROS_ERROR_H
#define AFTERGLOW_SIDECAR_SHIP_KERBEROS_ERROR_H

#include <stdint.h>

#include "sidecar/ship/fault.h"

/*
 * Sets the fault of a krb5_error_code. text: the library's own words, which may contain words of the KDC; they are shown,
 * printable, if we have no sentence for the code. The caller puts before it whose ticket it is about. Returns -1.
 */
int kerberos_fault(int32_t code, const char *text, struct fault *fault);

#endif
