/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as a file of systemd's journal. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node/journal_file.h"

#define OBJECTS_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[JOURNAL_LINE_MAX];
	struct journal_file f;
	uint64_t before;
	size_t len = 0;
	int fd = memfd_create("journal", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    journal_file_open(&f, fd, size % 2, NULL) < 0) {
		close(fd);
		return 0;
	}
	for (int n = 0; n < OBJECTS_MAX; n++) {
		enum journal_step step;

		before = f.at;
		step = journal_file_next(&f, line, &len);
		if (step == JOURNAL_END)
			break;
		if (f.at <= before || (step == JOURNAL_LINE && (len == 0 || len > sizeof(line))))
			abort();
	}
	before = f.at;
	journal_file_skip(&f);
	if (f.at < before)
		abort();
	close(fd);
	return 0;
}
