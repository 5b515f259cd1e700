/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the memory cgroup of a container and reads it. */
#include "sidecar/sample/memcg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/sample/rootfd.h"

#define MOUNTINFO_MAX (1 << 20)
#define COUNTER_FILE_MAX 8192 /* memory.stat of v2 has about 1.5 kB on Linux 6.x */
#define V1_NO_LIMIT ((int64_t)1 << 60)

/*
 * A file with one number, which goes to the member of struct memory at this offset, or with more.
 */
struct counter_file {
	const char *name;
	size_t offset;
	void (*parse)(const char *text, struct memory *m); /* NULL: it has one number */
};
#define NUMBER(file, member) { file, offsetof(struct memory, member), NULL }

static void parse_limit(const char *text, struct memory *m)
{
	m->limit = m->own_limit = memcg_parse_value(text);
}

/*
 * The first file must exist; older kernels lack some of the others. memory.stat of v1 may lower the
 * limit.
 */
static const struct counter_file v1_files[MEMCG_FILES_MAX] = {
	NUMBER("memory.usage_in_bytes", usage),
	{ "memory.limit_in_bytes", 0, parse_limit },
	NUMBER("memory.max_usage_in_bytes", peak),
	{ "memory.stat", 0, memcg_parse_v1_stat },
	{ "memory.oom_control", 0, memcg_parse_v1_oom_control },
	NUMBER("memory.failcnt", limit_hits),
	NUMBER("memory.kmem.usage_in_bytes", kernel),
};

#define V2_EVENTS 4
static const struct counter_file v2_files[MEMCG_FILES_MAX] = {
	NUMBER("memory.current", usage),
	{ "memory.max", 0, parse_limit },
	NUMBER("memory.peak", peak),
	{ "memory.stat", 0, memcg_parse_v2_stat },
	{ "memory.events", 0, memcg_parse_v2_events },
	NUMBER("memory.swap.current", swap),
	{ "memory.pressure", 0, memcg_parse_v2_pressure },
	NUMBER("memory.high", high),
};

/*
 * The peak is read before the usage: where memory fills quickly, a usage that was read first would
 * be far below a peak at the limit, as if much had been freed. The counts of OOM kills are read
 * after both, so they show what may have freed memory.
 */
static const unsigned char reading_order[MEMCG_FILES_MAX] = { 2, 0, 1, 3, 4, 5, 6, 7 };

static const struct counter_file *files_of(int version)
{
	return version == 1 ? v1_files : v2_files;
}

int64_t memcg_parse_value(const char *text)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || (*end && *end != '\n') || value >= (unsigned long long)V1_NO_LIMIT)
		return -1;
	return (int64_t)value;
}

struct key {
	const char *name;
	size_t offset; /* of the member in struct memory */
};

/* Parses lines of "key value"; other keys are skipped. */
static void parse_keys(const char *text, const struct key *keys, size_t n_keys, struct memory *m)
{
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		const char *blank = memchr(line, ' ', (size_t)(end - line));

		for (size_t i = 0; blank && i < n_keys; i++)
			if (strlen(keys[i].name) == (size_t)(blank - line) &&
			    memcmp(keys[i].name, line, (size_t)(blank - line)) == 0)
				*(int64_t *)((char *)m + keys[i].offset) =
					memcg_parse_value(blank + 1);
		line = *end ? end + 1 : end;
	}
}

int64_t memcg_parse_key(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');

		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return memcg_parse_value(line + len + 1);
		line = *end ? end + 1 : end;
	}
	return -1;
}

#define KEY(text, field) { text, offsetof(struct memory, field) }

void memcg_parse_v1_stat(const char *text, struct memory *m)
{
	struct memory from = MEMORY_ABSENT;
	static const struct key keys[] = {
		KEY("total_rss", anon),
		KEY("total_cache", file),
		KEY("total_shmem", shmem),
		KEY("total_inactive_file", inactive_file),
		KEY("total_active_file", active_file),
		KEY("total_swap", swap),
		KEY("hierarchical_memory_limit", limit),
	};

	parse_keys(text, keys, ARRAY_SIZE(keys), &from);
	m->anon = from.anon;
	m->shmem = from.shmem;
	/* v1's cache includes shmem. */
	m->file = from.file >= 0 && from.shmem >= 0 ? MAX(from.file - from.shmem, 0) : from.file;
	m->inactive_file = from.inactive_file;
	m->active_file = from.active_file;
	m->swap = from.swap;
	if (from.limit >= 0 && (m->limit < 0 || from.limit < m->limit))
		m->limit = from.limit;
}

/*
 * Returns all kernel memory except socket buffers. From Linux 5.18 that is "kernel"; before, the
 * parts are summed up.
 */
static int64_t v2_kernel(const char *text)
{
	static const char *const parts[] = { "slab", "kernel_stack", "pagetables", "percpu" };
	int64_t kernel = memcg_parse_key(text, "kernel"), sock = memcg_parse_key(text, "sock");

	if (kernel < 0)
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
			int64_t part = memcg_parse_key(text, parts[i]);

			if (part >= 0)
				kernel = MAX(kernel, 0) + part;
		}
	return kernel < 0 ? sock : kernel + MAX(sock, 0);
}

void memcg_parse_v2_stat(const char *text, struct memory *m)
{
	static const struct key keys[] = {
		KEY("anon", anon),
		KEY("file", file),
		KEY("shmem", shmem),
		KEY("inactive_file", inactive_file),
		KEY("active_file", active_file),
	};

	parse_keys(text, keys, ARRAY_SIZE(keys), m);
	m->kernel = v2_kernel(text);
	/* v2's file includes shmem too. */
	if (m->file >= 0 && m->shmem >= 0)
		m->file = MAX(m->file - m->shmem, 0);
}

void memcg_parse_v1_oom_control(const char *text, struct memory *m)
{
	static const struct key keys[] = { KEY("oom_kill", oom_kill) };

	parse_keys(text, keys, ARRAY_SIZE(keys), m);
}

void memcg_parse_v2_events(const char *text, struct memory *m)
{
	static const struct key keys[] = {
		KEY("oom", oom),
		KEY("oom_kill", oom_kill),
		KEY("oom_group_kill", oom_group_kill),
		KEY("max", limit_hits),
		KEY("high", high_hits),
	};

	parse_keys(text, keys, ARRAY_SIZE(keys), m);
}

/* Parses "some avg10=1.23 avg60=..." to hundredths of a percent; -1 if the line is different. */
static int64_t pressure_of(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	unsigned int whole, hundredths;
	char point;

	if (!at || (at != text && at[-1] != '\n') ||
	    sscanf(at + strlen(word), " avg10=%3u%c%2u", &whole, &point, &hundredths) != 3 ||
	    point != '.' || whole > 100)
		return -1;
	return (int64_t)whole * 100 + hundredths;
}

void memcg_parse_v2_pressure(const char *text, struct memory *m)
{
	m->psi_some = pressure_of(text, "some");
	m->psi_full = pressure_of(text, "full");
}

static int memcg_read_proc(int root_fd, pid_t pid, const char *name, struct strbuf *out,
			   struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/%s", (int)pid, name);
	return rootfd_read_no_fuse(root_fd, path, out, err);
}

int memcg_place_of(int root_fd, pid_t pid, struct memcg_place *ret_place, struct err *err)
{
	_cleanup_strbuf_ struct strbuf cgroup = STRBUF_INIT(COUNTER_FILE_MAX);
	_cleanup_strbuf_ struct strbuf mounts = STRBUF_INIT(MOUNTINFO_MAX);
	int r = memcg_read_proc(root_fd, pid, "cgroup", &cgroup, err);

	if (r >= 0)
		r = memcg_read_proc(root_fd, pid, "mountinfo", &mounts, err);
	return r < 0 ? r :
		       memcg_find_place(strbuf_str(&cgroup), strbuf_str(&mounts), ret_place, err);
}

int memcg_cgroup_of(int root_fd, pid_t pid, char *ret_cgroup, size_t size, int *ret_version)
{
	_cleanup_strbuf_ struct strbuf cgroup = STRBUF_INIT(COUNTER_FILE_MAX);
	int r = memcg_read_proc(root_fd, pid, "cgroup", &cgroup, NULL);

	return r < 0 ? r : memcg_find_cgroup(strbuf_str(&cgroup), ret_cgroup, size, ret_version);
}

/* The topmost cgroup of a hierarchy of v1 alone has this file. That of v2 has no counters. */
static bool is_of_machine(int root_fd, const struct memcg_place *place)
{
	char path[sizeof(place->path) + 64];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/release_agent", place->path);
	if (place->version == 1)
		fd = rootfd_open_no_fuse(root_fd, path, O_PATH, NULL);
	return fd >= 0;
}

int memcg_open_at(struct memcg *m, int root_fd, const struct memcg_place *place, struct err *err)
{
	struct memcg opened = { .version = place->version, .own = place->own };
	const struct counter_file *files = files_of(place->version);

	memcpy(opened.path, place->path, sizeof(opened.path));
	if (is_of_machine(root_fd, place))
		return err_set(err, ENOENT, "%s is the memory cgroup of the whole machine",
			       place->path);
	for (size_t i = 0; i < MEMCG_FILES_MAX; i++) {
		char path[sizeof(opened.path) + 64];

		snprintf(path, sizeof(path), "%s/%s", opened.path, files[i].name);
		opened.fds[i] = rootfd_open_no_fuse(root_fd, path, O_RDONLY, i == 0 ? err : NULL);
		if (opened.fds[0] < 0)
			return opened.fds[0];
	}
	*m = opened;
	return 0;
}

void memcg_close(struct memcg *m)
{
	for (size_t i = 0; m->version && i < MEMCG_FILES_MAX; i++)
		closep(&m->fds[i]);
	m->version = 0;
}

int memcg_read(const struct memcg *m, struct memory *ret_memory, struct err *err)
{
	const struct counter_file *files = files_of(m->version);
	struct memory memory = MEMORY_ABSENT;

	for (size_t k = 0; k < MEMCG_FILES_MAX; k++) {
		size_t i = reading_order[k];
		char text[COUNTER_FILE_MAX];
		ssize_t n = !files[i].name || m->fds[i] < 0 ?
				    0 :
				    pread(m->fds[i], text, sizeof(text) - 1, 0);

		/*
		 * Only the first file is needed, because it has the usage. Pressure fails with
		 * EOPNOTSUPP where the kernel was started with psi=0.
		 */
		if (n < 0 && (i == 0 || errno == ENODEV))
			return err_set(err, errno, "read %s/%s", m->path, files[i].name);
		if (n <= 0)
			continue;
		text[n] = '\0';
		if (files[i].parse)
			files[i].parse(text, &memory);
		else
			*(int64_t *)((char *)&memory + files[i].offset) = memcg_parse_value(text);
	}
	*ret_memory = memory;
	return 0;
}

int memcg_events_fd(const struct memcg *m)
{
	return m->version == 2 ? m->fds[V2_EVENTS] : -1;
}
