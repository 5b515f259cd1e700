/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of finding, parsing and reading a memory cgroup. */
#include "sidecar/sample/memcg.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "sidecar/sample/memcg_testing.h"

static const struct {
	const char *what, *cgroup, *mountinfo;
	const char *path; /* NULL: not found */
	int version;
} finds[] = {
	{ "container with a private cgroup namespace, v2", "0::/\n",
	  "1 0 0:1 / / rw - overlay overlay rw\n"
	  "30 1 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n",
	  "/sys/fs/cgroup", 2 },
	{ "container with a private cgroup namespace, v1", "7:memory:/\n1:name=systemd:/\n0::/\n",
	  "40 1 0:30 / /sys/fs/cgroup/memory ro,relatime - cgroup cgroup rw,memory\n", "/sys/fs/cgroup/memory", 1 },
	{ "v1 without a cgroup namespace, bound to its own cgroup as docker does",
	  "12:cpu,cpuacct:/docker/4af3\n5:memory:/docker/4af3\n",
	  "51 50 0:27 /docker/4af3 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
	  "52 50 0:28 /docker/4af3 /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n",
	  "/sys/fs/cgroup/memory", 1 },
	{ "v1 seen from the host", "4:memory:/kubepods/burstable/pod1/abc\n",
	  "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
	  "/sys/fs/cgroup/memory/kubepods/burstable/pod1/abc", 1 },
	{ "a sibling whose name begins alike is not the mount's root", "4:memory:/docker/abcd\n",
	  "52 50 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n", "/sys/fs/cgroup/memory", 1 },
	{ "hybrid host: memory is v1's, though the unified hierarchy stands there too", "4:memory:/a\n0::/init.scope\n",
	  "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	  "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
	  "/sys/fs/cgroup/memory/a", 1 },
	{ "hybrid host, the unified line first", "0::/init.scope\n4:memory:/a\n",
	  "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "/sys/fs/cgroup/memory/a", 1 },
	{ "memory mounted together with others", "3:cpuset,memory,pids:/x\n",
	  "9 1 0:9 / /cg rw - cgroup none rw,cpuset,memory,pids\n", "/cg/x", 1 },
	{ "a controller whose name contains memory is not it", "3:hugememory,memoryx:/x\n",
	  "9 1 0:9 / /cg rw - cgroup none rw,memory\n", NULL, 0 },
	{ "a process outside the namespace's root, as the mount shows it too", "0::/../x\n",
	  "30 1 0:26 /../x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup", 2 },
	{ "below it", "0::/../x/y\n", "30 1 0:26 /../x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/y", 2 },
	{ "tags between options and the dash", "0::/\n",
	  "30 1 0:26 / /sys/fs/cgroup rw shared:4 master:7 - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup", 2 },
	{ "blanks and backslashes in the mount point", "0::/\n", "30 1 0:26 / /a\\040b\\134c rw - cgroup2 cgroup2 rw\n",
	  "/a b\\c", 2 },
	{ "an escape cut at the end of the text", "0::/\n", "30 1 0:26 / /a rw - cgroup2 cgroup2 rw\\04", "/a", 2 },
	{ "a backslash as the last byte", "0::/\n", "30 1 0:26 / /a rw - cgroup2 cgroup2 rw\\", "/a", 2 },
	{ "an escape that is none stays as it is", "0::/\n", "30 1 0:26 / /a\\9zz rw - cgroup2 cgroup2 rw\n", "/a\\9zz", 2 },
	{ "an escape across the end of its line", "0::/\n", "1 0 0:1 / / rw - overlay o rw\\0\n30 1 0:26 / /a rw - cgroup2 c rw\n",
	  "/a", 2 },
	{ "a cut line before the right one", "0::/\n", "30 1 0:26 / /half\n30 1 0:26 / /a rw - cgroup2 cgroup2 rw\n", "/a", 2 },
	{ "no final newline", "0::/", "30 1 0:26 / /a rw - cgroup2 cgroup2 rw", "/a", 2 },
	{ "the cgroup line is cut before its path", "0:", "30 1 0:26 / /a rw - cgroup2 cgroup2 rw\n", NULL, 0 },
	{ "empty texts", "", "", NULL, 0 },
	{ "newlines only", "\n\n\n", "\n\n\n", NULL, 0 },
	{ "the hierarchy is not mounted", "0::/\n", "1 0 0:1 / / rw - overlay overlay rw\n", NULL, 0 },
	{ "v1 without the memory controller and no v2", "4:cpu:/\n",
	  "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", NULL, 0 },
	{ "a colon in the path", "4:memory:/a:b\n", "35 31 0:32 / /m rw - cgroup cgroup rw,memory\n", "/m/a:b", 1 },
};

static void every_layout_of_cgroups_leads_to_the_right_directory(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(finds); i++) {
		/* On the heap and of exactly this size, so that ASan sees a read beyond its end. */
		_cleanup_free_ char *cgroup = strdup(finds[i].cgroup),
				    *mounts = strdup(finds[i].mountinfo);
		char path[512] = "untouched";
		struct err err = { 0 };
		int version = -1,
		    r = memcg_find(cgroup, mounts, path, sizeof(path), &version, &err);

		if ((r >= 0) != (finds[i].path != NULL) ||
		    (r >= 0 && strcmp(path, finds[i].path) != 0))
			print_error("row: %s\n", finds[i].what);
		if (!finds[i].path) {
			assert_int_equal(r, -ENOENT);
			assert_int_equal(version, -1);
			assert_string_equal(path, "untouched");
			continue;
		}
		assert_true(r >= 0);
		assert_string_equal(path, finds[i].path);
		assert_int_equal(version, finds[i].version);
	}
}

/* This is the view of the sidecar, whose own cgroup is the root of its namespace. */
static void a_shared_cgroup_is_distinguished_from_the_processs_own(void **state)
{
	static const struct {
		const char *cgroup, *root;
		bool own;
	} rows[] = {
		{ "/../ray", "/../ray", true },
		{ "/../ray/below", "/../ray", true },
		{ "/", "/", true },
		{ "/kubepods/pod1/ray", "/kubepods/pod1/ray", true },
		{ "/kubepods/pod1/ray", "/", true },
		/*
		 * The container has the host's cgroup namespace. Our namespace hides the names of
		 * what is mounted there.
		 */
		{ "/../ray", "/../..", false },
		{ "/../ray", "/../../../..", false },
		{ "/", "/..", false },
		{ "/../ray", "/../r", false },
		{ "/../../system/ray", "/..", false },
		{ "/../../system/ray", "/../../..", false },
		{ "/kubepods/pod1/ray", "/kubepods/pod2", false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char cgroup[128], mounts[128], path[512];
		int version;

		snprintf(cgroup, sizeof(cgroup), "0::%s\n", rows[i].cgroup);
		snprintf(mounts, sizeof(mounts),
			 "30 1 0:26 %s /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", rows[i].root);
		assert_int_equal(memcg_find(cgroup, mounts, path, sizeof(path), &version, NULL),
				 rows[i].own ? 0 : 1);
		if (!rows[i].own)
			assert_string_equal(path, "/sys/fs/cgroup");
	}
}

static void a_container_that_made_cgroups_below_and_moved_is_still_the_container(void **state)
{
	static const struct {
		const char *cgroup, *root, *path;
	} rows[] = {
		/*
		 * Seen from the sidecar: everything that the mount shows belongs to the container.
		 */
		{ "/../cri-1.scope/ray-node_9/user/non-ray", "/../cri-1.scope", "/sys/fs/cgroup" },
		{ "/../cri-1.scope/init", "/../cri-1.scope", "/sys/fs/cgroup" },
		{ "/../cri-1.scope", "/../cri-1.scope", "/sys/fs/cgroup" },
		/*
		 * Seen from the machine: only the cgroups that Ray made are known not to be the
		 * container's own.
		 */
		{ "/slurm/job_1/ray_node_9/system/leaf", "/", "/sys/fs/cgroup/slurm/job_1" },
		{ "/slurm/job_1/step_0", "/", "/sys/fs/cgroup/slurm/job_1/step_0" },
		{ "/docker/abc/afterglow-1", "/docker/abc", "/sys/fs/cgroup/afterglow-1" },
		{ "/ray-node_9/user/workers", "/", "/sys/fs/cgroup" },
		/*
		 * The machine's whole hierarchy, seen from a sidecar that is far away from the
		 * container.
		 */
		{ "/../../../system/ray", "/../../..", "/sys/fs/cgroup/system/ray" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char cgroup[128], mounts[128];
		struct memcg_place place;

		snprintf(cgroup, sizeof(cgroup), "0::%s\n", rows[i].cgroup);
		snprintf(mounts, sizeof(mounts),
			 "30 1 0:26 %s /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", rows[i].root);
		assert_int_equal(memcg_find_place(cgroup, mounts, &place, NULL), 0);
		memcg_place_to_container(&place);
		assert_string_equal(place.path, rows[i].path);
	}
}

static void a_cgroup_beside_a_known_one_is_found_without_the_names_above(void **state)
{
	static const struct {
		/* path NULL: it is not found */
		const char *home_cgroup, *home_path, *cgroup, *path;
	} rows[] = {
		{ "/../ray", "/cg/kubepods/pod1/ray", "/../../pod2/x", "/cg/kubepods/pod2/x" },
		{ "/../ray", "/cg/kubepods/pod1/ray", "/../other", "/cg/kubepods/pod1/other" },
		{ "/../ray", "/cg/kubepods/pod1/ray", "/..", "/cg/kubepods/pod1" },
		{ "/../ray", "/cg/kubepods/pod1/ray", "/../../../ray-node/user", "/cg/ray-node/user" },
		{ "/../../a/b", "/cg/a/b", "/../../c", "/cg/c" },
		/*
		 * Paths above the mount, below an unknown name, or beside a home of which the ".."
		 * do not tell where it is.
		 */
		{ "/../ray", "/cg/kubepods/pod1/ray", "/../../../../x", NULL },
		{ "/../../a/b", "/cg/a/b", "/../c", NULL },
		{ "/a", "/cg/a", "/../b", NULL },
		{ "/../ray", "/cg/pod1/other", "/../b", NULL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct memcg_place home = { .top = 3, .version = 2, .own = true },
				   place = { .top = 3, .version = 2 };

		snprintf(home.cgroup, sizeof(home.cgroup), "%s", rows[i].home_cgroup);
		snprintf(home.path, sizeof(home.path), "%s", rows[i].home_path);
		snprintf(place.cgroup, sizeof(place.cgroup), "%s", rows[i].cgroup);
		assert_int_equal(memcg_place_beside(&home, &place), rows[i].path != NULL);
		assert_int_equal(place.own, rows[i].path != NULL);
		assert_string_equal(place.path, rows[i].path ? rows[i].path : "");
	}
}

static void a_launcher_that_was_moved_at_once_leaves_the_cgroup_that_was_made_for_it(void **state)
{
	static const struct {
		const char *path, *cgroup;
		size_t top;
		const char *made, *made_cgroup; /* NULL: the place is unknown */
	} rows[] = {
		{ "/sys/fs/cgroup/a-1/stay", "/a-1/stay", 14, "/sys/fs/cgroup/a-1", "/a-1" },
		{ "/sys/fs/cgroup/a-1", "/a-1", 14, "/sys/fs/cgroup/a-1", "/a-1" },
		{ "/sys/fs/cgroup/system/x.scope", "/system/x.scope", 14, "/sys/fs/cgroup/user/a-1", "/user/a-1" },
		{ "/sys/fs/cgroup", "/", 14, "/sys/fs/cgroup/a-1", "/a-1" },
		/* In a container without a cgroup namespace, the mount begins at its cgroup. */
		{ "/sys/fs/cgroup/memory/a-1/stay", "/docker/0a/a-1/stay", 21, "/sys/fs/cgroup/memory/a-1", "/docker/0a/a-1" },
		{ "/sys/fs/cgroup/memory", "/docker/0a", 21, "/sys/fs/cgroup/memory/a-1", "/docker/0a/a-1" },
		{ "/sys/fs/cgroup/a-1/stay", "/a-1/stay", 14, "/mnt/cgroup/a-1", NULL },
		{ "/sys/fs/cgroup/a-1/stay", "/a-1/stay", 14, "/sys/fs/cgroup2/a-1", NULL },
		{ "/sys/fs/cgroup/a-1/stay", "/a-1/stay", 14, "", NULL },
		{ "/sys/fs/cgroup/a-1/stay", "/stay", 14, "/sys/fs/cgroup/a-1", NULL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct memcg_place place = { .version = 2, .own = true, .top = rows[i].top };

		snprintf(place.path, sizeof(place.path), "%s", rows[i].path);
		snprintf(place.cgroup, sizeof(place.cgroup), "%s", rows[i].cgroup);
		assert_int_equal(memcg_place_to_made(&place, rows[i].made),
				 rows[i].made_cgroup != NULL);
		assert_string_equal(place.path, rows[i].made_cgroup ? rows[i].made : rows[i].path);
		assert_string_equal(place.cgroup,
				    rows[i].made_cgroup ? rows[i].made_cgroup : rows[i].cgroup);
	}
}

static void a_mount_over_another_hides_it(void **state)
{
	static const char host[] = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			  own[] = "31 30 0:26 /pod/ray /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
			  elsewhere[] = "32 1 0:26 /pod/other /mnt ro - cgroup2 cgroup2 rw\n";
	static const struct {
		const char *mounts[3], *path;
	} rows[] = {
		{ { host, own, "" }, "/sys/fs/cgroup" },
		{ { own, host, "" }, "/sys/fs/cgroup/pod/ray" },
		{ { elsewhere, own, "" }, "/sys/fs/cgroup" },
		{ { own, elsewhere, "" }, "/sys/fs/cgroup" },
		{ { host, own, elsewhere }, "/sys/fs/cgroup" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char mounts[512];
		struct memcg_place place;

		snprintf(mounts, sizeof(mounts), "%s%s%s", rows[i].mounts[0], rows[i].mounts[1],
			 rows[i].mounts[2]);
		assert_int_equal(memcg_find_place("0::/pod/ray\n", mounts, &place, NULL), 0);
		assert_true(place.own);
		assert_string_equal(place.path, rows[i].path);
	}
}

static void a_path_too_long_is_an_error_and_not_another_path(void **state)
{
	char cgroup[900], path[512];
	int version;
	(void)state;

	snprintf(cgroup, sizeof(cgroup), "0::/%0500d\n", 1);
	assert_int_equal(memcg_find(cgroup, "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
				    path, sizeof(path), &version, NULL),
			 -ENAMETOOLONG);
	/* A line that is longer than any field is ignored. */
	snprintf(cgroup, sizeof(cgroup), "0::/%0800d\n", 1);
	assert_int_equal(memcg_find(cgroup, "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
				    path, sizeof(path), &version, NULL),
			 -ENOENT);
}

static void a_lone_number_is_read_and_nothing_else_is(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {
		{ "0\n", 0 },
		{ "1073741824\n", 1073741824 },
		{ "1073741824", 1073741824 },
		{ "max\n", -1 },
		{ "9223372036854771712\n", -1 }, /* v1: PAGE_COUNTER_MAX, no limit */
		{ "1152921504606846975\n", 1152921504606846975 },
		{ "1152921504606846976\n", -1 },
		{ "18446744073709551616\n", -1 },
		{ "99999999999999999999999999\n", -1 },
		{ "-1\n", -1 },
		{ "+1\n", -1 },
		{ " 1\n", -1 },
		{ "1 2\n", -1 },
		{ "0x10\n", -1 },
		{ "", -1 },
		{ "\n", -1 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(memcg_parse_value(rows[i].text), rows[i].value);
}

static void v1_counts_the_tree_and_shmem_apart_from_the_page_cache(void **state)
{
	struct memory m = MEMORY_ABSENT;
	(void)state;

	memcg_parse_v1_stat(
		"cache 1\nrss 2\nshmem 3\n"
		"hierarchical_memory_limit 536870912\nhierarchical_memsw_limit 9223372036854771712\n"
		"total_cache 700\ntotal_rss 100\ntotal_rss_huge 50\ntotal_shmem 300\n"
		"total_inactive_file 250\ntotal_active_file 150\n",
		&m);
	assert_int_equal(m.anon, 100);
	assert_int_equal(m.file, 400);
	assert_int_equal(m.shmem, 300);
	assert_int_equal(m.inactive_file, 250);
	assert_int_equal(m.active_file, 150);
	assert_int_equal(m.limit, 536870912);
}

static void v1_takes_the_smaller_of_its_own_limit_and_the_hierarchys(void **state)
{
	struct memory m = MEMORY_ABSENT;
	(void)state;

	m.limit = 100;
	memcg_parse_v1_stat("hierarchical_memory_limit 200\n", &m);
	assert_int_equal(m.limit, 100);
	memcg_parse_v1_stat("hierarchical_memory_limit 50\n", &m);
	assert_int_equal(m.limit, 50);
	memcg_parse_v1_stat("hierarchical_memory_limit 9223372036854771712\n", &m);
	assert_int_equal(m.limit, 50);
}

static void v2_counts_shmem_apart_from_the_page_cache(void **state)
{
	struct memory m = MEMORY_ABSENT;
	(void)state;

	memcg_parse_v2_stat("anon 10\nfile 30\nkernel 1\nshmem 20\nfile_mapped 9\ninactive_anon 8\n"
			    "inactive_file 7\nactive_file 3\n",
			    &m);
	assert_int_equal(m.anon, 10);
	assert_int_equal(m.file, 10);
	assert_int_equal(m.shmem, 20);
	assert_int_equal(m.inactive_file, 7);
	assert_int_equal(m.active_file, 3);
}

static void cut_and_forged_lines_leave_a_counter_absent(void **state)
{
	struct memory m = MEMORY_ABSENT;
	(void)state;

	memcg_parse_v2_stat(
		"anon\nfile \nshmem x\nanonymous 5\n anon 7\ninactive_file -3\nactive_file 99999999999999999999\nano",
		&m);
	assert_int_equal(m.anon, -1);
	assert_int_equal(m.file, -1);
	assert_int_equal(m.shmem, -1);
	assert_int_equal(m.inactive_file, -1);
	assert_int_equal(m.active_file, -1);
	memcg_parse_v2_stat("", &m);
	memcg_parse_v2_stat("\n\n \n", &m);
	assert_int_equal(m.anon, -1);
}

static void more_shmem_than_file_is_no_negative_file(void **state)
{
	struct memory m = MEMORY_ABSENT;
	(void)state;

	memcg_parse_v2_stat("file 10\nshmem 20\n", &m);
	assert_int_equal(m.file, 0);
	m = MEMORY_ABSENT;
	memcg_parse_v1_stat("total_cache 10\ntotal_shmem 20\n", &m);
	assert_int_equal(m.file, 0);
}

static void oom_counters_are_read_and_stay_absent_on_old_kernels(void **state)
{
	struct memory m = MEMORY_ABSENT;
	(void)state;

	memcg_parse_v1_oom_control("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", &m);
	assert_int_equal(m.oom_kill, 3);
	m = MEMORY_ABSENT;
	memcg_parse_v1_oom_control("oom_kill_disable 0\nunder_oom 0\n", &m); /* before Linux 4.13 */
	assert_int_equal(m.oom_kill, -1);
	memcg_parse_v2_events("low 0\nhigh 17\nmax 41\noom 2\noom_kill 1\noom_group_kill 1\n", &m);
	assert_int_equal(m.high_hits, 17);
	assert_int_equal(m.oom_kill, 1);
	assert_int_equal(m.oom_group_kill, 1);
	assert_int_equal(m.limit_hits, 41);
	m = MEMORY_ABSENT;
	memcg_parse_v2_events("low 0\nhigh 0\nmax 41\noom 2\noom_kill 1\n", &m); /* before 5.17 */
	assert_int_equal(m.oom_group_kill, -1);
}

static void kernel_memory_is_one_number_or_the_sum_of_its_parts(void **state)
{
	static const struct {
		const char *text;
		int64_t kernel;
	} rows[] = {
		{ "anon 1\nkernel 100\nkernel_stack 5\npagetables 6\npercpu 7\nsock 30\nslab 50\n", 130 },
		/* before Linux 5.18 */
		{ "anon 1\nkernel_stack 5\npagetables 6\npercpu 7\nsock 30\nslab 50\n", 98 },
		{ "anon 1\nkernel 0\nslab 50\n", 0 },
		{ "anon 1\nslab 50\nslab_reclaimable 40\n", 50 },
		{ "anon 1\nkernel x\n", -1 },
		{ "", -1 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct memory m = MEMORY_ABSENT;

		memcg_parse_v2_stat(rows[i].text, &m);
		assert_int_equal(m.kernel, rows[i].kernel);
	}
}

static void pressure_is_read_in_hundredths_of_a_percent(void **state)
{
	static const struct {
		const char *text;
		int64_t some, full;
	} rows[] = {
		{ "some avg10=1.53 avg60=1.20 avg300=0.28 total=15\nfull avg10=0.07 avg60=0 avg300=0 total=9\n", 153, 7 },
		{ "some avg10=100.00 avg60=1.20 avg300=0.28 total=15\n", 10000, -1 },
		{ "some avg10=1000.00\nfull avg10=-1.00\n", -1, -1 },
		{ "awesome avg10=1.00\nfull avg60=1.00\n", -1, -1 },
		{ "some avg10=1", -1, -1 },
		{ "", -1, -1 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct memory m = MEMORY_ABSENT;

		memcg_parse_v2_pressure(rows[i].text, &m);
		assert_int_equal(m.psi_some, rows[i].some);
		assert_int_equal(m.psi_full, rows[i].full);
	}
}

static void kubelet_and_ray_count_less_than_the_kernel(void **state)
{
	struct memory m = MEMORY_ABSENT;
	(void)state;

	assert_int_equal(memory_kubelet(&m), -1);
	assert_int_equal(memory_ray(&m), -1);
	m.usage = 100;
	m.inactive_file = 30;
	assert_int_equal(memory_kubelet(&m), 70);
	assert_int_equal(memory_ray(&m), -1);
	m.active_file = 50;
	assert_int_equal(memory_ray(&m), 20);
	m.active_file = 500; /* the counters are not read at the same moment */
	assert_int_equal(memory_ray(&m), 0);
}

/* --- A directory of the test as the container's root --- */

static int tree_setup(void **state)
{
	static struct fake_root t;

	fake_root_init(&t);
	fake_root_put(&t, "proc/7/cgroup", "0::/\n");
	fake_root_put(&t, "proc/7/mountinfo", "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	*state = &t;
	return 0;
}

static int tree_teardown(void **state)
{
	return fake_root_release(*state);
}

static int open_of(struct memcg *m, int root_fd, pid_t pid, struct err *err)
{
	struct memcg_place place;
	int r = memcg_place_of(root_fd, pid, &place, err);

	return r < 0 ? r : memcg_open_at(m, root_fd, &place, err);
}

static void a_cgroup_is_read_through_the_root_descriptor(void **state)
{
	struct fake_root *t = *state;
	struct memcg m = { 0 };
	struct memory memory;
	struct err err = { 0 };

	fake_root_put(t, "cg/memory.current", "900\n");
	fake_root_put(t, "cg/memory.max", "1000\n");
	fake_root_put(t, "cg/memory.stat", "anon 500\n");
	fake_root_put(t, "cg/memory.events", "max 1\noom_kill 0\n");
	fake_root_put(t, "cg/memory.swap.current", "70\n");
	fake_root_put(t, "cg/memory.high", "850\n");
	fake_root_put(t, "cg/memory.pressure", "some avg10=2.50 avg60=0.00 avg300=0.00 total=0\n");
	assert_int_equal(open_of(&m, t->fd, 7, &err), 0);
	assert_int_equal(m.version, 2);
	assert_true(memcg_events_fd(&m) >= 0);
	assert_int_equal(memcg_read(&m, &memory, &err), 0);
	assert_int_equal(memory.usage, 900);
	assert_int_equal(memory.limit, 1000);
	assert_int_equal(memory.peak, -1); /* no memory.peak before Linux 5.19 */
	assert_int_equal(memory.anon, 500);
	assert_int_equal(memory.shmem, -1);
	assert_int_equal(memory.oom_kill, 0);
	assert_int_equal(memory.swap, 70);
	assert_int_equal(memory.high, 850);
	assert_int_equal(memory.psi_some, 250);
	assert_int_equal(memory.psi_full, -1);
	fake_root_put(t, "cg/memory.events", "max 9\noom_kill 2\n");
	fake_root_put(t, "cg/memory.high", "max\n");
	assert_int_equal(memcg_read(&m, &memory, &err), 0);
	assert_int_equal(memory.oom_kill, 2);
	assert_int_equal(memory.high, -1);
	assert_int_equal(memory.high_hits, -1);
	memcg_close(&m);
	memcg_close(&m); /* closing it twice does no harm */
}

/*
 * Where the kernel was started with psi=0 (Linux 4.20 to 6.0), memory.pressure can be opened, but
 * reading it fails with EOPNOTSUPP.
 */
static void a_counter_that_cannot_be_read_is_absent_and_the_others_are_not(void **state)
{
	struct fake_root *t = *state;
	struct memcg m = { 0 };
	struct memory memory;
	struct err err = { 0 };

	fake_root_put(t, "cg/memory.current", "900\n");
	fake_root_put(t, "cg/memory.max", "1000\n");
	/* opens, and cannot be read */
	assert_int_equal(mkdirat(t->fd, "cg/memory.pressure", 0755), 0);
	assert_int_equal(open_of(&m, t->fd, 7, &err), 0);
	assert_int_equal(memcg_read(&m, &memory, &err), 0);
	assert_int_equal(memory.usage, 900);
	assert_int_equal(memory.limit, 1000);
	assert_int_equal(memory.psi_some, -1);
	memcg_close(&m);
	assert_int_equal(unlinkat(t->fd, "cg/memory.current", 0), 0);
	assert_int_equal(mkdirat(t->fd, "cg/memory.current", 0755), 0);
	assert_int_equal(open_of(&m, t->fd, 7, &err), 0);
	assert_int_equal(memcg_read(&m, &memory, &err), -EISDIR);
	memcg_close(&m);
}

static void without_the_counters_opening_fails_and_touches_nothing(void **state)
{
	struct fake_root *t = *state;
	struct memcg m = { .version = 0, .path = "untouched" };
	struct err err = { 0 };

	assert_int_equal(open_of(&m, t->fd, 7, &err), -ENOENT);
	assert_int_equal(open_of(&m, t->fd, 8, &err), -ENOENT);
	assert_int_equal(m.version, 0);
	assert_string_equal(m.path, "untouched");
}

/* As in the root cgroup of v2, which has statistics and no limit. */
static void without_the_usage_no_other_file_stays_open(void **state)
{
	struct fake_root *t = *state;
	struct memcg m = { 0 };
	int next = dup(t->fd);

	close(next);
	fake_root_put(t, "cg/memory.stat", "anon 500\n");
	fake_root_put(t, "cg/memory.pressure", "some avg10=2.50 avg60=0.00 avg300=0.00 total=0\n");
	assert_int_equal(open_of(&m, t->fd, 7, NULL), -ENOENT);
	/* The lowest number that is free is the same as before. */
	assert_int_equal(dup(t->fd), next);
	close(next);
}

static void links_stay_inside_the_root_and_fifos_do_not_block(void **state)
{
	struct fake_root *t = *state;
	struct memcg m = { 0 };
	struct err err = { 0 };

	fake_root_put(t, "cg/x", "");
	assert_int_equal(symlinkat("/proc/self/status", t->fd, "cg/memory.current"), 0);
	assert_int_equal(open_of(&m, t->fd, 7, &err), -ENOENT);
	assert_int_equal(unlinkat(t->fd, "proc/7/mountinfo", 0), 0);
	assert_int_equal(mkfifoat(t->fd, "proc/7/mountinfo", 0644), 0);
	assert_int_equal(open_of(&m, t->fd, 7, &err), -EINVAL);
	assert_int_equal(m.version, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_of_cgroups_leads_to_the_right_directory),
		cmocka_unit_test(a_shared_cgroup_is_distinguished_from_the_processs_own),
		cmocka_unit_test(a_container_that_made_cgroups_below_and_moved_is_still_the_container),
		cmocka_unit_test(a_cgroup_beside_a_known_one_is_found_without_the_names_above),
		cmocka_unit_test(a_launcher_that_was_moved_at_once_leaves_the_cgroup_that_was_made_for_it),
		cmocka_unit_test(a_mount_over_another_hides_it),
		cmocka_unit_test(a_path_too_long_is_an_error_and_not_another_path),
		cmocka_unit_test(a_lone_number_is_read_and_nothing_else_is),
		cmocka_unit_test(v1_counts_the_tree_and_shmem_apart_from_the_page_cache),
		cmocka_unit_test(v1_takes_the_smaller_of_its_own_limit_and_the_hierarchys),
		cmocka_unit_test(v2_counts_shmem_apart_from_the_page_cache),
		cmocka_unit_test(cut_and_forged_lines_leave_a_counter_absent),
		cmocka_unit_test(more_shmem_than_file_is_no_negative_file),
		cmocka_unit_test(oom_counters_are_read_and_stay_absent_on_old_kernels),
		cmocka_unit_test(kernel_memory_is_one_number_or_the_sum_of_its_parts),
		cmocka_unit_test(pressure_is_read_in_hundredths_of_a_percent),
		cmocka_unit_test(kubelet_and_ray_count_less_than_the_kernel),
		cmocka_unit_test_setup_teardown(a_cgroup_is_read_through_the_root_descriptor, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(a_counter_that_cannot_be_read_is_absent_and_the_others_are_not, tree_setup,
						tree_teardown),
		cmocka_unit_test_setup_teardown(without_the_counters_opening_fails_and_touches_nothing, tree_setup,
						tree_teardown),
		cmocka_unit_test_setup_teardown(without_the_usage_no_other_file_stays_open, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(links_stay_inside_the_root_and_fifos_do_not_block, tree_setup,
						tree_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
