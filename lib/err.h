/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as values. A function that can fail takes a struct err * last and
 * returns a negative errno on failure:
 *
 *	return err_set(err, errno, "open %s", path);     where it happens
 *	return err_wrap(err, "reading the cgroup");      on the way up
 *
 * The text is kept in a fixed buffer, so that reporting an error never
 * allocates. A NULL err is allowed: the code alone is then returned.
 */
#pragma once

#include "lib/macros.h"

#define ERR_TEXT_MAX 512 /* bytes with the final NUL; a longer text is cut */

struct err {
	int code; /* positive errno, 0 while there is no error */
	char text[ERR_TEXT_MAX];
};

/*
 * Records code (an errno; 0 counts as EINVAL) and the text, followed by the
 * errno's own words, except for EINVAL and EPROTO, which explain nothing. What
 * would disturb a line or a terminal becomes '?' (printable.h).
 * Returns -code.
 */
int err_set(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);

/*
 * Puts "prefix: " before the text that is there. Returns -err->code; -EIO without err, so return
 * the code itself there.
 */
int err_wrap(struct err *err, const char *fmt, ...) _printf_(2, 3);

/* Returns the text for a log line, never NULL. */
const char *err_text(const struct err *err);
