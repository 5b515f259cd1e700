/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which snapshot shows the state before the end. Sizes in MiB, times in ms. */
#include "sidecar/watch/observer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/sample/memcg_testing.h"

#define MIB ((int64_t)1 << 20)
#define END (10000 * NS_PER_MS)

struct seen {
	int ago, usage; /* time before the end; usage -1: there is no such snapshot */
	pid_t pids[4]; /* largest first; 0 ends the list */
};

static const struct {
	const char *what;
	struct seen previous, last;
	pid_t largest; /* the largest process in the chosen snapshot; 0: none */
	int usage, ago;
} rows[] = {
	{ "a process that grows", { 40, 10, { 2, 1 } }, { 20, 20, { 2, 1 } }, 2, 20, 20 },
	{ "the last was taken when most was gone", { 40, 40, { 2, 1 } }, { 2, 5, { 1 } }, 2, 40, 40 },
	{ "the largest was gone, its memory not yet", { 40, 38, { 2, 1 } }, { 2, 40, { 1 } }, 2, 40, 2 },
	{ "the second is the largest now, the first still there", { 40, 30, { 2, 3, 1 } }, { 2, 40, { 3, 2, 1 } }, 3, 40, 2 },
	{ "the largest ended long before", { 3000, 30, { 2, 1 } }, { 2, 40, { 1 } }, 1, 40, 2 },
	{ "one snapshot only", { 0, -1, { 0 } }, { 11, 20, { 1 } }, 1, 20, 11 },
	{ "the first had no processes", { 40, 10, { 0 } }, { 20, 20, { 1 } }, 1, 20, 20 },
	{ "none", { 0, -1, { 0 } }, { 0, -1, { 0 } }, 0, -1, 0 },
};

static struct snapshot snapshot_of(const struct seen *seen)
{
	struct snapshot s = { .memory = MEMORY_ABSENT };

	if (seen->usage < 0)
		return s;
	s.at_ns = END - seen->ago * NS_PER_MS;
	s.memory.usage = seen->usage * MIB;
	for (; s.n_top < ARRAY_SIZE(seen->pids) && seen->pids[s.n_top]; s.n_top++)
		s.top[s.n_top].pid = seen->pids[s.n_top];
	return s;
}

static void the_snapshot_that_shows_the_largest_is_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct observer o = { .previous = snapshot_of(&rows[i].previous),
					    .last = snapshot_of(&rows[i].last) };
		const struct snapshot s = observer_last_of_life(&o, END);
		int64_t usage = rows[i].usage < 0 ? -1 : rows[i].usage * MIB;

		if ((s.n_top ? s.top[0].pid : 0) != rows[i].largest || s.memory.usage != usage ||
		    s.at_ns != (rows[i].usage < 0 ? 0 : END - rows[i].ago * NS_PER_MS))
			fail_msg("%s: PID %d, %.0f MiB", rows[i].what,
				 s.n_top ? (int)s.top[0].pid : 0,
				 (double)s.memory.usage / (double)MIB);
	}
}

static void what_was_before_the_oom_killer_came_wins(void **state)
{
	const struct seen before = { 300, 40, { 2, 1 } }, previous = { 40, 20, { 3, 1 } },
			  last = { 20, 10, { 1 } };
	const struct observer o = { .oom_seen_ns = END - NS_PER_SEC,
				    .before_oom = snapshot_of(&before),
				    .previous = snapshot_of(&previous),
				    .last = snapshot_of(&last) };
	(void)state;

	assert_int_equal(observer_last_of_life(&o, END).top[0].pid, 2);
}

/* A large victim may take longer to die than a small process that ends for another reason. */
static void the_victim_is_the_largest_that_has_ended_or_has_no_memory_left(void **state)
{
	const struct seen before = { 40, 40, { 3, 2, 1 } };
	static const struct {
		struct seen after;
		pid_t without_memory, victim;
	} cases[] = {
		{ { 20, 40, { 2, 1 } }, 0, 3 },
		{ { 20, 40, { 3, 1 } }, 0, 2 },
		{ { 20, 40, { 3, 1 } }, 3, 3 },
		{ { 20, 40, { 3, 2, 1 } }, 0, 0 },
		{ { 20, 40, { 0 } }, 0, 3 },
	};
	const struct snapshot s = snapshot_of(&before);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot after = snapshot_of(&cases[i].after);

		for (size_t j = 0; j < after.n_top; j++)
			after.top[j].rss = after.top[j].pid == cases[i].without_memory ? 0 : MIB;
		const struct process *victim = snapshot_victim(&s, &after, 0);
		assert_int_equal(victim ? victim->pid : 0, cases[i].victim);
	}
	/* The command has exited by itself, perhaps for that kill. */
	assert_int_equal(snapshot_victim(&s, &(const struct snapshot){ 0 }, 3)->pid, 2);
}

static void of_two_that_have_ended_the_largest_is_only_the_likeliest(void **state)
{
	const struct seen before = { 40, 60, { 4, 3, 2, 1 } };
	static const struct {
		struct seen after;
		bool known;
	} cases[] = {
		{ { 20, 60, { 3, 2, 1 } }, true },
		/*
		 * The command does not count, because its end is known; nor does a small process
		 * that has ended.
		 */
		{ { 20, 60, { 3, 2 } }, true },
		{ { 20, 60, { 3, 1 } }, true },
		{ { 20, 60, { 2, 1 } }, false },
		{ { 20, 60, { 0 } }, false },
	};
	struct snapshot s = snapshot_of(&before);

	(void)state;
	s.top[0].rss = 40 * MIB;
	s.top[1].rss = 20 * MIB;
	s.top[2].rss = MIB / 2;
	s.top[3].rss = 4 * MIB;
	s.memory.anon = 64 * MIB;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot after = snapshot_of(&cases[i].after);
		const struct process *victim;

		for (size_t j = 0; j < after.n_top; j++)
			after.top[j].rss = MIB;
		victim = snapshot_victim(&s, &after, 0);
		assert_int_equal(victim->pid, 4);
		assert_int_equal(snapshot_victim_size(&s, &after, victim, 1),
				 cases[i].known ? 40 * MIB : 0);
	}
}

static void a_small_process_is_no_victim_where_a_large_one_was_not_seen(void **state)
{
	const struct seen before = { 40, 40, { 2, 1 } }, after = { 20, 40, { 1 } };
	struct snapshot s = snapshot_of(&before), later = snapshot_of(&after);

	(void)state;
	s.top[0].rss = s.top[1].rss = MIB / 4;
	later.top[0].rss = MIB / 4;
	s.memory.anon = 20 * MIB;
	assert_null(snapshot_victim(&s, &later, 0));
	/* The processes account for all the memory. */
	s.memory.anon = MIB / 2;
	assert_int_equal(snapshot_victim(&s, &later, 0)->pid, 2);
	/* It began to grow after this look. */
	s.memory.anon = 20 * MIB;
	s.top[0].rss = MIB;
	assert_int_equal(snapshot_victim(&s, &later, 0)->pid, 2);
}

static void what_a_look_before_the_growth_shows_is_no_name_for_the_victim(void **state)
{
	struct seen before = { .usage = 2, .ago = 3600, .pids = { 3, 2 } };
	struct snapshot s = snapshot_of(&before);

	(void)state;
	/* Its libraries are no memory of its own. */
	s.top[0].rss = s.top[1].rss = MIB / 8 + 2 * MIB;
	s.top[0].shared = s.top[1].shared = 2 * MIB;
	assert_true(snapshot_is_from_before(&s, 24 * MIB, 2));
	/* it may have been killed for what others used */
	assert_false(snapshot_is_from_before(&s, -1, 2));
	/* This one may have grown. */
	s.top[1].rss = 3 * MIB;
	assert_false(snapshot_is_from_before(&s, 24 * MIB, 2));
	/* Files in memory, or processes that oom_score_adj spares, held it already. */
	s.top[1].rss = MIB / 8 + 2 * MIB;
	s.memory.usage = 20 * MIB;
	assert_false(snapshot_is_from_before(&s, 24 * MIB, 2));
}

static void what_a_new_cgroup_counted_before_it_was_met_is_of_this_life(void **state)
{
	static struct observer o;
	(void)state;

	/*
	 * v2: the sidecar met the container after the kill, and there is no counter of group kills.
	 */
	o.baseline = (struct memory){
		.oom_kill = 1, .oom_group_kill = -1, .oom = 1, .limit_hits = 30, .peak = 64 * MIB
	};
	observer_count_from_start(&o);
	assert_int_equal(o.baseline.oom_kill, 0);
	assert_int_equal(o.baseline.oom_group_kill, -1);
	assert_int_equal(o.baseline.oom, 0);
	assert_int_equal(o.baseline.limit_hits, 0);
	assert_int_equal(o.baseline.peak, 0);
}

static void one_too_small_to_be_listed_has_ended_too_if_fewer_are_left(void **state)
{
	static const struct {
		uint32_t before, after;
		bool ended;
	} cases[] = { { 2, 1, false }, { 30, 29, false }, { 30, 28, true }, { 30, 31, false } };
	const struct seen earlier = { 40, 40, { 2, 1 } }, later = { 20, 20, { 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot before = snapshot_of(&earlier), after = snapshot_of(&later);

		before.top[0].rss = before.top[1].rss = after.top[0].rss = MIB;
		before.n_processes = cases[i].before;
		after.n_processes = cases[i].after;
		assert_int_equal(snapshot_others_ended(&before, &after, 2), cases[i].ended);
		assert_true(snapshot_others_ended(&before, &after, 1));
	}
}

/* If a helper has ended and another process has begun, the number of processes is the same. */
static void of_those_too_small_to_be_listed_each_end_counts(void **state)
{
	static const struct {
		int64_t before, after;
		bool ended;
	} cases[] = { { 5, 5, false }, { 5, 6, false }, { 5, 7, true }, { -1, 0, true } };
	const struct seen earlier = { 40, 40, { 2, 1 } }, later = { 20, 20, { 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot before = snapshot_of(&earlier), after = snapshot_of(&later);

		before.top[0].rss = before.top[1].rss = after.top[0].rss = MIB;
		before.n_processes = 14;
		after.n_processes = 13;
		before.ends = cases[i].before;
		after.ends = cases[i].after;
		assert_int_equal(snapshot_others_ended(&before, &after, 2), cases[i].ended);
		/* All processes are listed. */
		before.n_processes = 2;
		assert_false(snapshot_others_ended(&before, &after, 2));
	}
}

static void the_least_usage_since_the_limit_was_met_is_kept_until_the_kill(void **state)
{
	static const struct {
		int usage, peak, kills, least;
	} samples[] = { { 40, 50, 0, 0 },
			{ 60, 64, 0, 60 },
			{ 30, 64, 0, 30 },
			{ 63, 64, 0, 30 },
			{ 5, 64, 1, 30 } };
	static struct observer o;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		const struct memory memory = { .limit = 64 * MIB,
					       .usage = samples[i].usage * MIB,
					       .peak = samples[i].peak * MIB,
					       .oom_kill = samples[i].kills };

		observer_note_peak(&o, &memory, END);
		assert_int_equal(o.least_usage, samples[i].least * MIB);
	}
}

/*
 * A large container frees its memory for seconds, and the counters show the kill at the beginning.
 */
static void a_group_kill_is_survived_by_who_lives_a_second_later(void **state)
{
	static const struct {
		int at_ms, counted, survived;
		bool dies;
	} steps[] = {
		{ 0, 0, 0, false },    { 100, 1, 0, false },  { 200, 1, 0, true },	{ 6100, 1, 0, true },
		{ 6200, 1, 1, false }, { 6300, 2, 1, false }, { 7200, 2, 1, false }, { 7400, 2, 2, false },
	};
	struct observer o = { .baseline.oom_group_kill = 0 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const struct memory memory = { .oom_group_kill = steps[i].counted };

		o.latest.oom_group_kill = observer_groups_survived(
			&o, &memory, steps[i].dies, END + steps[i].at_ms * NS_PER_MS);
		o.latest_ns = END + steps[i].at_ms * NS_PER_MS;
		assert_int_equal(o.latest.oom_group_kill, steps[i].survived);
	}
}

static void kills_are(const struct fake_root *root, int n)
{
	char text[80];

	snprintf(text, sizeof(text), "high 0\nmax %d\noom %d\noom_kill %d\n", n, n, n);
	fake_root_put(root, "sys/fs/cgroup/memory.events", text);
}

static void a_kill_while_the_one_before_is_reported_is_seen(void **state)
{
	static struct observer o;
	struct fake_root root;
	struct memory reported;
	(void)state;

	fake_root_init(&root);
	fake_root_put(&root, "proc/1/cgroup", "0::/\n");
	fake_root_put(&root, "proc/1/mountinfo",
		      "30 20 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	fake_root_put(&root, "sys/fs/cgroup/memory.current", "1000000\n");
	fake_root_put(&root, "sys/fs/cgroup/memory.max", "64000000\n");
	kills_are(&root, 0);
	assert_int_equal(observer_open(&o, dup(root.fd), 1, NULL, NULL), 0);
	observer_sample(&o, NS_PER_SEC);
	assert_int_equal(o.oom_seen_ns, 0);
	kills_are(&root, 1);
	observer_sample(&o, 2 * NS_PER_SEC);
	assert_int_equal(o.oom_seen_ns, 2 * NS_PER_SEC);
	reported = o.last.memory;
	kills_are(&root, 2);
	observer_sample(&o, 7 * NS_PER_SEC);
	observer_forget_oom(&o, &reported);
	assert_int_equal(o.oom_seen_ns, 0);
	observer_sample(&o, 8 * NS_PER_SEC);
	assert_int_equal(o.oom_seen_ns, 8 * NS_PER_SEC);
	reported = o.last.memory;
	observer_forget_oom(&o, &reported);
	observer_sample(&o, 9 * NS_PER_SEC);
	assert_int_equal(o.oom_seen_ns, 0);
	observer_close(&o);
	assert_int_equal(fake_root_release(&root), 0);
}

static void put_process(const struct fake_root *root, int pid, const char *name, int64_t bytes)
{
	char path[64], text[80];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text), "%d (%s) S 1 1 1 0\n", pid, name);
	fake_root_put(root, path, text);
	snprintf(path, sizeof(path), "proc/%d/statm", pid);
	snprintf(text, sizeof(text), "9999 %lld 0 1 0 1 0\n",
		 (long long)(bytes / sysconf(_SC_PAGESIZE)));
	fake_root_put(root, path, text);
}

static void remove_process(const struct fake_root *root, int pid)
{
	static const char *const files[] = { "stat", "statm" };
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "proc/%d/%s", pid, files[i]);
		assert_int_equal(unlinkat(root->fd, path, 0), 0);
	}
	snprintf(path, sizeof(path), "proc/%d", pid);
	assert_int_equal(unlinkat(root->fd, path, AT_REMOVEDIR), 0);
}

/* `ray start` is killed, and its children end with it while its memory is being freed. */
static void a_small_process_that_is_gone_first_does_not_remain_the_victim(void **state)
{
	static struct observer o;
	struct fake_root root;
	(void)state;

	fake_root_init(&root);
	fake_root_put(&root, "proc/1/cgroup", "0::/\n");
	fake_root_put(&root, "proc/1/mountinfo",
		      "30 20 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	fake_root_put(&root, "sys/fs/cgroup/memory.current", "60000000\n");
	fake_root_put(&root, "sys/fs/cgroup/memory.max", "64000000\n");
	put_process(&root, 10, "ray", 40 * MIB);
	put_process(&root, 20, "dashboard", 8 * MIB);
	put_process(&root, 30, "raylet", 6 * MIB);
	kills_are(&root, 0);
	assert_int_equal(observer_open(&o, dup(root.fd), 1, NULL, NULL), 0);
	observer_sample(&o, NS_PER_SEC);
	kills_are(&root, 1);
	remove_process(&root, 20);
	observer_sample(&o, 2 * NS_PER_SEC);
	assert_string_equal(o.victim, "dashboard");
	remove_process(&root, 10);
	observer_sample(&o, 2 * NS_PER_SEC + 100 * NS_PER_MS);
	assert_string_equal(o.victim, "ray");
	assert_int_equal(o.victim_pid, 10);
	observer_close(&o);
	/* What ends ten seconds later did not die of it. */
	put_process(&root, 10, "ray", 40 * MIB);
	put_process(&root, 20, "dashboard", 8 * MIB);
	kills_are(&root, 0);
	assert_int_equal(observer_open(&o, dup(root.fd), 1, NULL, NULL), 0);
	observer_sample(&o, NS_PER_SEC);
	kills_are(&root, 1);
	remove_process(&root, 20);
	observer_sample(&o, 2 * NS_PER_SEC);
	remove_process(&root, 10);
	observer_sample(&o, 12 * NS_PER_SEC);
	assert_string_equal(o.victim, "dashboard");
	observer_close(&o);
	assert_int_equal(fake_root_release(&root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_process_that_is_gone_first_does_not_remain_the_victim),
		cmocka_unit_test(the_snapshot_that_shows_the_largest_is_taken),
		cmocka_unit_test(what_was_before_the_oom_killer_came_wins),
		cmocka_unit_test(the_victim_is_the_largest_that_has_ended_or_has_no_memory_left),
		cmocka_unit_test(of_two_that_have_ended_the_largest_is_only_the_likeliest),
		cmocka_unit_test(a_small_process_is_no_victim_where_a_large_one_was_not_seen),
		cmocka_unit_test(what_a_look_before_the_growth_shows_is_no_name_for_the_victim),
		cmocka_unit_test(what_a_new_cgroup_counted_before_it_was_met_is_of_this_life),
		cmocka_unit_test(one_too_small_to_be_listed_has_ended_too_if_fewer_are_left),
		cmocka_unit_test(of_those_too_small_to_be_listed_each_end_counts),
		cmocka_unit_test(the_least_usage_since_the_limit_was_met_is_kept_until_the_kill),
		cmocka_unit_test(a_group_kill_is_survived_by_who_lives_a_second_later),
		cmocka_unit_test(a_kill_while_the_one_before_is_reported_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
