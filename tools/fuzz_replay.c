/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A main for fuzz targets without libFuzzer: fuzz_replay FILE|DIRECTORY...
 * Runs the target on nothing, on each file and on each beginning of it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/fileio.h"

#define INPUT_MAX (1 << 20)
#define BEGINNINGS_MAX 8192 /* of longer files only every so many bytes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* From a copy of just that size, so that a sanitizer sees a read past the end. */
static void run(const char *data, size_t size)
{
	uint8_t *copy = calloc(1, size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static int replay_file(const char *path, size_t *inputs)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(INPUT_MAX);
	struct err err = { 0 };

	if (file_read(AT_FDCWD, path, &text, &err) < 0) {
		fprintf(stderr, "%s\n", err_text(&err));
		return -1;
	}
	size_t step = text.len / BEGINNINGS_MAX + 1;
	for (size_t len = 0; len < text.len; len += step, ++*inputs)
		run(strbuf_str(&text), len);
	run(strbuf_str(&text), text.len);
	++*inputs;
	return 0;
}

static int replay(const char *path, size_t *inputs)
{
	DIR *dir = opendir(path);
	const struct dirent *d;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : replay_file(path, inputs);
	while (r == 0 && (d = readdir(dir))) {
		char file[4096];

		if (d->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, d->d_name);
		r = replay_file(file, inputs);
	}
	closedir(dir);
	return r;
}

int main(int argc, char **argv)
{
	size_t inputs = 1;

	run("", 0);
	for (int i = 1; i < argc; i++)
		if (replay(argv[i], &inputs) < 0)
			return 1;
	printf("ok %s: %zu inputs\n", argv[0], inputs);
	return 0;
}
