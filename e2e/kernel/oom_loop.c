/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom_loop [--jobs N] [--oom-group] [COUNT]: lets COUNT commands die
 * of the kernel's OOM killer under `afterglow-sidecar exec`, a quarter as many
 * others in other ways, and checks every report against the way of death that
 * was chosen. Ends with "N passed, N failed" and exits 1 if any failed; the
 * bundles of those are kept.
 *
 * Needs nothing but a memory cgroup, so that it runs in the test machine too.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/digest/sha256.h"
#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"

#define MIB ((int64_t)1024 * 1024)
#define FILE_CEILING ((size_t)8 << 20)
#define PATIENCE_MS 60000
#define JOBS_MAX 16
#define CANNOT_EXECUTE 124
#define COUNT_MAX 100000
#define ARGS_MAX 12
#define REASON_MAX 256
#define UNNAMED_ONE_IN 3 /* a slow machine samples late; a report that never names it would fail */
/* the sidecar sleeps a second between two samples at most, and a busy machine adds to that */
#define MISSED_SAMPLE_MS 2000
#define TRIES_MAX 5 /* of a run in which the kernel took more than what was to be taken */
#define DOUBT_ONE_IN 4 /* reports that may be in doubt because of what other jobs do */
/* but the machine may let it sleep on; a sidecar that looks too seldom would fail */
#define STALE_ONE_IN 10

/* "{most}" stands for seven eighths of the limit. */
struct death {
	const char *what;
	const char *argv[ARGS_MAX];
	const char *class, *confidence, *signal;
	int exit_code;
	/* a process that the report should name; NULL: it may be too quick for that */
	const char *names;
	bool group; /* needs --oom-group */
};

/* clang-format off */
static const struct death ooms[] = {
	{ "leak, as fast as it goes", { "hog", "300M" }, "KernelOOMContainer", "certain", "SIGKILL", 137, NULL, false },
	{ "leak of 200 MB/s", { "hog", "300M", "--rate", "200M", "--name", "ray::leak" }, "KernelOOMContainer", "certain",
	  "SIGKILL", 137, "ray::leak", false },
	{ "shared memory", { "hog", "300M", "--rate", "400M", "--shm" }, "KernelOOMContainer", "certain", "SIGKILL", 137,
	  "hog", false },
	/* On v1, where the sidecar has to notice the first kill, their parent waits for it. */
	{ "three children", { "hog", "300M", "--rate", "15M", "--children", "3", "--hold", "--name", "ray::IDLE" },
	  "KernelOOMContainer", "certain", "SIGKILL", 137, "ray::IDLE", true },
};
/* clang-format on */

/* clang-format off */
static const struct death others[] = {
	{ "kill -9", { "probe", "signal", "9" }, "Killed", "certain", "SIGKILL", 137, NULL, false },
	{ "kill -9 near the limit", { "hog", "{most}", "--rate", "300M", "--die", "9" }, "Killed", "certain", "SIGKILL",
	  137, NULL, false },
	{ "segfault", { "probe", "fault", "segv" }, "Segfault", "certain", "SIGSEGV", 139, NULL, false },
	{ "segfault near the limit", { "hog", "{most}", "--die", "11" }, "Segfault", "certain", "SIGSEGV", 139, NULL,
	  false },
	{ "exit 3", { "probe", "exit", "3" }, "ApplicationError", "certain", NULL, 3, NULL, false },
	{ "abort", { "probe", "abort" }, "Abort", "certain", "SIGABRT", 134, NULL, false },
	{ "SIGTERM", { "probe", "signal", "15" }, "Terminated", "certain", "SIGTERM", 143, NULL, false },
	{ "exit 127", { "no-such-command" }, "CommandNotFound", "certain", NULL, 127, NULL, false },
};
/* clang-format on */

struct tally {
	unsigned int passed, failed, died_of_oom, named, unnamed, stale, disturbed, in_doubt;
	int64_t sample_age_ms_sum, sample_age_ms_max;
	int64_t duration_ms_sum, duration_ms_max;
};

struct loop {
	unsigned int count, jobs;
	bool group;
	char sidecar[PATH_MAX], tools[PATH_MAX], store[64];
};

/* One run */

struct run {
	const struct loop *loop;
	const struct death *death;
	unsigned int index;
	int64_t limit;
	int exit_code;
	int64_t duration_ms;
	struct strbuf errors; /* its stderr */
	char bundle[PATH_MAX];
	char reason[REASON_MAX]; /* of its failure, "" while there is none */
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

_Noreturn static void become_sidecar(const struct run *r, int err_fd)
{
	const struct rlimit no_core = { 0, 0 };
	char limit[24], most[24], tool[PATH_MAX + 64];
	const char *argv[ARGS_MAX + 12] = {
		r->loop->sidecar, "exec",	  "--memory-max", limit,
		"--store",	  r->loop->store, "--name",	  "loop"
	};
	size_t n = 8;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	snprintf(limit, sizeof(limit), "%lld", (long long)r->limit);
	snprintf(most, sizeof(most), "%lld", (long long)(r->limit / 8 * 7));
	if (r->loop->group)
		argv[n++] = "--oom-group";
	argv[n++] = "--";
	snprintf(tool, sizeof(tool), "%s/%s", r->loop->tools, r->death->argv[0]);
	argv[n++] = tool;
	for (size_t i = 1; r->death->argv[i]; i++)
		argv[n++] = strcmp(r->death->argv[i], "{most}") == 0 ? most : r->death->argv[i];
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(err_fd, STDERR_FILENO);
	execv(argv[0], (char **)argv);
	_exit(CANNOT_EXECUTE);
}

/* Reads its stderr to the end, then waits for it. */
static bool finish(struct run *r, pid_t pid, int fd)
{
	int64_t until = now_boottime_ns() + PATIENCE_MS * NS_PER_MS;
	char chunk[4096];
	int status;

	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		int64_t left = (until - now_boottime_ns()) / NS_PER_MS;
		ssize_t n;

		if (left <= 0 || poll(&ready, 1, (int)left) != 1) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return wrong(r, "not over after %d s", PATIENCE_MS / 1000);
		}
		n = read(fd, chunk, sizeof(chunk));
		if (n <= 0)
			break;
		strbuf_add(&r->errors, chunk, (size_t)n);
	}
	if (waitpid(pid, &status, 0) != pid)
		return wrong(r, "waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		return wrong(r, "afterglow-sidecar itself died of %s", strsignal(WTERMSIG(status)));
	r->exit_code = WEXITSTATUS(status);
	return true;
}

static bool execute(struct run *r)
{
	int64_t begin = now_boottime_ns();
	int ends[2];
	bool finished;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return wrong(r, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		become_sidecar(r, ends[1]);
	close(ends[1]);
	finished = pid > 0 ? finish(r, pid, ends[0]) : wrong(r, "fork: %s", strerror(errno));
	close(ends[0]);
	r->duration_ms = (now_boottime_ns() - begin) / NS_PER_MS;
	return finished;
}

/* Checks */

/* The last line on stderr says where the bundle is. */
static bool find_bundle(struct run *r)
{
	static const char mark[] = "afterglow: bundle ";
	const char *text = strbuf_str(&r->errors), *line = text + r->errors.len;
	size_t len;

	if (line == text || line[-1] != '\n')
		return wrong(r, "stderr does not end in a whole line");
	for (line--; line > text && line[-1] != '\n'; line--)
		;
	if (strncmp(line, mark, sizeof(mark) - 1) != 0)
		return wrong(r, "the last line on stderr is no bundle: %.120s", line);
	line += sizeof(mark) - 1;
	len = strcspn(line, "\n");
	if (len == 0 || len >= sizeof(r->bundle))
		return wrong(r, "no path after \"%s\"", mark);
	memcpy(r->bundle, line, len);
	r->bundle[len] = '\0';
	if (strncmp(r->bundle, r->loop->store, strlen(r->loop->store)) != 0)
		return wrong(r, "the bundle is not in the store: %.120s", r->bundle);
	return true;
}

static cJSON *read_json(struct run *r, const char *file)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(FILE_CEILING);
	char path[PATH_MAX + 32];
	struct err err = { 0 };
	cJSON *json = NULL;

	snprintf(path, sizeof(path), "%s/%s", r->bundle, file);
	if (file_read(AT_FDCWD, path, &text, &err) < 0 ||
	    json_parse(strbuf_str(&text), text.len, &json, &err) < 0)
		wrong(r, "%s: %s", file, err_text(&err));
	return json;
}

static bool check_text(struct run *r, const cJSON *report, const char *key, const char *expected)
{
	const char *found = json_str(report, key);

	if (expected ? !found || strcmp(found, expected) != 0 :
		       !cJSON_IsNull(json_get(report, key)))
		return wrong(r, "%s is %s, not %s", key, found ? found : "absent",
			     expected ? expected : "null");
	return true;
}

/*
 * The command may write to all of the machine's cgroups. If another job's process was OOM-killed
 * after the sidecar had found it, the sidecar cannot rule out that the command was moved and killed
 * elsewhere.
 */
static bool may_have_moved(const cJSON *report)
{
	const cJSON *missing;

	cJSON_ArrayForEach(missing, json_get(report, "missing"))
		if (json_str(missing, "what") &&
		    strstr(json_str(missing, "what"), "in another memory cgroup"))
			return true;
	return false;
}

static bool check_confidence(struct run *r, const cJSON *report, struct tally *t)
{
	const char *found = json_str(report, "confidence");

	if (found && strcmp(found, "likely") == 0 && may_have_moved(report)) {
		t->in_doubt++;
		return true;
	}
	return check_text(r, report, "confidence", r->death->confidence);
}

static bool check_memory(struct run *r, const cJSON *report)
{
	int64_t limit = json_int(report, "memory.limitBytes", -1),
		peak = json_int(report, "memory.peakBytes", -1);
	int64_t age = json_int(report, "memory.sampleAgeMs", -1),
		usage = json_int(report, "memory.usageBytes", 0);

	/*
	 * On a starved machine the container can be gone before the sidecar has seen it once. The
	 * report says so, and names nobody: when that happens often, too few are named.
	 */
	if (limit < 0 && cJSON_IsNull(json_get(report, "memory.usageBytes")))
		return true;
	if (limit != r->limit)
		return wrong(r, "limitBytes is %lld, not %lld", (long long)limit,
			     (long long)r->limit);
	/*
	 * A charge is added before it is compared with the limit, and taken back when refused: for
	 * that moment the usage is above the limit, and above the peak (page_counter_try_charge).
	 */
	if (peak > limit || peak < MIN(usage, limit))
		return wrong(r, "peakBytes is %lld of %lld, usageBytes %lld", (long long)peak,
			     (long long)limit, (long long)usage);
	/* -1: the end came before the first sample, and the report says so with nulls. */
	if (age < 0 && (!cJSON_IsNull(json_get(report, "memory.sampleAgeMs")) ||
			!cJSON_IsNull(json_get(report, "memory.usageBytes"))))
		return wrong(r, "sampleAgeMs is %lld", (long long)age);
	return true;
}

static bool names_process(const cJSON *report, const char *name)
{
	const cJSON *process;

	cJSON_ArrayForEach(process, json_get(report, "processes")) {
		const char *found = json_str(process, "name");

		if (found && strcmp(found, name) == 0)
			return true;
	}
	return false;
}

static bool check_times(struct run *r, const cJSON *report)
{
	const char *started = json_str(report, "startedAt"), *ended = json_str(report, "endedAt");
	int64_t from, to, now = now_realtime_ns();

	if (!started || !ended || time_parse(started, &from, NULL) < 0 ||
	    time_parse(ended, &to, NULL) < 0)
		return wrong(r, "startedAt or endedAt is no time");
	if (from > to || to > now || now - from > (r->duration_ms + 1000) * NS_PER_MS)
		return wrong(r, "from %s to %s, which was not so", started, ended);
	return true;
}

static bool check_report(struct run *r, struct tally *t)
{
	_cleanup_json_ cJSON *report = read_json(r, "report.json");
	const struct death *d = r->death;
	int64_t age;

	if (!report || !check_text(r, report, "class", d->class) ||
	    !check_confidence(r, report, t) || !check_text(r, report, "signal", d->signal) ||
	    !check_text(r, report, "container", "loop") || !check_memory(r, report) ||
	    !check_times(r, report))
		return false;
	if (json_int(report, "exitCode", -1) != d->exit_code)
		return wrong(r, "exitCode is %lld, not %d",
			     (long long)json_int(report, "exitCode", -1), d->exit_code);
	if (cJSON_GetArraySize(json_get(report, "evidence")) < 1)
		return wrong(r, "no evidence");
	t->unnamed += d->names && !names_process(report, d->names);
	age = json_int(report, "memory.sampleAgeMs", 0);
	t->sample_age_ms_sum += age;
	t->sample_age_ms_max = MAX(t->sample_age_ms_max, age);
	t->stale += age > MISSED_SAMPLE_MS;
	t->named += d->names && names_process(report, d->names);
	return true;
}

static bool check_listed_file(struct run *r, const cJSON *entry)
{
	_cleanup_strbuf_ struct strbuf data = STRBUF_INIT(FILE_CEILING);
	const char *name = json_str(entry, "name"), *sha256 = json_str(entry, "sha256");
	char path[PATH_MAX + 64], digest[SHA256_TEXT_MAX];
	struct err err = { 0 };

	if (!name || !sha256 || strchr(name, '/'))
		return wrong(r, "an entry of MANIFEST.json lacks its name or sha256");
	snprintf(path, sizeof(path), "%s/%.60s", r->bundle, name);
	if (file_read(AT_FDCWD, path, &data, &err) < 0)
		return wrong(r, "MANIFEST.json: %s", err_text(&err));
	if ((int64_t)data.len != json_int(entry, "sizeBytes", -1))
		return wrong(r, "%s has %zu bytes, MANIFEST.json says otherwise", name, data.len);
	sha256_text(strbuf_str(&data), data.len, digest);
	if (strcmp(digest, sha256) != 0)
		return wrong(r, "%s does not have the sha256 that MANIFEST.json says", name);
	return true;
}

static bool check_manifest(struct run *r)
{
	static const char *const required[] = { "report.txt", "report.json", "samples.jsonl",
						"processes.json" };
	_cleanup_json_ cJSON *manifest = read_json(r, "MANIFEST.json");
	const cJSON *files = json_get(manifest, "files"), *entry;

	if (!manifest)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(required); i++)
		if (!json_find(files, "name", required[i]))
			return wrong(r, "MANIFEST.json does not list %s", required[i]);
	cJSON_ArrayForEach(entry, files)
		if (!check_listed_file(r, entry))
			return false;
	return true;
}

static bool check(struct run *r, struct tally *t)
{
	if (r->exit_code == CANNOT_EXECUTE)
		return wrong(r, "%s could not be executed: is it being built?", r->loop->sidecar);
	if (r->exit_code != r->death->exit_code)
		return wrong(r, "exit code %d, not %d", r->exit_code, r->death->exit_code);
	return find_bundle(r) && check_report(r, t) && check_manifest(r);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/*
 * Whether the kernel took the launcher as well, because the first process still gave its memory
 * back. It does so now and then, and then the launcher cannot say how the command ended.
 */
static bool is_disturbed(const struct run *r)
{
	static const char mark[] = "oom_kill 0 -> ";
	const char *at = strstr(strbuf_str(&r->errors), mark);

	return !r->death->group && at && strtol(at + sizeof(mark) - 1, NULL, 10) > 1;
}

static bool execute_undisturbed(struct run *r, struct tally *t)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		strbuf_release(&r->errors);
		r->errors = STRBUF_INIT(1 << 20);
		if (!execute(r))
			return false;
		if (!is_disturbed(r))
			break;
		t->disturbed++;
	}
	return true;
}

static void run_once(const struct loop *loop, const struct death *death, unsigned int index,
		     struct tally *t)
{
	struct run r = {
		.loop = loop, .death = death, .index = index, .errors = STRBUF_INIT(1 << 20)
	};

	/* Differs from run to run, so that no constant passes. */
	r.limit = (16 + index % 7 * 4) * MIB;
	if (execute_undisturbed(&r, t) && check(&r, t)) {
		t->passed++;
		t->died_of_oom += strcmp(death->class, "KernelOOMContainer") == 0;
		remove_tree(r.bundle);
	} else {
		t->failed++;
		printf("FAIL #%u, %s: %s\n", index, death->what, r.reason);
		if (r.bundle[0])
			printf("     kept: %s\n", r.bundle);
		printf("     %.2000s\n", strbuf_str(&r.errors));
		fflush(stdout);
	}
	t->duration_ms_sum += r.duration_ms;
	t->duration_ms_max = MAX(t->duration_ms_max, r.duration_ms);
	strbuf_release(&r.errors);
}

/* The loop */

static const struct death *choose_oom(const struct loop *loop, unsigned int index)
{
	const struct death *d = &ooms[index % ARRAY_SIZE(ooms)];

	return d->group && !loop->group ? &ooms[0] : d;
}

/* Every jobs-th of them. After four OOMs comes one of the others. */
static void work(const struct loop *loop, unsigned int job, struct tally *t)
{
	for (unsigned int i = job; i < loop->count; i += loop->jobs) {
		run_once(loop, choose_oom(loop, i), i, t);
		if (i % 4 == 3)
			run_once(loop, &others[i / 4 % ARRAY_SIZE(others)], i, t);
	}
}

/* What a run leaves in the store besides its bundle. */
static unsigned int leftovers;

static int count_partial(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	if (strstr(path + where->base, ".partial")) {
		printf("FAIL: left behind: %s\n", path);
		leftovers++;
	}
	return 0;
}

static int conclude(const struct loop *loop, const struct tally *tallies)
{
	struct tally sum = { 0 };
	unsigned int runs;

	for (unsigned int i = 0; i < loop->jobs; i++) {
		const struct tally *t = &tallies[i];

		sum.passed += t->passed;
		sum.failed += t->failed;
		sum.died_of_oom += t->died_of_oom;
		sum.named += t->named;
		sum.unnamed += t->unnamed;
		sum.stale += t->stale;
		sum.in_doubt += t->in_doubt;
		sum.disturbed += t->disturbed;
		sum.sample_age_ms_sum += t->sample_age_ms_sum;
		sum.sample_age_ms_max = MAX(sum.sample_age_ms_max, t->sample_age_ms_max);
		sum.duration_ms_sum += t->duration_ms_sum;
		sum.duration_ms_max = MAX(sum.duration_ms_max, t->duration_ms_max);
	}
	nftw(loop->store, count_partial, 8, FTW_PHYS);
	runs = MAX(sum.passed + sum.failed, 1u);
	/*
	 * A death in the middle of the last sample may cost the name, but must stay an exception.
	 */
	if (sum.unnamed * UNNAMED_ONE_IN > sum.named + UNNAMED_ONE_IN) {
		printf("FAIL: too many reports do not name what held the memory\n");
		sum.failed++;
	}
	if (sum.stale * STALE_ONE_IN > runs + STALE_ONE_IN) {
		printf("FAIL: in %u of %u runs the last sample was more than %d ms old\n",
		       sum.stale, runs, MISSED_SAMPLE_MS);
		sum.failed++;
	}
	if (sum.in_doubt * DOUBT_ONE_IN > runs) {
		printf("FAIL: %u of %u reports were in doubt whether the command was moved\n",
		       sum.in_doubt, runs);
		sum.failed++;
	}
	printf("OOM deaths %u, others %u; who held the memory is named in %u of %u; last sample before the end: mean %lld ms, max %lld ms; "
	       "a run: mean %lld ms, max %lld ms\n",
	       sum.died_of_oom, sum.passed - sum.died_of_oom, sum.named, sum.named + sum.unnamed,
	       (long long)(sum.sample_age_ms_sum / runs), (long long)sum.sample_age_ms_max,
	       (long long)(sum.duration_ms_sum / runs), (long long)sum.duration_ms_max);
	if (sum.in_doubt)
		printf("note: %u reports were likely, as another job's process was OOM-killed at that moment\n",
		       sum.in_doubt);
	if (sum.disturbed)
		printf("note: the kernel took more than one process in %u tries\n", sum.disturbed);
	printf("%u passed, %u failed\n", sum.passed, sum.failed + leftovers);
	if (sum.failed + leftovers == 0 && sum.passed == loop->count + loop->count / 4) {
		remove_tree(loop->store);
		return 0;
	}
	return 1;
}

static unsigned int parse_count(const char *text, unsigned int max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || n < 1 || n > max) {
		fprintf(stderr, "oom_loop: %s is not a number from 1 to %u\n", text, max);
		exit(2);
	}
	return (unsigned int)n;
}

static void find_programs(struct loop *loop)
{
	const char *build = getenv("AFTERGLOW_BUILD");
	char path[PATH_MAX];

	build = build ? build : "build";
	snprintf(path, sizeof(path), "%s/afterglow-sidecar", build);
	if (!realpath(path, loop->sidecar)) {
		fprintf(stderr, "oom_loop: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	snprintf(path, sizeof(path), "%s/test", build);
	if (!realpath(path, loop->tools)) {
		fprintf(stderr, "oom_loop: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	snprintf(loop->store, sizeof(loop->store), "/tmp/oom_loop.XXXXXX");
	if (!mkdtemp(loop->store)) {
		perror("oom_loop: /tmp");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct loop loop = { .count = 20, .jobs = 1 };
	struct tally *tallies;
	int status;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--oom-group") == 0)
			loop.group = true;
		else if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc)
			loop.jobs = parse_count(argv[++i], JOBS_MAX);
		else
			loop.count = parse_count(argv[i], COUNT_MAX);
	}
	find_programs(&loop);
	setvbuf(stdout, NULL, _IOLBF, 0);
	tallies = mmap(NULL, JOBS_MAX * sizeof(*tallies), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tallies == MAP_FAILED) {
		perror("oom_loop");
		return 2;
	}
	for (unsigned int job = 0; job < loop.jobs; job++) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			work(&loop, job, &tallies[job]);
			_exit(0);
		}
		if (pid < 0) {
			perror("oom_loop: fork");
			return 2;
		}
	}
	while (wait(&status) > 0)
		if (status != 0)
			tallies[0].failed++;
	return conclude(&loop, tallies);
}
