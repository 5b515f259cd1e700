/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values. */
#include "lib/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/printable.h"

/*
 * An error may quote a file's name, a server or a pod, and it is printed to logs and terminals. So
 * nothing in it may disturb those.
 */
static void err_mend(struct err *err)
{
	mend_printable(err->text, strlen(err->text), "");
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (code <= 0)
		code = EINVAL;
	if (!err)
		return -code;
	err->code = code;
	va_start(ap, fmt);
	int len = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (code != EINVAL && code != EPROTO && len >= 0 && (size_t)len < sizeof(err->text))
		snprintf(err->text + len, sizeof(err->text) - (size_t)len, ": %s", strerror(code));
	err_mend(err);
	return -code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[ERR_TEXT_MAX];
	va_list ap;

	if (!err)
		return -EIO;
	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	int len = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (len >= 0 && (size_t)len < sizeof(err->text))
		snprintf(err->text + len, sizeof(err->text) - (size_t)len, ": %s", inner);
	err_mend(err);
	return err->code ? -err->code : -EIO;
}

const char *err_text(const struct err *err)
{
	return err && err->code ? err->text : "no error";
}
