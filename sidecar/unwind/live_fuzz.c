/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the list of mappings up to the first NUL, and then any bytes as the dump of a
 * process that lives and, at the same offsets, as its memory. All three come from a container.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/fileio.h"
#include "sidecar/unwind/live.h"
#include "sidecar/unwind/living.h"

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

static void process_write(struct core *core)
{
	struct files files = { .socket_fd = -1 };
	struct unwinder u = { 0 };
	struct symbols symbols;
	struct modules modules;

	if (modules_find(&modules, core, &files, NULL) == 0 &&
	    unwinder_init(&u, &modules, NULL) == 0) {
		symbols_init(&symbols, &u);
		living_write(&u, &symbols, 4, text_take, NULL);
		symbols_release(&symbols);
	}
	unwinder_release(&u);
	modules_release(&modules);
}

static int file_of(const void *data, size_t len)
{
	_cleanup_close_ int fd = memfd_create("live", MFD_CLOEXEC);

	return fd >= 0 && fd_write_all(fd, data, len, NULL) == 0 ? TAKE_FD(fd) : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\0', size);
	size_t maps_len = end ? (size_t)(end - data) : size, rest = end ? size - maps_len - 1 : 0;
	_cleanup_close_ int maps_fd = file_of(data, maps_len),
			    dump_fd = file_of(end ? end + 1 : data, rest);
	struct err err = { 0 };
	struct core core;

	if (maps_fd >= 0 && dump_fd >= 0 &&
	    live_open(&core, dump_fd, dump_fd, maps_fd, &err) == 0) {
		process_write(&core);
		core_close(&core);
	}
	return 0;
}
