/* SPDX-License-Identifier: Apache-2.0 */
/* Makes text fit for a terminal. */
#include "plugin/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/printable.h"

int terminal_write(int fd, char *text, size_t len, struct err *err)
{
	if (fd == STDERR_FILENO || isatty(fd))
		mend_printable(text, len, "\n\t");
	return fd_write_all(fd, text, len, err);
}

void stderr_note(const char *format, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, format);
	int len = vasprintf(&text, format, ap);
	va_end(ap);
	if (len < 0)
		return;
	terminal_write(STDERR_FILENO, text, (size_t)len, NULL);
	free(text);
}
