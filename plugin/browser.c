/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the desktop's own opener. */
#include "plugin/browser.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "plugin/kubectl.h"

#ifdef __APPLE__
#define OPENER "open"
#else
#define OPENER "xdg-open"
#endif

int browser_open(const char *path, struct err *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return err_set(err, errno, "start %s", OPENER);
	if (pid == 0) {
		/* Ours is ignored (stream_catch_signals), and the program would inherit that. */
		signal(SIGPIPE, SIG_DFL);
		execlp(OPENER, OPENER, path, (char *)NULL);
		_exit(CHILD_NOT_STARTED);
	}
	int r = child_wait(pid, OPENER, err);
	return r == -ENOENT ? err_set(err, ENOENT, "there is no %s here", OPENER) : r;
}
