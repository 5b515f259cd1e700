/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovery_loop [--jobs N] [COUNT]: COUNT containers die under a sidecar that
 * is killed with SIGKILL once, twice or three times at random moments around
 * their death, and started anew; in every second run so is whatever it has
 * running, and in every fourth the store is away until the last sidecar.
 * Whenever that was: what is visible in store and spool is whole, and after the
 * last sidecar there is exactly one report of each death, in the store. The
 * containers must not notice: their exit codes stay.
 * Ends with "N passed, N failed" and exits 1 if any failed; what those left is kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/digest/sha256.h"
#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"
#include "sidecar/memcg_make.h"

#define MIB ((int64_t)1024 * 1024)
#define FILE_CEILING ((size_t)8 << 20)
#define PATIENCE_NS (60 * NS_PER_SEC)
#define JOBS_MAX 8

struct death {
	const char *what;
	const char *argv[8];
	int64_t takes_ns; /* about, with a limit of 32 MiB */
	int exit_code;
	const char *class, *other_class; /* other_class: when nobody saw the end */
};

/* clang-format off */
static const struct death deaths[] = {
	{ "leak of 200 MB/s", { "hog", "300M", "--rate", "200M" }, 160 * NS_PER_MS, 137, "KernelOOMContainer", "Unknown" },
	{ "leak, as fast as it goes", { "hog", "300M" }, 30 * NS_PER_MS, 137, "KernelOOMContainer", "Unknown" },
	{ "kill -9", { "hog", "8M", "--rate", "80M", "--die", "9" }, 100 * NS_PER_MS, 137, "Killed", "Unknown" },
	{ "segfault", { "hog", "8M", "--rate", "80M", "--die", "11" }, 100 * NS_PER_MS, 139, "Segfault", "Unknown" },
};
/* clang-format on */

struct tally {
	unsigned int passed, failed, kills, ship_kills, seen, unseen, never_met;
};

struct loop {
	unsigned int count, jobs;
	char sidecar[PATH_MAX], launcher[PATH_MAX], tools[PATH_MAX];
	char work[64];
};

struct run {
	const struct loop *loop;
	const struct death *death;
	unsigned int seed;
	char directory[128], socket_path[160], spool[160], store[160];
	pid_t container;
	/* that lived long enough to say that they listen, and the last one */
	unsigned int sidecars;
	bool harassed, away;
	bool met; /* a sidecar said that the launcher connected before anything was killed */
	int status;
	int64_t oom_kills;
	char reason[512];
};

static bool wrong(struct run *r, const char *fmt, ...) _printf_(2, 3);

/* Keeps the first reason. */
static bool wrong(struct run *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!r->reason[0])
		vsnprintf(r->reason, sizeof(r->reason), fmt, ap);
	va_end(ap);
	return false;
}

static void pause_ns(int64_t ns)
{
	const struct timespec t = { .tv_sec = ns / NS_PER_SEC, .tv_nsec = ns % NS_PER_SEC };

	nanosleep(&t, NULL);
}

static int64_t random_ns(struct run *r, int64_t below)
{
	return (int64_t)((double)rand_r(&r->seed) / ((double)RAND_MAX + 1) * (double)below);
}

static size_t count_matches(const char *directory, const char *pattern)
{
	char path[PATH_MAX];
	glob_t found;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", directory, pattern);
	n = glob(path, GLOB_NOSORT, NULL, &found) == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return n;
}

/* Processes */

static pid_t start_sidecar(const struct run *r)
{
	char log[192];
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(log, sizeof(log), "%s/log", r->directory);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	setenv("POD_NAMESPACE", "ml", 1);
	setenv("POD_NAME", "pod", 1);
	setenv("POD_UID", "0123456789", 1);
	setenv("AFTERGLOW_CLUSTER", "cluster", 1);
	execl(r->loop->sidecar, "afterglow-sidecar", "--socket", r->socket_path, "--spool",
	      r->spool, "--store", r->store, "--reconnect", "1", (char *)NULL);
	_exit(125);
}

static pid_t start_container(const struct run *r, const struct made_memcg *memcg)
{
	const char *argv[20] = { "afterglow-launch", "--name",	     "loop",
				 "--socket",	     r->socket_path, "--" };
	char tool[PATH_MAX + 16];
	pid_t pid = fork();
	int null;

	if (pid)
		return pid;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	snprintf(tool, sizeof(tool), "%s/%s", r->loop->tools, r->death->argv[0]);
	argv[6] = tool;
	for (size_t i = 1; r->death->argv[i]; i++)
		argv[6 + i] = r->death->argv[i];
	if (made_memcg_join(memcg, NULL) < 0)
		_exit(125);
	execv(r->loop->launcher, (char **)argv);
	_exit(125);
}

static unsigned int log_counts(const struct run *r, const char *text)
{
	_cleanup_strbuf_ struct strbuf log = STRBUF_INIT(FILE_CEILING);
	unsigned int n = 0;
	char path[192];

	snprintf(path, sizeof(path), "%s/log", r->directory);
	file_read(AT_FDCWD, path, &log, NULL);
	for (const char *p = strbuf_str(&log); (p = strstr(p, text)); p++)
		n++;
	return n;
}

/* What a machine keeps is gone with it. */
static void print_log(const struct run *r)
{
	_cleanup_strbuf_ struct strbuf log = STRBUF_INIT(FILE_CEILING);
	char path[192];

	snprintf(path, sizeof(path), "%s/log", r->directory);
	file_read(AT_FDCWD, path, &log, NULL);
	printf("%s\n", strbuf_str(&log));
}

static bool log_says(const struct run *r, const char *text)
{
	return log_counts(r, text) > 0;
}

static bool wait_until(struct run *r, const char *what, bool (*holds)(struct run *r))
{
	int64_t until = now_boottime_ns() + PATIENCE_NS;

	while (!holds(r))
		if (now_boottime_ns() > until)
			return wrong(r, "not within %d s: %s", (int)(PATIENCE_NS / NS_PER_SEC),
				     what);
		else
			pause_ns(NS_PER_MS);
	return true;
}

static bool listens(struct run *r)
{
	return access(r->socket_path, F_OK) == 0;
}

static bool is_attached(struct run *r)
{
	return log_says(r, "\"event\":\"attached\"");
}

/*
 * On a slow machine the kernel may take the launcher before its hello is read: see
 * ended_as_it_should(), which then wants it so.
 */
static bool is_attached_or_killed(struct run *r)
{
	siginfo_t ended = { 0 };

	waitid(P_PID, (id_t)r->container, &ended, WEXITED | WNOHANG | WNOWAIT);
	r->met = is_attached(r);
	return r->met || (ended.si_pid && ended.si_code == CLD_KILLED);
}

/* The last sidecar has begun, and nothing of the ones before is left. */
static bool nothing_pending(struct run *r)
{
	return log_counts(r, "listens on") == r->sidecars &&
	       count_matches(r->spool, ".sidecar/*.ring") == 0;
}

/* Mostly that is afterglow-ship. They are the sidecar's to reap. */
static unsigned int kill_children(pid_t sidecar)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4096);
	unsigned int n = 0;
	char path[64], *end;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)sidecar, (int)sidecar);
	file_read(AT_FDCWD, path, &text, NULL);
	for (const char *p = strbuf_str(&text); *p; p = end, n++) {
		long pid = strtol(p, &end, 10);

		if (end == p)
			break;
		kill((pid_t)pid, SIGKILL);
		while (*end == ' ')
			end++;
	}
	return n;
}

/* While it ships: for a quarter of a second, at random moments. */
static void harass(struct run *r, pid_t sidecar, struct tally *t)
{
	int64_t until = now_boottime_ns() + 250 * NS_PER_MS;

	while (now_boottime_ns() < until) {
		pause_ns(random_ns(r, 20 * NS_PER_MS));
		t->ship_kills += kill_children(sidecar);
	}
}

static int64_t oom_kills(const struct made_memcg *memcg)
{
	static const char *const files[] = { "memory.events", "memory.oom_control" };
	static const char word[] = "\noom_kill ";
	char path[sizeof(memcg->path) + 32];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4096);
		const char *at;

		snprintf(path, sizeof(path), "%s/%s", memcg->path, files[i]);
		if (file_read(AT_FDCWD, path, &text, NULL) == 0 &&
		    (at = strstr(strbuf_str(&text), word)))
			return strtoll(at + strlen(word), NULL, 10);
	}
	return -1;
}

static void kill_and_reap(pid_t pid, int signo)
{
	kill(pid, signo);
	waitpid(pid, NULL, 0);
}

/* The death, with sidecars dying around it. */
static bool execute(struct run *r, struct tally *t)
{
	struct made_memcg memcg = { 0 };
	struct err err = { 0 };
	int kills = 1 + rand_r(&r->seed) % 3;
	pid_t sidecar;
	bool ok = true;

	if (made_memcg_new(&memcg, (16 + rand_r(&r->seed) % 7 * 4) * MIB, false, &err) < 0)
		return wrong(r, "%s", err_text(&err));
	sidecar = start_sidecar(r);
	ok = wait_until(r, "a sidecar that listens", listens);
	r->container = start_container(r, &memcg);
	/*
	 * Mostly: a container that met no sidecar before its death leaves no trace, and rightly so.
	 */
	if (ok && rand_r(&r->seed) % 5)
		ok = wait_until(r, "a launcher that connects", is_attached_or_killed);
	for (int i = 0; i < kills && ok; i++) {
		pause_ns(random_ns(r, i == 0 ? r->death->takes_ns * 5 / 4 : 60 * NS_PER_MS));
		kill_and_reap(sidecar, SIGKILL);
		r->sidecars = log_counts(r, "listens on") + 1;
		t->kills++;
		pause_ns(random_ns(r, rand_r(&r->seed) % 2 ? 3 * NS_PER_MS : 80 * NS_PER_MS));
		sidecar = start_sidecar(r);
	}
	waitpid(r->container, &r->status, 0);
	r->oom_kills = oom_kills(&memcg);
	ok = ok && wait_until(r, "an end of all histories", nothing_pending);
	if (ok && r->away)
		mkdir(r->store, 0755);
	if (ok && r->harassed)
		harass(r, sidecar, t);
	kill_and_reap(sidecar, ok ? SIGTERM : SIGKILL);
	made_memcg_remove(&memcg, true);
	return ok;
}

/* Checks */

static cJSON *read_json(struct run *r, const char *directory, const char *file)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(FILE_CEILING);
	char path[PATH_MAX];
	cJSON *json = NULL;
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	if (file_read(AT_FDCWD, path, &text, &err) < 0 ||
	    json_parse(strbuf_str(&text), text.len, &json, &err) < 0)
		wrong(r, "%s: %s", path, err_text(&err));
	return json;
}

static bool check_bundle(struct run *r, const char *bundle)
{
	_cleanup_json_ cJSON *manifest = read_json(r, bundle, "MANIFEST.json");
	const cJSON *entry;

	if (!manifest)
		return false;
	if (!json_find(json_get(manifest, "files"), "name", "report.json"))
		return wrong(r, "%s: no report.json in its manifest", bundle);
	cJSON_ArrayForEach(entry, json_get(manifest, "files")) {
		_cleanup_strbuf_ struct strbuf data = STRBUF_INIT(FILE_CEILING);
		char path[PATH_MAX], digest[SHA256_TEXT_MAX];

		snprintf(path, sizeof(path), "%s/%s", bundle, json_str(entry, "name"));
		file_read(AT_FDCWD, path, &data, NULL);
		sha256_text(strbuf_str(&data), data.len, digest);
		if (strcmp(digest, json_str(entry, "sha256")) != 0)
			return wrong(r, "%s is not what its manifest says", path);
	}
	return true;
}

static bool check_report(struct run *r, const char *bundle, struct tally *t)
{
	_cleanup_json_ cJSON *report = read_json(r, bundle, "report.json");
	const char *class = json_str(report, "class");
	/*
	 * Outside of a container of its own, what the counters had counted before nobody can know.
	 */
	const char *other = r->met ? r->death->class : "Killed";
	bool seen = cJSON_IsNumber(json_get(report, "exitCode"));

	if (!report || !class)
		return wrong(r, "%s: no class", bundle);
	if (seen && ((strcmp(class, r->death->class) != 0 && strcmp(class, other) != 0) ||
		     json_int(report, "exitCode", -1) != r->death->exit_code))
		return wrong(r, "%s, exit code %d", class, (int)json_int(report, "exitCode", -1));
	if (!seen && strcmp(class, r->death->class) != 0 &&
	    strcmp(class, r->death->other_class) != 0)
		return wrong(r, "%s without an exit code", class);
	if (!seen && !json_find(json_get(report, "missing"), "what",
				"wait status, and memory counters after the death"))
		return wrong(r, "it does not say that nobody looked");
	t->seen += seen;
	t->unseen += !seen;
	return true;
}

static bool check_journal(struct run *r, size_t bundles)
{
	_cleanup_json_ cJSON *journal =
		bundles ? read_json(r, r->spool, ".sidecar/failures.json") : NULL;

	if ((size_t)cJSON_GetArraySize(json_get(journal, "failures")) != bundles)
		return wrong(r, "failures.json lists %d",
			     cJSON_GetArraySize(json_get(journal, "failures")));
	return true;
}

/*
 * On a slow machine the kernel may find nothing to free soon enough after its first kill, and take
 * the launcher, too: what is left of a container that is full. For Kubernetes it is the same 137.
 */
static bool ended_as_it_should(const struct run *r)
{
	if (WIFSIGNALED(r->status))
		return WTERMSIG(r->status) == SIGKILL && r->death->exit_code == 137 &&
		       r->oom_kills >= 2;
	return WEXITSTATUS(r->status) == r->death->exit_code;
}

static bool check(struct run *r, struct tally *t)
{
	char pattern[256];
	glob_t found;
	bool ok = true;

	if (!ended_as_it_should(r))
		return wrong(r, "the container noticed: wait status 0x%x, %lld OOM kills",
			     (unsigned int)r->status, (long long)r->oom_kills);
	if (count_matches(r->store, "ml/cluster/*/*/.*.partial") ||
	    count_matches(r->spool, "ml/cluster/*/*/.*.partial"))
		return wrong(r, "a half-written bundle is left");
	if (count_matches(r->spool, "ml/cluster/*/*/*"))
		return wrong(r, "a bundle in the spool, though the store worked");
	snprintf(pattern, sizeof(pattern), "%s/ml/cluster/pod.01234567/loop/*", r->store);
	if (glob(pattern, 0, NULL, &found) == GLOB_NOMATCH)
		found.gl_pathc = 0;
	if (found.gl_pathc > 1 || (found.gl_pathc == 0 && r->met))
		ok = wrong(r, "%zu reports", found.gl_pathc);
	t->never_met += found.gl_pathc == 0;
	for (size_t i = 0; i < found.gl_pathc && ok; i++)
		ok = check_bundle(r, found.gl_pathv[i]) && check_report(r, found.gl_pathv[i], t);
	ok = ok && check_journal(r, found.gl_pathc);
	if (ok && found.gl_pathc && !log_says(r, "Failures of this pod so far: 1\n"))
		ok = wrong(r, "no digest at the end");
	globfree(&found);
	return ok;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void run_once(const struct loop *loop, unsigned int index, struct tally *t)
{
	struct run r = { .loop = loop,
			 .death = &deaths[index % ARRAY_SIZE(deaths)],
			 .seed = index * 2654435761u + 1 };

	snprintf(r.directory, sizeof(r.directory), "%s/%u", loop->work, index);
	snprintf(r.socket_path, sizeof(r.socket_path), "%s/s", r.directory);
	snprintf(r.spool, sizeof(r.spool), "%s/spool", r.directory);
	snprintf(r.store, sizeof(r.store), "%s/store", r.directory);
	mkdir(r.directory, 0755);
	mkdir(r.spool, 0755);
	r.harassed = index / ARRAY_SIZE(deaths) % 2;
	r.away = index / ARRAY_SIZE(deaths) % 4 == 2;
	if (!r.away)
		mkdir(r.store, 0755);
	if (execute(&r, t) && check(&r, t)) {
		t->passed++;
		nftw(r.directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	} else {
		t->failed++;
		printf("FAIL #%u, %s: %s\n     kept: %s\n", index, r.death->what, r.reason,
		       r.directory);
		print_log(&r);
		fflush(stdout);
	}
}

static void find_program(const char *build, const char *name, char path[static PATH_MAX])
{
	char joined[PATH_MAX];

	snprintf(joined, sizeof(joined), "%s/%s", build, name);
	if (!realpath(joined, path)) {
		fprintf(stderr, "recovery_loop: %s: %s\n", joined, strerror(errno));
		exit(2);
	}
}

int main(int argc, char **argv)
{
	const char *build = getenv("AFTERGLOW_BUILD");
	struct loop loop = { .count = 20, .jobs = 1 };
	struct tally *tallies, sum = { 0 };
	int status;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc)
			loop.jobs = (unsigned int)strtoul(argv[++i], NULL, 10);
		else
			loop.count = (unsigned int)strtoul(argv[i], NULL, 10);
	}
	if (loop.jobs < 1 || loop.jobs > JOBS_MAX) {
		fprintf(stderr, "recovery_loop: --jobs takes 1 to %d\n", JOBS_MAX);
		return 2;
	}
	find_program(build ? build : "build", "afterglow-sidecar", loop.sidecar);
	find_program(build ? build : "build", "afterglow-launch", loop.launcher);
	find_program(build ? build : "build", "test", loop.tools);
	snprintf(loop.work, sizeof(loop.work), "/tmp/recovery_loop.XXXXXX");
	tallies = mmap(NULL, JOBS_MAX * sizeof(*tallies), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(loop.work) || tallies == MAP_FAILED) {
		perror("recovery_loop");
		return 2;
	}
	for (unsigned int job = 0; job < loop.jobs; job++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (unsigned int i = job; i < loop.count; i += loop.jobs)
				run_once(&loop, i, &tallies[job]);
			_exit(0);
		}
	while (wait(&status) > 0)
		if (status != 0)
			sum.failed++;
	for (unsigned int job = 0; job < loop.jobs; job++) {
		sum.passed += tallies[job].passed;
		sum.failed += tallies[job].failed;
		sum.kills += tallies[job].kills;
		sum.ship_kills += tallies[job].ship_kills;
		sum.seen += tallies[job].seen;
		sum.unseen += tallies[job].unseen;
		sum.never_met += tallies[job].never_met;
	}
	printf("sidecars killed: %u; shippers killed: %u; ends seen %u, reported from what was left %u, containers that met no sidecar %u\n",
	       sum.kills, sum.ship_kills, sum.seen, sum.unseen, sum.never_met);
	printf("%u passed, %u failed\n", sum.passed, sum.failed);
	rmdir(loop.work);
	return sum.failed > 0 || sum.passed != loop.count;
}
