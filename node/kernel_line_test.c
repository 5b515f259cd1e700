/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of finding out whom a line of the kernel log concerns, with hostile names. */
#include "node/kernel_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define UID_A "11111111-1111-1111-1111-111111111111"
#define UID_B "22222222-2222-2222-2222-222222222222"
#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define POD_A "/kubepods/burstable/pod" UID_A
/*
 * A container of pod A makes a cgroup whose name has a key, and cgroups below it with pod B's
 * names.
 */
#define IN_A POD_A "/" ID_A "/x,task_memcg=/kubepods/pod" UID_B "/z"
#define CONSTRAINT "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg="

#define GROUP " are going to be killed due to memory.oom.group set"

static const struct {
	const char *text;
	enum kernel_line_kind kind;
	pid_t pid;
	const char *victim; /* the expected pod */
	bool within, ends_oom;
	const char *device;
} rows[] = {
	{ "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0", KERNEL_LINE_OOM_BEGIN, 0, "", false, false, "" },
	{ "[  pid  ]   uid  tgid total_vm      rss", KERNEL_LINE_OOM_ROW, 0, "", false, false, "" },
	{ "[  16327]     0 16327     4684     4344 a] [ 5] x", KERNEL_LINE_OOM_ROW, 16327, "", false, false, "" },
	/* The thread, the user, the process */
	{ "[ 4711]  1000  4242     4684     4344 [ 1] 2 3", KERNEL_LINE_OOM_ROW, 4242, "", false, false, "" },
	{ "[ 4711]  1000", KERNEL_LINE_OOM_ROW, 4711, "", false, false, "" },
	/* A name of 15 bytes, the longest possible. */
	{ "CPU: 1 PID: 123 invoked oom-killer: gfp_mask=0xcc0", KERNEL_LINE_OOM_BEGIN, 0, "", false, false, "" },
	/*
	 * A report that began with such a line would bring its pod whatever the kernel writes until
	 * it kills.
	 */
	{ "process '/tmp/ab invoked oom-killer: x' launched '/bin/sh' with NULL argv", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "CPU: 1 PID: 103 Comm: a PID: 7 Comm: b Not tainted 6.1.0", KERNEL_LINE_OOM_INVOKER, 103, "", false, false, "" },
	{ "CPU: 1 UID: 0 PID: 17665 Comm: ray::leak Not tainted 6.18.44", KERNEL_LINE_OOM_INVOKER, 17665, "", false, false, "" },
	{ "memory: usage 980kB, limit 980kB, failcnt 5", KERNEL_LINE_OOM_MEMORY, 0, "", false, false, "" },
	{ "Tasks state (memory values in pages):", KERNEL_LINE_OOM_MEMORY, 0, "", false, false, "" },
	{ "workingset_refault_anon 12", KERNEL_LINE_OOM_MEMORY, 0, "", false, false, "" },
	{ "anon 4096\\x0afile 0\\x0akernel_sta", KERNEL_LINE_OOM_MEMORY, 0, "", false, false, "" },
	{ "DMA32 free:1kB boost:0kB", KERNEL_LINE_OOM_MEMORY, 0, "", false, false, "" },
	{ "4711 total pagecache pages", KERNEL_LINE_OOM_MEMORY, 0, "", false, false, "" },
	{ "524158 pages RAM", KERNEL_LINE_OOM_MEMORY, 0, "", false, false, "" },
	{ "Memory cgroup stats for " POD_A "/" ID_A ":", KERNEL_LINE_OOM_CGROUP, 0, UID_A, false, false, "" },
	{ "Memory cgroup stats for /kubepods: cache:1KB", KERNEL_LINE_OOM_CGROUP, 0, "", false, false, "" },
	{ "Task in " POD_A "/" ID_A " killed as a result of limit of /kubepods/pod" UID_B, KERNEL_LINE_OOM_CGROUP, 0, UID_A, false, false, "" },
	/* What another processor writes at the same time is no part of a report. */
	{ "secret 5 of tenant", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "secret (4711): drop_caches: 3", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "cgroup: fork rejected by pids controller in /kubepods/pod" UID_B, KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ " out_of_memory+0x1fd/0x4c0", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "12 secrets", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ CONSTRAINT POD_A "/" ID_A ",task_memcg=" POD_A "/" ID_A ",task=oom1,pid=19289,uid=0", KERNEL_LINE_OOM_CONSTRAINT, 19289, UID_A, true, false, "" },
	{ CONSTRAINT POD_A ",task_memcg=" POD_A "/" ID_A ",task=oom1,pid=19289,uid=0", KERNEL_LINE_OOM_CONSTRAINT, 19289, UID_A, true, false, "" },
	{ CONSTRAINT "/kubepods,task_memcg=" POD_A "/" ID_A ",task=oom1,pid=19289,uid=0", KERNEL_LINE_OOM_CONSTRAINT, 19289, UID_A, false, false, "" },
	{ "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/,task=sh,pid=171,uid=0",
	  KERNEL_LINE_OOM_CONSTRAINT, 171, "", false, false, "" },
	/* A process's name cannot make its line appear to be of another pod or process. */
	{ "oom-kill:constraint=CONSTRAINT_NONE,global_oom,task_memcg=/,task=,task_memcg=/ku,pid=171,uid=0",
	  KERNEL_LINE_OOM_CONSTRAINT, 171, "", false, false, "" },
	{ CONSTRAINT POD_A ",task_memcg=" POD_A "/" ID_A ",task=x,pid=7,u,pid=19289,uid=0", KERNEL_LINE_OOM_CONSTRAINT, 19289, UID_A, true, false, "" },
	/* Nor can the name of a cgroup that a container makes. */
	{ CONSTRAINT IN_A ",task_memcg=" IN_A ",task=x,pid=7,uid=0", KERNEL_LINE_OOM_CONSTRAINT, 7, UID_A, true, false, "" },
	{ CONSTRAINT "/kubepods,task_memcg=" IN_A ",task=x,pid=7,uid=0", KERNEL_LINE_OOM_CONSTRAINT, 7, UID_A, false, false, "" },
	{ "Memory cgroup out of memory: Killed process 16327 (oom1) total-vm:18736kB", KERNEL_LINE_PROCESS, 16327, "", false, true, "" },
	{ "Out of memory: Killed process 171 (Killed process 5 () total-vm:1kB", KERNEL_LINE_PROCESS, 171, "", false, true, "" },
	{ "Killed process 28438 (java) total-vm:20255636kB", KERNEL_LINE_PROCESS, 28438, "", false, true, "" },
	{ "Memory cgroup out of memory: Kill process 24572 (java) score 0 or sacrifice child", KERNEL_LINE_PROCESS, 24572, "", false, false, "" },
	{ "oom_reaper: reaped process 16327 (oom1), now anon-rss:0kB", KERNEL_LINE_PROCESS, 16327, "", false, false, "" },
	{ "Tasks in " POD_A "/" ID_A GROUP, KERNEL_LINE_OOM_GROUP, 0, UID_A, false, false, "" },
	{ "Tasks in " POD_A GROUP, KERNEL_LINE_OOM_GROUP, 0, UID_A, false, false, "" },
	{ "Tasks in /kubepods" GROUP, KERNEL_LINE_OOM_GROUP, 0, "", false, false, "" },
	{ "Tasks in " POD_A "/" ID_A "/a" GROUP ",task_memcg=/kubepods/pod" UID_B GROUP, KERNEL_LINE_OOM_GROUP, 0, UID_A, false, false, "" },
	{ "Tasks in" GROUP, KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "Tasks in a hurry", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "python3[123]: segfault at 10 ip 00007f sp 00007f error 4 in libc.so.6[7f+1]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	/* A name of 15 bytes, the longest possible, plain and as /dev/kmsg escapes it. */
	{ "]: segfault at [123]: segfault at 10 ip 0 sp 0 error 4", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "\\xc3\\xa4\\xc3\\xa4\\xc3\\xa4\\xc3\\xa4\\xc3\\xa4\\xc3\\xa4\\xc3\\xa4x[123]: segfault at 10 ip 0 sp 0 error 4", KERNEL_LINE_PROCESS, 123, "",
	  false, false, "" },
	/*
	 * The name of a file cannot make its line appear to be of another process, or of all pods.
	 */
	{ "x[123]: segfault at 0 ip 0 sp 0 error 4 in x[4242]: segfault at y[400000+1000]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "x[123]: bad frame in rt_sigreturn frame:0 ip:0 in x[4242]: segfault at y[4+1]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "x[123]: unhandled exception: DABT, ESR 0x1 in x[4242]: segfault at y[4+1]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "[4]: unhandled [123]: unhandled exception: DABT", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "Out of memory[123]: segfault at 0 ip 0 sp 0 error 4 in Killed process 4242 ([4+1]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "NVRM: x[123]: segfault at 0 ip 0 sp 0 error 4 in fallen off the bus[4+1]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "[  42] x[123]: segfault at 0 ip 0 sp 0 error 4", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "x[123]: segfault at 0 ip 0 sp 0 error 4 in a invoked oom-killer: [4+1]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "traps: x[123] trap int3 ip:4 sp:7 error:0 in x[42] trap [4+1]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "traps: [42] trap [123] trap int3 ip:4 sp:7 error:0 in x", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "traps: [42] trap [123] general protection fault ip:4 sp:7 error:0 in x[42] trap [4+1]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	{ "traps:  error:[123] trap int3 ip:4 sp:7 error:0 in a invoked oom-killer: [4+1]", KERNEL_LINE_PROCESS, 123, "", false, false, "" },
	/* Nor can the name of a cgroup do that. */
	{ "Memory cgroup stats for /kubepods/x[4242]: segfault at y:", KERNEL_LINE_OOM_CGROUP, 0, "", false, false, "" },
	{ "traps: x[12] general protection fault ip:4 sp:7 error:0 in x[400000+1000]", KERNEL_LINE_PROCESS, 12, "", false, false, "" },
	{ "traps: x[12] trap invalid opcode ip:401136 sp:7ffd error:0", KERNEL_LINE_PROCESS, 12, "", false, false, "" },
	{ "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.", KERNEL_LINE_PROCESS, 1234, "", false, false, "" },
	{ "NVRM: Xid (PCI:0000:3b:00): 79, pid='1234', name=python3, GPU", KERNEL_LINE_PROCESS, 1234, "", false, false, "" },
	{ "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", KERNEL_LINE_GPU, 0, "", false, false, "" },
	/* It names a process, so it is not for all pods. */
	{ "amdgpu 0000:0c:00.0: amdgpu:  in process a pid 7 thread pid 4711 thread b pid 8 pid 4712", KERNEL_LINE_PROCESS, 4712, "", false, false, "" },
	{ "amdgpu 0000:0c:00.0: amdgpu:  in process x pid 0 thread  pid 0", KERNEL_LINE_PROCESS, 0, "", false, false, "" },
	{ "amdgpu 0000:0c:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770)", KERNEL_LINE_GPU, 0, "", false, false, "" },
	{ "EXT4-fs error (device sdb1): ext4_find_entry:1455: inode #2: comm python3", KERNEL_LINE_DEVICE, 0, "", false, false, "sdb1" },
	{ "XFS (dm-3): metadata I/O error in \"xfs_da\" at daddr 0x1", KERNEL_LINE_DEVICE, 0, "", false, false, "dm-3" },
	{ "I/O error, dev nvme1n1, sector 8 op 0x0:(READ)", KERNEL_LINE_DEVICE, 0, "", false, false, "nvme1n1" },
	{ "blk_update_request: I/O error, dev sdc, sector 0", KERNEL_LINE_DEVICE, 0, "", false, false, "sdc" },
	{ "nfs: server 10.0.0.1 not responding, still trying", KERNEL_LINE_DEVICE, 0, "", false, false, "10.0.0.1:" },
	{ "EXT4-fs error (device ): x", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "x[99999999999]: segfault at 0", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "segfault at 0", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "device eth0 entered promiscuous mode", KERNEL_LINE_OTHER, 0, "", false, false, "" },
	{ "", KERNEL_LINE_OTHER, 0, "", false, false, "" },
};

static void a_line_says_whom_it_concerns(void **state)
{
	struct kernel_line l;
	char record[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(record, sizeof(record), "6,123,456789,-;%s\n SUBSYSTEM=x\n", rows[i].text);
		assert_true(kernel_line_parse(record, strlen(record), &l));
		if (l.kind != rows[i].kind || l.pid != rows[i].pid ||
		    strcmp(l.victim.pod_uid, rows[i].victim) != 0 || l.within != rows[i].within ||
		    l.ends_oom != rows[i].ends_oom || strcmp(l.device, rows[i].device) != 0)
			fail_msg("%s: kind %d, pid %d, pod %s, within %d, ends %d, device %s",
				 rows[i].text, l.kind, (int)l.pid, l.victim.pod_uid, l.within,
				 l.ends_oom, l.device);
		assert_int_equal(l.len, strlen(rows[i].text));
		assert_int_equal(l.time_us, 456789);
	}
}

static void a_name_is_hidden_whatever_it_is(void **state)
{
	static const struct {
		const char *text, *expected;
	} lines[] = {
		{ "secret invoked oom-killer: order=0", "(name left out) invoked oom-killer: order=0" },
		{ " invoked oom-killer: order=0", "(name left out) invoked oom-killer: order=0" },
		{ "EXT4-fs error (device sdb1): ext4_lookup:1855: inode #2: comm secret: iget: checksum invalid",
		  "EXT4-fs error (device sdb1): ext4_lookup:1855: inode #2: comm (name left out): checksum invalid" },
		{ "EXT4-fs error (device sdb1): f:1: comm secret: a longer text", "EXT4-fs error (device sdb1): f:1: comm (name left out): a longer text" },
		{ "EXT4-fs error (device sdb1): f:1: comm a: secret: text that is long",
		  "EXT4-fs error (device sdb1): f:1: comm (name left out): text that is long" },
		{ "EXT4-fs error (device sdb1): f:1: comm secret: path /secret/file: bad", "EXT4-fs error (device sdb1): f:1: comm (name left out)" },
		{ "EXT4-fs error (device sdb1): f:1: inode #2: comm secret", "EXT4-fs error (device sdb1): f:1: inode #2: comm (name left out)" },
		{ "EXT4-fs (sdb1): mounted filesystem", "EXT4-fs (sdb1): mounted filesystem" },
		{ "x[123]: segfault at 0", "x[123]: segfault at 0" },
	};
	char record[1024], buffer[KERNEL_TEXT_MAX];
	struct kernel_line l;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		snprintf(record, sizeof(record), "6,123,456789,-;%s\n", lines[i].text);
		assert_true(kernel_line_parse(record, strlen(record), &l));
		kernel_line_hide_name(&l, buffer);
		snprintf(record, sizeof(record), "%.*s", (int)l.len, l.text);
		assert_string_equal(record, lines[i].expected);
	}
}

static void only_the_kernels_own_records_count(void **state)
{
	static const char *const others[] = {
		"",	     ";",	   "6,1,2", "14,1,2,-;Killed process 7 (x)", "8,1,2,-;x",
		"x,1,2,-;x", "6,1,-2,-;x", "6,1;x", "6,1,2,c;Killed process 7 (x)",  "6,1,2,+;x",
		"6,1,2;x"
	};
	struct kernel_line l;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(kernel_line_parse(others[i], strlen(others[i]), &l));
	assert_true(kernel_line_parse("7,1,2,-,caller=T1;x", 19, &l));
}

static void a_device_is_mounted_where_it_is_the_source(void **state)
{
	static const char mounts[] =
		"36 35 98:0 /sdb /mnt/sdc rw,noatime master:1 - ext3 /dev/sda1 rw,errors=continue\n"
		"37 35 0:50 / /data rw - nfs4 10.0.0.1:/export rw\n";

	(void)state;
	assert_true(kernel_line_is_mounted(mounts, "sda1"));
	assert_false(kernel_line_is_mounted(mounts, "sda"));
	assert_false(kernel_line_is_mounted(mounts, "sdb"));
	assert_false(kernel_line_is_mounted(mounts, "sdc"));
	assert_true(kernel_line_is_mounted(mounts, "10.0.0.1:"));
	assert_false(kernel_line_is_mounted(mounts, "10.0.0.11:"));
	assert_false(kernel_line_is_mounted("", "sda1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_says_whom_it_concerns),
		cmocka_unit_test(a_name_is_hidden_whatever_it_is),
		cmocka_unit_test(only_the_kernels_own_records_count),
		cmocka_unit_test(a_device_is_mounted_where_it_is_the_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
