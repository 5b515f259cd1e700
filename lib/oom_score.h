/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes the OOM killer takes first: oom_score_adj of proc(5), -1000 to 1000, as text. It
 * is inherited by children and kept over execve(2). Anybody may raise it; only CAP_SYS_RESOURCE may
 * lower it. Usable between fork and exec.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define OOM_SCORE_NEVER "-1000"
#define OOM_SCORE_FIRST "1000"
#define OOM_SCORE_LEN 8 /* of the longest text, with its end */

static inline bool oom_score_write(const char *adjustment)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, adjustment, strlen(adjustment));

	if (fd >= 0)
		close(fd);
	return n > 0;
}

static inline bool oom_score_read(char ret_adjustment[static OOM_SCORE_LEN])
{
	int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret_adjustment, OOM_SCORE_LEN - 1);

	if (fd >= 0)
		close(fd);
	ret_adjustment[n > 0 ? n : 0] = '\0';
	ret_adjustment[strcspn(ret_adjustment, "\n")] = '\0';
	return n > 0;
}
