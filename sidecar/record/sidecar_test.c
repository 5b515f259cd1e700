/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the sidecar with hostile launchers. It runs in a child process. Whatever a launcher
 * does, the next honest launcher must get its report, and no descriptor may be left open.
 */
#include "sidecar/record/sidecar.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/termination_mark.h"
#include "lib/units.h"
#include "sidecar/http/server.h"
#include "sidecar/launch/protocol.h"
#include "sidecar/record/gate.h"
#include "sidecar/socket/channel.h"
#include "sidecar/store/bundle.h"

#define PATIENCE_MS 60000

static char directory[64], socket_path[96], log_path[96];
static pid_t sidecar;
static bool sidecar_ended;
static int sidecar_status; /* where it has ended */
static int silent = -1; /* a connection that never says hello */
static int64_t silent_since_ns;

/* --- The child --- */

/*
 * Stands for a disk that accepts no bundle of a container called "frozen..." until a file with this
 * path exists.
 */
static void thaw_path(char path[static 96])
{
	snprintf(path, 96, "%s/thawed", directory);
}

int __real_bundle_begin(const char *store, const char *parent, const char *name,
			struct bundle **ret_bundle, struct err *err);
int __wrap_bundle_begin(const char *store, const char *parent, const char *name,
			struct bundle **ret_bundle, struct err *err);
int __wrap_bundle_begin(const char *store, const char *parent, const char *name,
			struct bundle **ret_bundle, struct err *err)
{
	char path[96];

	thaw_path(path);
	while (strstr(parent, "/frozen") && access(path, F_OK) < 0)
		usleep(10000);
	return __real_bundle_begin(store, parent, name, ret_bundle, err);
}

void __real_report_to_termination_message(const struct report *r, bool final, size_t max,
					  struct strbuf *out);
void __wrap_report_to_termination_message(const struct report *r, bool final, size_t max,
					  struct strbuf *out);
void __wrap_report_to_termination_message(const struct report *r, bool final, size_t max,
					  struct strbuf *out)
{
	char path[96];

	thaw_path(path);
	while (strcmp(r->id.container, "stuck-log") == 0 && access(path, F_OK) < 0)
		usleep(10000);
	__real_report_to_termination_message(r, final, max, out);
}

/*
 * Stands for filesystems of a container that do not answer while a file of that name exists. Makes
 * another file as soon as it is called.
 */
static void files_path(const char *name, char path[static 96])
{
	snprintf(path, 96, "%s/%s", directory, name);
}

void __real_limits_read(int root_fd, pid_t pid, const struct limits *before, struct limits *ret);
void __wrap_limits_read(int root_fd, pid_t pid, const struct limits *before, struct limits *ret);
void __wrap_limits_read(int root_fd, pid_t pid, const struct limits *before, struct limits *ret)
{
	char path[96];

	files_path("hung", path);
	while (access(path, F_OK) == 0) {
		files_path("read", path);
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
		files_path("hung", path);
		usleep(10000);
	}
	__real_limits_read(root_fd, pid, before, ret);
}

static void stop(evutil_socket_t fd, short what, void *base)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(base);
}

/* Stands for clients that always have one more request. */
static void has_more(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_active(*(struct event **)arg, EV_TIMEOUT, 0);
}

_Noreturn static void run_sidecar(void)
{
	struct record_options options = { .socket_path = socket_path,
					  .store.url = directory,
					  .warn_at = 0.8,
					  .report_fd = 2,
					  .events = true,
					  .say_reports = true };
	struct event_base *base = pod_server_loop();
	struct event *term = evsignal_new(base, SIGTERM, stop, base), *busy;
	int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	struct err err = { 0 };
	struct sidecar *r;

	signal(SIGPIPE, SIG_IGN);
	dup2(log, STDERR_FILENO);
	event_add(term, NULL);
	if (sidecar_new(base, &options, &r, &err) < 0)
		_exit(3);
	event_base_dispatch(base);
	dprintf(log, "the loop has ended\n");
	busy = evtimer_new(base, has_more, &busy);
	event_active(busy, EV_TIMEOUT, 0);
	sidecar_free(r);
	event_free(busy);
	event_free(term);
	event_base_free(base);
	libevent_global_shutdown();
	close(log);
	exit(0); /* runs the leak check of sanitizers */
}

static int start_sidecar(void)
{
	unlink(socket_path);
	sidecar = fork();
	if (sidecar == 0)
		run_sidecar();
	for (int i = 0; i < 500 && access(socket_path, F_OK) < 0; i++)
		usleep(10000);
	return access(socket_path, F_OK);
}

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/sidecar_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(socket_path, sizeof(socket_path), "%s/socket", directory);
	snprintf(log_path, sizeof(log_path), "%s/log", directory);
	return start_sidecar();
}

static int teardown(void **state)
{
	char command[128];
	int status;
	(void)state;

	if (sidecar_ended)
		status = sidecar_status;
	else if (kill(sidecar, SIGTERM) < 0 || waitpid(sidecar, &status, 0) != sidecar)
		return -1;
	snprintf(command, sizeof(command), "%s %s", status ? "tail -50" : "true", log_path);
	if (system(command) < 0)
		return -1;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) | status;
}

static int sidecar_descriptors(void)
{
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)sidecar);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static unsigned int log_lines(const char *part)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(16 << 20);
	unsigned int n = 0;

	file_read(AT_FDCWD, log_path, &text, NULL);
	for (const char *p = strstr(strbuf_str(&text), part); p; p = strstr(p + 1, part))
		n++;
	return n;
}

/* --- Launchers --- */

static int try_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path, socket_path, sizeof(socket_path));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int launcher(void)
{
	int fd = -1;

	for (int i = 0; i < PATIENCE_MS && fd < 0; i++, usleep(1000))
		fd = try_connect();
	assert_true(fd >= 0);
	return fd;
}

static bool put_with(int fd, const char *text, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(16 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)text, .iov_len = strlen(text) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	if (n_fds) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
	}
	poll(&ready, 1, PATIENCE_MS);
	return sendmsg(fd, &message, MSG_NOSIGNAL) >= 0;
}

static bool put(int fd, const char *text)
{
	return put_with(fd, text, NULL, 0);
}

/* Reads the sidecar's messages until "done" (true) or the end of the connection (false). */
static bool wait_for_done(int fd)
{
	int64_t until = now_boottime_ns() + PATIENCE_MS * NS_PER_MS;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char text[LAUNCH_MESSAGE_MAX];

	while (now_boottime_ns() < until) {
		ssize_t len =
			poll(&ready, 1, 100) == 1 ? recv(fd, text, sizeof(text), MSG_DONTWAIT) : -1;

		if (len == 0 || (len < 0 && errno == ECONNRESET))
			return false;
		if (len == 4 && memcmp(text, "done", 4) == 0)
			return true;
	}
	fail_msg("the sidecar says nothing");
	return false;
}

static unsigned int bundles(const char *name)
{
	char pattern[256];
	glob_t found;
	unsigned int n;

	snprintf(pattern, sizeof(pattern), "%s/local/%s/*/MANIFEST.json", directory, name);
	n = glob(pattern, 0, NULL, &found) == 0 ? (unsigned int)found.gl_pathc : 0;
	globfree(&found);
	return n;
}

static void say_hello(int fd, const char *letters, const char *name, const int *fds, size_t n_fds)
{
	char text[256];

	snprintf(text, sizeof(text), "hello 1 %s %s %d %d %lld", letters, name, (int)getpid(),
		 (int)getpid(), (long long)now_boottime_ns());
	assert_true(put_with(fd, text, fds, n_fds));
}

static void end_with(int fd, const char *name, int status)
{
	unsigned int before = bundles(name);
	char text[64];

	snprintf(text, sizeof(text), "exit %d %lld", status, (long long)now_boottime_ns());
	assert_true(put(fd, text));
	assert_true(wait_for_done(fd));
	assert_int_equal(bundles(name), before + 1);
	close(fd);
}

static bool log_has(const char *part, unsigned int n)
{
	for (int64_t end = now_boottime_ns() + 60 * NS_PER_SEC; now_boottime_ns() < end;
	     usleep(5000))
		if (log_lines(part) >= n)
			return true;
	return false;
}

/* Waits for a message that prints such a text on the container's stderr. */
static bool is_to_say(int fd, const char *part)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char text[LAUNCH_MESSAGE_MAX + 1];

	while (poll(&ready, 1, 60000) == 1) {
		ssize_t len = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

		if (len <= 0)
			return false;
		text[len] = '\0';
		if (strncmp(text, "say ", 4) == 0 && strstr(text, part))
			return true;
	}
	return false;
}

/* Checks that an honest launcher gets its report, whatever happened before. */
static void serves_an_honest_one(void)
{
	const int fds[] = { open("/", O_PATH | O_CLOEXEC),
			    (int)syscall(SYS_pidfd_open, getpid(), 0) };
	int fd = launcher();

	say_hello(fd, "rp", "honest", fds, 2);
	close(fds[0]);
	close(fds[1]);
	end_with(fd, "honest", 3 << 8);
}

/* --- Test bodies --- */

static void an_honest_launcher_gets_its_report(void **state)
{
	(void)state;
	silent = launcher();
	silent_since_ns = now_boottime_ns();
	serves_an_honest_one();
	assert_int_equal(log_lines("\"event\":\"ended\""), 1);
	/* the event and the report */
	assert_int_equal(log_lines("Container honest ended with exit code 3"), 2);
}

static void garbage_before_hello_is_passed_over(void **state)
{
	int fd = launcher(), root = open("/", O_PATH | O_CLOEXEC);
	(void)state;

	put(fd, "\x01\x02\xff");
	put(fd, "hello 9 x y z");
	put(fd, "hello 1 r ../../../../tmp/x 1 1 1");
	put(fd, "exit 0 1");
	put(fd, "kill");
	put(fd, "done");
	say_hello(fd, "r", "patient", &root, 1);
	close(root);
	end_with(fd, "patient", 1 << 8);
	serves_an_honest_one();
}

static void a_second_hello_changes_nothing(void **state)
{
	int fd = launcher(), root = open("/", O_PATH | O_CLOEXEC);
	(void)state;

	say_hello(fd, "r", "first", &root, 1);
	for (int i = 0; i < 100; i++)
		say_hello(fd, "r", "second", &root, 1);
	close(root);
	end_with(fd, "first", 1 << 8);
	assert_int_equal(bundles("second"), 0);
	serves_an_honest_one();
}

static void descriptors_of_the_wrong_kind_are_not_believed(void **state)
{
	char fifo[96];
	int pair[2];
	(void)state;

	snprintf(fifo, sizeof(fifo), "%s/fifo", directory);
	assert_int_equal(mkfifo(fifo, 0644), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	const int kinds[] = {
		open(fifo, O_RDWR | O_CLOEXEC | O_NONBLOCK), open("/dev/null", O_RDWR | O_CLOEXEC),
		open("/dev/zero", O_RDWR | O_CLOEXEC), open(log_path, O_RDONLY | O_CLOEXEC), open("/", O_PATH | O_CLOEXEC),
		open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), open("/proc/self/status", O_RDONLY | O_CLOEXEC),
		open(log_path, O_PATH | O_CLOEXEC), memfd_create("x", MFD_CLOEXEC), pair[0],
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const int all[] = { kinds[i], kinds[i], kinds[i], kinds[i], kinds[i], kinds[i] };
		int fd = launcher();

		say_hello(fd, "rtp", "wrong-kinds", all, 6);
		end_with(fd, "wrong-kinds", 1 << 8);
		/*
		 * If the launcher disconnects without a message, a false pidfd must not keep its
		 * container for ever.
		 */
		fd = launcher();
		say_hello(fd, "rt", "wrong-kinds", all, 2);
		unsigned int before = bundles("wrong-kinds");
		close(fd);
		while (bundles("wrong-kinds") == before)
			usleep(5000);
		fd = launcher();
		say_hello(fd, "rtp", "no-descriptors", NULL, 0);
		end_with(fd, "no-descriptors", 1 << 8);
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		close(kinds[i]);
	close(pair[1]);
	serves_an_honest_one();
}

static void a_regular_file_as_pidfd_ends_with_its_connection(void **state)
{
	const int fds[] = { open("/", O_PATH | O_CLOEXEC),
			    open("/proc/self/status", O_RDONLY | O_CLOEXEC) };
	unsigned int before = bundles("file-pidfd");
	int fd = launcher();
	(void)state;

	say_hello(fd, "rp", "file-pidfd", fds, 2);
	close(fd);
	close(fds[0]);
	close(fds[1]);
	serves_an_honest_one();
	for (int i = 0; i < PATIENCE_MS && bundles("file-pidfd") == before; i += 10)
		usleep(10000);
	assert_int_equal(bundles("file-pidfd"), before + 1);
}

static void exit_before_hello_is_no_death(void **state)
{
	unsigned int before = log_lines("\"ended\"");
	int fd = launcher();
	(void)state;

	put(fd, "exit 9 1");
	put(fd, "exit 0 5");
	close(fd);
	serves_an_honest_one();
	assert_int_equal(log_lines("\"ended\""), before + 1);
}

/* Makes files like those of a memory cgroup of either version, with a limit of 87654321. */
static void made_up_counters(const char *at)
{
	char command[512];

	snprintf(
		command, sizeof(command),
		"mkdir -p %1$s && cd %1$s && for f in current events oom_control usage_in_bytes; do echo 1 >memory.$f; done && "
		"for f in max limit_in_bytes; do echo 87654321 >memory.$f; done",
		at);
	assert_int_equal(system(command), 0);
}

/*
 * Says hello with that root and PID, and ends. Returns whether a limit that was made up was
 * believed.
 */
static bool is_believed(const char *name, int root, pid_t pid)
{
	unsigned int before = log_lines("\"event\":\"attached\""), believed = log_lines("87654321");
	char hello[96];
	int fd = launcher();

	snprintf(hello, sizeof(hello), "hello 1 r %s %d 1 1", name, (int)pid);
	assert_true(put_with(fd, hello, &root, 1));
	close(root);
	assert_true(log_has("\"event\":\"attached\"", before + 1));
	end_with(fd, name, 1 << 8);
	return log_lines("87654321") > believed;
}

/* Its counters and processes would be believed as the kernel's. */
static void a_root_that_a_process_made_up_is_not_looked_at(void **state)
{
	char command[512], path[96], counters[128];
	(void)state;

	snprintf(path, sizeof(path), "%s/root", directory);
	snprintf(counters, sizeof(counters), "%s/sys/fs/cgroup", path);
	made_up_counters(counters);
	snprintf(
		command, sizeof(command),
		"mkdir -p %1$s/proc/1 %1$s/proc/2 %1$s/proc/3 && cd %1$s/proc && mkfifo 1/stat 2/statm 3/cmdline && echo 0::/ >1/cgroup && "
		"echo '30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw' >1/mountinfo && ln -s .. 2/stat && "
		"ln -s self 3/stat && ln -s /proc/1/root 4 && head -c 5000000 /dev/zero > 1/statm",
		path);
	assert_int_equal(system(command), 0);
	assert_false(is_believed("trap", open(path, O_PATH | O_CLOEXEC), 1));
	serves_an_honest_one();
}

/* Becomes a process that has its memory cgroup mounted at that path and nowhere else. */
_Noreturn static void mount_cgroup_at(const char *path)
{
	char script[512];

	snprintf(
		script, sizeof(script),
		"v=memory; p=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup); [ \"$p\" ] || { v=.; p=$(sed -n s/^0:://p /proc/self/cgroup); }; "
		"mount --bind /sys/fs/cgroup/$v$p %s && umount -l /sys/fs/cgroup && exec sleep 120",
		path);
	execlp("unshare", "unshare", "-m", "sh", "-c", script, NULL);
	_exit(1);
}

/* The root is the real one, but the directory that those mounts name has other files in it. */
static void counters_that_a_process_with_own_mounts_made_up_are_not_believed(void **state)
{
	char path[96], mounts[32];
	bool ready = false;
	pid_t pid;
	(void)state;

	snprintf(path, sizeof(path), "%s/cgroup", directory);
	made_up_counters(path);
	pid = fork();
	if (pid == 0)
		mount_cgroup_at(path);
	snprintf(mounts, sizeof(mounts), "/proc/%d/mountinfo", (int)pid);
	for (int i = 0; i < 3000 && !ready && waitpid(pid, NULL, WNOHANG) == 0;
	     i++, usleep(10000)) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);

		ready = file_read(AT_FDCWD, mounts, &text, NULL) == 0 &&
			strstr(strbuf_str(&text), path) &&
			!strstr(strbuf_str(&text), " /sys/fs/cgroup ");
	}
	if (!ready)
		skip(); /* as an ordinary user */
	assert_false(is_believed("mounts", open("/", O_PATH | O_CLOEXEC), pid));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	serves_an_honest_one();
}

/* Neither as the same start of the container nor as a later one. */
static void nobody_takes_the_place_of_a_launcher_that_is_connected(void **state)
{
	const int root = open("/", O_PATH | O_CLOEXEC);
	unsigned int before = log_lines("\"event\":\"attached\"");
	long long start = now_boottime_ns();
	int first = launcher();
	char hello[96];
	(void)state;

	for (int i = 0; i < 3; i++) {
		int fd = i == 0 ? first : launcher();

		snprintf(hello, sizeof(hello), "hello 1 r taken 1 2 %lld", start + i / 2);
		assert_true(put_with(fd, hello, &root, 1));
		assert_true(log_has("\"event\":\"attached\"", before + 1));
		if (i > 0) {
			assert_true(wait_for_done(fd));
			close(fd);
		}
	}
	close(root);
	end_with(first, "taken", 1 << 8);
	assert_int_equal(log_lines("\"event\":\"attached\""), before + 1);
	serves_an_honest_one();
}

static void a_hundred_connections_at_once_only_delay_others(void **state)
{
	int fds[100];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = launcher();
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	serves_an_honest_one();
	assert_true(log_lines("at a time") <= 10);
}

static void a_flood_of_messages_does_not_drown_the_others(void **state)
{
	int fd = launcher(), root = open("/", O_PATH | O_CLOEXEC);
	unsigned int before = log_lines("from a launcher");
	int64_t begin = now_boottime_ns();
	pid_t child = fork();
	(void)state;

	if (child == 0) {
		/* The sidecar has to close the connection. */
		while (put(fd, "hello 1 r main 1 7 wrong") &&
		       now_boottime_ns() - begin < 60 * NS_PER_SEC)
			;
		_exit(0);
	}
	close(fd);
	usleep(200000);
	for (int i = 0; i < 5; i++)
		serves_an_honest_one();
	assert_true(now_boottime_ns() - begin < 60 * NS_PER_SEC);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(root);
	/*
	 * The limit is ten a minute, and in less than a minute at most two minutes' limits apply.
	 */
	assert_true(log_lines("from a launcher") <= before + 2 * LOG_LIMIT_PER_MINUTE + 5);
}

static void random_messages_do_no_harm(void **state)
{
	unsigned int seed = 1;
	(void)state;

	for (int i = 0; i < 200; i++) {
		int fd = launcher(), root = open("/", O_PATH | O_CLOEXEC);

		if (rand_r(&seed) % 2)
			say_hello(fd, "r", "random", &root, (size_t)rand_r(&seed) % 2);
		close(root);
		for (int j = 0; j < 5; j++) {
			char text[64];
			int len = snprintf(text, sizeof(text), "%s %d %d",
					   rand_r(&seed) % 2 ? "exit" : "hello", rand_r(&seed),
					   rand_r(&seed));

			text[rand_r(&seed) % (unsigned int)len] = (char)rand_r(&seed);
			put(fd, text);
		}
		close(fd);
	}
	serves_an_honest_one();
}

static void a_connection_without_hello_is_dropped(void **state)
{
	struct pollfd ready = { .fd = silent, .events = POLLIN };
	char text[16];
	(void)state;

	assert_int_equal(poll(&ready, 1, 60000), 1);
	assert_int_equal(recv(silent, text, sizeof(text), 0),
			 4); /* "done": there is nothing to wait for */
	assert_int_equal(poll(&ready, 1, 60000), 1);
	assert_int_equal(recv(silent, text, sizeof(text), 0), 0);
	assert_true(now_boottime_ns() - silent_since_ns >= 9 * NS_PER_SEC);
	close(silent);
	serves_an_honest_one();
}

/* There are more connections than places, and all stay open. */
static void forty_connections_that_say_nothing_are_in_nobodys_way(void **state)
{
	int fds[40];
	int64_t begin = now_boottime_ns();
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = launcher();
	serves_an_honest_one();
	/* Nobody waited for them: the first of the remaining ones still has time left. */
	assert_true(now_boottime_ns() - begin < 60 * NS_PER_SEC);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

/* Each that is watched has a table of processes and a child. */
static void one_that_says_hello_under_many_names_gets_few_places(void **state)
{
	const int root = open("/", O_PATH | O_CLOEXEC);
	unsigned int before = log_lines("\"event\":\"attached\"");
	char name[16];
	int fds[20];
	(void)state;

	for (int i = 0; i < (int)ARRAY_SIZE(fds); i++) {
		fds[i] = launcher();
		snprintf(name, sizeof(name), "many%d", i);
		say_hello(fds[i], "r", name, &root, 1);
	}
	close(root);
	for (size_t i = 8; i < ARRAY_SIZE(fds); i++) {
		assert_true(wait_for_done(fds[i]));
		close(fds[i]);
	}
	assert_int_equal(log_lines("\"event\":\"attached\""), before + 8);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "many%d", i);
		end_with(fds[i], name, 1 << 8);
	}
	serves_an_honest_one();
}

/* It leaves an order unread, and the sidecar hardly gets a processor. */
static void the_end_of_a_launcher_that_did_not_wait_is_what_it_said(void **state)
{
	const int root = open("/", O_PATH | O_CLOEXEC);
	unsigned int before = log_lines("\"class\":\"Segfault\"");
	struct pollfd unread;
	char text[64];
	int fd = launcher();
	(void)state;

	say_hello(fd, "r", "hasty", &root, 1);
	end_with(fd, "hasty", 1 << 8);
	fd = launcher();
	say_hello(fd, "r", "hasty", &root, 1);
	close(root);
	/* It is to print how the previous instance ended. */
	unread = (struct pollfd){ .fd = fd, .events = POLLIN };
	assert_int_equal(poll(&unread, 1, PATIENCE_MS), 1);
	kill(sidecar, SIGSTOP);
	assert_int_equal(waitpid(sidecar, NULL, WUNTRACED), sidecar);
	snprintf(text, sizeof(text), "exit %d %lld", SIGSEGV, (long long)now_boottime_ns());
	assert_true(put(fd, text));
	close(fd);
	kill(sidecar, SIGCONT);
	assert_true(log_has("\"class\":\"Segfault\"", before + 1));
}

static void launchers_that_leave_and_live_for_ever_are_in_nobodys_way(void **state)
{
	pid_t immortal = fork();
	(void)state;

	if (immortal == 0)
		for (;;)
			pause();
	const int fds[] = { open("/", O_PATH | O_CLOEXEC),
			    (int)syscall(SYS_pidfd_open, immortal, 0) };

	for (int i = 0; i < 40; i++) {
		int fd = launcher();

		say_hello(fd, "rp", "immortal", fds, 2);
		close(fd);
	}
	close(fds[0]);
	close(fds[1]);
	serves_an_honest_one();
	assert_int_equal(bundles("immortal"), 0); /* none of them died */
	kill(immortal, SIGKILL);
	waitpid(immortal, NULL, 0);
	for (int i = 0; i < PATIENCE_MS && bundles("immortal") == 0; i += 10)
		usleep(10000);
	assert_true(bundles("immortal") > 0);
}

static void exits(int fd, int code)
{
	char text[64];

	snprintf(text, sizeof(text), "exit %d %lld", code << 8, (long long)now_boottime_ns());
	assert_true(put(fd, text));
}

/*
 * Returns whether the second container's end is reported before the first one's report is written
 * or given up.
 */
static bool is_told_beside_a_frozen_one(int round)
{
	_cleanup_strbuf_ struct strbuf message = STRBUF_INIT(8192);
	unsigned int attached = log_lines("\"event\":\"attached\"");
	char frozen[16], beside[16], line[64], termination[96], thaw[96];
	int first = launcher(), second = launcher();
	bool early;

	snprintf(frozen, sizeof(frozen), "frozen%d", round);
	snprintf(beside, sizeof(beside), "beside%d", round);
	snprintf(line, sizeof(line), "Container %s ended with exit code 1", frozen);
	snprintf(termination, sizeof(termination), "%s/termination%d", directory, round);
	thaw_path(thaw);
	unlink(thaw);
	const int fds[] = { open("/", O_PATH | O_CLOEXEC),
			    open(termination, O_RDWR | O_CREAT | O_CLOEXEC, 0644) };
	dprintf(fds[1], "its own words");
	say_hello(first, "r", frozen, fds, 1);
	say_hello(second, "rt", beside, fds, 2);
	assert_true(log_has("\"event\":\"attached\"", attached + 2));
	exits(first, 1);
	assert_true(log_has(line, 1));
	exits(second, 3);
	assert_true(is_to_say(second, "ended with exit code 3"));
	for (int i = 0; i < PATIENCE_MS && !strstr(strbuf_str(&message), "exit code 3"); i += 10) {
		usleep(10000);
		strbuf_truncate(&message, 0);
		assert_int_equal(file_read(AT_FDCWD, termination, &message, NULL), 0);
	}
	early = log_lines(line) == 1; /* the event has come, but not the report */
	assert_non_null(strstr(strbuf_str(&message), "exit code 3"));
	assert_ptr_equal(strstr(strbuf_str(&message), "its own words\n"), strbuf_str(&message));
	close(open(thaw, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	assert_true(wait_for_done(first));
	assert_true(wait_for_done(second));
	assert_int_equal(bundles(beside), 1);
	/* The message was written again, with the place of the bundle. */
	strbuf_truncate(&message, 0);
	assert_int_equal(file_read(AT_FDCWD, termination, &message, NULL), 0);
	assert_ptr_equal(strstr(strbuf_str(&message), "its own words\nContainer "),
			 strbuf_str(&message));
	const char *line_of_ours = strstr(strbuf_str(&message), TERMINATION_MARK);
	assert_non_null(line_of_ours);
	assert_null(strstr(line_of_ours + 1, TERMINATION_MARK));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	close(first);
	close(second);
	return early;
}

static void an_end_is_reported_at_once_while_the_disk_delays_the_bundle_of_another(void **state)
{
	bool early = false;
	(void)state;

	/*
	 * After some seconds the sidecar gives the disk up, which may be too soon for a very busy
	 * machine.
	 */
	for (int round = 0; round < 5 && !early; round++)
		early = is_told_beside_a_frozen_one(round);
	assert_true(early);
	serves_an_honest_one();
}

/* The container starts again while the report of its last end waits for the disk. */
static void the_next_start_learns_how_the_one_before_ended_and_others_are_greeted_meanwhile(void **state)
{
	static const char again[] = "frozen-again";
	unsigned int attached = log_lines("\"event\":\"attached\"");
	char thaw[96], line[64];
	int first = launcher(), next, other;
	int root = open("/", O_PATH | O_CLOEXEC);
	(void)state;

	thaw_path(thaw);
	unlink(thaw);
	snprintf(line, sizeof(line), "Container %s ended with exit code 1", again);
	say_hello(first, "r", again, &root, 1);
	assert_true(log_has("\"event\":\"attached\"", attached + 1));
	exits(first, 1);
	assert_true(log_has(line, 1));
	close(first);
	next = launcher();
	say_hello(next, "r", again, &root, 1);
	other = launcher();
	say_hello(other, "r", "other", &root, 1);
	assert_true(log_has("\"container\":\"other\",\"event\":\"attached\"", 1) ||
		    log_has("\"event\":\"attached\"", attached + 2));
	close(open(thaw, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	assert_true(is_to_say(next, "how the previous instance of this container ended"));
	assert_true(is_to_say(next, line));
	assert_true(log_has("\"event\":\"attached\"", attached + 3));
	end_with(next, again, 2);
	end_with(other, "other", 3);
	close(root);
}

/*
 * Its old connection is not dropped from the event loop before, because that would wait for the
 * disk.
 */
static void a_launcher_that_comes_back_waits_for_the_message_of_its_old_connection(void **state)
{
	const int fds[] = { open("/", O_PATH | O_CLOEXEC), memfd_create("log", MFD_CLOEXEC) };
	unsigned int attached = log_lines("\"event\":\"attached\"");
	char thaw[96], hello[128];
	int first = launcher(), next;
	(void)state;

	thaw_path(thaw);
	unlink(thaw);
	snprintf(hello, sizeof(hello), "hello 1 rt stuck-log %d %d %lld", (int)getpid(),
		 (int)getpid(), (long long)now_boottime_ns());
	assert_true(put_with(first, hello, fds, 2));
	assert_true(log_has("\"event\":\"attached\"", attached + 1));
	exits(first, 1);
	assert_true(log_has("Container stuck-log ended with exit code 1", 1));
	close(first);
	next = launcher();
	assert_true(put_with(next, hello, fds, 2));
	assert_true(log_has("\"event\":\"attached\"", attached + 2));
	close(open(thaw, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	end_with(next, "stuck-log", 2);
	close(fds[0]);
	close(fds[1]);
	serves_an_honest_one();
}

static void what_is_a_pidfd_and_what_not(void **state)
{
	int pair[2];
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	const int others[] = { open("/", O_PATH | O_CLOEXEC),
			       open("/proc/self/status", O_RDONLY | O_CLOEXEC),
			       open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			       memfd_create("Pid:\t1", MFD_CLOEXEC),
			       pair[0],
			       -1 };
	int own = (int)syscall(SYS_pidfd_open, getpid(), 0);

	assert_true(fd_is_pidfd(own));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_false(fd_is_pidfd(others[i]));
		if (others[i] >= 0)
			close(others[i]);
	}
	close(pair[1]);
	close(own);
}

static void nothing_is_left_open(void **state)
{
	int idle = 0;
	(void)state;

	/*
	 * These may be open: listening socket, epoll, libevent's pair for signals, log, stdio, and
	 * the listing of the directory.
	 */
	for (int i = 0; i < 1000; i++, usleep(20000)) {
		idle = sidecar_descriptors();
		if (idle <= 14)
			break;
	}
	if (idle > 14) {
		char command[64];

		snprintf(command, sizeof(command), "ls -l /proc/%d/fd >&2", (int)sidecar);
		if (system(command) < 0)
			fail();
	}
	assert_true(idle <= 14);
}

/* Ends a container, and returns when its verdict waits for its files. */
static int end_with_hung_files(const char *name)
{
	unsigned int attached = log_lines("\"event\":\"attached\"");
	int fd = launcher(), root = open("/", O_PATH | O_CLOEXEC);
	char hung[96], being_read[96];

	files_path("hung", hung);
	files_path("read", being_read);
	unlink(being_read);
	say_hello(fd, "r", name, &root, 1);
	close(root);
	assert_true(log_has("\"event\":\"attached\"", attached + 1));
	close(open(hung, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	exits(fd, 1);
	for (int i = 0; i < PATIENCE_MS && access(being_read, F_OK) < 0; i += 10)
		usleep(10000);
	assert_int_equal(access(being_read, F_OK), 0);
	return fd;
}

static void files_answer(void)
{
	char hung[96];

	files_path("hung", hung);
	unlink(hung);
}

static void the_next_start_waits_for_the_verdict_of_the_one_before(void **state)
{
	static const char name[] = "judged-again";
	int first = end_with_hung_files(name), next = launcher(),
	    root = open("/", O_PATH | O_CLOEXEC);
	(void)state;

	close(first);
	say_hello(next, "r", name, &root, 1);
	assert_true(is_to_say(next, "Container judged-again ended with exit code 1"));
	files_answer();
	end_with(next, name, 2);
	close(root);
}

static void a_sidecar_that_is_stopped_makes_the_report_that_waits_for_files(void **state)
{
	static const char name[] = "judged-last";
	int fd = end_with_hung_files(name), status;
	(void)state;

	kill(sidecar, SIGTERM);
	assert_int_equal(waitpid(sidecar, &status, 0), sidecar);
	assert_int_equal(status, 0);
	assert_int_equal(bundles(name), 1);
	assert_true(wait_for_done(fd));
	close(fd);
	files_answer();
	assert_int_equal(start_sidecar(), 0);
	serves_an_honest_one();
}

/* Ends the sidecar, so this is the last test. */
static void it_ends_when_its_reports_are_written_though_clients_ask_without_end(void **state)
{
	static const char last[] = "frozen-last";
	unsigned int attached = log_lines("\"event\":\"attached\"");
	unsigned int ended = log_lines("the loop has ended");
	int fd = launcher(), root = open("/", O_PATH | O_CLOEXEC);
	char thaw[96];
	(void)state;

	thaw_path(thaw);
	unlink(thaw);
	say_hello(fd, "r", last, &root, 1);
	close(root);
	assert_true(log_has("\"event\":\"attached\"", attached + 1));
	exits(fd, 1);
	assert_true(log_has("Container frozen-last ended with exit code 1", 1));
	kill(sidecar, SIGTERM);
	assert_true(log_has("the loop has ended", ended + 1));
	close(open(thaw, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	for (int i = 0; i < PATIENCE_MS && !sidecar_ended; i += 10, usleep(10000))
		sidecar_ended = waitpid(sidecar, &sidecar_status, WNOHANG) == sidecar;
	if (!sidecar_ended)
		kill(sidecar, SIGKILL);
	assert_true(sidecar_ended);
	assert_int_equal(bundles(last), 1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_honest_launcher_gets_its_report),
		cmocka_unit_test(garbage_before_hello_is_passed_over),
		cmocka_unit_test(a_second_hello_changes_nothing),
		cmocka_unit_test(descriptors_of_the_wrong_kind_are_not_believed),
		cmocka_unit_test(a_regular_file_as_pidfd_ends_with_its_connection),
		cmocka_unit_test(exit_before_hello_is_no_death),
		cmocka_unit_test(a_root_that_a_process_made_up_is_not_looked_at),
		cmocka_unit_test(counters_that_a_process_with_own_mounts_made_up_are_not_believed),
		cmocka_unit_test(nobody_takes_the_place_of_a_launcher_that_is_connected),
		cmocka_unit_test(a_connection_without_hello_is_dropped),
		cmocka_unit_test(a_hundred_connections_at_once_only_delay_others),
		cmocka_unit_test(forty_connections_that_say_nothing_are_in_nobodys_way),
		cmocka_unit_test(one_that_says_hello_under_many_names_gets_few_places),
		cmocka_unit_test(the_end_of_a_launcher_that_did_not_wait_is_what_it_said),
		cmocka_unit_test(launchers_that_leave_and_live_for_ever_are_in_nobodys_way),
		cmocka_unit_test(
			an_end_is_reported_at_once_while_the_disk_delays_the_bundle_of_another),
		cmocka_unit_test(
			the_next_start_learns_how_the_one_before_ended_and_others_are_greeted_meanwhile),
		cmocka_unit_test(
			a_launcher_that_comes_back_waits_for_the_message_of_its_old_connection),
		cmocka_unit_test(what_is_a_pidfd_and_what_not),
		cmocka_unit_test(a_flood_of_messages_does_not_drown_the_others),
		cmocka_unit_test(random_messages_do_no_harm),
		cmocka_unit_test(the_next_start_waits_for_the_verdict_of_the_one_before),
		cmocka_unit_test(nothing_is_left_open),
		cmocka_unit_test(a_sidecar_that_is_stopped_makes_the_report_that_waits_for_files),
		cmocka_unit_test(
			it_ends_when_its_reports_are_written_though_clients_ask_without_end),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
