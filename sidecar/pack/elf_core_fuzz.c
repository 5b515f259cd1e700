/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: an ELF core, and the ranges that a summary takes from it. */
#include <stdlib.h>
#include <sys/mman.h>

#include "sidecar/core/elf_core.h"
#include "sidecar/pack/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look_at(const struct elf_core *core, const struct elf_note *note, void *arg)
{
	struct elf_thread thread;
	char byte;

	(void)arg;
	if (note->desc > core->file_size || note->size > core->file_size - note->desc)
		abort();
	if (elf_core_thread(core, note, &thread))
		elf_core_read_memory(core, thread.sp, &byte, 1);
	return 0;
}

/* Checks that all ranges of the summary lie in the core. */
static void check(const struct elf_core *core, const struct summary *s)
{
	for (size_t i = 0; i < s->n_ranges; i++)
		if (s->ranges[i].offset + s->ranges[i].size > core->file_size ||
		    s->ranges[i].size == 0 ||
		    (i > 0 &&
		     s->ranges[i].address < s->ranges[i - 1].address + s->ranges[i - 1].size))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	struct elf_identity id;
	struct elf_core core;
	struct summary s;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    elf_core_open(fd, &core, NULL) < 0) {
		closep(&fd);
		return 0;
	}
	elf_core_identify(&core, &id);
	elf_core_each_note(&core, look_at, NULL);
	if (summary_plan(&core, &s, NULL) >= 0) {
		check(&core, &s);
		summary_release(&s);
	}
	elf_core_close(&core);
	close(fd);
	return 0;
}
