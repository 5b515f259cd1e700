/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which pod and container a process belongs to. */
#include "node/pod_of_process.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define UID "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb"
#define SLICE "94eb36cd_29e1_478b_b365_4cb5dfc7d6fb"
#define OTHER "01234567-89ab-cdef-0123-456789abcdef"
#define ID "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"
#define ID2 "a000000000000000000000000000000000000000000000000000000000000000"

static const struct row {
	const char *text;
	int rc;
	const char *pod, *container;
} rows[] = {
	/* v2 */
	{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" SLICE ".slice/cri-containerd-" ID ".scope\n", 0, UID, ID },
	{ "0::/kubepods.slice/kubepods-pod" SLICE ".slice/crio-" ID ".scope\n", 0, UID, ID },
	{ "0::/kubepods.slice/kubepods-pod" SLICE ".slice/crio-" ID ".scope/container\n", 0, UID, ID },
	{ "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" SLICE ".slice/docker-" ID ".scope\n", 0, UID, ID },
	{ "0::/kubepods/burstable/pod" UID "/" ID "\n", 0, UID, ID },
	{ "0::/kubepods/pod" UID "/crio-" ID "\n", 0, UID, ID },
	{ "0::/kubepods/burstable/pod" UID "/crio-" ID "/container\n", 0, UID, ID },
	{ "0::/kubepods/besteffort/pod" UID "/" ID "/ray-node_1/user\n", 0, UID, ID },
	/* a kubelet with a root of its own, as in kind */
	{ "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" SLICE ".slice/cri-containerd-" ID ".scope\n", 0, UID, ID },
	{ "0::/docker/" ID2 "/kubelet/kubepods/burstable/pod" UID "/" ID "\n", 0, UID, ID },
	/* a static pod */
	{ "0::/kubepods/burstable/pod8a7fd3b1b0c5e0a9f6ae2cb3a1ff0d3c/" ID, 0, "8a7fd3b1b0c5e0a9f6ae2cb3a1ff0d3c", ID },
	/* seen from a cgroup namespace */
	{ "0::/../../kubepods-burstable.slice/kubepods-burstable-pod" SLICE ".slice/cri-containerd-" ID ".scope\n", 0, UID, ID },
	{ "0::/../../pod" UID "/" ID "\n", 0, UID, ID },
	{ "0::/../../../burstable/pod" UID "/" ID "\n", 0, UID, ID },
	{ "0::/../cri-containerd-" ID ".scope\n", -ENOENT, NULL, NULL },
	/* v1, hybrid */
	{ "12:memory:/kubepods/burstable/pod" UID "/" ID "\n1:name=systemd:/kubepods/burstable/pod" UID "/" ID "\n0::/\n", 0, UID, ID },
	{ "3:cpu,cpuacct:/\n2:memory:/kubepods/pod" UID "/" ID "\n", 0, UID, ID },
	{ "12:memory:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" SLICE ".slice/crio-" ID ".scope\n"
	  "1:name=systemd:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" SLICE ".slice/crio-" ID ".scope\n0::/\n", 0, UID, ID },
	{ "12:memory:/kubepods/burstable/pod" UID "/crio-" ID "\n4:pids:/kubepods/burstable/pod" UID "/crio-" ID "\n", 0, UID, ID },
	/* moved above its container in one hierarchy */
	{ "3:pids:/kubepods/pod" UID "\n2:memory:/kubepods/pod" UID "/" ID "\n", 0, UID, ID },
	{ "2:memory:/kubepods/pod" UID "/" ID "\n3:pids:/kubepods/pod" UID "\n", 0, UID, ID },
	/* in a pod, but in none of its containers */
	{ "0::/kubepods.slice/kubepods-pod" SLICE ".slice/crio-conmon-" ID ".scope\n", 0, UID, "" },
	{ "0::/kubepods/burstable/pod" UID "/crio-conmon-" ID "\n", 0, UID, "" },
	{ "12:memory:/kubepods.slice/kubepods-pod" SLICE ".slice/crio-conmon-" ID ".scope\n0::/\n", 0, UID, "" },
	{ "12:memory:/kubepods/besteffort/pod" UID "/crio-conmon-" ID "\n0::/\n", 0, UID, "" },
	{ "0::/kubepods/pod" UID "/" ID "0\n", 0, UID, "" },
	{ "0::/kubepods/pod" UID "/init\n", 0, UID, "" },
	{ "0::/kubepods/pod" UID, 0, UID, "" },
	/* in no pod */
	{ "", -ENOENT, NULL, NULL },
	{ "\n\n", -ENOENT, NULL, NULL },
	{ "0::/", -ENOENT, NULL, NULL },
	{ "0::/system.slice/sshd.service\n", -ENOENT, NULL, NULL },
	{ "0::/docker/" ID "\n", -ENOENT, NULL, NULL },
	/* CRI-O's default for the cgroup of its conmon */
	{ "0::/system.slice/crio-conmon-" ID ".scope\n", -ENOENT, NULL, NULL },
	{ "0::/system.slice/crio.service\n", -ENOENT, NULL, NULL },
	/* hostile: the name of another pod below one's own container */
	{ "0::/kubepods/pod" UID "/" ID "/kubepods/pod" OTHER "/" ID2 "\n", 0, UID, ID },
	{ "0::/kubepods/pod" UID "/" ID "/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/" ID2 "\n", 0, UID, ID },
	/* two hierarchies that disagree */
	{ "2:memory:/kubepods/pod" UID "/" ID "\n3:pids:/kubepods/pod" OTHER "/" ID "\n", -EPROTO, NULL, NULL },
	{ "2:memory:/kubepods/pod" UID "/" ID "\n3:pids:/kubepods/pod" UID "/" ID2 "\n", -EPROTO, NULL, NULL },
	/* not a UID */
	{ "0::/kubepods/pod../" ID "\n", -ENOENT, NULL, NULL },
	{ "0::/kubepods/pod94EB36CD-29e1-478b-b365-4cb5dfc7d6fb/" ID "\n", -ENOENT, NULL, NULL },
	{ "0::/kubepods/pod" UID "0/" ID "\n", -ENOENT, NULL, NULL },
	{ "0::/kubepods/pod94eb36cd/" ID "\n", -ENOENT, NULL, NULL },
	{ "0::/notkubepods/pod" UID "/" ID "\n", -ENOENT, NULL, NULL },
	{ "0::/xkubepods-pod" SLICE ".slice/" ID "\n", -ENOENT, NULL, NULL },
	{ "0::/kubepods-pod.slice/" ID "\n", -ENOENT, NULL, NULL },
	/* truncated lines */
	{ "0:", -ENOENT, NULL, NULL },
	{ "0::", -ENOENT, NULL, NULL },
	{ "0::kubepods/pod" UID "/" ID, -ENOENT, NULL, NULL },
	{ "garbage\n0::/kubepods/pod" UID "/" ID, 0, UID, ID },
};

static void each_shape_of_a_path_names_its_pod_and_container(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pod_of_process pod = { .pod_uid = "unset" };
		int rc = pod_of_cgroups(rows[i].text, &pod, NULL);

		if (rc != rows[i].rc)
			print_error("row %zu: %s\n", i, rows[i].text);
		assert_int_equal(rc, rows[i].rc);
		assert_string_equal(pod.pod_uid, rc == 0 ? rows[i].pod : "unset");
		assert_string_equal(pod.container_id, rc == 0 ? rows[i].container : "");
	}
}

static void a_process_that_is_gone_belongs_to_no_pod(void **state)
{
	struct pod_of_process pod;

	(void)state;
	assert_int_equal(pod_of_process("/nonexistent", 1, &pod, NULL), -ENOENT);
	assert_int_equal(pod_of_process("/proc", 0x7ffffff0, &pod, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_shape_of_a_path_names_its_pod_and_container),
		cmocka_unit_test(a_process_that_is_gone_belongs_to_no_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
