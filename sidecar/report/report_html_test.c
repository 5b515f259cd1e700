/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of report.html. `report_html_test --write DIRECTORY` writes the pages of
 * the fixtures there instead, for e2e/cases/local to open in a browser.
 */
#include "sidecar/report/report_html.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "sidecar/report/chart.h"
#include "sidecar/sample/components_testing.h"
#include "lib/html.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)
#define END (1000 * NS_PER_SEC)

/* --- Fixtures --- */

static struct report base_report(void)
{
	return (struct report){
		.id = { .namespace = "ml",
			.cluster = "demo",
			.pod = "demo-small-worker-x7k2p",
			.pod_uid = "7a0b1c2d-0000-0000-0000-000000000000",
			.node = "gke-pool-1-a7f3",
			.container = "ray-worker" },
		.verdict = { .class = FAILURE_KERNEL_OOM_CONTAINER,
			     .confidence = CONFIDENCE_CERTAIN,
			     .exit_code = 137,
			     .signal = 9,
			     .sentence =
				     "Container ray-worker was killed by the kernel: it reached its memory limit of 4.0 GiB." },
		.started_unix_ns = 1795224294324 * NS_PER_MS,
		.ended_unix_ns = 1795224546324 * NS_PER_MS,
		.memory = { .limit = 4 * GIB,
			    .usage = 4085 * MIB,
			    .peak = 4 * GIB,
			    .anon = 3540 * MIB,
			    .file = 121 * MIB,
			    .shmem = 390 * MIB,
			    .kernel = 34 * MIB,
			    .inactive_file = 80 * MIB,
			    .active_file = 41 * MIB,
			    .psi_some = 1230 },
		.sample_age_ns = 11 * NS_PER_MS,
		.warn_at = 0.8,
		.n_processes = 40,
		.node = { .shm_size = 1200 * MIB,
			  .shm_used = 389 * MIB,
			  .object_store = 1200 * MIB },
		.bundle =
			"pvc:ray-failures/ml/demo/demo-small-worker-x7k2p.7a0b1c2d/ray-worker/20261121T012906.324Z-KernelOOMContainer",
	};
}

static void add_top(struct report *r, pid_t pid, const char *name, const char *command, int64_t own,
		    int64_t growth)
{
	struct process *p = &r->top[r->n_top++];

	*p = (struct process){ .pid = pid, .rss = own + 20 * MIB, .shared = 20 * MIB, .growth = growth };
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->command, sizeof(p->command), "%s", command);
}

static void add_sample(struct history *h, const struct report *r, int64_t before, int64_t anon,
		       int64_t shmem)
{
	struct sample s = { .at_ns = END - before, .memory = r->memory, .n_processes = 40,
			    .n_top = (uint32_t)MIN(r->n_top, (size_t)SAMPLE_TOP) };

	s.memory.anon = anon;
	s.memory.shmem = shmem;
	s.memory.usage = anon + shmem + s.memory.file + s.memory.kernel;
	for (uint32_t i = 0; i < s.n_top; i++) {
		s.top[i].pid = r->top[i].pid;
		s.top[i].shared = 20 * MIB;
		s.top[i].rss = i == 0 ? MAX(anon - 380 * MIB, anon / 3) :
					process_own(&r->top[i]) + s.top[i].shared;
	}
	history_add(h, &s);
}

/* Makes four minutes of a leak: one sample a second, and one every 20 ms at the end. */
static void leak(struct report *r, struct history *h)
{
	*r = base_report();
	add_top(r, 162, "ray::load_shard", "ray::load_shard", 3160 * MIB, 12 * MIB);
	add_top(r, 77, "python3 dashboard_agent.py",
		"/usr/bin/python3 -u /x/ray/dashboard/agent.py --node-ip-address=10.0.0.7",
		92 * MIB, 0);
	add_top(r, 31, "raylet",
		"/x/ray/core/src/ray/raylet/raylet --raylet_socket_name=/tmp/ray/s", 48 * MIB,
		1 << 14);
	add_top(r, 163, "ray::IDLE", "ray::IDLE", 41 * MIB, GROWTH_UNKNOWN);
	for (size_t i = 0; i < r->n_top; i++)
		components_add(&r->components, r->top[i].name, r->top[i].command,
			       process_own(&r->top[i]));
	for (int i = 0; i < 11; i++)
		components_add(&r->components, "ray::IDLE", "", 40 * MIB);
	components_sort(&r->components);
	for (int i = 0; i < 250; i++)
		add_sample(h, r, (251 - i) * NS_PER_SEC,
			   600 * MIB + i * 11 * MIB + (i > 180 ? 120 : 0) * MIB, (150 + i) * MIB);
	for (int i = 0; i < 50; i++)
		add_sample(h, r, (50 - i) * 20 * NS_PER_MS + 11 * NS_PER_MS,
			   (3470 + i + i / 2) * MIB, 390 * MIB);
	verdict_add_evidence(&r->verdict, "memory.events", "oom_group_kill 0 -> 1");
	verdict_add_evidence(&r->verdict, "memory.events", "oom_kill 0 -> 41");
	verdict_add_evidence(
		&r->verdict, "launcher",
		"it ended with the container, without a word: SIGKILL is the usual cause");
	verdict_add_missing(&r->verdict, "kernel log",
			    "CAP_SYSLOG: set recording.kernelLog.enabled");
	snprintf(
		r->diagnosis, sizeof(r->diagnosis),
		"One process, ray::load_shard, held 77 %% of the memory and grew for 4 min 10 s until the end, from 0.2 to 3.1 GiB: "
		"a leak, or results that it piles up; not parallelism.");
	snprintf(
		r->advice, sizeof(r->advice),
		"find what load_shard keeps; if it needs that much: @ray.remote(memory=3.1 * 1024**3), and a limit of 5 GiB or more");
}

/* Makes two seconds of a program that allocates quickly, outside Kubernetes. */
static void burst(struct report *r, struct history *h)
{
	*r = base_report();
	r->id = (struct identity){ .container = "hog" };
	r->node = RAY_NODE_UNKNOWN;
	r->memory = (struct memory){ .limit = 256 * MIB,
				     .usage = 255 * MIB,
				     .peak = 256 * MIB,
				     .anon = 254 * MIB,
				     .file = 0,
				     .shmem = 0,
				     .kernel = MIB,
				     .inactive_file = 0,
				     .active_file = 0,
				     .swap = -1,
				     .psi_some = -1 };
	r->started_unix_ns = r->ended_unix_ns - 17 * NS_PER_SEC / 10;
	r->bundle[0] = '\0';
	add_top(r, 162, "hog", "hog 1G --rate 150M", 250 * MIB, 150 * MIB);
	r->n_processes = 1;
	for (int i = 0; i < 24; i++)
		add_sample(h, r,
			   1700 * NS_PER_MS - (i < 12 ? i * 125 : 1500 + (i - 12) * 16) * NS_PER_MS,
			   (i < 12 ? i * 19 : 228 + (i - 12) * 2) * MIB, 0);
}

/* Makes a crash far below the limit. */
static void crash(struct report *r, struct history *h)
{
	*r = base_report();
	r->verdict = (struct verdict){ .class = FAILURE_SEGFAULT,
				       .confidence = CONFIDENCE_CERTAIN,
				       .exit_code = 139,
				       .signal = 11,
				       .sentence = "Container ray-worker crashed with SIGSEGV." };
	r->memory.usage = 275 * MIB;
	r->memory.anon = 100 * MIB;
	r->memory.shmem = 20 * MIB;
	r->memory.peak = 310 * MIB;
	r->memory.limit = 64 * GIB;
	r->memory.psi_some = 0;
	add_top(r, 31, "raylet", "raylet", 48 * MIB, 0);
	for (int i = 0; i < 30; i++)
		add_sample(h, r, (30 - i) * NS_PER_SEC, (100 + i % 3) * MIB, 20 * MIB);
}

/* Makes a report in which only the end is known. */
static void nothing(struct report *r, struct history *h)
{
	(void)h;
	*r = (struct report){ .id.container = "x", .memory = MEMORY_ABSENT, .sample_age_ns = -1, .node = RAY_NODE_UNKNOWN,
			      .shmem_at_start = -1 };
	r->verdict = (struct verdict){ .class = FAILURE_UNKNOWN,
				       .confidence = CONFIDENCE_UNKNOWN,
				       .exit_code = -1,
				       .sentence = "Container x: what happened is not known." };
}

#define EVIL "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"

static void fill(char *to, size_t size)
{
	snprintf(to, size, "%s", EVIL);
	for (size_t n = strlen(to); n + 12 < size; n = strlen(to))
		snprintf(to + n, size - n, "\"'></td>\x1b[1A");
}

/* Sets every text that a container can choose to a hostile value. */
static void hostile(struct report *r, struct history *h)
{
	static char text[512];

	leak(r, h);
	fill(text, sizeof(text));
	r->id = (struct identity){ text, text, text, text, text, text, NULL };
	r->n_top = REPORT_TOP_MAX;
	for (size_t i = 0; i < REPORT_TOP_MAX; i++) {
		fill(r->top[i].name, sizeof(r->top[i].name));
		fill(r->top[i].command, sizeof(r->top[i].command));
		r->top[i].rss = (int64_t)1 << 57;
		r->top[i].growth = INT64_MIN + 1;
	}
	for (size_t i = 0; i < r->components.n; i++)
		fill(r->components.list[i].name, sizeof(r->components.list[i].name));
	fill(r->verdict.sentence, sizeof(r->verdict.sentence));
	for (size_t i = 0; i < r->verdict.n_evidence; i++)
		fill(r->verdict.evidence[i].text, sizeof(r->verdict.evidence[i].text));
	fill(r->diagnosis, sizeof(r->diagnosis));
	fill(r->advice, sizeof(r->advice));
	fill(r->bundle, sizeof(r->bundle));
	r->memory.kernel = (int64_t)1 << 57;
}

#define TEXT(title, text, open) { title, text, sizeof(text) - 1, open, false }

static const struct page_text some_texts[] = {
	TEXT("kernel.log",
	     "afterglow-launc invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=986\n"
	     "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/kubepods.slice/pod94eb36cd/46b3e\n"
	     "Memory cgroup out of memory: Killed process 63214 (ray::load_shard) total-vm:9149468kB, anon-rss:3224992kB, "
	     "file-rss:2176kB, shmem-rss:92kB, UID:1000 pgtables:7372kB oom_score_adj:986\n", false),
	TEXT("logs/job-driver-a.log",
	     "Traceback (most recent call last):\n  File \"old.py\"\nKeyError: 1\n\nstep 7 <done>\nTraceback (most recent call last):\n"
	     "  File \"train.py\", line 3, in <module>\n    load()\nValueError: bad <shard>\n\nbye\n", false),
	TEXT("logs/raylet.out", "\x1b[36m[info]\x1b[0m raylet started <b>&amp;\n", false),
};

static const struct {
	const char *name;
	void (*fill)(struct report *r, struct history *h);
} fixtures[] = { { "leak", leak },
		 { "burst", burst },
		 { "crash", crash },
		 { "nothing", nothing },
		 { "hostile", hostile } };

static void render(size_t i, const struct page_text *texts, size_t n_texts, struct strbuf *out)
{
	struct history *h = history_new();
	struct report r;

	fixtures[i].fill(&r, h);
	report_to_html(&(struct page){ .report = &r,
				       .history = h,
				       .ended_ns = END,
				       .texts = texts,
				       .n_texts = n_texts },
		       out);
	history_free(h);
}

/* --- Rules for every page --- */

/* Checks that elements are closed and properly nested, and that nothing runs or is loaded. */
static void check_page(const char *html)
{
	static const char *const void_elements[] = { "meta", "!DOCTYPE", "path", "br" };
	static const char *const allowed[] = {
		"html", "head",	  "title",   "style",	"body",	 "main", "p",	"h1", "h2",
		"h3",	"ul",	  "li",	     "div",	"span",	 "dl",	 "dt",	"dd", "svg",
		"i",	"b",	  "table",   "thead",	"tbody", "tr",	 "th",	"td", "small",
		"pre",	"footer", "details", "summary", "nav",	 "a",	 "code"
	};
	char stack[32][16];
	size_t depth = 0;

	for (const char *at = strchr(html, '<'); at; at = strchr(at + 1, '<')) {
		char name[16];
		bool closes = at[1] == '/', known = false, empty = false;

		snprintf(name, sizeof(name), "%.*s",
			 (int)MIN(strcspn(at + 1 + closes, " >\n"), sizeof(name) - 1),
			 at + 1 + closes);
		for (size_t i = 0; i < ARRAY_SIZE(void_elements); i++)
			empty = empty || strcmp(name, void_elements[i]) == 0;
		for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
			known = known || strcmp(name, allowed[i]) == 0;
		if (!empty && !known)
			fail_msg("an element <%s>: %.60s", name, at);
		if (empty)
			continue;
		if (closes) {
			assert_true(depth > 0);
			if (strcmp(stack[--depth], name) != 0)
				fail_msg("</%s> closes <%s>: %.60s", name, stack[depth], at);
		} else {
			assert_true(depth < ARRAY_SIZE(stack));
			memcpy(stack[depth++], name, sizeof(name));
		}
	}
	assert_int_equal(depth, 0);
	assert_null(strstr(html, "http:"));
	assert_null(strstr(html, "https:"));
	assert_null(strstr(html, "@import"));
	assert_null(strstr(html, "url("));
	assert_null(strstr(html, "nan"));
	assert_null(strstr(html, "inf\""));
}

static void every_page_is_well_formed_and_loads_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);

		render(i, some_texts, ARRAY_SIZE(some_texts), &out);
		assert_false(strbuf_failed(&out));
		check_page(strbuf_str(&out));
		assert_true(out.len < 200 * 1024);
	}
}

static void text_of_the_container_stays_text(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
	const struct page_text evil = { EVIL,
					"</pre>" EVIL "\xff\xfe\0\x1b]0;x\a\xe2\x80\xae\xd8\x9c",
					sizeof("</pre>" EVIL) + 13, true, false };
	(void)state;

	render(4, &evil, 1, &out);
	check_page(strbuf_str(&out));
	assert_int_equal(strlen(strbuf_str(&out)), out.len);
	assert_null(strstr(strbuf_str(&out), "<script"));
	assert_null(strstr(strbuf_str(&out), "<img"));
	assert_null(strstr(strbuf_str(&out), "\x1b"));
	assert_null(strstr(strbuf_str(&out), "\xff"));
	assert_null(strstr(strbuf_str(&out), "\xe2\x80\xae"));
	assert_null(strstr(strbuf_str(&out), "\xd8\x9c"));
	assert_non_null(strstr(strbuf_str(&out), "&lt;script&gt;"));
}

static void the_page_says_the_sentence_first_and_shows_the_numbers(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
	static const char *const parts[] = {
		"<title>KernelOOMContainer · demo-small-worker-x7k2p</title>",
		"<h1>Container ray-worker was killed by the kernel: it reached its memory limit of 4.0 GiB.</h1>",
		"KernelOOMContainer</li><li>certain</li><li>exit code 137</li><li>SIGKILL</li>",
		"<b>Try:</b> find what load_shard keeps",
		"memory.events</span>oom_group_kill 0 -&gt; 1",
		"kernel log <span class=\"note\">needs CAP_SYSLOG",
		"2026-11-21 01:29:06.324 UTC, 4 min 12 s after its start",
		"<code>kubectl afterglow bundle demo-small-worker-x7k2p evidence -n ml</code>",
		"<a href=\"#logs\">Logs</a>",
		"/dev/shm, where Ray keeps its objects: 389.0 MiB used of 1.2 GiB",
		"limit 4.0 GiB</span>",
		"80 %: snapshots",
		"−2 min</span>",
		"the end 01:29:06 UTC</span>",
		"<b>01:25:57 UTC, −189 s<br>usage 1.6 GiB<br>anon 1.3 GiB<br>shmem 212.0 MiB<br>",
		"<h3>The last 10 seconds</h3>",
		"anon (heap) <b>3.5 GiB</b>",
		"kubelet</span><span class=\"v\">3.9 GiB</span>",
		"ray::IDLE</td><td class=\"n\">12</td>",
		"<td class=\"n\">162</td><td class=\"name\">ray::load_shard</td>",
		"+12.0 MiB/s",
		"The 4 largest of 40.",
		"<h2 id=\"logs\">",
		"<details class=\"card long\"><summary>kernel.log</summary>",
		"“afterglow-launc invoked oom-killer” says who asked for memory",
		"<details class=\"card long\"><summary>logs/raylet.out</summary>",
		"<pre>[info] raylet started &lt;b&gt;&amp;amp;",
	};
	const char *at;
	(void)state;

	render(0, some_texts, ARRAY_SIZE(some_texts), &out);
	at = strbuf_str(&out);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		at = strstr(at, parts[i]);
		if (!at)
			fail_msg("not there or not in order: %s", parts[i]);
	}
}

static void an_exception_stands_before_the_memory_unless_the_end_is_about_memory(void **state)
{
	static const char words[] =
		"<h2>The last exception in logs/job-driver-a.log</h2>\n<pre>Traceback (most recent call last):\n"
		"  File &quot;train.py&quot;, line 3, in &lt;module&gt;\n    load()\nValueError: bad &lt;shard&gt;\n</pre>";
	(void)state;

	for (size_t i = 0; i < 3; i += 2) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
		const char *at, *memory;

		render(i, some_texts, ARRAY_SIZE(some_texts), &out);
		at = strstr(strbuf_str(&out), words);
		memory = strstr(strbuf_str(&out), "<h2 id=\"memory\">");
		assert_non_null(at);
		assert_non_null(memory);
		assert_int_equal(at < memory, strcmp(fixtures[i].name, "crash") == 0);
	}
}

static void the_last_lines_of_rays_process_are_there(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
	struct report r = base_report();
	(void)state;

	snprintf(r.last_lines, sizeof(r.last_lines), "raylet.out: <check> failed\n");
	report_to_html(&(struct page){ .report = &r }, &out);
	check_page(strbuf_str(&out));
	assert_non_null(strstr(strbuf_str(&out),
			       "ended first</h2>\n<pre>raylet.out: &lt;check&gt; failed\n</pre>"));
}

static void how_memory_is_counted_is_shown_only_where_it_differs(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
	(void)state;

	render(1, NULL, 0, &out); /* no file pages */
	assert_null(strstr(strbuf_str(&out), "The same memory"));
}

static void only_a_name_of_an_object_becomes_a_part_of_a_command(void **state)
{
	static const char *const names[] = { "a;reboot", "a b", "$(x)", "", "A", "`x`", NULL };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
		struct report r = base_report();

		r.id.pod = names[i];
		report_to_html(&(struct page){ .report = &r }, &out);
		assert_null(strstr(strbuf_str(&out), "<code"));
	}
}

static void what_is_not_known_is_not_shown(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
	static const char *const absent[] = { "(null)", "<svg", "exit code", "/dev/shm", "<table",
					      "1970",	"-1",	"Evidence",  "<code",	 "#logs" };
	(void)state;

	render(3, NULL, 0, &out);
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		if (strstr(strstr(strbuf_str(&out), "<main>"), absent[i]))
			fail_msg("%s is there", absent[i]);
	assert_non_null(strstr(strbuf_str(&out), "No sample was taken"));
}

static void a_limit_far_away_does_not_flatten_the_chart(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
	(void)state;

	render(2, NULL, 0, &out);
	assert_null(strstr(strbuf_str(&out), ">limit 64"));
	assert_non_null(strstr(strbuf_str(&out), "128 MiB</span>"));
}

static void a_container_that_lives_on_has_not_ended(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
	struct history *h = history_new();
	struct report r;
	(void)state;

	leak(&r, h);
	r.verdict.class = FAILURE_KERNEL_OOM_PROCESS;
	r.verdict.exit_code = -1;
	r.verdict.signal = 0;
	report_to_html(&(struct page){ .report = &r, .history = h, .ended_ns = END }, &out);
	history_free(h);
	check_page(strbuf_str(&out));
	assert_null(strstr(strbuf_str(&out), "exit code"));
	assert_null(strstr(strbuf_str(&out), ">the end"));
	assert_non_null(strstr(strbuf_str(&out), "11 ms before the death"));
	r.sample_age_ns = -2100 * NS_PER_MS;
	h = history_new();
	strbuf_reset(&out);
	report_to_html(&(struct page){ .report = &r, .history = h, .ended_ns = END }, &out);
	history_free(h);
	assert_non_null(strstr(strbuf_str(&out), " in the last sample, 2.1 s after the death"));
}

/* --- Bounds --- */

static void a_flood_of_text_is_cut_and_the_page_stays_whole(void **state)
{
	enum { LONG = 4 << 20 };
	_cleanup_free_ char *text = malloc(LONG);
	struct page_text texts[40];
	(void)state;

	memset(text, '"', LONG);
	for (size_t i = 0; i < LONG; i += 100)
		text[i] = '\n';
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		texts[i] = (struct page_text){ .title = "log", .text = text, .len = LONG };
	for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);

		render(i, texts, ARRAY_SIZE(texts), &out);
		assert_false(strbuf_failed(&out));
		check_page(strbuf_str(&out));
		assert_non_null(strstr(strbuf_str(&out), "The end of it;"));
	}
}

static void of_a_long_backtrace_the_beginning_is_shown(void **state)
{
	enum { LONG = PAGE_TEXT_SHOWN * 3 };
	_cleanup_free_ char *text = malloc(LONG);
	struct page_text trace = { "backtrace.txt", text, LONG, .open = true, .from_start = true };
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
	(void)state;

	memset(text, '\n', LONG);
	memcpy(text, "#0 crashed here", 15);
	memcpy(text + LONG - 13, "#9 last thread", 13);
	render(0, &trace, 1, &out);
	check_page(strbuf_str(&out));
	assert_non_null(strstr(strbuf_str(&out), "#0 crashed here"));
	assert_null(strstr(strbuf_str(&out), "last threa"));
	assert_non_null(strstr(strbuf_str(&out), "The beginning of it;"));
}

static void many_samples_become_few_points_and_the_peak_is_one_of_them(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
	struct history *h = history_new();
	struct report r;
	const char *path;
	size_t points = 0;
	(void)state;

	leak(&r, h);
	for (int i = 0; i < 100000; i++)
		add_sample(h, &r, 10 * NS_PER_SEC - i * NS_PER_MS / 10,
			   i == 99950 ? 3600 * MIB : 100 * MIB, 0);
	report_to_html(&(struct page){ .report = &r, .history = h, .ended_ns = END }, &out);
	path = strstr(strbuf_str(&out), "class=\"usage\"");
	for (; *path != '>'; path++)
		points += *path == 'L' || *path == 'M';
	assert_true(points > 1 && points <= CHART_POINTS_MAX);
	assert_true(out.len < 200 * 1024);
	history_free(h);
}

static void a_small_buffer_is_no_crash(void **state)
{
	(void)state;
	for (size_t max = 0; max < 30000; max += 501) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(max);

		render(4, some_texts, ARRAY_SIZE(some_texts), &out);
		assert_true(strbuf_failed(&out) && out.len <= max);
	}
}

static void scales_have_a_few_round_steps(void **state)
{
	(void)state;
	for (int64_t top = 1; top > 0 && top < (int64_t)1 << 60; top += top / 3 + 1) {
		int64_t step = chart_size_step(top);

		assert_true(top / step >= (top > 2) && top / step < 5);
		assert_int_equal(step & (step - 1), 0);
	}
	for (int64_t span = NS_PER_MS; span < 1000000 * NS_PER_SEC; span += span / 3) {
		for (int64_t most = 3; most <= 6; most++) {
			int64_t step = chart_time_step(span, most);

			assert_true(step > 0 && span / step <= most);
		}
	}
}

static int write_pages(const char *directory)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(REPORT_HTML_MAX);
		char path[512];

		render(i, some_texts, ARRAY_SIZE(some_texts), &out);
		snprintf(path, sizeof(path), "%s/%s.html", directory, fixtures[i].name);
		if (file_write(AT_FDCWD, path, strbuf_str(&out), out.len, 0644, NULL) < 0)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_page_is_well_formed_and_loads_nothing),
		cmocka_unit_test(text_of_the_container_stays_text),
		cmocka_unit_test(the_page_says_the_sentence_first_and_shows_the_numbers),
		cmocka_unit_test(an_exception_stands_before_the_memory_unless_the_end_is_about_memory),
		cmocka_unit_test(the_last_lines_of_rays_process_are_there),
		cmocka_unit_test(how_memory_is_counted_is_shown_only_where_it_differs),
		cmocka_unit_test(only_a_name_of_an_object_becomes_a_part_of_a_command),
		cmocka_unit_test(what_is_not_known_is_not_shown),
		cmocka_unit_test(a_limit_far_away_does_not_flatten_the_chart),
		cmocka_unit_test(a_container_that_lives_on_has_not_ended),
		cmocka_unit_test(a_flood_of_text_is_cut_and_the_page_stays_whole),
		cmocka_unit_test(of_a_long_backtrace_the_beginning_is_shown),
		cmocka_unit_test(many_samples_become_few_points_and_the_peak_is_one_of_them),
		cmocka_unit_test(a_small_buffer_is_no_crash),
		cmocka_unit_test(scales_have_a_few_round_steps),
	};

	if (argc == 3 && strcmp(argv[1], "--write") == 0)
		return write_pages(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
