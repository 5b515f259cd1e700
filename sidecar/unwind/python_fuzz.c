/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the memory of a Python process. The first byte selects the version. The rest is the
 * memory at BASE, where the runtime is, too. The types are at BASE + 8, + 16 and + 24.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "lib/fileio.h"
#include "sidecar/unwind/core_machine.h"
#include "sidecar/unwind/python.h"

#include <elf.h>

#define BASE 0x10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct modules *modules, unsigned int minor)
{
	const struct python_symbols symbols = { BASE, BASE + 8, BASE + 16, BASE + 24 };
	struct python_frame frames[16];
	struct python py;
	bool cut;

	python_open(&py, modules, &symbols, minor);
	for (size_t i = 0; i < MIN(py.n_threads, (size_t)8); i++) {
		const struct core_thread by_id = { .tid = (pid_t)py.threads[i].native_id };
		const struct core_thread by_pointer = { .tid = -1,
							.thread_pointer = py.threads[i].id };

		python_walk(&py, &by_id, frames, ARRAY_SIZE(frames), &cut);
		python_walk(&py, &by_pointer, frames, ARRAY_SIZE(frames), &cut);
	}
	python_release(&py);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("memory", MFD_CLOEXEC);
	struct core_segment segment = { .start = BASE,
					.end = BASE + size,
					.file_len = size ? size - 1 : 0,
					.promised = size ? size - 1 : 0,
					.readable = true,
					.writable = true };
	struct core core = { .elf = { .fd = fd, .file_size = segment.file_len },
			     .machine = core_machine_of(EM_X86_64),
			     .segments = &segment,
			     .n_segments = 1 };
	struct modules modules = { .core = &core };

	if (size < 2 || fd < 0 || fd_write_all(fd, data + 1, size - 1, NULL) < 0)
		return 0;
	core.cache = malloc((size_t)CORE_CACHE_BLOCKS * CORE_CACHE_BLOCK);
	if (core.cache)
		walk(&modules, 8 + data[0] % 8);
	free(core.cache);
	return 0;
}
