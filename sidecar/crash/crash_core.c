/* SPDX-License-Identifier: Apache-2.0 */
/* The core of a crash: compressed into its bundle by a child. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/crash/crash_internal.h"

#define PACK_NS (1800 * NS_PER_SEC)
#define SUMMARY_FILE_MAX ((uint64_t)256 << 20)
#define SPACE_LEFT ((uint64_t)64 << 20) /* on the filesystem of the bundles, for reports */
#define SPACE_LEFT_PART 20 /* and one part in so many of it */
#define ANSWER_MAX 4096

static void count_packed(struct crash *crash, const struct child_result *r, const cJSON *json, bool committed)
{
	struct core_stats *stats = crash->owner->stats;

	if (committed) {
		stats->packed++;
		stats->packed_bytes += (uint64_t)MAX(json_int(json, "bytesOut", 0), (int64_t)0);
	} else
		stats->dropped[r->timed_out ? CORE_DROP_TIMEOUT : CORE_DROP_FAILED]++;
}

static void on_packed(const struct child_result *r, void *arg)
{
	struct crash *crash = arg;
	_cleanup_json_ cJSON *json = NULL;
	const char *sha256;
	struct err err = { 0 };
	bool committed = false;

	crash->packer = NULL;
	crash->packed = true;
	json_parse(r->output, r->output_len, &json, NULL);
	sha256 = json_str(json, "sha256");
	if (!r->exited_well || !sha256 || strlen(sha256) != 64) {
		log_warning_limited("core of %s (PID %d) not kept: %.300s", crash->info.comm, (int)crash->info.pid,
				    r->timed_out ? "it took too long" : r->errors[0] ? r->errors : "afterglow-pack failed");
		extend_abort(TAKE_PTR(crash->extension));
	} else {
		if (!json_bool(json, "complete", true))
			log_warning_limited("core of %s (PID %d): %.150s", crash->info.comm, (int)crash->info.pid,
					    json_str(json, "why") ? json_str(json, "why") : "incomplete");
		committed = extend_commit(TAKE_PTR(crash->extension), sha256, &err) >= 0;
		if (!committed)
			log_warning_limited("core of %s (PID %d) not kept: %s", crash->info.comm, (int)crash->info.pid,
					    err_text(&err));
	}
	count_packed(crash, r, json, committed);
	crash->owner->callbacks.added(crash->owner->callbacks.arg);
	crash_free_if_over(crash);
}

/* What may be written beside the bundles, so that reports still fit; 0: nothing. */
static uint64_t room_for_core(const char *bundle, enum cores_mode mode, int64_t room)
{
	struct statvfs fs;
	uint64_t free_bytes, reserve, most;

	if (statvfs(bundle, &fs) < 0)
		return 0;
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	reserve = MIN(SPACE_LEFT, (uint64_t)fs.f_blocks * fs.f_frsize / SPACE_LEFT_PART);
	most = free_bytes > reserve ? free_bytes - reserve : 0;
	most = MIN(most, (uint64_t)MAX(room, (int64_t)0));
	return mode == CORES_SUMMARY ? MIN(most, SUMMARY_FILE_MAX) : most;
}

int crash_start_packer(struct crash *crash, int64_t spool_room, struct err *err)
{
	uint64_t room = room_for_core(crash->bundle, crash->owner->mode, spool_room);
	char max[24];
	const char *argv[] = { "afterglow-pack", "--mode", crash->owner->mode == CORES_FULL ? "full" : "summary", "--core-fd", "3",
			       "--out-fd", "4", "--max-bytes", max, NULL };
	struct child_work work = {
		.argv = argv,
		.fds = { crash->core_fd },
		.n_fds = 2,
		.output_max = ANSWER_MAX,
		.within_ns = PACK_NS,
	};
	int rc;

	if (room < 1 << 20)
		return err_set(err, ENOSPC, "no room beside the bundles");
	snprintf(max, sizeof(max), "%" PRIu64, room);
	rc = extend_begin(crash->bundle, crash->info.core_file, &crash->extension, &work.fds[1], err);
	if (rc < 0)
		return rc;
	return crash_start_child(crash, &work, on_packed, &crash->packer, err);
}
