/* SPDX-License-Identifier: Apache-2.0 */
/* What an exit code says by itself. */
#include "lib/exit_code.h"

#include "lib/linux_signals.h"

int exit_code_signal(int64_t code)
{
	if (code <= EXIT_CODE_OF_SIGNAL(0) || code > EXIT_CODE_OF_SIGNAL(LINUX_SIGSYS))
		return 0;
	int signo = (int)code - EXIT_CODE_OF_SIGNAL(0);
	return failure_class_of_signal(signo) == FAILURE_UNKNOWN ? 0 : signo;
}

bool exit_code_is_of_shell(int64_t code)
{
	return code == EXIT_CODE_NOT_EXECUTABLE || code == EXIT_CODE_NOT_FOUND;
}

bool exit_code_is_of_stop(int64_t code)
{
	return code == EXIT_CODE_OF_SIGNAL(LINUX_SIGKILL) ||
	       code == EXIT_CODE_OF_SIGNAL(LINUX_SIGTERM);
}

enum failure_class exit_code_class(int64_t code)
{
	int signo = exit_code_signal(code);

	if (signo)
		return failure_class_of_signal(signo);
	if (code == EXIT_CODE_NOT_EXECUTABLE)
		return FAILURE_COMMAND_NOT_EXECUTABLE;
	if (code == EXIT_CODE_NOT_FOUND)
		return FAILURE_COMMAND_NOT_FOUND;
	/* exit(-1) gives 255. */
	return code > 0 && code < 256 && code != EXIT_CODE_OF_SIGNAL(0) ?
		       FAILURE_APPLICATION_ERROR :
		       FAILURE_UNKNOWN;
}
