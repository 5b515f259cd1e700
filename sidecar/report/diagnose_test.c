/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the diagnosis: it depends on numbers, and without them there is none. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "sidecar/report/diagnose.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)
#define SEC NS_PER_SEC
#define OOM FAILURE_KERNEL_OOM_CONTAINER
#define FULL_4G 4 * GIB, 4 * GIB

/* A row has the known values. All others are 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static const struct row {
	const char *what;
	enum failure_class class;
	int64_t limit, usage, shmem;
	struct {
		const char *name;
		int64_t own, growth;
		int count; /* how many processes of this size; 0: one */
		int children; /* of these, children of another */
	} top[6];
	const char *diagnosis, *advice; /* parts of the text; NULL: there must be none */
	const char *container; /* NULL: ray-worker */
	struct trend trend; /* of the first process */
	int64_t cpus, object_store, memory, shm_used, shmem_at_start; /* 0: unknown */
	int64_t file, kernel;
	bool of_part, of_command, of_driver, refused;
	/* 0: memory.high had not slowed it down; memory.high is not known */
	int64_t slowed_ns, high;
	const char *pod, *cluster;
	/* of the first process; 0: not known */
	int64_t stack, open_files, age_ns;
	uint32_t zombies, of_parent;
	struct machine_memory machine;
} rows[] = {
	/* --- One process --- */
	{ "one task that grew", OOM, FULL_4G, -1, { { "ray::leak", 3600 * MIB, 800 * MIB, 0 }, { "raylet", 40 * MIB, 0, 0 } },
	  "One process, ray::leak, held 88 % of the memory and grew by 800.0 MiB/s until the end: a leak or one oversized task",
	  "find what leak keeps; if it needs that much: @ray.remote(memory=3.6 * 1024**3), and a limit of 5.0 GiB or more" },
	{ "one task of unknown growth", OOM, FULL_4G, 0, { { "ray::leak", 3 * GIB, GROWTH_UNKNOWN, 0 } },
	  "held 75 % of the memory: a leak or one oversized task, not parallelism.", "@ray.remote(memory=3.0 * 1024**3)" },
	{ "a leak of minutes", OOM, FULL_4G, 0, { { "ray::leak", 3 * GIB, 0, 0 } },
	  "and grew for 4 min 0 s until the end, from 200.0 MiB to 3.0 GiB (12.0 MiB/s): a leak, or results that it piles up; "
	  "not parallelism.", "find what leak keeps", .trend = { 240 * SEC, 200 * MIB, 3080 * MIB, 0, 0, 300 * SEC } },
	{ "an allocation of seconds", OOM, FULL_4G, 0, { { "ray::load", 3 * GIB, 0, 0 } },
	  "and took 2.8 GiB of it in the last 4.0 s: one oversized task or a fast leak", "find what load keeps",
	  .trend = { 4 * SEC, 200 * MIB, 3072 * MIB, 0, 0, 300 * SEC } },
	{ "large, but no larger than before", OOM, FULL_4G, 0, { { "ray::Model", 3 * GIB, 0, 0 } },
	  "and had not grown for 2 min 0 s: more likely what it needs than a leak", "@ray.remote(memory=3.0 * 1024**3), and a limit",
	  .trend = { 0, 3 * GIB, 3 * GIB, 120 * SEC, 0, 120 * SEC } },
	{ "a leak that finds no more room", OOM, FULL_4G, 0, { { "ray::leak", 3 * GIB, 0, 0 } },
	  "and had not grown for 2 min 0 s, in which there was hardly any room: whether it is a leak is not known", "find what leak keeps",
	  .trend = { 100 * SEC, GIB, 3 * GIB, 120 * SEC, 115 * SEC, 300 * SEC } },
	{ "one process that is no task", FAILURE_KERNEL_OOM_PROCESS, FULL_4G, 0, { { "python3 train.py", 3 * GIB, -5, 0 } },
	  "python3 train.py, held 75 %", "find what python3 train.py keeps; if it needs that much: a limit of 5.0 GiB or more" },
	{ "an idle worker is no task", OOM, GIB, GIB, 0, { { "ray::IDLE", GIB, 5, 0 } }, "ray::IDLE, held 100 %",
	  "find what ray::IDLE keeps; if it needs that much: a limit of 1.2 GiB" },
	{ "one process, no limit of its own", FAILURE_KERNEL_OOM_NODE, -1, 4 * GIB, 0, { { "ray::leak", 3 * GIB, 0, 0 } },
	  "One process", NULL },
	{ "a limit that was not reached", FAILURE_KERNEL_OOM_POD, 8 * GIB, 4 * GIB, 0, { { "ray::leak", 3 * GIB, 0, 0 } },
	  "One process", NULL },
	{ "one, and a smaller one of its name that grew", OOM, FULL_4G, 0,
	  { { "ray::leak", 2400 * MIB, 9 * MIB, 0 }, { "ray::leak", 1300 * MIB, 8 * MIB, 0 } },
	  "One process, ray::leak, held 59 % of the memory and grew by 9.0 MiB/s until the end: a leak or one oversized task; another "
	  "ray::leak (PID 2) held 1.3 GiB and grew as well.", "find what leak keeps" },
	{ "one, and a smaller one of its name that did not grow", OOM, FULL_4G, 0,
	  { { "ray::leak", 2400 * MIB, 0, 0 }, { "ray::leak", 1300 * MIB, 0, 0 } }, "not parallelism.", "find what leak keeps" },
	{ "a recursion that does not end", OOM, FULL_4G, 0, { { "solver", 3900 * MIB, 800 * MIB, 0 } },
	  "The stack of solver (PID 1) was 3.7 GiB, 93 % of the memory: most likely a recursion that does not end, for which no limit is enough.",
	  "find what calls itself: with ulimit -s 8192 it crashes", .stack = 3800 * MIB },
	{ "a stack that is large, and no more", OOM, FULL_4G, 0, { { "solver", 3900 * MIB, 0, 0 } }, "One process, solver", "a limit of",
	  .stack = GIB },
	{ "a table for each file that may be open", OOM, FULL_4G, 0, { { "table", 3900 * MIB, 0, 0 } },
	  "and took 3.6 GiB of it in the last 1.0 s, 1.2 s after it had started: a table of a fixed size, one oversized task or a fast leak",
	  "a limit of 5.0 GiB or more; or, if it has a table with a place for each file that it may open, a lower ulimit -n (now 1073741816)",
	  .trend = { SEC, 200 * MIB, 3900 * MIB, 0, 0, SEC }, .open_files = 1073741816, .age_ns = 1200 * NS_PER_MS },
	{ "the same by a task, whose worker has just started", OOM, FULL_4G, 0, { { "ray::load", 3900 * MIB, 0, 0 } },
	  "in the last 1.0 s: one oversized task or a fast leak", "find what load keeps",
	  .trend = { SEC, 200 * MIB, 3900 * MIB, 0, 0, SEC }, .open_files = 1073741816, .age_ns = 1200 * NS_PER_MS },
	{ "the usual limit of open files", OOM, FULL_4G, 0, { { "table", 3900 * MIB, 0, 0 } }, "after it had started", "a limit of 5.0 GiB or more",
	  .trend = { SEC, 200 * MIB, 3900 * MIB, 0, 0, SEC }, .open_files = 1024, .age_ns = 1200 * NS_PER_MS },
	/* --- Other limits --- */
	{ "zombies at the limit of processes", FAILURE_PROCESS_LIMIT, FULL_4G / 8, 0, { { "supervisor", 3 * MIB, 0, 0 } },
	  "73 of the processes were zombies, which have ended and for which nobody waits: 70 are children of supervisor (PID 1). They fill a larger "
	  "limit as well.", "have supervisor wait for its children", .zombies = 73, .of_parent = 70 },
	{ "zombies of many parents", FAILURE_PROCESS_LIMIT, FULL_4G / 8, 0, { { "supervisor", 3 * MIB, 0, 0 } },
	  "73 of the processes were zombies, which have ended and for which nobody waits. They fill a larger limit as well.",
	  "have their parent wait for its children", .zombies = 73 },
	{ "a few zombies", FAILURE_PROCESS_LIMIT, FULL_4G / 8, 0, { { "supervisor", 3 * MIB, 0, 0 } }, NULL, NULL, .zombies = 9 },
	{ "zombies without a limit of processes", FAILURE_APPLICATION_ERROR, FULL_4G / 8, 0, { { "supervisor", 3 * MIB, 0, 0 } }, NULL, NULL, .zombies = 73 },
	/* --- Two processes --- */
	{ "two leakers of a size", OOM, FULL_4G, 0, { { "ray::leak", 2100 * MIB, 5 * MIB, 0 }, { "ray::leak", 1900 * MIB, 5 * MIB, 0 } },
	  "Two processes, ray::leak (PID 1) and ray::leak (PID 2), held 2.1 GiB and 1.9 GiB, together 98 % of the memory, and both grew "
	  "until the end (5.0 MiB/s and 5.0 MiB/s): two leaks, or two that need that much at the same time.",
	  "@ray.remote(memory=2.3 * 1024**3) for leak, so that Ray runs no more of them at a time than fit; or a limit of 5.0 GiB" },
	{ "two of other names, each less than half", OOM, FULL_4G, 0,
	  { { "python3 a.py", 1900 * MIB, GROWTH_UNKNOWN, 0 }, { "python3 b.py", 1800 * MIB, 0, 0 }, { "bash", 2 * MIB, 0, 0 } },
	  "Two processes, python3 a.py (PID 1) and python3 b.py (PID 2), held 1.9 GiB and 1.8 GiB, together 90 % of the memory: two leaks",
	  "a limit of 5.0 GiB or more" },
	{ "one, and a smaller one", OOM, FULL_4G, 0, { { "ray::leak", 2400 * MIB, 0, 0 }, { "ray::x", 1500 * MIB, 0, 0 } },
	  "One process, ray::leak, held 59 %", "find what leak keeps" },
	{ "three of a size are not two", OOM, FULL_4G, 0, { { "ray::load", 1300 * MIB, 0, 3 } }, "3 copies of ray::load", "for load" },
	/* --- Memory shared by forks counts for each --- */
	{ "two of a size that share most of it", OOM, FULL_4G, 0, { { "python3 a.py", 3600 * MIB, 5 * MIB, 0 }, { "python3 a.py", 3000 * MIB, 0, 0 } },
	  "2 copies of python3 a.py had up to 3.5 GiB each, of which a part is the same memory: most likely a fork left it to all of them. "
	  "python3 a.py (PID 1) had most, and grew by 5.0 MiB/s until the end.",
	  "a limit of 5.0 GiB or more" },
	{ "a pool that shares what was loaded", OOM, FULL_4G, 0, { { "python3 pool.py", 2800 * MIB, 0, 6 } },
	  "6 copies of python3 pool.py had up to 2.7 GiB each, of which a part is the same memory: most likely a fork left it to all of them.", "a limit of 5.0 GiB or more" },
	{ "a cgroup below ran out, and those outside it hold more than it may", OOM, 32 * MIB, 32 * MIB, 0,
	  { { "python3 work.py", 12 * MIB, 0, 4 } }, "4 copies of python3 work.py held 48.0 MiB together", NULL, .of_part = true },
	/* --- Growth faster than the samples --- */
	{ "a last sample of long before", OOM, FULL_4G / 8, 0, { { "hog", GIB / 4, 0, 0 } },
	  "Memory went from 512.0 MiB to the limit of 4.0 GiB in the last 25 ms: too quick for another sample; the table is from "
	  "before.", NULL },
	{ "no sample at all", OOM, 4 * GIB, -1, 0, { { 0 } }, "went to the limit of 4.0 GiB before the first sample", NULL },
	{ "a process killed at a limit above", FAILURE_KERNEL_OOM_PROCESS, FULL_4G / 8, 0, { { "hog", GIB / 4, 0, 0 } },
	  "One process, hog, held 50 %", NULL },
	{ "more than the cgroup's usage", OOM, GIB, GIB, 0, { { "ray::x", 3 * GIB, 0, 0 } }, "held 100 % of the memory", "find" },
	{ "a small task", OOM, 64 * MIB, 64 * MIB, 0, { { "ray::x", 50 * MIB, 0, 0 } }, "held 78 %",
	  "@ray.remote(memory=50 * 1024**2)" },
	/* --- Many processes --- */
	{ "many alike", OOM, FULL_4G, 0, { { "ray::load", GIB, 0, 3 }, { "raylet", 100 * MIB, 0, 0 } },
	  "3 copies of ray::load held 3.0 GiB together, 1.0 GiB each (the largest 1.0 GiB): parallelism rather than a leak of one.",
	  "@ray.remote(memory=1.1 * 1024**3) for load, or num_cpus=2: 2 of them fit into this limit at a time" },
	{ "fifteen on sixteen CPUs", OOM, 20 * GIB, 20 * GIB, 0, { { "ray::load", 1200 * MIB, 0, 15 }, { "raylet", GIB, 0, 0 } },
	  "15 copies of ray::load held 17.6 GiB together, 1.2 GiB each",
	  "@ray.remote(memory=1.3 * 1024**3) for load, or num_cpus=2: 13 of them fit", .cpus = 16000 },
	{ "one of many that leaks", OOM, FULL_4G, 0, { { "ray::load", 1700 * MIB, 9 * MIB, 0 }, { "ray::load", 450 * MIB, 0, 5 } },
	  "6 copies of ray::load held 3.9 GiB together, the largest 1.7 GiB and the others 450.0 MiB each: a leak of that one, or one oversized "
	  "task, beside parallelism.", "for load" },
	{ "some of a few hundred MiB", OOM, GIB, GIB, 0, { { "ray::load", 230 * MIB, 0, 4 } }, "4 copies of ray::load",
	  "@ray.remote(memory=260 * 1024**2) for load", .cpus = 4000 },
	{ "too large for even one", OOM, FULL_4G, 0, { { "ray::load", 1300 * MIB, 0, 3 }, { "x", 3 * GIB / 2, 0, 0 } },
	  "3 copies of ray::load", "memory=1.4 * 1024**3" },
	{ "the methods of an actor are one name", OOM, FULL_4G, 0,
	  { { "ray::A.one", GIB, 0, 0 }, { "ray::A.two", GIB, 0, 0 }, { "ray::A", GIB, 0, 0 } }, "3 copies of ray::A held 3.0 GiB",
	  "for A" },
	{ "actors have fewer at a time", OOM, FULL_4G, 0,
	  { { "ray::A.one", GIB, 0, 0 }, { "ray::A.two", GIB, 0, 0 }, { "ray::A", GIB, 0, 0 } }, "3 copies of ray::A",
	  "; or fewer of these actors at a time" },
	{ "copies that gathered on one node", OOM, FULL_4G, 0, { { "ray::load", GIB, 0, 3 } }, "3 copies of ray::load",
	  "2 of them fit into this limit at a time; or scheduling_strategy=\"SPREAD\", if other nodes have room", .pod = "p" },
	{ "blocks of Ray Data", OOM, FULL_4G, 0, { { "ray::ReadParquet->Map(clean)", GIB, 0, 3 } }, "3 copies of ray::ReadParquet->Map(clean)",
	  "; or smaller blocks, which are more of them: override_num_blocks of the read, or repartition()", .pod = "p" },
	{ "many alike that are no tasks", OOM, FULL_4G, 0, { { "python3 child.py", GIB, 0, 3 } },
	  "3 copies of python3 child.py", NULL },
	{ "two alike are neither", OOM, FULL_4G, 0, { { "ray::load", GIB, 0, 2 } }, NULL, NULL },
	{ "tasks of many names", OOM, FULL_4G, 0,
	  { { "ray::a", GIB, 0, 0 }, { "ray::b", GIB, 0, 0 }, { "ray::c", GIB / 2, 0, 0 }, { "raylet", 5 * GIB / 4, 0, 0 } },
	  "3 tasks and actors of 3 names held 2.5 GiB together, 63 % of the memory; most of it ray::a with 1.0 GiB",
	  "memory= for each of them" },
	{ "idle workers", OOM, FULL_4G, 0, { { "ray::IDLE", 100 * MIB, 0, 24 }, { "ray::x", GIB, 0, 0 } },
	  "24 idle workers (ray::IDLE) held 2.3 GiB, 59 % of the memory", "a lower RAY_idle_worker_killing_memory_threshold_bytes (Ray 2.56 and newer), or fewer CPUs for Ray on this node (num-cpus, "
	  "now \"24\")", .cpus = 24000 },
	{ "idle workers of a driver that began Ray", OOM, FULL_4G, 0, { { "ray::IDLE", 100 * MIB, 0, 24 } }, "24 idle workers",
	  "fewer CPUs for Ray on this node (num_cpus of ray.init(), now \"24\")", .cpus = 24000, .of_driver = true },
	{ "IO workers do not wait for tasks", OOM, FULL_4G, 0, { { "ray::IDLE_SpillWorker", GIB, 0, 3 }, { "ray::x", GIB / 2, 0, 0 } },
	  "3 of Ray's IO workers, which spill and restore objects, held 3.0 GiB, 75 % of the memory.", "RAY_max_io_workers" },
	{ "submitted jobs", OOM, FULL_4G, 0, { { "ray::JobSupervisor", 60 * MIB, 0, 37 }, { "python3 train.py", 40 * MIB, 0, 37 } },
	  "37 submitted jobs ran on this node: their supervisors (ray::JobSupervisor) held 2.2 GiB and Python programs, their drivers among them, "
	  "1.4 GiB, together 90 % of the memory.", "fewer jobs at a time", .container = "ray-head" },
	{ "a task and its children", OOM, FULL_4G, 0, { { "ray::load", 400 * MIB, 0, 9, 8 }, { "raylet", 100 * MIB, 0, 0 } },
	  "1 copy of ray::load and the 8 child processes that it forked (workers of a DataLoader or of multiprocessing, say) held 3.5 GiB together, "
	  "the largest 400.0 MiB.", "fewer child processes (num_workers); or @ray.remote(memory=3.9 * 1024**3) for load, for each with its children" },
	{ "two tasks and their children", OOM, FULL_4G, 0, { { "ray::load", 400 * MIB, 0, 9, 7 } },
	  "2 copies of ray::load and the 7 child processes that they forked", "memory=2.0 * 1024**3) for load" },
	{ "idle workers beside a leak", OOM, FULL_4G, 0, { { "ray::x", 2500 * MIB, 0, 0 }, { "ray::IDLE", 100 * MIB, 0, 10 } },
	  "not parallelism. 10 idle workers held 1000.0 MiB more.", "find what x keeps" },
	{ "spread over many", OOM, FULL_4G, 0,
	  { { "a", GIB, 0, 0 }, { "b", GIB, 0, 0 }, { "c", GIB / 2, 0, 0 }, { "d", MIB, 0, 0 } },
	  "No process and no name stands out among 4 processes: the most had a (1.0 GiB), b (1.0 GiB) and c (512.0 MiB).",
	  "a limit of 5.0 GiB" },
	{ "three that are not alike", OOM, FULL_4G, 0, { { "a", GIB, 0, 0 }, { "b", GIB, 0, 0 }, { "c", GIB, 0, 0 } }, NULL, NULL },
	/* --- The head --- */
	{ "a driver on the head", OOM, FULL_4G, 0, { { "python3 train.py", 2 * GIB, 0, 0 }, { "gcs_server", 100 * MIB, 0, 0 } },
	  "The driver, python3 train.py, held 2.0 GiB, 50 % of the head's memory.", "ray job submit --entrypoint-num-cpus 1",
	  .container = "ray-head" },
	{ "the same on a worker is a process", OOM, FULL_4G, 0, { { "python3 train.py", 2 * GIB, 0, 0 } },
	  "One process, python3 train.py", "find what" },
	{ "gcs_server", OOM, FULL_4G, 0, { { "gcs_server", 3 * GIB, 0, 0 } },
	  "Ray's own gcs_server held 3.0 GiB, 75 % of the memory. It keeps what is known of tasks", "RAY_task_events_max_num_task_in_gcs",
	  .container = "ray-head" },
	{ "the dashboard", OOM, FULL_4G, 0, { { "ray::DashboardAgent", 3 * GIB, 0, 0 } },
	  "Ray's own ray::DashboardAgent held 3.0 GiB, 75 % of the memory.",
	  "include-dashboard: \"false\" in rayStartParams of the head, if the dashboard is not needed; or a limit of 5.0 GiB", .container = "ray-head" },
	{ "the dashboard of a command", OOM, FULL_4G, 0, { { "ray::DashboardAgent", 3 * GIB, 0, 0 } }, "Ray's own ray::DashboardAgent held",
	  "ray start --include-dashboard=false, if the dashboard is not needed", .of_command = true },
	{ "the dashboard of a driver that began Ray", OOM, FULL_4G, 0, { { "ray::DashboardAgent", 3 * GIB, 0, 0 } },
	  "Ray's own ray::DashboardAgent held", "ray.init(include_dashboard=False), if the dashboard is not needed", .of_command = true,
	  .of_driver = true },
	{ "a task on the head", OOM, FULL_4G, 0, { { "ray::leak", 3 * GIB, 0, 0 } },
	  "1 task or actor ran on the head, beside gcs_server.", "num-cpus: \"0\" in rayStartParams of the head",
	  .container = "ray-head", .cpus = 4000 },
	/* --- Objects --- */
	{ "the object store", OOM, FULL_4G, 3 * GIB, { { "ray::x", GIB / 2, 0, 0 } },
	  "Shared memory (the object store in /dev/shm) held 3.0 GiB, 75 % of the memory: objects, not heap.", NULL },
	{ "the object store of a cluster", OOM, FULL_4G, 3 * GIB, { { "ray::x", GIB / 2, 0, 0 } },
	  "Shared memory (the object store in /dev/shm) held 3.0 GiB",
	  "kubectl afterglow objects demo -n default while the cluster runs: it says which code made the objects, and who keeps them",
	  .cluster = "demo" },
	{ "shared memory without Ray", OOM, FULL_4G, 3 * GIB, { { "python3 train.py", GIB / 2, 0, 0 } },
	  "Shared memory (files in /dev/shm, memfd, shared mappings) held 3.0 GiB, 75 % of the memory: it belongs to no process alone.",
	  "find what writes to /dev/shm or shares memory (torch DataLoader workers, multiprocessing.shared_memory); or a limit of 5.0 GiB" },
	{ "shared memory beside a raylet alone", OOM, FULL_4G, 3 * GIB, { { "raylet", GIB / 2, 0, 0 } }, "the object store in /dev/shm", NULL },
	{ "an object store with too large a budget", OOM, FULL_4G, 3 * GIB, { { "ray::x", GIB / 2, 0, 0 } },
	  "The object store may have 3.5 GiB.", "object-store-memory: \"1288490189\" in rayStartParams (30 % of the limit; now \"3758096384\")",
	  .object_store = 3584 * MIB, .shm_used = 3 * GIB },
	{ "the same of a command", OOM, FULL_4G, 3 * GIB, { { "ray::x", GIB / 2, 0, 0 } }, "The object store may have 3.5 GiB.",
	  "ray start --object-store-memory=1288490189, or object_store_memory of ray.init() (30 % of the limit; now", .of_command = true,
	  .object_store = 3584 * MIB, .shm_used = 3 * GIB },
	{ "the same of a driver that began Ray", OOM, FULL_4G, 3 * GIB, { { "ray::x", GIB / 2, 0, 0 } }, "The object store may have 3.5 GiB.",
	  "ray.init(object_store_memory=1288490189) (30 % of the limit; now \"3758096384\")", .of_command = true, .of_driver = true,
	  .object_store = 3584 * MIB, .shm_used = 3 * GIB },
	{ "shared memory beyond the object store", OOM, FULL_4G, 3 * GIB, { { "ray::x", GIB / 2, 0, 0 } },
	  "The object store may have 1.0 GiB; what is beyond belongs to something else.", "what else writes to /dev/shm",
	  .object_store = GIB, .shm_used = 3 * GIB },
	{ "shared memory of an earlier container", OOM, FULL_4G, 3 * GIB, { { "ray::x", GIB / 2, 0, 0 } },
	  "2.5 GiB of it lay there when the container started", "delete the pod", .object_store = 4 * GIB, .shm_used = 3 * GIB,
	  .shmem_at_start = 2560 * MIB },
	{ "shared memory beside a /dev/shm that is empty", OOM, FULL_4G, 3 * GIB, { { "ray::x", GIB / 2, 0, 0 }, { "raylet", MIB, 0, 0 } },
	  "Shared memory (memfd, shared mappings, files in other memory volumes) held 3.0 GiB, 75 % of the memory: it belongs to no process alone. "
	  "/dev/shm held 8.0 KiB of it.", "find what shares memory", .object_store = GIB, .shm_used = 8192 },
	{ "less shared memory than one process has", OOM, FULL_4G, 7 * GIB / 4, { { "ray::x", 9 * GIB / 4, 0, 0 } }, "One process, ray::x",
	  "find" },
	/* --- Neither processes nor objects --- */
	{ "page cache", OOM, FULL_4G, 0, { { "ray::x", GIB, 0, 0 } }, "File data in the page cache held 2.5 GiB, 63 %", NULL,
	  .file = 5 * GIB / 2 },
	{ "kernel memory", OOM, FULL_4G, 0, { { "ray::x", GIB, 0, 0 } }, "Kernel memory (page tables, sockets, inodes) held 2.0 GiB, 50 %",
	  NULL, .kernel = 2 * GIB },
	{ "promises beyond the limit", OOM, FULL_4G, 0, { { "ray::leak", 5 * GIB / 2, 0, 0 } },
	  "Ray was promised 4.0 GiB for tasks and 1.0 GiB for objects, more than the limit of 4.0 GiB.",
	  "@ray.remote(memory=2.5 * 1024**3), and a limit of 5.0 GiB or more; memory: \"2791728742\" in rayStartParams",
	  .memory = 4 * GIB, .object_store = GIB },
	{ "promises beyond the limit, most of it to objects", OOM, FULL_4G, 3 * GIB, { { "ray::x", GIB / 2, 0, 0 } },
	  "Ray was promised 2.0 GiB for tasks and 3.0 GiB for objects",
	  "object-store-memory: \"1288490189\" in rayStartParams (30 % of the limit; now \"3221225472\"): beyond that Ray spills "
	  "objects to disk; memory: \"2576980378\" in rayStartParams", .memory = 2 * GIB, .object_store = 3 * GIB, .shm_used = 3 * GIB },
	{ "the same while a task is the cause", OOM, FULL_4G, 0, { { "ray::leak", 3 * GIB, 0, 0 } },
	  "Ray was promised 2.0 GiB for tasks and 3.0 GiB for objects",
	  "memory: \"3221225472\" in rayStartParams (now \"2147483648\"), @ray.remote(memory=3.0 * 1024**3), and a limit of 5.0 GiB or more; "
	  "object-store-memory: \"1288490189\" in rayStartParams (30 % of the limit; now \"3221225472\"): beyond that Ray spills objects to disk",
	  .memory = 2 * GIB, .object_store = 3 * GIB },
	/* --- A task that requests more memory than Ray offers never runs --- */
	{ "more than the budget of the node", OOM, 19 * GIB / 10, 19 * GIB / 10, 0, { { "ray::leak", 1300 * MIB, 5 * MIB, 0 } }, "One process, ray::leak",
	  "if it needs that much: memory: \"1395864372\" in rayStartParams (now \"1224065679\"), @ray.remote(memory=1.3 * 1024**3), and a limit of "
	  "2.4 GiB or more", .memory = 1224065679, .object_store = 100 * MIB },
	{ "more than the budget, and objects", OOM, FULL_4G, 0, { { "ray::leak", 3 * GIB, 5 * MIB, 0 } }, "One process, ray::leak",
	  "memory: \"3221225472\" in rayStartParams (now \"2254857830\"), @ray.remote(memory=3.0 * 1024**3), and a limit of 5.0 GiB or more",
	  .memory = 2254857830, .object_store = 6 * GIB / 5 },
	{ "as much as the budget", OOM, FULL_4G, 0, { { "ray::leak", 3 * GIB, 5 * MIB, 0 } }, "One process, ray::leak",
	  "if it needs that much: @ray.remote(memory=3.0 * 1024**3), and a limit of 5.0 GiB or more", .memory = 3 * GIB },
	{ "two, each more than the budget", OOM, FULL_4G, 0, { { "ray::leak", 2100 * MIB, 0, 0 }, { "ray::leak", 1900 * MIB, 0, 0 } }, "Two processes",
	  "memory: \"2469606196\" in rayStartParams (now \"1073741824\"), @ray.remote(memory=2.3 * 1024**3) for leak, and a limit of 5.0 GiB or more, so "
	  "that Ray runs no more of them at a time than fit; or a limit of 5.0 GiB or more", .memory = GIB },
	{ "many alike, of which the budget runs fewer than fit", OOM, FULL_4G, 0, { { "ray::load", 800 * MIB, 0, 4 }, { "raylet", 100 * MIB, 0, 0 } },
	  "4 copies of ray::load", "@ray.remote(memory=880 * 1024**2) for load, or num_cpus=2: 2 of them fit", .memory = 2 * GIB, .cpus = 4000 },
	{ "many alike, each more than the budget", OOM, FULL_4G, 0, { { "ray::load", GIB, 0, 3 }, { "raylet", 100 * MIB, 0, 0 } },
	  "3 copies of ray::load", "num_cpus=3 for load: 2 of them fit into this limit at a time", .memory = GIB, .cpus = 6000 },
	{ "a task with its children, more than the budget", OOM, FULL_4G, 0, { { "ray::load", 400 * MIB, 0, 9, 8 }, { "raylet", 100 * MIB, 0, 0 } },
	  "1 copy of ray::load", "or memory: \"4187593114\" in rayStartParams (now \"2147483648\"), @ray.remote(memory=3.9 * 1024**3) for load, and a limit of "
	  "5.0 GiB or more, for each with its children", .memory = 2 * GIB },
	/* --- memory.high --- */
	{ "kill -9 of what memory.high had slowed down", FAILURE_KILLED, 4 * GIB, 3 * GIB, 0, { { "ray::leak", 2900 * MIB, 0, 0 } },
	  "One process, ray::leak, held 94 % of the memory and had not grown for 50.0 s, in which there was hardly any room: whether it is a leak "
	  "is not known; not parallelism. Above memory.high the kernel kills nothing: processes that ask for memory have to wait until some is freed.",
	  "a memory request that equals the limit, for which the kubelet sets no memory.high", .slowed_ns = 40 * SEC, .high = 3 * GIB, .pod = "demo",
	  .trend = { 100 * SEC, GIB, 3 * GIB, 50 * SEC, 45 * SEC, 300 * SEC } },
	{ "the same outside Kubernetes", FAILURE_TERMINATED, 4 * GIB, 3 * GIB, 0, { { "ray::leak", 2900 * MIB, 0, 0 } },
	  "Above memory.high the kernel kills nothing", "a higher memory.high", .slowed_ns = 40 * SEC, .high = 3 * GIB },
	{ "the memory.high of a cgroup below", FAILURE_KILLED, 4 * GIB, 3 * GIB, 0, { { "ray::leak", 2900 * MIB, 0, 0 } },
	  "One process, ray::leak, held 94 %", NULL, .slowed_ns = 40 * SEC, .pod = "demo" },
	{ "an OOM kill after memory.high had slowed it down", OOM, FULL_4G, 0, { { "ray::leak", 3600 * MIB, 5 * MIB, 0 } },
	  "not parallelism. Above memory.high the kernel kills nothing", "and a limit of 5.0 GiB or more; or a memory request that equals the limit",
	  .slowed_ns = 40 * SEC, .high = 3 * GIB, .pod = "demo" },
	{ "memory.high, and nothing that stands out", FAILURE_KILLED, 4 * GIB, 3 * GIB, 0, { { NULL, 0, 0, 0 } }, "Above memory.high the kernel kills",
	  "a higher memory.high", .slowed_ns = 40 * SEC, .high = 3 * GIB },
	/* --- No diagnosis --- */
	{ "no processes were seen", OOM, FULL_4G, 0, { { NULL, 0, 0, 0 } }, NULL, NULL },
	{ "no sample", OOM, -1, -1, -1, { { "ray::leak", GIB, 0, 0 } }, NULL, NULL },
	{ "a segfault with full memory", FAILURE_SEGFAULT, GIB, GIB, 0, { { "ray::leak", GIB, 5, 0 } }, NULL, NULL },
	{ "kill -9 with full memory", FAILURE_KILLED, GIB, GIB, 0, { { "ray::leak", GIB, 5, 0 } }, NULL, NULL },
	{ "an exit code", FAILURE_APPLICATION_ERROR, GIB, GIB, GIB, { { "ray::leak", GIB, 5, 0 } }, NULL, NULL },
	{ "an exit code in a pod", FAILURE_APPLICATION_ERROR, GIB, GIB, GIB, { { "ray::leak", GIB, 5, 0 } },
	  "An exit code is the command's own: what it wrote says why, if anything does.",
	  "kubectl logs -n default demo -c ray-worker (with -p once the container has been restarted)", .pod = "demo" },
	{ "no more open files", FAILURE_FILE_DESCRIPTORS_EXHAUSTED, GIB, GIB / 2, 0, { { "ray::open_files", 200 * MIB, 0, 0 } },
	  "ray::open_files (PID 1), the largest process, could have 1024 open files.",
	  "a larger ulimit -n, or find what does not close its files", .open_files = 1024 },
	{ "no more open files, of an unknown limit", FAILURE_FILE_DESCRIPTORS_EXHAUSTED, GIB, GIB / 2, 0,
	  { { "ray::open_files", 200 * MIB, 0, 0 } }, NULL, NULL },
	{ "a disk for spilling that is full", FAILURE_DISK_FULL, GIB, GIB / 2, 0, { { "ray::f", MIB, 0, 0 } },
	  "The object store was full, and Ray spills nothing to a disk that is fuller than RAY_local_fs_capacity_threshold (0.95 by default).",
	  "room on that disk, or ray.init(object_spilling_directory=) on a larger one", .of_driver = true, .refused = true },
	{ "the same below `ray start`", FAILURE_DISK_FULL, GIB, GIB / 2, 0, { { "ray::f", MIB, 0, 0 } }, "The object store was full",
	  "room on that disk, or ray start --object-spilling-directory= on a larger one", .of_command = true, .refused = true },
	{ "the same in a pod", FAILURE_DISK_FULL, GIB, GIB / 2, 0, { { "ray::f", MIB, 0, 0 } }, "The object store was full",
	  "or object-spilling-directory of rayStartParams on a larger one", .refused = true },
	/* --- The node --- */
	{ "a node that others filled", FAILURE_KERNEL_OOM_NODE, -1, 3 * GIB, -1, { { "ray::f", 2 * GIB, 0, 0 } },
	  "Of the node's 64.0 GiB, others held 60.0 GiB and this container 3.0 GiB, which has no memory limit.",
	  "memory requests that are as large", .pod = "w", .machine = { 64 * GIB, 63 * GIB } },
	{ "the same of one with a limit, and with page cache", FAILURE_KERNEL_OOM_NODE, 8 * GIB, 3 * GIB, -1, { { "ray::f", 2 * GIB, 0, 0 } },
	  "others held 61.0 GiB and this container 2.0 GiB.", "find what else ran", .file = GIB, .machine = { 64 * GIB, 63 * GIB } },
	{ "a node of which nothing is known, and page cache that was charged since", FAILURE_KERNEL_OOM_NODE, -1, 3 * GIB, -1,
	  { { "ray::f", 2900 * MIB, 0, 0 } }, "One process, ray::f, held", NULL, .file = 4 * GIB },
	{ "a node that one of several containers filled", FAILURE_KERNEL_OOM_NODE, -1, 40 * GIB, -1, { { "ray::f", 39 * GIB, 0, 0 } },
	  "One process, ray::f, held 98 % of the memory", NULL, .machine = { 64 * GIB, 63 * GIB } },
};

static int64_t known(int64_t value)
{
	return value ? value : -1;
}

static struct report report_of(const struct row *row)
{
	struct report r = {
		.id = { .container = row->container ? row->container : "ray-worker", .pod = row->pod, .cluster = row->cluster },
		.of_command = row->of_command,
		.slowed_ns = row->slowed_ns,
		.verdict = { .class = row->class, .object_refused = row->refused },
		.sample_age_ns = 25 * NS_PER_MS,
		.memory_of_part = row->of_part,
		.memory = MEMORY_ABSENT,
		.trend = row->trend,
		.shmem_at_start = known(row->shmem_at_start),
		.machine = row->machine,
		.node = { .shm_size = -1, .shm_used = known(row->shm_used), .object_store = known(row->object_store),
			  .memory = known(row->memory), .cpus = known(row->cpus), .of_driver = row->of_driver },
	};

	if (row->stack || row->open_files)
		r.large = (struct large_process){ 1, known(row->stack), known(row->open_files), 1 };
	r.large_age_ns = row->age_ns;
	r.zombies = (struct zombies){
		.n = row->zombies, .of_parent = row->of_parent, .parent = 1, .name = "supervisor"
	};
	r.memory.limit = row->limit;
	r.memory.usage = row->usage;
	r.memory.shmem = row->shmem;
	r.memory.file = row->file;
	r.memory.kernel = row->kernel;
	r.memory.high = known(row->high);
	for (size_t i = 0; i < ARRAY_SIZE(row->top) && row->top[i].name; i++)
		for (int copy = 0; copy < MAX(row->top[i].count, 1); copy++) {
			struct process p = { .rss = row->top[i].own, .growth = row->top[i].growth };
			char label[PROCESS_NAME_MAX];

			p.pid = (pid_t)r.n_processes + 1;
			snprintf(p.name, sizeof(p.name), "%s", row->top[i].name);
			components_add_one(&r.components, component_of(p.name, p.command, label),
					   label, row->top[i].own, copy < row->top[i].children);
			r.n_processes++;
			if (r.n_top < REPORT_TOP_MAX)
				r.top[r.n_top++] = p;
		}
	components_sort(&r.components);
	return r;
}

static bool says(const char *text, const char *part)
{
	return part ? strstr(text, part) != NULL : !*text;
}

static void the_numbers_decide_which_sentences_are_written(void **state)
{
	unsigned int wrong = 0;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report r = report_of(&rows[i]);

		report_diagnose(&r);
		if (says(r.diagnosis, rows[i].diagnosis) && says(r.advice, rows[i].advice))
			continue;
		print_error("%s: \"%s\" / \"%s\"\n", rows[i].what, r.diagnosis, r.advice);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/*
 * What each sentence rests on: a row above whose report has the sentence, and one number of that
 * report which, set to `value`, is not known or says otherwise. Then the sentence has to go.
 */
#define NUMBER(member) offsetof(struct report, member), sizeof(((struct report *)NULL)->member)
static const struct premise {
	const char *row, *sentence; /* the sentence, or the advice */
	size_t offset, size;
	int64_t value;
} premises[] = {
	{ "a node that others filled", "Of the node's ", NUMBER(verdict.class), OOM },
	{ "a node that others filled", "Of the node's ", NUMBER(machine.used), 5 * GIB },
	{ "a node that others filled", "Of the node's ", NUMBER(memory_shared), true },
	{ "a node that others filled", "Of the node's ", NUMBER(memory.usage), 32 * GIB },
	{ "a node that others filled", "has no memory limit", NUMBER(memory.limit), GIB },
	{ "a node that others filled", "memory requests", NUMBER(id.pod), 0 },
	{ "the same of one with a limit, and with page cache", "find what else ran on this machine", NUMBER(machine.total), 0 },
	{ "the object store of a cluster", "kubectl afterglow objects demo", NUMBER(id.cluster), 0 },
	{ "one task that grew", "One process, ", NUMBER(n_top), 0 },
	{ "one task that grew", "/s until the end", NUMBER(top[0].growth), GROWTH_UNKNOWN },
	{ "one task that grew", "a limit of ", NUMBER(memory.limit), -1 },
	{ "one task that grew", "a limit of ", NUMBER(memory.limit), 8 * GIB },
	{ "one task that grew", "One process, ", NUMBER(memory.usage), -1 },
	{ "one task that grew", "One process, ", NUMBER(top[0].rss), MIB },
	{ "one task that grew", "One process, ", NUMBER(verdict.class), FAILURE_KILLED },
	{ "a leak of minutes", " and grew for ", NUMBER(trend.grew_ns), 0 },
	{ "a leak of minutes", "a leak, or results that it piles up", NUMBER(trend.flat_ns), 60 * SEC },
	{ "an allocation of seconds", "one oversized task or a fast leak", NUMBER(trend.from), 3072 * MIB },
	{ "an allocation of seconds", " and took ", NUMBER(trend.grew_ns), 0 },
	{ "large, but no larger than before", "more likely what it needs than a leak", NUMBER(trend.flat_ns), 0 },
	{ "large, but no larger than before", "more likely what it needs than a leak", NUMBER(trend.full_ns), 115 * SEC },
	{ "a leak that finds no more room", "hardly any room", NUMBER(trend.full_ns), 0 },
	{ "a leak that finds no more room", " and had not grown for ", NUMBER(trend.flat_ns), 0 },
	{ "one, and a smaller one of its name that grew", "; another ray::leak (PID 2) held ", NUMBER(top[1].growth), 0 },
	{ "a recursion that does not end", "The stack of ", NUMBER(large.stack), -1 },
	{ "a recursion that does not end", "a recursion that does not end", NUMBER(large.pid), 7 },
	{ "a table for each file that may be open", "a table of a fixed size,", NUMBER(large_age_ns), 0 },
	{ "a table for each file that may be open", " after it had started", NUMBER(large_age_ns), 60 * SEC },
	{ "a table for each file that may be open", "ulimit -n", NUMBER(large.open_files), -1 },
	{ "a table for each file that may be open", "ulimit -n", NUMBER(large.open_files), 20000 },
	{ "a table for each file that may be open", "ulimit -n", NUMBER(large_age_ns), 60 * SEC },
	{ "zombies at the limit of processes", " of the processes were zombies", NUMBER(zombies.n), 0 },
	{ "zombies at the limit of processes", " are children of ", NUMBER(zombies.of_parent), 0 },
	{ "zombies at the limit of processes", "They fill a larger limit as well.", NUMBER(verdict.class), FAILURE_APPLICATION_ERROR },
	{ "zombies of many parents", "have their parent wait for its children", NUMBER(zombies.n), 0 },
	{ "no more open files", "the largest process, could have ", NUMBER(large.open_files), -1 },
	{ "no more open files", "a larger ulimit -n", NUMBER(large.pid), 7 },
	{ "no more open files", "a larger ulimit -n", NUMBER(verdict.class), FAILURE_KILLED },
	{ "an exit code in a pod", "An exit code is the command's own: ", NUMBER(verdict.class), FAILURE_KILLED },
	{ "an exit code in a pod", "kubectl logs", NUMBER(id.pod), 0 },
	{ "an exit code in a pod", "kubectl logs", NUMBER(id.container), 0 },
	{ "an exit code in a pod", "An exit code is the command's own: ", NUMBER(container_lives), true },
	{ "a disk for spilling that is full", "The object store was full, and Ray spills nothing", NUMBER(verdict.object_refused), false },
	{ "a disk for spilling that is full", "RAY_local_fs_capacity_threshold (0.95 by default)", NUMBER(verdict.object_refused), false },
	{ "a disk for spilling that is full", "room on that disk, or ", NUMBER(verdict.object_refused), false },
	{ "a disk for spilling that is full", "ray.init(object_spilling_directory=)", NUMBER(node.of_driver), false },
	{ "the same below `ray start`", "ray start --object-spilling-directory=", NUMBER(of_command), false },
	{ "the same in a pod", "object-spilling-directory of rayStartParams", NUMBER(of_command), true },
	{ "two leakers of a size", "Two processes, ", NUMBER(n_top), 1 },
	{ "two leakers of a size", "@ray.remote(memory=", NUMBER(memory.limit), 8 * GIB },
	{ "two leakers of a size", ", and both grew until the end", NUMBER(top[1].growth), GROWTH_UNKNOWN },
	{ "two leakers of a size", "two leaks, or two that need that much at the same time.", NUMBER(top[1].rss), MIB },
	{ "two of a size that share most of it", "most likely a fork left it to all of them.", NUMBER(memory_of_part), true },
	{ "two of a size that share most of it", " of which a part is the same memory: ", NUMBER(components.list[0].own), 2 * GIB },
	{ "two of a size that share most of it", " had most, and grew by ", NUMBER(top[0].growth), 0 },
	{ "a last sample of long before", "too quick for another sample", NUMBER(memory.limit), -1 },
	{ "a last sample of long before", "Memory went from ", NUMBER(memory.usage), 4 * GIB },
	{ "a last sample of long before", " in the last ", NUMBER(sample_age_ns), -1 },
	{ "no sample at all", "before the first sample", NUMBER(memory.limit), -1 },
	{ "many alike", "parallelism rather than a leak of one", NUMBER(components.n), 0 },
	{ "many alike", "fit into this limit at a time", NUMBER(memory.limit), -1 },
	{ "many alike", "fit into this limit at a time", NUMBER(components.list[0].largest), 0 },
	{ "blocks of Ray Data", "; or smaller blocks", NUMBER(memory.limit), -1 },
	{ "actors have fewer at a time", "; or fewer of these actors at a time", NUMBER(n_top), 0 },
	{ "fifteen on sixteen CPUs", "or num_cpus=2", NUMBER(node.cpus), 1000 },
	{ "copies that gathered on one node", "SPREAD", NUMBER(id.pod), 0 },
	{ "one of many that leaks", "a leak of that one, or one oversized ", NUMBER(components.list[0].largest), 700 * MIB },
	{ "a task and its children", "child processes that ", NUMBER(components.list[0].children), 0 },
	{ "a task and its children", "fewer child processes", NUMBER(memory.limit), 6 * GIB },
	{ "tasks of many names", "parallelism rather than one leak.", NUMBER(components.n), 0 },
	{ "tasks of many names", "parallelism rather than one leak.", NUMBER(memory.usage), 64 * GIB },
	{ "idle workers", "processes that wait for the next task.", NUMBER(components.n), 0 },
	{ "idle workers", "processes that wait for the next task.", NUMBER(components.list[0].count), 2 },
	{ "idle workers", "processes that wait for the next task.", NUMBER(components.list[0].own), MIB },
	{ "idle workers", "fewer CPUs for Ray on this node", NUMBER(node.cpus), -1 },
	{ "idle workers of a driver that began Ray", "num_cpus of ray.init()", NUMBER(node.of_driver), false },
	{ "IO workers do not wait for tasks", " of Ray's IO workers, which spill and restore objects", NUMBER(components.n), 0 },
	{ "IO workers do not wait for tasks", " of Ray's IO workers, which spill and restore objects", NUMBER(components.list[0].own), MIB },
	{ "submitted jobs", " submitted jobs ran on this node", NUMBER(components.n), 0 },
	{ "submitted jobs", " submitted jobs ran on this node", NUMBER(memory.usage), 64 * GIB },
	{ "idle workers beside a leak", " idle workers held ", NUMBER(components.list[1].count), 2 },
	{ "spread over many", "No process and no name stands out", NUMBER(components.n), 2 },
	{ "spread over many", "No process and no name stands out", NUMBER(n_processes), 3 },
	{ "a driver on the head", "The driver, ", NUMBER(id.container), 0 },
	{ "a driver on the head", "The driver, ", NUMBER(top[0].rss), GIB },
	{ "gcs_server", "Ray's own ", NUMBER(n_top), 0 },
	{ "gcs_server", "It keeps what is known of tasks, actors and objects, not their data.", NUMBER(top[0].rss), GIB },
	{ "the dashboard", "if the dashboard is not needed", NUMBER(top[0].rss), GIB },
	{ "the dashboard of a command", "ray start --include-dashboard=false", NUMBER(of_command), false },
	{ "the dashboard of a driver that began Ray", "ray.init(include_dashboard=False)", NUMBER(node.of_driver), false },
	{ "a task on the head", " ran on the head, beside gcs_server.", NUMBER(id.container), 0 },
	{ "a task on the head", " ran on the head, beside gcs_server.", NUMBER(node.cpus), 0 },
	{ "a task on the head", " ran on the head, beside gcs_server.", NUMBER(components.list[0].count), 0 },
	{ "a task on the head", " ran on the head, beside gcs_server.", NUMBER(components.list[0].own), MIB },
	{ "the object store", "Shared memory (the object store in /dev/shm) held ", NUMBER(memory.shmem), -1 },
	{ "the object store", "objects, not heap.", NUMBER(components.n), 0 },
	{ "an object store with too large a budget", " The object store may have ", NUMBER(node.object_store), -1 },
	{ "an object store with too large a budget", "object-store-memory", NUMBER(memory.limit), -1 },
	{ "the same of a command", "object_store_memory of ray.init()", NUMBER(of_command), false },
	{ "shared memory beyond the object store", "what is beyond belongs to something else.", NUMBER(node.shm_used), -1 },
	{ "shared memory of an earlier container", "lay there when the container started", NUMBER(shmem_at_start), -1 },
	{ "shared memory without Ray", "it belongs to no process alone.", NUMBER(memory.shmem), -1 },
	{ "shared memory beside a /dev/shm that is empty", " /dev/shm held ", NUMBER(node.shm_used), -1 },
	{ "page cache", "File data in the page cache held ", NUMBER(memory.file), -1 },
	{ "kernel memory", "Kernel memory (page tables, sockets, inodes) held ", NUMBER(memory.kernel), -1 },
	{ "promises beyond the limit", " Ray was promised ", NUMBER(node.memory), -1 },
	{ "promises beyond the limit", " Ray was promised ", NUMBER(node.object_store), -1 },
	{ "promises beyond the limit", " Ray was promised ", NUMBER(n_top), 0 },
	{ "promises beyond the limit", " more than the limit of ", NUMBER(memory.limit), -1 },
	{ "kill -9 of what memory.high had slowed down", "a memory request that equals the limit", NUMBER(memory.high), -1 },
	{ "the same outside Kubernetes", "Above memory.high the kernel kills nothing", NUMBER(slowed_ns), 0 },
	{ "the same outside Kubernetes", "a higher memory.high", NUMBER(memory.high), -1 },
	{ "an OOM kill after memory.high had slowed it down", "Above memory.high the kernel kills nothing", NUMBER(slowed_ns), 0 },
};

static struct report report_of_premise(const struct premise *p)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(rows) && strcmp(rows[i].what, p->row) != 0)
		i++;
	assert_true(i < ARRAY_SIZE(rows));
	return report_of(&rows[i]);
}

static bool is_said(struct report *r, const char *sentence)
{
	report_diagnose(r);
	return strstr(r->diagnosis, sentence) || strstr(r->advice, sentence);
}

static void without_its_premise_each_sentence_goes(void **state)
{
	unsigned int wrong = 0;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(premises); i++) {
		const struct premise *p = &premises[i];
		struct report r = report_of_premise(p);
		bool before = is_said(&r, p->sentence);

		/* Little-endian, so a shorter number is the beginning of the value. */
		assert_true(p->size <= sizeof(p->value));
		memcpy((char *)&r + p->offset, &p->value, p->size);
		if (before && !is_said(&r, p->sentence))
			continue;
		print_error("%s: \"%s\" is %s: \"%s\" / \"%s\"\n", p->row, p->sentence,
			    before ? "still said" : "not said at all", r.diagnosis, r.advice);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void what_a_library_of_rays_places_has_no_scheduling_strategy_of_the_user(void **state)
{
	static const char *const names[] = { "ray::ReadParquet->Map(clean)",
					     "ray::ServeReplica:app:Model", "ray::RayTrainWorker",
					     "ray::ImplicitFunc" };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct row row = { "copies",  OOM, FULL_4G, 0, { { names[i], GIB, 0, 3 } },
				   .pod = "p" };
		struct report r = report_of(&row);

		assert_true(is_said(&r, "of them fit into this limit at a time"));
		assert_null(strstr(r.advice, "SPREAD"));
	}
}

/*
 * Copies the longest part of the format without a conversion; "" if that is too short to be found
 * again.
 */
static void plain_part(const char *format, size_t len, char part[static 128])
{
	size_t best = 0, from = 0;

	part[0] = '\0';
	for (size_t i = 0; i <= len; i++)
		if (i == len || strchr("%\\\"", format[i])) {
			if (i - from > best && i - from < 128) {
				best = i - from;
				snprintf(part, 128, "%.*s", (int)best, format + from);
			}
			from = i + 2;
		}
	if (best < 12)
		part[0] = '\0';
}

/* Adds what the row's report says with the premise, and what it says without it. */
static void add_said_with_and_without(const struct premise *p, struct strbuf *said)
{
	struct report r = report_of_premise(p), without = r;

	memcpy((char *)&without + p->offset, &p->value, p->size);
	report_diagnose(&r);
	report_diagnose(&without);
	strbuf_addf(said, "%s\1%s\2%s\1%s\3", r.diagnosis, r.advice, without.diagnosis,
		    without.advice);
}

/* Whether a premise takes the part with it. said: as add_said_with_and_without writes it. */
static bool part_goes(const char *said, const char *part)
{
	for (const char *end; (end = strchr(said, '\3')); said = end + 1) {
		const char *without = strchr(said, '\2');
		const char *in = strstr(said, part), *still = strstr(without, part);

		if (in && in < without && (!still || still > end))
			return true;
	}
	return false;
}

/*
 * Each literal of diagnose.c that is long enough to be found in a diagnosis or an advice goes with
 * a premise.
 */
static void each_literal_of_the_source_goes_with_a_premise(void **state)
{
	_cleanup_strbuf_ struct strbuf source = STRBUF_INIT(256 * 1024),
				       said = STRBUF_INIT(1024 * 1024);
	unsigned int wrong = 0, n = 0;
	(void)state;

	assert_int_equal(file_read(AT_FDCWD, "sidecar/report/diagnose.c", &source, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(premises); i++)
		add_said_with_and_without(&premises[i], &said);
	for (const char *at = strbuf_str(&source), *end; (at = strpbrk(at, "SA")); at++) {
		if (strncmp(at, "SAY(r,", 6) != 0 && strncmp(at, "ADVISE(r,", 9) != 0)
			continue;
		end = strstr(at, ");\n");
		for (const char *open, *close; (open = strchr(at, '"')) && open < end;
		     at = close + 1) {
			char part[128];

			for (close = open + 1; *close != '"'; close++)
				close += *close == '\\';
			plain_part(open + 1, (size_t)(close - open - 1), part);
			n += part[0] != '\0';
			if (!part[0] || part_goes(strbuf_str(&said), part))
				continue;
			print_error("no premise takes \"%s\" with it\n", part);
			wrong++;
		}
	}
	assert_true(n > 90);
	assert_int_equal(wrong, 0);
}

static void an_earlier_diagnosis_does_not_stay(void **state)
{
	struct report r = report_of(&rows[0]);
	(void)state;

	report_diagnose(&r);
	assert_true(r.diagnosis[0]);
	r.verdict.class = FAILURE_SEGFAULT;
	report_diagnose(&r);
	assert_string_equal(r.diagnosis, "");
	assert_string_equal(r.advice, "");
}

/* A kill frees the memory, and the last sample may be from right after it. */
static void what_held_the_memory_is_not_taken_from_a_sample_after_the_kill(void **state)
{
	static const struct row killed = { .class = FAILURE_KILLED,
					   .limit = 4 * GIB,
					   .usage = MIB,
					   .top = { { "sh", MIB / 2, 0, 0 } },
					   .slowed_ns = 40 * SEC,
					   .high = 3 * GIB };
	struct report r = report_of(&killed);
	(void)state;

	r.memory.peak = 3 * GIB;
	report_diagnose(&r);
	assert_string_equal(
		r.diagnosis,
		"Above memory.high the kernel kills nothing: processes that ask for memory have to wait until some is freed.");
	assert_string_equal(r.advice, "a higher memory.high");
}

static void tasks_of_many_names_are_given_no_memory_if_one_needs_more_than_the_node_offers(void **state)
{
	static const struct row row = { .class = OOM,
					FULL_4G,
					.top = { { "ray::a", GIB, 0, 0 },
						 { "ray::b", GIB, 0, 0 },
						 { "ray::c", GIB / 2, 0, 0 },
						 { "raylet", 5 * GIB / 4, 0, 0 } },
					.memory = GIB - 1 };
	struct report r = report_of(&row);
	(void)state;

	report_diagnose(&r);
	assert_string_equal(r.advice, "a limit of 5.0 GiB or more");
}

static void in_a_job_of_slurm_a_limit_has_the_form_of_its_options(void **state)
{
	struct report r = report_of(&rows[0]);
	(void)state;

	r.of_command = r.of_slurm = true;
	report_diagnose(&r);
	assert_non_null(
		strstr(r.advice, "a limit of 5.0 GiB or more (--mem=5120M, or --mem-per-cpu)"));
}

static void sentences_are_whole_and_advice_comes_with_a_diagnosis(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report r = report_of(&rows[i]);

		report_diagnose(&r);
		assert_true(r.diagnosis[0] || !r.advice[0]);
		if (!r.diagnosis[0])
			continue;
		assert_int_equal(r.diagnosis[strlen(r.diagnosis) - 1], '.');
		assert_true(strlen(r.diagnosis) < sizeof(r.diagnosis) - 1 &&
			    strlen(r.advice) < sizeof(r.advice) - 1);
	}
}

static void what_still_ran_is_said_of_any_end_but_one_for_lack_of_memory(void **state)
{
	static const struct {
		struct row row;
		const char *still_running, *diagnosis;
	} cases[] = {
		{ { .class = FAILURE_KILLED }, "24.0 s after it", "24.0 s after it." },
		{ { .class = FAILURE_POD_DELETED }, "24.0 s after it", "24.0 s after it." },
		{ { .class = FAILURE_APPLICATION_ERROR, .pod = "p" }, "24.0 s after it",
		  "An exit code is the command's own: what it wrote says why, if anything does. 24.0 s after it." },
		{ { .class = FAILURE_KILLED }, NULL, "" },
		{ { .class = OOM }, "24.0 s after it", "" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report r = report_of(&cases[i].row);

		r.still_running = cases[i].still_running;
		report_diagnose(&r);
		assert_string_equal(r.diagnosis, cases[i].diagnosis);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_decide_which_sentences_are_written),
		cmocka_unit_test(without_its_premise_each_sentence_goes),
		cmocka_unit_test(what_a_library_of_rays_places_has_no_scheduling_strategy_of_the_user),
		cmocka_unit_test(each_literal_of_the_source_goes_with_a_premise),
		cmocka_unit_test(an_earlier_diagnosis_does_not_stay),
		cmocka_unit_test(what_held_the_memory_is_not_taken_from_a_sample_after_the_kill),
		cmocka_unit_test(tasks_of_many_names_are_given_no_memory_if_one_needs_more_than_the_node_offers),
		cmocka_unit_test(in_a_job_of_slurm_a_limit_has_the_form_of_its_options),
		cmocka_unit_test(what_still_ran_is_said_of_any_end_but_one_for_lack_of_memory),
		cmocka_unit_test(sentences_are_whole_and_advice_comes_with_a_diagnosis),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
