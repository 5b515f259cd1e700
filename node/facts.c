/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the facts of a node that decide how deaths on it look. */
#include "node/facts.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "lib/fileio.h"
#include "node/core_pattern.h"

#define FILE_MAX 8192
#define PATH_ROOM 512

static bool facts_exists(const char *root, const char *path)
{
	char full[PATH_ROOM];

	snprintf(full, sizeof(full), "%s%s", root, path);
	return access(full, F_OK) == 0;
}

/* Reads the first line of a file, "" if there is none. */
static void facts_read_line(const char *directory, const char *path, char *line, size_t size)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(FILE_MAX);
	char full[PATH_ROOM];

	snprintf(full, sizeof(full), "%s%s", directory, path);
	file_read(AT_FDCWD, full, &text, NULL);
	snprintf(line, size, "%.*s", (int)strcspn(strbuf_str(&text), "\n"), strbuf_str(&text));
}

static long long read_swap(const char *proc)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(FILE_MAX);
	char full[PATH_ROOM];

	snprintf(full, sizeof(full), "%s/meminfo", proc);
	file_read(AT_FDCWD, full, &text, NULL);
	const char *line = strstr(strbuf_str(&text), "SwapTotal:");
	return line ? strtoll(line + strlen("SwapTotal:"), NULL, 10) * 1024 : -1;
}

static void read_cgroups(const char *root, struct facts *f)
{
	bool v2 = facts_exists(root, "/sys/fs/cgroup/cgroup.controllers"),
	     v1 = facts_exists(root, "/sys/fs/cgroup/memory");
	const char *memory = v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
	char path[PATH_ROOM];

	f->cgroup_version = v1 ? 1 : v2 ? 2 : 0;
	snprintf(path, sizeof(path), "%s/kubepods.slice", memory);
	if (facts_exists(root, path))
		f->cgroup_driver = "systemd";
	else {
		snprintf(path, sizeof(path), "%s/kubepods", memory);
		f->cgroup_driver = facts_exists(root, path) ? "cgroupfs" : NULL;
	}
	snprintf(path, sizeof(path), "%s/%s/memory.oom.group", memory,
		 f->cgroup_driver && f->cgroup_driver[0] == 's' ? "kubepods.slice" : "kubepods");
	f->oom_group = v1 ? 0 : f->cgroup_driver ? facts_exists(root, path) : -1;
}

static const char *find_runtime(const char *root)
{
	if (facts_exists(root, "/run/crio/crio.sock"))
		return "cri-o";
	if (facts_exists(root, "/run/cri-dockerd.sock"))
		return "docker";
	return facts_exists(root, "/run/containerd/containerd.sock") ||
			       facts_exists(root, "/run/k3s/containerd/containerd.sock") ?
		       "containerd" :
		       NULL;
}

void facts_read(const char *root, const char *proc, const char *directory, struct facts *ret_facts)
{
	char ours[CORE_PATTERN_MAX + 1];
	struct facts f = { .swap = read_swap(proc), .runtime = find_runtime(root) };
	struct utsname name;
	char restricted[8], pattern[sizeof(f.core_pattern)];

	if (uname(&name) == 0)
		snprintf(f.kernel, sizeof(f.kernel), "%s", name.release);
	facts_read_line(proc, "/sys/kernel/core_pattern", pattern, sizeof(pattern));
	const char *before = core_pattern_before(pattern);
	snprintf(f.core_pattern, sizeof(f.core_pattern), "%s", before ? before : pattern);
	f.cores_left_alone = core_pattern_make(directory, f.core_pattern, ours, NULL) < 0;
	facts_read_line(proc, "/sys/kernel/dmesg_restrict", restricted, sizeof(restricted));
	f.dmesg_restrict = restricted[0] ? restricted[0] != '0' : -1;
	read_cgroups(root, &f);
	*ret_facts = f;
}

static void _printf_(3, 4) facts_add(struct strbuf *out, const char *key, const char *fmt, ...)
{
	char value[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	strbuf_addf(out, "%s\"%s\":%s", out->len > 1 ? "," : "", key, value);
}

/* JSON escapes a backslash and a quote; what is not printable has no place in these values. */
static void facts_add_text(struct strbuf *out, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_addf(out, "%s\"%s\":\"", out->len > 1 ? "," : "", key);
	for (const char *p = value; *p; p++) {
		if (*p == '"' || *p == '\\')
			strbuf_addc(out, '\\');
		strbuf_addc(out, *p >= ' ' && *p < 0x7f ? *p : '?');
	}
	strbuf_addc(out, '"');
}

static void add_bool(struct strbuf *out, const char *key, int value)
{
	if (value >= 0)
		facts_add(out, key, "%s", value ? "true" : "false");
}

void facts_to_json(const struct facts *f, struct strbuf *out)
{
	struct strbuf json = STRBUF_INIT(FILE_MAX);

	strbuf_addc(&json, '{');
	facts_add_text(&json, "kernel", f->kernel);
	if (f->cgroup_version)
		facts_add(&json, "cgroupVersion", "%d", f->cgroup_version);
	facts_add_text(&json, "cgroupDriver", f->cgroup_driver);
	facts_add_text(&json, "runtime", f->runtime);
	facts_add_text(&json, "corePattern", f->core_pattern);
	if (f->cores_left_alone)
		add_bool(&json, "coresLeftAlone", true);
	if (f->swap >= 0)
		facts_add(&json, "swapBytes", "%lld", f->swap);
	add_bool(&json, "oomGroup", f->oom_group);
	add_bool(&json, "dmesgRestrict", f->dmesg_restrict);
	strbuf_addf(out, "%s}", strbuf_str(&json));
	strbuf_release(&json);
}
