/* SPDX-License-Identifier: Apache-2.0 */
/* Makes untrusted text fit for a line, a terminal and a JSON document. */
#pragma once

#include <stddef.h>

/*
 * Copies whole UTF-8 characters of len bytes as far as they fit into size (which
 * is not 0), and a final NUL. NULs become blanks; bytes that would disturb a
 * terminal, a line or a JSON document become '?'.
 */
void copy_printable(char *to, size_t size, const char *from, size_t len);

/*
 * Replaces these bytes in place, so that text and len stay as long. Characters in `keep` stay as
 * they are: "\n" for a text of several lines, "" for one line.
 */
void mend_printable(char *text, size_t len, const char *keep);

/*
 * Copies the len bytes, and a final NUL. If they are more than size - 1 (size is at least 16), it
 * copies as much as fits of their beginning and, as much, of their end, with " ... " between: an
 * error message names its cause at one of the two. UTF-8 characters stay whole.
 */
void copy_ends(char *to, size_t size, const char *from, size_t len);
