/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a launcher sends of a process that lives. The first two bytes are the length of the list of mappings, which
 * follows; the rest is the dump behind its magic, and also the memory from BASE on.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "sidecar/launch/dump.h"
#include "sidecar/unwind/live.h"
#include "sidecar/unwind/living.h"

#define BASE 0x10000
#define MAGIC_LEN 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Written text is of printable lines, whatever was sent. */
static bool text_take(struct strbuf *text)
{
	for (size_t i = 0; i < text->len; i++)
		if ((unsigned char)text->data[i] < ' ' && text->data[i] != '\n')
			__builtin_trap();
	strbuf_reset(text);
	return true;
}

static void stacks_write(struct core *core)
{
	struct files files = { .socket_fd = -1 };
	struct modules modules;
	struct unwinder u = { 0 };
	struct symbols symbols;

	if (modules_find(&modules, core, &files, NULL) == 0 && unwinder_init(&u, &modules, NULL) == 0) {
		symbols_init(&symbols, &u);
		living_write(&u, &symbols, 8, text_take, NULL);
		symbols_release(&symbols);
	}
	unwinder_release(&u);
	modules_release(&modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int dump_fd = memfd_create("dump", MFD_CLOEXEC), memory_fd = memfd_create("memory", MFD_CLOEXEC),
			    maps_fd = memfd_create("maps", MFD_CLOEXEC);
	size_t len = size < 2 ? 0 : MIN((size_t)(data[0] | data[1] << 8), size - 2);
	struct err err = { 0 };
	struct core core;

	if (size < 2 || dump_fd < 0 || memory_fd < 0 || maps_fd < 0 || fd_write_all(maps_fd, data + 2, len, NULL) < 0)
		return 0;
	data += 2 + len;
	size -= 2 + len;
	if (fd_write_all(dump_fd, DUMP_MAGIC, MAGIC_LEN, NULL) < 0 || fd_write_all(dump_fd, data, size, NULL) < 0 ||
	    lseek(memory_fd, BASE, SEEK_SET) < 0 || fd_write_all(memory_fd, data, size, NULL) < 0)
		return 0;
	if (live_open(&core, dump_fd, memory_fd, maps_fd, &err) < 0)
		return 0;
	stacks_write(&core);
	core_close(&core);
	return 0;
}
