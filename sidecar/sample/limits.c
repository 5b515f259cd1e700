/* SPDX-License-Identifier: Apache-2.0 */
/* Reads limits other than the memory limit. */
#include "sidecar/sample/limits.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "sidecar/sample/memcg.h"
#include "sidecar/sample/mountinfo.h"
#include "sidecar/sample/rootfd.h"

#define CGROUP_TEXT_MAX 8192
#define DISKS_MAX 128
#define NOTHING 4096 /* bytes; a filesystem with less than this, a block, counts as full */
/* With this much left a filesystem is not full, whatever its size. */
#define LARGE ((int64_t)16 << 20)

bool disk_is_full(const struct disk *d)
{
	if (!d->point[0] || d->total <= 0 || (d->available == d->total && !d->inodes))
		return false;
	return d->available < MIN(d->total / 1000 + NOTHING, LARGE) ||
	       (d->inodes > 0 && d->free_inodes == 0);
}

int64_t limits_parse_refused(const char *events)
{
	int64_t n;

	return strncmp(events, "max ", 4) == 0 && (n = memcg_parse_value(events + 4)) >= 0 ? n : 0;
}

int64_t limits_parse_periods(const char *cpu_stat)
{
	return MAX(memcg_parse_key(cpu_stat, "nr_periods"), (int64_t)0);
}

int64_t limits_parse_throttled(const char *cpu_stat)
{
	return MAX(memcg_parse_key(cpu_stat, "nr_throttled"), (int64_t)0);
}

/* Accepts only local filesystems: statfs of a network filesystem may never return. */
static bool is_local(const char *type)
{
	return TEXT_IS_ONE_OF(type, "overlay", "tmpfs", "ext4", "ext3", "ext2", "xfs", "btrfs",
			      "zfs", "f2fs");
}

void limits_each_disk(const char *mountinfo, void (*visit)(const char *point, void *arg), void *arg)
{
	char devices[DISKS_MAX][sizeof(((struct mount *)NULL)->device)];
	size_t found = 0;

	for (const char *line = mountinfo; *line && found < DISKS_MAX;) {
		const char *end = strchrnul(line, '\n');
		struct mount m;

		bool wanted = mount_parse(line, &m) && is_local(m.type) &&
			      strncmp(m.options, "rw", 2) == 0 &&
			      !path_is_below(m.point, "/proc") && !path_is_below(m.point, "/sys") &&
			      !path_is_below(m.point, "/afterglow");
		for (size_t i = 0; wanted && i < found; i++)
			wanted = strcmp(devices[i], m.device) != 0;
		if (wanted) {
			memcpy(devices[found++], m.device, sizeof(m.device));
			visit(m.point, arg);
		}
		line = *end ? end + 1 : end;
	}
}

struct look {
	int root_fd;
	const struct limits *before; /* NULL: nothing is known of that time */
	struct disk fullest;
	bool is_new; /* the fullest is full, and was not so before */
	dev_t full[LIMITS_FULL_MAX];
	size_t n_full;
	int64_t tmpfs_used;
};

bool limits_local_point(const char *mountinfo, const char *path, char *ret_point, size_t size)
{
	size_t longest = 0;
	bool local = false;

	for (const char *line = mountinfo; *line;) {
		const char *end = strchrnul(line, '\n');
		struct mount m;
		size_t len;

		if (mount_parse(line, &m) &&
		    (len = strlen(m.point)) < MIN(size, sizeof(m.point) - 1) && len >= longest &&
		    (len == 1 || path_is_below(path, m.point))) {
			longest = len;
			local = is_local(m.type);
			memcpy(ret_point, m.point, len + 1);
		}
		line = *end ? end + 1 : end;
	}
	return local;
}

bool limits_mount_may_be_shared(const char *mountinfo, long id)
{
	for (const char *line = mountinfo; *line;) {
		const char *end = strchrnul(line, '\n');
		struct mount m;

		if (strtol(line, NULL, 10) == id)
			return !mount_parse(line, &m) ||
			       (strcmp(m.point, "/") != 0 &&
				!strstr(m.root, "/kubernetes.io~empty-dir/"));
		line = *end ? end + 1 : end;
	}
	return true;
}

bool limits_stat_disk(int root_fd, const char *point, struct disk *ret_disk)
{
	_cleanup_close_ int fd = rootfd_open(root_fd, point, O_PATH, NULL);
	struct statfs st;
	struct stat of_point;
	struct disk d = { .total = 0 };

	if (fd < 0 || fstatfs(fd, &st) < 0 || st.f_blocks == 0 || fstat(fd, &of_point) < 0)
		return false;
	d.device = of_point.st_dev;
	d.total = (int64_t)st.f_blocks * st.f_frsize;
	d.available = (int64_t)st.f_bavail * st.f_frsize;
	d.inodes = (int64_t)st.f_files;
	d.free_inodes = (int64_t)st.f_ffree;
	d.tmpfs = st.f_type == TMPFS_MAGIC;
	for (size_t i = 0; point[i] && i + 1 < sizeof(d.point); i++)
		d.point[i] = point[i] > ' ' && point[i] < 0x7f ? point[i] : '?';
	*ret_disk = d;
	return true;
}

bool limits_had_full(const struct limits *before, dev_t device)
{
	for (size_t i = 0; i < LIMITS_FULL_MAX; i++)
		if (before->full[i] == device)
			return true;
	return before->full[LIMITS_FULL_MAX - 1];
}

/* A disk that has filled since then comes before one that was full already. */
static void limits_look_at_full(struct look *look, const struct disk *d)
{
	bool is_new = !look->before || !limits_had_full(look->before, d->device);

	if (look->n_full < LIMITS_FULL_MAX)
		look->full[look->n_full++] = d->device;
	if (disk_is_full(&look->fullest) && (look->is_new || !is_new))
		return;
	look->fullest = *d;
	look->is_new = is_new;
}

static void limits_look_at(const char *point, void *arg)
{
	struct look *look = arg;
	struct disk *fullest = &look->fullest;
	struct disk d;

	if (!limits_stat_disk(look->root_fd, point, &d))
		return;
	if (d.tmpfs)
		look->tmpfs_used += d.total - d.available;
	if (disk_is_full(&d))
		limits_look_at_full(look, &d);
	else if (!fullest->point[0] ||
		 (!disk_is_full(fullest) &&
		  (double)d.available / (double)d.total <
			  (double)fullest->available / (double)fullest->total))
		*fullest = d;
}

static int64_t read_number(int root_fd, const char *directory, const char *file,
			   int64_t (*parse)(const char *text))
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(CGROUP_TEXT_MAX);
	char path[640];

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	return rootfd_read(root_fd, path, &text, NULL) < 0 ?
		       0 :
		       MAX(parse(strbuf_str(&text)), (int64_t)0);
}

static int limits_read_proc(int root_fd, pid_t pid, const char *name, struct strbuf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/%s", (int)pid, name);
	return rootfd_read(root_fd, path, text, NULL);
}

int limits_read_mounts(int root_fd, pid_t pid, struct strbuf *text)
{
	return limits_read_proc(root_fd, pid, "mountinfo", text);
}

void limits_read(int root_fd, pid_t pid, const struct limits *before, struct limits *ret_limits)
{
	_cleanup_strbuf_ struct strbuf cgroup = STRBUF_INIT(CGROUP_TEXT_MAX);
	_cleanup_strbuf_ struct strbuf mounts = STRBUF_INIT(LIMITS_MOUNTS_MAX);
	struct look look = { .root_fd = root_fd, .before = before };
	char directory[512];
	int version;

	*ret_limits = (struct limits){ .processes = 0 };
	if (root_fd < 0 || limits_read_proc(root_fd, pid, "mountinfo", &mounts) < 0)
		return;
	limits_each_disk(strbuf_str(&mounts), limits_look_at, &look);
	ret_limits->fullest = look.fullest;
	memcpy(ret_limits->full, look.full, sizeof(look.full));
	ret_limits->tmpfs_used = look.tmpfs_used;
	if (limits_read_proc(root_fd, pid, "cgroup", &cgroup) < 0)
		return;
	if (cgroup_find("cpu", strbuf_str(&cgroup), strbuf_str(&mounts), directory,
			sizeof(directory), &version, NULL) >= 0) {
		ret_limits->cpu_periods =
			read_number(root_fd, directory, "cpu.stat", limits_parse_periods);
		ret_limits->cpu_throttled =
			read_number(root_fd, directory, "cpu.stat", limits_parse_throttled);
	}
	if (cgroup_find("pids", strbuf_str(&cgroup), strbuf_str(&mounts), directory,
			sizeof(directory), &version, NULL) < 0)
		return;
	ret_limits->processes = read_number(root_fd, directory, "pids.current", memcg_parse_value);
	ret_limits->processes_max = read_number(root_fd, directory, "pids.max", memcg_parse_value);
	ret_limits->processes_refused =
		read_number(root_fd, directory, "pids.events", limits_parse_refused);
}
