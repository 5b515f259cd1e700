/* SPDX-License-Identifier: Apache-2.0 */
/* Has a child compress the core of a crash into its bundle. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/crash/crashes_internal.h"

#define PACK_NS (1800 * NS_PER_SEC)
#define SUMMARY_FILE_MAX ((uint64_t)256 << 20)
#define SPACE_LEFT ((uint64_t)64 << 20) /* kept free for reports on the filesystem of the bundles */
#define SPACE_LEFT_PART 20 /* at least 1/SPACE_LEFT_PART of that filesystem is kept free */
#define ROOM_MIN (1 << 20)
#define ANSWER_MAX 4096

static void end_core(struct crash *crash)
{
	crash->packed = true;
	crash->owner->callbacks.added(crash->owner->callbacks.arg);
	crash_free_if_over(crash);
}

/* The bundle stays without it. */
static void fail_core(struct crash *crash, const struct err *err)
{
	enum core_drop why = err->code == ENOSPC    ? CORE_DROP_NO_ROOM :
			     err->code == ETIMEDOUT ? CORE_DROP_TIMEOUT :
						      CORE_DROP_FAILED;

	addition_abort(TAKE_PTR(crash->core));
	crash->owner->stats->dropped[why]++;
	log_warning_limited("the core of %s (PID %d) was not kept: %.300s", crash->info.comm,
			    (int)crash->info.pid, err_text(err));
	end_core(crash);
}

static void on_core_added(const struct err *err, void *arg)
{
	struct crash *crash = arg;
	struct core_stats *stats = crash->owner->stats;

	crash->core = NULL;
	if (err->code) {
		fail_core(crash, err);
		return;
	}
	stats->packed++;
	stats->packed_bytes += crash->packed_bytes;
	end_core(crash);
}

/* Returns false if the core cannot be added. */
static bool add_core(struct crash *crash, const cJSON *json, const char *sha256, struct err *err)
{
	if (!json_bool(json, "complete", true))
		log_warning_limited("the core of %s (PID %d) is incomplete: %.150s",
				    crash->info.comm, (int)crash->info.pid,
				    json_str(json, "why") ? json_str(json, "why") :
							    "no reason was given");
	crash->packed_bytes = (uint64_t)MAX(json_int(json, "bytesOut", 0), (int64_t)0);
	return addition_commit(crash->core, NULL, sha256, ADD_WITHIN_NS, on_core_added, crash,
			       err) >= 0;
}

static void on_packed(const struct child_result *r, void *arg)
{
	struct crash *crash = arg;
	_cleanup_json_ cJSON *json = NULL;
	struct err err = { 0 };

	crash->packer = NULL;
	json_parse(r->output, r->output_len, &json, NULL);
	const char *sha256 = json_str(json, "sha256");
	bool well = r->exited_well && sha256 && strlen(sha256) == 64;
	if (well && add_core(crash, json, sha256, &err))
		return;
	if (!well) {
		/* EPROTO adds no words of its own to those of the program. */
		err_set(&err, EPROTO, "%.250s",
			r->timed_out ? "it took too long" :
			r->errors[0] ? r->errors :
				       "afterglow-pack failed");
		err.code = r->timed_out ? ETIMEDOUT : EPROTO;
	}
	fail_core(crash, &err);
}

/*
 * In an errand: how much may be written beside the bundles, so that there is still room for
 * reports.
 */
static uint64_t room_for_core(uint64_t disk_free, uint64_t disk_size, void *arg)
{
	const struct crash *crash = arg;
	uint64_t reserve = MIN(SPACE_LEFT, disk_size / SPACE_LEFT_PART);
	uint64_t most = disk_free > reserve ? disk_free - reserve : 0;

	if (!crash->announced)
		most = MIN(most,
			   (uint64_t)crash->owner->callbacks.room(crash->owner->callbacks.arg));
	if (crash->owner->mode == CORES_SUMMARY)
		most = MIN(most, SUMMARY_FILE_MAX);
	return most < ROOM_MIN ? 0 : most;
}

static int start_packer(struct crash *crash, struct err *err)
{
	char max[24];
	const char *argv[] = { "afterglow-pack",
			       "--mode",
			       crash->owner->mode == CORES_FULL ? "full" : "summary",
			       "--core-fd",
			       "3",
			       "--out-fd",
			       "4",
			       "--max-bytes",
			       max,
			       NULL };
	struct child_work work = {
		.argv = argv,
		.fds = { crash->core_fd },
		.n_fds = 2,
		.output_max = ANSWER_MAX,
		.within_ns = PACK_NS,
	};

	snprintf(max, sizeof(max), "%" PRIu64, addition_room(crash->core));
	work.fds[1] = addition_fd(crash->core);
	return crash_start_child(crash, &work, on_packed, &crash->packer, err);
}

static void on_core_begun(const struct err *err, void *arg)
{
	struct crash *crash = arg;
	struct err local = { 0 };

	if (err->code) {
		crash->core = NULL;
		fail_core(crash, err);
	} else if (start_packer(crash, &local) < 0)
		fail_core(crash, &local);
}

void crash_begin_core(struct crash *crash)
{
	struct err err = { 0 };

	if (addition_begin(crash->owner->base, crash->bundle, crash->info.core_file, room_for_core,
			   ADD_BEGINS_NS, on_core_begun, crash, &crash->core, &err) < 0)
		on_core_begun(&err, crash);
}
