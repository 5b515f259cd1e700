/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of parsing what the kernel log says about GPUs, from lines of drivers of several versions,
 * and hostile lines.
 */
#include "sidecar/kernel/xid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

static const struct {
	const char *text;
	bool found;
	struct gpu_fault fault; /* everything but the meaning */
} lines[] = {
	{ "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.", true,
	  { .xid = 79, .blame = GPU_HARDWARE, .device = "0000:3b:00", .pid = 1234 } },
	{ "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.", true,
	  { .xid = 79, .blame = GPU_HARDWARE, .device = "0000:01:00", .pid = -1 } },
	{ "NVRM: Xid (PCI:0000:01:00): 79, pid=811977, name=nvidia-smi, GPU has fallen off the bus.", true,
	  { .xid = 79, .blame = GPU_HARDWARE, .device = "0000:01:00", .pid = 811977, .name = "nvidia-smi" } },
	{ "NVRM: Xid (PCI:0000:0a:00): 31, pid=13332, name=cuda_plot_k32_v, Ch 00000010, intr 00000000. MMU Fault: ENGINE CE2", true,
	  { .xid = 31, .blame = GPU_APPLICATION, .device = "0000:0a:00", .pid = 13332, .name = "cuda_plot_k32_v" } },
	{ "NVRM: Xid (PCI:0000:00:07): 31, pid=2512125, name=ray::Trainer.f, Ch 00000008, intr 00000000. MMU Fault", true,
	  { .xid = 31, .blame = GPU_APPLICATION, .device = "0000:00:07", .pid = 2512125, .name = "ray::Trainer.f" } },
	{ "NVRM: Xid (PCI:0000:0a:00): 45, pid='<unknown>', name=<unknown>, Ch 00000008", true,
	  { .xid = 45, .blame = GPU_CONSEQUENCE, .device = "0000:0a:00", .pid = -1 } },
	{ "NVRM: Xid (PCI:0000:00:08): 94, pid='<unknown>', name=<unknown>, Contained: SM (0x1). RST: No, D-RST: No", true,
	  { .xid = 94, .blame = GPU_HARDWARE, .device = "0000:00:08", .pid = -1 } },
	{ "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.", true,
	  { .xid = 63, .blame = GPU_NOTICE, .device = "0000:10:1c", .pid = 1896 } },
	{ "NVRM: Xid (PCI:0000:cb:00): 109, pid=1797828, name=pt_main_thread, Ch 00000008, errorString CTX SWITCH TIMEOUT", true,
	  { .xid = 109, .blame = GPU_HARDWARE, .device = "0000:cb:00", .pid = 1797828, .name = "pt_main_thread" } },
	{ "NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000)", true,
	  { .xid = 149, .blame = GPU_HARDWARE, .device = "0019:01:00", .pid = -1 } },
	{ "NVRM: Xid (0000:03:00): 14, Channel 00000001", true,
	  { .xid = 14, .blame = GPU_NOTICE, .device = "0000:03:00", .pid = -1 } },
	{ "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.", true,
	  { .xid = 79, .blame = GPU_HARDWARE, .device = "0000:01:00.0", .pid = -1 } },
	{ "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\n"
	  "NVRM: fallen off the bus and is not responding to commands.", true,
	  { .xid = 79, .blame = GPU_HARDWARE, .device = "0000:b3:00.0", .pid = -1 } },
	{ "amdgpu 0000:0c:00.0: amdgpu: GPU reset begin!", true, { .blame = GPU_HARDWARE, .device = "0000:0c:00.0", .pid = -1 } },
	{ "amdgpu 0005:01:00.0: GPU reset begin!", true, { .blame = GPU_HARDWARE, .device = "0005:01:00.0", .pid = -1 } },
	{ "amdgpu 0000:2b:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:7 pasid:32771, for process wezterm-gui pid 5044 "
	  "thread wezterm-gu:cs0 pid 5072)", true,
	  { .blame = GPU_APPLICATION, .device = "0000:2b:00.0", .pid = 5044, .name = "wezterm-gui" } },
	{ "amdgpu 0000:0e:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:173 vmid:8 pasid:32791)", true,
	  { .blame = GPU_APPLICATION, .device = "0000:0e:00.0", .pid = -1 } },
	/* --- Lines that look like faults --- */
	{ "amdgpu 0000:44:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0 on hub 0", false, { 0 } },
	{ "amdgpu: GPU reset begin!", false, { 0 } },
	{ "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01", false, { 0 } },
	{ "x[1]: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", false, { 0 } },
	{ "GPU has fallen off the bus", false, { 0 } },
	{ "NVRM: Xid (PCI:0000:3b:00): , pid=1", false, { 0 } },
	{ "NVRM: Xid (PCI:0000:3b:00): 99999999999999999999, pid=1", false, { 0 } },
	{ "NVRM: Xid (PCI:0000:3b:00", false, { 0 } },
	{ "NVRM: Xid (PCI:", false, { 0 } },
	{ "", false, { 0 } },
	/* A name with a comma is cut there. It only has to match the name of a process. */
	{ "NVRM: Xid (PCI:0000:3b:00): 13, pid=7, name=a, b, Graphics Exception", true,
	  { .xid = 13, .blame = GPU_APPLICATION, .device = "0000:3b:00", .pid = 7, .name = "a" } },
	{ "NVRM: Xid (PCI:0000:3b:00): 13, pid=99999999999999999999, name=", true,
	  { .xid = 13, .blame = GPU_APPLICATION, .device = "0000:3b:00", .pid = -1 } },
	{ "NVRM: Xid (PCI:0000:3b:00:0000:3b:00:0000:3b:00): 13", false, { 0 } },
};

static void lines_of_drivers_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct gpu_fault *want = &lines[i].fault;
		struct gpu_fault f;

		if (gpu_fault_parse(lines[i].text, strlen(lines[i].text), &f) != lines[i].found)
			fail_msg("%s", lines[i].text);
		if (!lines[i].found)
			continue;
		if (f.xid != want->xid || f.blame != want->blame || f.pid != want->pid ||
		    strcmp(f.name, want->name) != 0 || strcmp(f.device, want->device) != 0)
			fail_msg("%s: Xid %d, %d, pid %d, name '%s', device '%s'", lines[i].text,
				 f.xid, (int)f.blame, (int)f.pid, f.name, f.device);
		assert_true(strlen(f.meaning) > 10);
	}
}

static void a_line_may_be_cut_anywhere(void **state)
{
	struct gpu_fault f;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		for (size_t len = 0; len < strlen(lines[i].text); len++)
			gpu_fault_parse(lines[i].text, len, &f);
}

static void the_table_is_in_order_and_says_each_once(void **state)
{
	static const int numbers[] = {
#define XID(number, blame, meaning) number,
#include "sidecar/kernel/xid.def"
#undef XID
	};
	enum gpu_blame blame;
	(void)state;

	for (size_t i = 1; i < ARRAY_SIZE(numbers); i++)
		assert_true(numbers[i] > numbers[i - 1]);
	assert_null(xid_meaning(7, &blame));
	assert_non_null(xid_meaning(119, &blame));
	assert_int_equal(blame, GPU_HARDWARE);
}

static void devices_are_compared_without_their_function(void **state)
{
	(void)state;
	assert_true(gpu_same_device("0000:3b:00", "0000:3B:00.0"));
	assert_false(gpu_same_device("0000:3b:00", "0000:3b:01.0"));
	assert_false(gpu_same_device("", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_drivers_are_read),
		cmocka_unit_test(a_line_may_be_cut_anywhere),
		cmocka_unit_test(the_table_is_in_order_and_says_each_once),
		cmocka_unit_test(devices_are_compared_without_their_function),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
