/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the GPU fault in a kernel log that best explains a death. */
#include "sidecar/kernel/gpu_faults.h"

#include <stdio.h>
#include <string.h>

#include "lib/strbuf.h"

#define BACK_US ((int64_t)1800 * 1000000)
/* Tolerance for the difference between the clocks of the log and of the death */
#define SLACK_US 1000000

/* Returns whether any Python program with PyTorch may have this name. */
static bool is_common_name(const char *name)
{
	return !name[0] || strcmp(name, "pt_main_thread") == 0 || strncmp(name, "python", 6) == 0;
}

/*
 * Returns whether the PIDs of the container's processes are known as they are in the kernel log.
 * Then a name proves nothing.
 */
static bool are_numbered(const struct kernel_question *q)
{
	for (size_t i = 0; i < q->n_suspects; i++)
		if (q->suspects[i].pid > 0)
			return true;
	return false;
}

static enum gpu_whose gpu_faults_of_process(const struct gpu_fault *f,
					    const struct kernel_question *q)
{
	if (q->command > 0 && q->command == f->pid)
		return GPU_OF_PID;
	for (size_t i = 0; i < q->n_suspects; i++)
		if (q->suspects[i].pid > 0 && q->suspects[i].pid == f->pid)
			return GPU_OF_PID;
	for (size_t i = 0; !are_numbered(q) && !is_common_name(f->name) && i < q->n_suspects; i++)
		if (kernel_suspect_is_named(&q->suspects[i], f->name))
			return GPU_OF_NAME;
	return GPU_NOBODYS;
}

/* Returns whether a program outside the container made this fault. */
static bool is_of_another(const struct gpu_fault *f, const struct kernel_question *q)
{
	if (f->blame != GPU_APPLICATION)
		return false;
	return are_numbered(q) ? f->pid > 0 : !is_common_name(f->name);
}

static enum gpu_whose gpu_faults_whose(const struct gpu_fault *f, const struct kernel_question *q,
				       const struct gpus *gpus)
{
	enum gpu_whose process = gpu_faults_of_process(f, q);

	if (process != GPU_NOBODYS || is_of_another(f, q))
		return process;
	for (unsigned int i = 0; gpus->known && i < gpus->n; i++)
		if (gpu_same_device(f->device, gpus->places[i]))
			return GPU_OF_DEVICE;
	return gpus->n > 0 && !gpus->known && is_common_name(f->name) ? GPU_OF_NODE : GPU_NOBODYS;
}

/* Returns how much the fault explains. */
static int gpu_faults_weight(enum gpu_blame blame)
{
	static const int weights[] = {
		[GPU_HARDWARE] = 3, [GPU_APPLICATION] = 2, [GPU_NOTICE] = 1, [GPU_CONSEQUENCE] = 0
	};

	return weights[blame];
}

static bool is_better(const struct gpu_evidence *best, const struct gpu_fault *f, enum gpu_whose w)
{
	if (best->whose == GPU_NOBODYS)
		return true;
	if (gpu_faults_weight(f->blame) != gpu_faults_weight(best->fault.blame))
		return gpu_faults_weight(f->blame) > gpu_faults_weight(best->fault.blame);
	return w > best->whose;
}

void gpu_faults_find(const struct kmsg_log *log, const struct kernel_question *q, int64_t begin_us,
		     const struct gpus *gpus, struct gpu_evidence *ret_evidence)
{
	struct gpu_evidence best = { .whose = GPU_NOBODYS };

	for (size_t i = 0; i < log->n; i++) {
		const struct kmsg_entry *entry = &log->entries[i];
		int64_t age_us = q->ended_us - entry->time_us;
		struct gpu_fault f;

		if (!kmsg_is_believed(entry) || entry->time_us < begin_us || entry->time_us < 0 ||
		    age_us > BACK_US || age_us < -SLACK_US ||
		    !gpu_fault_parse(kmsg_text(log, i), entry->len, &f))
			continue;
		enum gpu_whose w = gpu_faults_whose(&f, q, gpus);
		if (w == GPU_NOBODYS || !is_better(&best, &f, w))
			continue;
		best = (struct gpu_evidence){ .whose = w, .fault = f };
		best.age_ns = MAX(age_us, (int64_t)0) * 1000;
		text_escape(best.line, sizeof(best.line), kmsg_text(log, i), entry->len);
	}
	*ret_evidence = best;
}
