/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers back to Kubernetes quantities in their canonical form. */
#pragma once

#include <stdint.h>

#define QUANTITY_TEXT_MAX 24

/*
 * Writes "4Gi", "1500Mi", "1000000001" with the largest binary suffix that divides bytes into buf,
 * and returns buf.
 */
const char *quantity_format_bytes(int64_t bytes, char buf[static QUANTITY_TEXT_MAX]);

/* Writes "2", "2500m" from thousandths into buf, and returns buf. */
const char *quantity_format_milli(int64_t milli, char buf[static QUANTITY_TEXT_MAX]);
