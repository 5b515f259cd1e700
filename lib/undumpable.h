/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes the calling process to others of its user, who otherwise may read its memory, environment
 * and descriptors, and through /proc/PID/root the files that only its container mounts. In a pod
 * with a shared PID namespace these are processes of the Ray container. The kernel writes no core
 * of it.
 *
 * A child that is forked is closed as well. exec opens the process again, unless its user may not
 * read the program's file, as in our image (images/build.sh).
 *
 * /proc/self still serves the process itself, but files in it belong to root: an ordinary user can
 * open neither those of mode 0400 nor its own oom_score_adj for writing.
 */
#pragma once

#include <sys/prctl.h>

static inline void undumpable_become(void)
{
#ifndef __SANITIZE_ADDRESS__ /* its leak check reads our memory */
	prctl(PR_SET_DUMPABLE, 0);
#endif
}
