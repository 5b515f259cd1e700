/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which lines of a syslog a pod's owner sees. */
#include "lib/syslog_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define UID "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb"
#define ID "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"
#define FORGED "/kubepods/pod11111111-1111-1111-1111-111111111111/1/x,task_memcg=/kubepods/pod" UID "/" ID "/z"
#define OLD "Nov 22 15:00:01 node-1 "
#define NEW "2026-11-22T15:00:01.123456+00:00 node-1 "

static const struct syslog_subject subject = { UID, "ray-head-1",
					       "/../cri-containerd-" ID ".scope" };

static const struct {
	const char *line;
	bool ours;
} rows[] = {
	{ OLD "kubelet[812]: I1122 prober.go:107] \"Probe failed\" pod=\"ml/ray-head-1\" podUID=\"" UID "\"", true },
	{ NEW "kubelet[812]: I1122 \"Killing container\" pod=\"ml/ray-head-1\"", true },
	{ NEW "containerd[700]: time=\"x\" level=info msg=\"StopContainer for \\\"" ID "\\\"\"", true },
	{ OLD "kernel: [  12.3] oom-kill:constraint=CONSTRAINT_MEMCG,cpuset=x,oom_memcg=/kubepods.slice/kubepods-pod94eb36cd_29e1_478b_b365_4cb5dfc7d6fb.slice", true },
	{ OLD "kernel: [  12.3] oom-kill:constraint=CONSTRAINT_NONE,cpuset=other,global_oom,task_memcg=/kubepods/pod" UID "/" ID ",task=x,pid=7,uid=0", true },
	{ NEW "systemd[1]: cri-containerd-" ID ".scope: Deactivated successfully.", true },
	/* Lines that concern other pods */
	{ OLD "kernel: [  12.3] oom-kill:constraint=CONSTRAINT_NONE,cpuset=" ID ",global_oom,task_memcg=/kubepods/pod0/1,task=secret,pid=7,uid=0", false },
	{ OLD "kernel: [  12.3] oom-kill:constraint=CONSTRAINT_NONE,cpuset=a,task_memcg=" ID ",global_oom,task_memcg=/kubepods/pod0/1,task=secret,pid=7", false },
	{ OLD "kernel: [  12.3] oom-kill:constraint=CONSTRAINT_NONE,cpuset=cri-containerd-" ID ".scope,mems_allow", false },
	/* Another pod's container makes cgroups with the names of ours. */
	{ OLD "kernel: [  12.3] oom-kill:constraint=C,cpuset=x,mems_allowed=0,oom_memcg=" FORGED ",task_memcg=" FORGED ",task=x,pid=7,uid=0", false },
	{ OLD "kernel: [  12.3] Tasks in " FORGED " are going to be killed due to memory.oom.group set", false },
	{ OLD "kernel: [  12.3] Memory cgroup stats for " FORGED ":", false },
	{ OLD "kubelet[812]: \"Killing container\" pod=\"ml/ray-head-12\"", false },
	{ OLD "kubelet[812]: \"Killing container\" pod=\"ml/my-ray-head-1\"", false },
	{ OLD "kubelet[812]: \"Killing container\" pod=\"ml/ray-head-1-x\"", false },
	{ OLD "kernel: [  12.3] device eth0 entered promiscuous mode", false },
	{ OLD "sshd[1]: Accepted publickey for root, ray-head-1 " UID, false },
	{ OLD "sudo: kubelet: " UID, false },
	{ OLD "cron[5]: x kubelet[812]: pod=\"ml/ray-head-1\"", false },
	{ "", false },
	{ ":", false },
	{ ": ", false },
	{ "]: " UID, false },
	{ "kernel: " UID, true },
	{ UID, false },
};

static void only_the_kernel_kubelet_and_runtime_speak_of_a_pod(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = strlen(rows[i].line);
		/* Of exactly this size, so that ASan sees a read beyond its end */
		char *copy = malloc(MAX(len, (size_t)1));

		memcpy(copy, rows[i].line, len);
		if (syslog_line_is_of(copy, len, &subject) != rows[i].ours)
			fail_msg("%s", rows[i].line);
		free(copy);
	}
}

static void an_unknown_container_or_pod_names_nothing(void **state)
{
	static const struct syslog_subject bare = { UID, NULL, "" }, nobody = { "", "", "" };
	static const char line[] = OLD "kubelet[812]: pod=\"ml/ray-head-1\" " ID;

	(void)state;
	assert_false(syslog_line_is_of(line, strlen(line), &bare));
	assert_false(syslog_line_is_of(line, strlen(line), &nobody));
}

static void of_many_lines_the_last_are_kept_whole(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 1000; i++)
		strbuf_addf(&text, OLD "kubelet[812]: %d " UID "\n" OLD "sshd[1]: %d\n", i, i);
	syslog_lines_of(strbuf_str(&text), text.len, &subject, 1000, &out);
	assert_true(out.len <= 1000 && out.len > 800);
	assert_int_equal(strncmp(strbuf_str(&out), OLD "kubelet", strlen(OLD "kubelet")), 0);
	assert_non_null(strstr(strbuf_str(&out), ": 999 " UID "\n"));
	assert_null(strstr(strbuf_str(&out), "sshd"));
	strbuf_reset(&out);
	syslog_lines_of("", 0, &subject, 1000, &out);
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_kernel_kubelet_and_runtime_speak_of_a_pod),
		cmocka_unit_test(an_unknown_container_or_pod_names_nothing),
		cmocka_unit_test(of_many_lines_the_last_are_kept_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
