/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests with a hostile directory tree, opened by openat2 and by our own walk: both must find the
 * same. Seccomp simulates a kernel without openat2.
 */
#include "sidecar/sample/rootfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "sidecar/sample/root_walk.h"

#define HOW (O_NOFOLLOW | O_DIRECTORY) /* flags that say how a file is opened, not for what */

static char directory[64];
static int root_fd = -1;

static void make_file(const char *path, const char *text)
{
	int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void make_link(const char *target, const char *path)
{
	assert_int_equal(symlinkat(target, root_fd, path), 0);
}

static void make_links(void)
{
	char name[32], target[32], far[128];

	make_link("/d/e/f", "absolute");
	make_link("d/e/f", "relative");
	make_link("../../../../d/e/f", "above");
	make_link("/../../outside", "out");
	make_link("../outside", "d/e/out");
	make_link("loop", "loop");
	make_link("loop-b", "loop-a");
	make_link("loop-a", "loop-b");
	make_link("/d", "d/e/up");
	make_link("d/", "slash");
	make_link("nothing", "dangling");
	make_link("/", "root");
	make_link("..", "d/e/dots");
	make_link("fifo", "to-fifo");
	snprintf(far, sizeof(far), "%s/../outside", directory);
	make_link(far, "by-name");
	/* Chains of 40 and of 41 links. */
	make_link("file", "link-0");
	for (int i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "link-%d", i);
		snprintf(target, sizeof(target), "link-%d", i - 1);
		make_link(target, name);
	}
}

static int setup(void **state)
{
	char outside[96], root[96];
	(void)state;

	snprintf(directory, sizeof(directory), "/tmp/rootfd_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(outside, sizeof(outside), "%s/outside", directory);
	snprintf(root, sizeof(root), "%s/root", directory);
	if (mkdir(root, 0755) < 0 || close(open(outside, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) < 0)
		return -1;
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || mkdirat(root_fd, "d", 0755) < 0 || mkdirat(root_fd, "d/e", 0755) < 0 ||
	    mkfifoat(root_fd, "fifo", 0644) < 0)
		return -1;
	make_file("file", "file");
	make_file("d/e/f", "f");
	make_links();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(root_fd);
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static const struct {
	const char *path;
	int flags;
} rows[] = {
	{ "file", O_RDONLY },
	{ "/file", O_RDONLY },
	{ "//file", O_RDONLY },
	{ "./file", O_RDONLY },
	{ "d/../file", O_RDONLY },
	{ "../file", O_RDONLY },
	{ "../../../../../../file", O_RDONLY },
	{ "d/e/../../../../file", O_RDONLY },
	{ "../outside", O_RDONLY },
	{ "/../outside", O_RDONLY },
	{ "d/../../outside", O_RDONLY },
	{ "out", O_RDONLY },
	{ "d/e/out", O_RDONLY },
	{ "by-name", O_RDONLY },
	{ "absolute", O_RDONLY },
	{ "relative", O_RDONLY },
	{ "above", O_RDONLY },
	{ "d/e/up", O_RDONLY },
	{ "d/e/up/e/up/e/f", O_RDONLY },
	{ "d/e/dots", O_RDONLY },
	{ "d/e/dots/..", O_RDONLY },
	{ "d/e/dots/e/f", O_RDONLY },
	{ "slash", O_RDONLY },
	{ "slash/", O_RDONLY },
	{ "slash/e/f", O_RDONLY },
	{ "root", O_RDONLY },
	{ "root/file", O_RDONLY },
	{ "root/root/root/file", O_RDONLY },
	{ "root/..", O_RDONLY },
	{ "loop", O_RDONLY },
	{ "loop-a", O_RDONLY },
	{ "loop/x", O_RDONLY },
	{ "dangling", O_RDONLY },
	{ "dangling/x", O_RDONLY },
	{ "link-39", O_RDONLY },
	{ "link-40", O_RDONLY },
	{ "", O_RDONLY },
	{ ".", O_RDONLY },
	{ "/", O_RDONLY },
	{ "..", O_RDONLY },
	{ "d", O_RDONLY },
	{ "d/", O_RDONLY },
	{ "d/.", O_RDONLY },
	{ "d//e///f", O_RDONLY },
	{ "d/e/f/", O_RDONLY },
	{ "file/", O_RDONLY },
	{ "file/x", O_RDONLY },
	{ "file/..", O_RDONLY },
	{ "nothing", O_RDONLY },
	{ "nothing/..", O_RDONLY },
	{ "fifo", O_RDONLY },
	{ "to-fifo", O_RDONLY },
	{ "d", O_RDONLY | O_DIRECTORY },
	{ "file", O_RDONLY | O_DIRECTORY },
	{ "d/e/up", O_RDONLY | O_DIRECTORY },
	{ "d/e/up", O_PATH | O_DIRECTORY },
	{ "file", O_PATH | O_DIRECTORY },
	{ "relative", O_PATH },
	{ "fifo", O_PATH },
	{ "d", O_PATH },
	{ ".", O_PATH },
	{ "relative", O_RDONLY | O_NOFOLLOW },
	{ "relative", O_PATH | O_NOFOLLOW },
	{ "d/e/up/e/f", O_RDONLY | O_NOFOLLOW },
	{ "slash/", O_RDONLY | O_NOFOLLOW },
};

static void expect_same(const char *path, int flags, int a, int b)
{
	struct stat of_a, of_b;

	if (a < 0 || b < 0) {
		if (a != b)
			fail_msg("\"%.60s\", flags %x: %d by the kernel, %d by hand", path,
				 (unsigned)flags, a, b);
		return;
	}
	assert_int_equal(fstat(a, &of_a), 0);
	assert_int_equal(fstat(b, &of_b), 0);
	if (of_a.st_ino != of_b.st_ino || of_a.st_dev != of_b.st_dev)
		fail_msg("\"%.60s\", flags %x: another file", path, (unsigned)flags);
	assert_int_equal(fcntl(a, F_GETFL) & ~HOW, fcntl(b, F_GETFL) & ~HOW);
	assert_int_equal(fcntl(a, F_GETFD), fcntl(b, F_GETFD));
	close(a);
	close(b);
}

static bool kernel_has_openat2(void)
{
	return syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno != ENOSYS && errno != EPERM;
}

static void a_walk_by_hand_finds_what_openat2_finds(void **state)
{
	(void)state;
	if (!kernel_has_openat2())
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_same(rows[i].path, rows[i].flags,
			    rootfd_open(root_fd, rows[i].path, rows[i].flags, NULL),
			    root_walk_open(root_fd, rows[i].path, rows[i].flags,
					   ROOT_WALK_LINKS_MAX, false));
}

static void without_fuse_the_same_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		expect_same(rows[i].path, rows[i].flags,
			    rootfd_open(root_fd, rows[i].path, rows[i].flags, NULL),
			    root_walk_open(root_fd, rows[i].path, rows[i].flags,
					   ROOT_WALK_LINKS_MAX, true));
		expect_same(rows[i].path, rows[i].flags,
			    rootfd_open(root_fd, rows[i].path, rows[i].flags, NULL),
			    rootfd_open_no_fuse(root_fd, rows[i].path, rows[i].flags, NULL));
	}
}

static void long_paths_and_names_end_as_in_the_kernel(void **state)
{
	static char path[8192];
	(void)state;

	memset(path, 'n', 256);
	expect_same(path, O_RDONLY, -ENAMETOOLONG,
		    root_walk_open(root_fd, path, O_RDONLY, ROOT_WALK_LINKS_MAX, false));
	path[255] = '\0';
	expect_same(path, O_RDONLY, -ENOENT,
		    root_walk_open(root_fd, path, O_RDONLY, ROOT_WALK_LINKS_MAX, false));
	memset(path, '/', sizeof(path) - 1);
	expect_same(path, O_RDONLY, -ENAMETOOLONG,
		    root_walk_open(root_fd, path, O_RDONLY, ROOT_WALK_LINKS_MAX, false));
	path[4000] = '\0';
	expect_same(path, O_RDONLY,
		    openat(root_fd, ".", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
		    root_walk_open(root_fd, path, O_RDONLY, ROOT_WALK_LINKS_MAX, false));
	/* This is deeper than the number of directories that we keep open. */
	for (size_t i = 0; i < 1000; i++)
		memcpy(path + 4 * i, "d/e/", 5);
	make_link("..", "d/e/d");
	expect_same("d/e/d/...", O_RDONLY, -ELOOP,
		    root_walk_open(root_fd, path, O_RDONLY, ROOT_WALK_LINKS_MAX, false));
}

static void no_link_is_followed_where_none_is_wanted(void **state)
{
	static const char *const links[] = { "relative", "absolute",  "d/e/up/e/f",
					     "loop",	 "root/file", "out" };
	static const char *const others[] = { "file", "d/e/f", "d/./e/../e/f", "fifo", "nothing" };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		assert_int_equal(rootfd_open_no_links(root_fd, links[i], O_RDONLY), -ELOOP);
		assert_int_equal(root_walk_open(root_fd, links[i], O_RDONLY, 0, false), -ELOOP);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		expect_same(others[i], O_RDONLY, rootfd_open_no_links(root_fd, others[i], O_RDONLY),
			    root_walk_open(root_fd, others[i], O_RDONLY, 0, false));
}

static void a_magic_link_is_refused(void **state)
{
	_cleanup_close_ int slash = open("/", O_PATH | O_CLOEXEC);
	static const char *const links[] = {
		"cwd", "root", "exe", "fd/0", "root/etc/passwd", "cwd/x", "ns/mnt", "task/../exe"
	};
	char path[96];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(path, sizeof(path), "proc/%d/%s", (int)getpid(), links[i]);
		assert_int_equal(rootfd_open(slash, path, O_RDONLY, NULL), -ELOOP);
		assert_int_equal(root_walk_open(slash, path, O_RDONLY, ROOT_WALK_LINKS_MAX, false),
				 -ELOOP);
	}
	snprintf(path, sizeof(path), "proc/%d/stat", (int)getpid());
	expect_same(path, O_RDONLY, rootfd_open(slash, path, O_RDONLY, NULL),
		    root_walk_open(slash, path, O_RDONLY, ROOT_WALK_LINKS_MAX, false));
}

/*
 * A directory is moved out of the root while the walk is in it. ".." must still lead back to where
 * the walk came from.
 */
static void a_rename_leads_nobody_out_of_the_root(void **state)
{
	char inside[96], beside[96];
	pid_t mover;
	int found = 0;
	(void)state;

	snprintf(inside, sizeof(inside), "%s/root/moves", directory);
	snprintf(beside, sizeof(beside), "%s/moves", directory);
	assert_int_equal(mkdirat(root_fd, "moves", 0755), 0);
	assert_int_equal(mkdirat(root_fd, "moves/x", 0755), 0);
	mover = fork();
	if (mover == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			if (rename(inside, beside) < 0 || rename(beside, inside) < 0)
				_exit(1);
	}
	for (int i = 0; i < 20000; i++) {
		int fd = root_walk_open(root_fd, "moves/x/../../../outside", O_RDONLY,
					ROOT_WALK_LINKS_MAX, false);

		found += fd >= 0;
		assert_int_equal(fd, -ENOENT);
	}
	kill(mover, SIGKILL);
	waitpid(mover, NULL, 0);
	assert_int_equal(found, 0);
}

/* Makes openat2 fail with this code from now on. */
static void take_openat2_away(int code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(2);
}

static bool reads(const char *path, const char *expected)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64);

	return rootfd_read(root_fd, path, &text, NULL) == 0 &&
	       strcmp(strbuf_str(&text), expected) == 0;
}

static void without_openat2_files_are_read_and_the_root_is_not_left(void **state)
{
	static const int codes[] = { ENOSYS, EPERM };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			take_openat2_away(codes[i]);
			_exit(!(reads("file", "file") && reads("d/e/up/e/f", "f") &&
				reads("above", "f") && !kernel_has_openat2() &&
				rootfd_open(root_fd, "out", O_RDONLY, NULL) == -ENOENT &&
				rootfd_open_no_links(root_fd, "relative", O_RDONLY) == -ELOOP &&
				!reads("fifo", "")));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* --- A FUSE server that does not answer ------------------------------------------------------- */

#define NO_FUSE 77

/* Mounts a FUSE on a directory of the root. Nobody ever reads its requests. */
static bool mount_dead_fuse(const char *name)
{
	char path[96], options[96];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	snprintf(path, sizeof(path), "%s/root/%s", directory, name);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	return device >= 0 && mkdir(path, 0755) == 0 &&
	       mount("dead", path, "fuse", 0, options) == 0;
}

/* Exits with 0 if nothing asks the server; with the number of the step that is wrong else. */
static int look_around_a_dead_fuse(bool with_openat2)
{
	static const char *const below[] = { "dead/123/stat", "d/../dead/x", "/dead/x", "to-dead/x",
					     "dead",	      "dead/.",	     "to-dead" };
	char path[96];

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    !mount_dead_fuse("dead"))
		return NO_FUSE;
	snprintf(path, sizeof(path), "%s/root", directory);
	/* The root of the other cases is of the mount namespace before. */
	root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	make_link("dead", "to-dead");
	if (!with_openat2)
		take_openat2_away(ENOSYS);
	for (size_t i = 0; i < ARRAY_SIZE(below); i++)
		if (rootfd_open_no_fuse(root_fd, below[i], O_RDONLY, NULL) != -EREMOTE)
			return 1 + (int)i;
	return reads("file", "file") ? 0 : 20;
}

static void a_dead_fuse_is_refused_without_being_asked(void **state)
{
	bool possible = true;
	(void)state;

	for (int i = 0; i < 2; i++) {
		int status = 0, waited;
		char path[96];
		pid_t pid = fork();

		if (pid == 0)
			_exit(look_around_a_dead_fuse(i == 0));
		for (waited = 0; waited < 12000 && waitpid(pid, &status, WNOHANG) == 0; waited++)
			usleep(10000);
		if (waited == 12000)
			kill(pid, SIGKILL); /* which ends its server, too */
		assert_in_range(waited, 0, 11999);
		snprintf(path, sizeof(path), "%s/root/to-dead", directory);
		unlink(path);
		snprintf(path, sizeof(path), "%s/root/dead", directory);
		rmdir(path);
		if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FUSE)
			possible = false;
		else
			assert_int_equal(status, 0);
	}
	if (!possible) {
		print_message(
			"SKIPPED [1] sidecar/sample/rootfd_test.c: this machine has no FUSE\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_by_hand_finds_what_openat2_finds),
		cmocka_unit_test(long_paths_and_names_end_as_in_the_kernel),
		cmocka_unit_test(no_link_is_followed_where_none_is_wanted),
		cmocka_unit_test(a_magic_link_is_refused),
		cmocka_unit_test(a_rename_leads_nobody_out_of_the_root),
		cmocka_unit_test(without_openat2_files_are_read_and_the_root_is_not_left),
		cmocka_unit_test(without_fuse_the_same_is_found),
		cmocka_unit_test(a_dead_fuse_is_refused_without_being_asked),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
