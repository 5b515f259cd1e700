/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk under the spool fails at the Nth call, for every N until all succeed: with ENOSPC, EIO
 * or as read-only, once or from then on. Every bundle that is visible afterwards must be complete.
 * After a temporary fault the report must exist. Linked with --wrap for the calls that write.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ending/postmortem.h"
#include "sidecar/keeping/keeper.h"
#include "sidecar/spool/inventory.h"
#include "sidecar/store/bundle.h"
#include "sidecar/store/extend.h"
#include "sidecar/store/manifest_testing.h"
#include "sidecar/verdict/classify.h"

#define NEVER UINT32_MAX

/* Shared with the children that write bundles. */
static struct {
	uint32_t until_fault;
	bool hit;
} *shared;
static int fault;
static bool lasting;
static const char *spared; /* files in this directory never fail; NULL: all may */

static bool is_spared(int fd)
{
	char link[40], path[256];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = spared ? readlink(link, path, sizeof(path)) : -1;
	return len >= (ssize_t)strlen(spared ? spared : "") &&
	       strncmp(path, spared, strlen(spared)) == 0;
}

static bool fails(int fd)
{
	if (shared->until_fault == NEVER || is_spared(fd) || shared->until_fault-- > 0)
		return false;
	shared->until_fault = lasting ? 0 : NEVER;
	shared->hit = true;
	errno = fault;
	return true;
}

ssize_t __real_write(int fd, const void *data, size_t len);
int __real_fsync(int fd);
int __real_openat(int dirfd, const char *path, int flags, ...);
int __real_mkdirat(int dirfd, const char *path, mode_t mode);
int __real_renameat(int from, const char *old, int to, const char *new);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __wrap_fsync(int fd);
int __wrap_openat(int dirfd, const char *path, int flags, ...);
int __wrap_mkdirat(int dirfd, const char *path, mode_t mode);
int __wrap_renameat(int from, const char *old, int to, const char *new);

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	/* A full disk accepts the first half of the data. */
	if (!fails(fd))
		return __real_write(fd, data, len);
	if (len > 1 && fault == ENOSPC)
		__real_write(fd, data, len / 2);
	errno = fault;
	return -1;
}

int __wrap_fsync(int fd)
{
	return fails(fd) ? -1 : __real_fsync(fd);
}

int __wrap_openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return (flags & O_CREAT) && fails(dirfd) ? -1 : __real_openat(dirfd, path, flags, mode);
}

int __wrap_mkdirat(int dirfd, const char *path, mode_t mode)
{
	return fails(dirfd) ? -1 : __real_mkdirat(dirfd, path, mode);
}

int __wrap_renameat(int from, const char *old, int to, const char *new)
{
	return fails(from) ? -1 : __real_renameat(from, old, to, new);
}

static char directory[64], path_of_bundle[256];
static struct observer watched;
static struct record_options options;
static struct spool *spool;

static void fill_report(struct report *r)
{
	const struct observation seen = { .container = "c",
					  .cgroup_version = 2,
					  .after_known = true,
					  .oom_age_ns = -1,
					  .last = { .limit = 1 << 30, .usage = 1 << 30 },
					  .after = { .oom_kill = 1, .oom_group_kill = 1 } };

	*r = (struct report){
		.id = { .namespace = "ns", .pod = "p", .pod_uid = "uid", .container = "c" },
		.memory = seen.last,
		.started_unix_ns = NS_PER_SEC,
		.ended_unix_ns = 2 * NS_PER_SEC
	};
	classify(&seen, &r->verdict);
}

/*
 * Checks that every visible bundle lists only files that exist, with the right content. Returns how
 * many bundles there are.
 */
static unsigned int whole_bundles_in(const char *where)
{
	char pattern[128];
	glob_t found;
	unsigned int n = 0;

	snprintf(pattern, sizeof(pattern), "%s/ns/*/*/*/*", where);
	if (glob(pattern, 0, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++, n++) {
		cJSON *files;
		_cleanup_json_ cJSON *manifest = read_true_manifest(found.gl_pathv[i], &files);

		assert_non_null(json_find(files, "name", "report.txt"));
		assert_non_null(json_find(files, "name", "report.json"));
	}
	globfree(&found);
	return n;
}

static unsigned int whole_bundles(void)
{
	return whole_bundles_in(directory);
}

static unsigned int hidden(void)
{
	static const char *const patterns[] = { "ns/*/*/*/.*.partial", "ns/*/*/*/*/.*.partial" };
	unsigned int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		char pattern[128];
		glob_t found;

		snprintf(pattern, sizeof(pattern), "%s/%s", directory, patterns[i]);
		n += glob(pattern, 0, NULL, &found) == 0 ? (unsigned int)found.gl_pathc : 0;
		globfree(&found);
	}
	return n;
}

static void empty_spool(void)
{
	tree_remove(AT_FDCWD, directory);
	assert_int_equal(mkdir(directory, 0700), 0);
}

/*
 * Runs prepare, then body under the fault, then check without it: for every N and each fault, once
 * and lasting.
 */
static void for_every_fault(void (*prepare)(void), void (*body)(void), void (*check)(void))
{
	static const int faults[] = { ENOSPC, EIO, EROFS, EDQUOT };

	for (size_t f = 0; f < ARRAY_SIZE(faults) * 2; f++) {
		unsigned int n = 0;

		do {
			empty_spool();
			prepare();
			fault = faults[f / 2];
			lasting = f % 2;
			shared->hit = false;
			shared->until_fault = n++;
			body();
			shared->until_fault = NEVER;
			check();
			assert_true(n < 1000);
		} while (shared->hit);
		assert_true(n > 3);
	}
}

/* --- Bodies --- */

static int kept;

static void nothing(void)
{
}

static char named[sizeof((struct report){ 0 }.bundle)];

/* Whoever waits for the name need not wait for the disk. */
static void on_named(const struct report *r, void *arg)
{
	(void)arg;
	assert_int_equal(access(r->directory, F_OK), -1);
	snprintf(named, sizeof(named), "%s", r->bundle);
}

static void keep(void)
{
	static struct report r;

	fill_report(&r);
	watched.naming = on_named;
	kept = postmortem_keep(&r, &watched, &options, record_options_bundles(&options), spool,
			       NULL);
	if (kept >= 0)
		assert_string_equal(named, r.bundle);
	assert_true((kept >= 0) == (r.bundle[0] != '\0'));
	assert_true((kept >= 0) == (r.directory[0] != '\0'));
}

static void check_kept(void)
{
	unsigned int n = whole_bundles();

	assert_int_equal(hidden(), 0);
	assert_int_equal(n, kept >= 0 ? 1 : 0);
	/*
	 * A temporary fault costs at most files beside the report. The name of the spool's own
	 * directory may be lost.
	 */
	if (!lasting)
		assert_int_equal(n, 1);
}

/* The spool, and a directory in memory beside it. */
static char memory[64];
static struct keeper *keeper;
static struct event_base *base;

static void no_news(const struct report *r, void *arg)
{
	(void)r;
	(void)arg;
}

static void on_kept(const struct err *err, void *arg)
{
	(void)arg;
	kept = err->code ? -1 : 0;
}

static void keep_somewhere(void)
{
	static struct report r;
	struct kept k = { .report = &r, .observer = &watched, .named = no_news, .done = on_kept };

	fill_report(&r);
	keeper_keep(keeper, &k);
	while (keeper_is_keeping(keeper))
		event_base_loop(base, EVLOOP_ONCE);
}

static void make_memory(void)
{
	tree_remove(AT_FDCWD, memory);
	assert_int_equal(mkdir(memory, 0700), 0);
}

static void check_kept_somewhere(void)
{
	assert_int_equal(kept, 0);
	assert_int_equal(whole_bundles() + whole_bundles_in(memory), 1);
	/* The last bundle decides, whether or not the spool could take another one. */
	assert_int_equal(keeper_spool_error(keeper) != NULL, whole_bundles() == 0);
}

static void put_bundle(void)
{
	struct bundle *b;

	assert_int_equal(bundle_begin(directory, "ns/c/p.uid/c", "x", &b, NULL), 0);
	snprintf(path_of_bundle, sizeof(path_of_bundle), "%s/%s", directory, bundle_path(b));
	assert_int_equal(bundle_add(b, "report.txt", "died\n", 5, NULL), 0);
	assert_int_equal(bundle_add(b, "report.json", "{}\n", 3, NULL), 0);
	assert_int_equal(bundle_add(b, "logs/raylet.out", "log\n", 4, NULL), 0);
	assert_int_equal(bundle_commit(b, NULL), 0);
}

static void extend(void)
{
	struct extension *e;
	int fd;

	if (extend_begin(path_of_bundle, "core.x.1.zst", &e, &fd, NULL) < 0)
		return;
	if (fd_write_all(fd, "core", 4, NULL) < 0)
		extend_abort(e);
	else
		extend_commit(e, NULL, NULL);
}

static void check_one(void)
{
	assert_int_equal(hidden(), 0);
	assert_int_equal(whole_bundles(), 1);
}

static void put_with_core(void)
{
	put_bundle();
	extend();
}

static void drop_core(void)
{
	_cleanup_close_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	inventory_drop(fd, path_of_bundle + strlen(directory) + 1, DROP_CORE, NULL);
}

/* A drop that cannot be noted must not happen, unless the disk stays full for the note, too. */
static void check_dropped(void)
{
	if (lasting && (fault == ENOSPC || fault == EDQUOT))
		return;
	check_one();
}

/* --- Tests --- */

static void a_report_survives_every_fault_that_passes(void **state)
{
	(void)state;
	for_every_fault(nothing, keep, check_kept);
}

static void with_a_place_in_memory_it_survives_every_fault(void **state)
{
	struct err err = { 0 };
	(void)state;

	snprintf(memory, sizeof(memory), "/tmp/disk_faults_memory.XXXXXX");
	assert_non_null(mkdtemp(memory));
	spared = memory;
	options.spool_fallback = memory;
	options.store.url = "/nowhere"; /* nothing is shipped: the loop does not run */
	options.id.namespace = "ns";
	base = event_base_new();
	assert_int_equal(keeper_new(base, &options, -1, NULL, &keeper, &err), 0);
	for_every_fault(make_memory, keep_somewhere, check_kept_somewhere);
	keeper_free(keeper);
	event_base_free(base);
	tree_remove(AT_FDCWD, memory);
	spared = options.spool_fallback = options.store.url = options.id.namespace = NULL;
}

static void an_addition_leaves_its_bundle_whole(void **state)
{
	(void)state;
	for_every_fault(put_bundle, extend, check_one);
}

static void dropping_a_core_leaves_its_bundle_whole(void **state)
{
	(void)state;
	for_every_fault(put_with_core, drop_core, check_dropped);
}

static int setup(void **state)
{
	const struct spool_limits limits = { .full_per_loop = 0 };
	int root_fd = open("/", O_PATH | O_CLOEXEC);
	struct err err = { 0 };
	(void)state;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return -1;
	shared->until_fault = NEVER;
	log_set_level(LOG_LEVEL_ERROR);
	snprintf(directory, sizeof(directory), "/tmp/disk_faults_test.XXXXXX");
	if (!mkdtemp(directory) || observer_open(&watched, root_fd, getpid(), NULL, &err) < 0)
		return -1;
	for (int i = 1; i < 4; i++)
		observer_sample(&watched, i * NS_PER_SEC);
	options = (struct record_options){ .spool = directory, .spool_limits = limits };
	spool = spool_new(directory, &limits, -1);
	return spool ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	spool_free(spool);
	observer_close(&watched);
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_survives_every_fault_that_passes),
		cmocka_unit_test(with_a_place_in_memory_it_survives_every_fault),
		cmocka_unit_test(an_addition_leaves_its_bundle_whole),
		cmocka_unit_test(dropping_a_core_leaves_its_bundle_whole),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
