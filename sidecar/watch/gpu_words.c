/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what workers and job drivers logged about CUDA and NCCL at the end of their logs. */
#include "sidecar/watch/gpu_words.h"

#include <stdio.h>

#include "lib/file_time.h"
#include "lib/macros.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "sidecar/ray/ray_files.h"

#define TAIL_MAX (8 * 1024) /* enough for a traceback */
#define FRESH_NS (60 * NS_PER_SEC)
#define FILES_MAX 4 /* of each kind */

static bool is_fresh(int dir_fd, const char *name, int64_t at_unix_ns)
{
	struct stat st;
	_cleanup_close_ int fd = ray_file_path(dir_fd, name, &st);

	return fd >= 0 && at_unix_ns - file_time_ns(st.st_mtim) <= FRESH_NS;
}

void gpu_words_read(int dir_fd, const char *name, int64_t at_unix_ns, struct gpu_error *error)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TAIL_MAX);
	struct gpu_error found;

	if (!is_fresh(dir_fd, name, at_unix_ns) || !ray_file_tail(dir_fd, name, TAIL_MAX, &text) ||
	    !gpu_lines_parse(strbuf_str(&text), text.len, &found) || found.kind <= error->kind)
		return;
	*error = found;
	snprintf(error->file, sizeof(error->file), "%s", name);
}

void gpu_words_at_end(int dir_fd, int64_t at_unix_ns, struct gpu_error *ret_error)
{
	static const struct {
		const char *prefix, *suffix;
	} kinds[] = { { "worker-", ".err" }, { "job-driver-", ".log" } };
	char names[FILES_MAX][RAY_FILE_NAME_MAX + 1];

	*ret_error = (struct gpu_error){ .kind = GPU_ERROR_NONE, .device = -1, .rank = -1 };
	for (size_t k = 0; dir_fd >= 0 && k < ARRAY_SIZE(kinds); k++) {
		size_t n = ray_files_newest(dir_fd, kinds[k].prefix, kinds[k].suffix, names,
					    FILES_MAX);

		for (size_t i = 0; i < n; i++)
			gpu_words_read(dir_fd, names[i], at_unix_ns, ret_error);
	}
}
