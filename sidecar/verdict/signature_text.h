/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a signature, made from hostile texts: what differs from run to run is
 * taken out, what is left is in the signature's alphabet. Pure.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_SIGNATURE_TEXT_H
#define AFTERGLOW_SIDECAR_VERDICT_SIGNATURE_TEXT_H

#include <stddef.h>

/*
 * Free text: numbers, ids and directories go, blanks and everything outside the alphabet
 * become '_'. What is longer than size is cut. Returns out.
 */
const char *signature_clean(const char *text, char *out, size_t size);

/* The same for a name. One that is cut, or has bytes outside ASCII, ends with "~" and four digits of its checksum. */
const char *signature_clean_name(const char *name, char *out, size_t size);

/* A function as demanglers print it: without parameters, template arguments and the compiler's suffixes. */
const char *signature_clean_function(const char *function, char *out, size_t size);

#endif
