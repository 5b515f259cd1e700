/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a core file, with its notes, its modules and what libdwfl reads from
 * them.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

#include "lib/fileio.h"
#include "sidecar/unwind/stack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct core *core, struct modules *modules)
{
	struct unwinder u;

	if (unwinder_init(&u, modules, NULL) == 0)
		for (size_t i = 0; i < MIN(core->n_threads, (size_t)4); i++) {
			_cleanup_stack_ struct stack stack = { 0 };
			struct fault fault;

			if (unwinder_walk(&u, &core->threads[i], 64, &stack, NULL) == 0)
				unwinder_find_fault(&u, &stack, &fault);
		}
	unwinder_release(&u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("core", MFD_CLOEXEC);
	struct files files = { .socket_fd = -1 };
	struct modules modules;
	struct err err = { 0 };
	struct core core;
	uint64_t words[8];

	if (fd < 0 || fd_write_all(fd, data, size, NULL) < 0 || core_open(&core, fd, &err) < 0)
		return 0;
	if (modules_find(&modules, &core, &files, &err) == 0) {
		walk(&core, &modules);
		for (size_t i = 0; i < core.n_segments && i < 64; i++)
			modules_read(&modules, core.segments[i].end - 4, words, sizeof(words));
	}
	modules_release(&modules);
	core_close(&core);
	return 0;
}
