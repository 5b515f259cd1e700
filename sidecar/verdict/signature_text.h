/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the parts of a signature from hostile texts: removes what differs from run to run, and
 * leaves only characters of the signature's alphabet. Pure.
 */
#pragma once

#include <stddef.h>

/*
 * Cleans free text: numbers, ids and directories are removed, blanks and everything outside the
 * alphabet become '_'. The result is cut to size bytes with its NUL. Returns out.
 */
const char *signature_clean(const char *text, char *out, size_t size);

/*
 * The same for a name. A name that is cut, or has bytes outside ASCII, ends with "~" and four
 * digits of its checksum.
 */
const char *signature_clean_name(const char *name, char *out, size_t size);

/*
 * The same for a function as demanglers print it: removes parameters, template arguments and the
 * compiler's suffixes.
 */
const char *signature_clean_function(const char *function, char *out, size_t size);
