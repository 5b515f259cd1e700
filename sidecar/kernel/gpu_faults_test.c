/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which GPU faults in a kernel log are related to a death. */
#include "sidecar/kernel/gpu_faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "sidecar/kernel/kernel_evidence.h"

#define S ((int64_t)1000000)
#define ENDED (5000 * S)
#define OFF_THE_BUS "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
#define FAULT_OF(name) "NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=" name ", Ch 00000008, intr 00000000. MMU Fault"

static const struct gpus none = { .n = 0 }, some = { .n = 2 },
			 ours = { .n = 1, .known = true, .places = { "0000:3b:00.0" } },
			 others = { .n = 1, .known = true, .places = { "0000:86:00.0" } };
static const struct kernel_suspect by_name[] = { { .name = "ray::Trainer.fit" },
						 { .name = "python3 serve.py" } };
static const struct kernel_suspect by_pid[] = { { .name = "", .pid = 4711 } };

static struct gpu_evidence found;

/* Looks at one line, which was logged so many seconds before the end. */
static enum gpu_whose look(const char *line, int64_t ago_s, const struct gpus *gpus, bool numbered)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	const struct kmsg_record r = {
		.priority = 3, .time_us = ENDED - ago_s * S, .text = line, .len = strlen(line)
	};
	const struct kernel_question q = { .ended_us = ENDED,
					   .suspects = numbered ? by_pid : by_name,
					   .n_suspects = numbered ? ARRAY_SIZE(by_pid) :
								    ARRAY_SIZE(by_name) };

	assert_int_equal(kmsg_log_add(&log, &r), 0);
	gpu_faults_find(&log, &q, 1000 * S, gpus, &found);
	return found.whose;
}

static void a_gpu_of_the_container_is_its_own(void **state)
{
	(void)state;
	assert_int_equal(look(OFF_THE_BUS, 3, &ours, false), GPU_OF_DEVICE);
	assert_int_equal(found.fault.xid, 79);
	assert_int_equal(found.age_ns, 3 * S * 1000);
	assert_string_equal(found.line, OFF_THE_BUS);
	assert_int_equal(look(OFF_THE_BUS, 3, &some, false), GPU_OF_NODE);
	assert_int_equal(look(OFF_THE_BUS, 3, &others, false), GPU_NOBODYS);
	assert_int_equal(look(OFF_THE_BUS, 3, &none, false), GPU_NOBODYS);
}

static void a_process_tells_more_than_a_device(void **state)
{
	(void)state;
	assert_int_equal(look(FAULT_OF("ray::Trainer.fi"), 1, &some, false), GPU_OF_NAME);
	assert_int_equal(look(FAULT_OF("ray::Other"), 1, &some, false), GPU_NOBODYS);
	assert_int_equal(look(FAULT_OF("ray::Other"), 1, &ours, false), GPU_NOBODYS);
	assert_int_equal(look(FAULT_OF("pt_main_thread"), 1, &ours, false), GPU_OF_DEVICE);
	assert_int_equal(look(FAULT_OF("python3"), 1, &others, false), GPU_NOBODYS);
	assert_int_equal(look(FAULT_OF("anything"), 1, &none, true), GPU_OF_PID);
	assert_int_equal(look("NVRM: Xid (PCI:0000:3b:00): 31, pid=4712, name=python3, Ch 8", 1,
			      &ours, true),
			 GPU_NOBODYS);
	assert_int_equal(
		look("NVRM: Xid (PCI:0000:3b:00): 48, pid=4712, name=python3, DBE", 1, &ours, true),
		GPU_OF_DEVICE);
}

static void what_is_long_past_or_of_a_life_before_is_left_out(void **state)
{
	(void)state;
	assert_int_equal(look(OFF_THE_BUS, 1700, &ours, false), GPU_OF_DEVICE);
	assert_int_equal(look(OFF_THE_BUS, 1900, &ours, false), GPU_NOBODYS);
	assert_int_equal(look(OFF_THE_BUS, 4100, &ours, false), GPU_NOBODYS);
	assert_int_equal(look(OFF_THE_BUS, -10, &ours, false), GPU_NOBODYS);
}

static void what_users_write_to_the_log_is_no_fault(void **state)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	const struct kmsg_record r = { .priority = 1 << 3,
				       .time_us = ENDED,
				       .text = OFF_THE_BUS,
				       .len = strlen(OFF_THE_BUS) };
	const struct kernel_question q = { .ended_us = ENDED };
	(void)state;

	assert_int_equal(kmsg_log_add(&log, &r), 0);
	gpu_faults_find(&log, &q, -1, &ours, &found);
	assert_int_equal(found.whose, GPU_NOBODYS);
}

/* Xid 45 follows for each channel; the first fault of the hardware is the cause. */
static void the_first_that_explains_most_is_taken(void **state)
{
	static const char *const lines[] = {
		FAULT_OF("python3"), "NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, DBE (double bit error)",
		OFF_THE_BUS, "NVRM: Xid (PCI:0000:3b:00): 45, pid=9, name=python3, Ch 00000001",
	};
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	const struct kernel_question q = { .ended_us = ENDED };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct kmsg_record r = { .priority = 3,
					       .time_us = ENDED - 10 * S + (int64_t)i,
					       .text = lines[i],
					       .len = strlen(lines[i]) };

		assert_int_equal(kmsg_log_add(&log, &r), 0);
	}
	gpu_faults_find(&log, &q, -1, &ours, &found);
	assert_int_equal(found.fault.xid, 48);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gpu_of_the_container_is_its_own),
		cmocka_unit_test(a_process_tells_more_than_a_device),
		cmocka_unit_test(what_is_long_past_or_of_a_life_before_is_left_out),
		cmocka_unit_test(what_users_write_to_the_log_is_no_fault),
		cmocka_unit_test(the_first_that_explains_most_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
