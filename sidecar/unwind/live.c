/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a process that lives as if it were a core. */
#include "sidecar/unwind/live.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/printable.h"
#include "sidecar/launch/dump.h"
#include "sidecar/unwind/core_internal.h"

_Static_assert(DUMP_REGISTERS_MAX == CORE_REGISTERS_MAX, "the registers of a thread are copied");

/* --- Mappings --- */

static int read_maps_text(struct core *core, int maps_fd, struct err *err)
{
	size_t size = 256 << 10, len = 0;
	ssize_t n;

	for (;;) {
		char *more = realloc(core->paths, size + 1);

		if (!more)
			return err_set(err, ENOMEM, "the list of mappings");
		core->paths = more;
		while (len < size &&
		       (n = pread(maps_fd, core->paths + len, size - len, (off_t)len)) > 0)
			len += (size_t)n;
		if (len < size || size >= LIVE_MAPS_TEXT_MAX)
			break;
		size *= 2;
	}
	core->notes_cut = len == size;
	core->paths[len] = '\0';
	return len ? 0 : err_set(err, ENODATA, "the process has no memory any more");
}

/* The memory of a device may do something when it is read. */
static bool live_map_is_device(const char *path)
{
	return strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0 &&
	       strncmp(path, "/dev/zero", 9) != 0;
}

/* A line is "START-END PERMISSIONS OFFSET DEVICE INODE   PATH". */
static void take_mapping(struct core *core, char *line)
{
	unsigned long long start, end, offset;
	char permissions[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, permissions, &offset,
		   &at) != 4 ||
	    start >= end || !at || end > (uint64_t)INT64_MAX)
		return;
	const char *path = line + at;
	core->segments[core->n_segments++] = (struct core_segment){
		.start = start,
		.end = end,
		.file_offset = start,
		.file_len = live_map_is_device(path) ? 0 : end - start,
		.promised = end - start,
		.readable = permissions[0] == 'r',
		.writable = permissions[1] == 'w',
		.executable = permissions[2] == 'x',
		.live = true,
	};
	if (path[0] == '/')
		core->maps[core->n_maps++] = (struct core_map){ start, end, offset, path };
}

static int take_mappings(struct core *core, int maps_fd, struct err *err)
{
	size_t lines = 1;

	if (read_maps_text(core, maps_fd, err) < 0)
		return -err->code;
	for (const char *p = core->paths; (p = strchr(p, '\n')); p++)
		lines++;
	lines = MIN(lines, (size_t)CORE_MAPS_MAX);
	core->segments = calloc(lines, sizeof(*core->segments));
	core->maps = calloc(lines, sizeof(*core->maps));
	if (!core->segments || !core->maps)
		return err_set(err, ENOMEM, "%zu mappings", lines);
	for (char *line = core->paths, *end; lines && *line && (end = strchr(line, '\n'));
	     line = end + 1, lines--) {
		*end = '\0';
		take_mapping(core, line);
	}
	core_arrange(core);
	return 0;
}

/* --- The dump --- */

static void take_auxv_words(struct core *core, const struct dump_head *head)
{
	size_t n = MIN((size_t)head->auxv_len, sizeof(head->auxv)) / sizeof(uint64_t);

	for (size_t i = 0; i + 1 < n && head->auxv[i] != AT_NULL; i += 2)
		if (head->auxv[i] == AT_SYSINFO_EHDR)
			core->vdso = head->auxv[i + 1];
		else if (head->auxv[i] == AT_PHDR)
			core->program_headers = head->auxv[i + 1];
}

/* Takes the copy of a stack, if it lies within the dump and in no other copy. */
static void take_copy(struct core *core, const struct dump_thread *from)
{
	uint64_t size = core->elf.file_size;

	if (from->stack_len == 0 || from->stack_len > DUMP_STACK_MAX || from->stack_offset > size ||
	    from->stack_len > size - from->stack_offset ||
	    from->stack_address > (uint64_t)INT64_MAX)
		return;
	core->copies[core->n_copies++] = (struct core_segment){
		.start = from->stack_address,
		.end = from->stack_address + from->stack_len,
		.file_offset = from->stack_offset,
		.file_len = from->stack_len,
	};
}

static void take_dumped(struct core *core, const struct dump_thread *from)
{
	struct core_thread *t = &core->threads[core->n_threads++];

	*t = (struct core_thread){ .tid = from->tid,
				   .error = from->error,
				   .state = from->state,
				   .thread_pointer = from->thread_pointer };
	t->used_ns = from->used_ns;
	t->age_ns = from->age_ns;
	copy_printable(t->name, sizeof(t->name), from->name,
		       strnlen(from->name, sizeof(from->name)));
	copy_printable(t->waits_in, sizeof(t->waits_in), from->waits_in,
		       strnlen(from->waits_in, sizeof(from->waits_in)));
	if (from->error)
		copy_printable(t->file, sizeof(t->file), from->file,
			       strnlen(from->file, sizeof(from->file)));
	else
		memcpy(t->registers, from->registers, sizeof(t->registers));
	take_copy(core, from);
}

static int take_threads(struct core *core, const struct dump_head *head, struct err *err)
{
	size_t n = MIN(head->n_threads, (uint32_t)DUMP_THREADS_MAX);
	struct dump_thread from;

	core->threads = calloc(n + 1, sizeof(*core->threads));
	core->copies = calloc(n + 1, sizeof(*core->copies));
	if (!core->threads || !core->copies)
		return err_set(err, ENOMEM, "%zu threads", n);
	for (size_t i = 0; i < n; i++) {
		if (pread(core->elf.fd, &from, sizeof(from),
			  (off_t)(sizeof(*head) + i * sizeof(from))) != sizeof(from))
			break;
		take_dumped(core, &from);
	}
	core->threads_seen = MAX((size_t)head->threads_seen, core->n_threads);
	return core->n_threads ? 0 : err_set(err, ENODATA, "no thread in the dump");
}

static int take_dump(struct core *core, struct err *err)
{
	struct dump_head head;
	struct stat st;

	if (fstat(core->elf.fd, &st) < 0 ||
	    pread(core->elf.fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.magic, DUMP_MAGIC, sizeof(head.magic)) != 0)
		return err_set(err, EPROTO,
			       "it is no dump of a process, or one of another version");
	core->machine = core_machine_of((uint16_t)head.machine);
	if (!core->machine)
		return err_set(err, ENOTSUP, "a dump of machine type %u", head.machine);
	core->elf.file_size = (uint64_t)st.st_size;
	core->elf.page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	core->pid = head.pid;
	core->stopped_us = head.stopped_us;
	copy_printable(core->command, sizeof(core->command), head.command,
		       strnlen(head.command, sizeof(head.command)));
	take_auxv_words(core, &head);
	return take_threads(core, &head, err);
}

int live_open(struct core *core, int dump_fd, int memory_fd, int maps_fd, struct err *err)
{
	*core = (struct core){ .elf.fd = dump_fd, .memory_fd = memory_fd };
	core->cache = malloc((size_t)CORE_CACHE_BLOCKS * CORE_CACHE_BLOCK);
	if (!core->cache)
		err_set(err, ENOMEM, "cache");
	else if (take_dump(core, err) == 0 && take_mappings(core, maps_fd, err) == 0)
		return 0;
	core_close(core);
	return -err->code;
}

bool live_is_unmoved(struct core *core, const struct core_thread *thread, uint64_t end)
{
	/* What is below the stack pointer belongs to no function that waits. */
	uint64_t at = thread->registers[core->machine->sp];
	const struct core_segment *copy = core_copy_at(core, at);
	uint8_t then[CORE_CACHE_BLOCK], now[CORE_CACHE_BLOCK];

	if (!copy || end > copy->end || end <= at)
		return false;
	for (; at < end; at += sizeof(then)) {
		size_t n = (size_t)MIN(end - at, (uint64_t)sizeof(then));

		if (core_read(core, at, then, n) != n ||
		    pread(core->memory_fd, now, n, (off_t)at) != (ssize_t)n ||
		    memcmp(then, now, n) != 0)
			return false;
	}
	return true;
}
