/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a core and its backtrace show of a crash. */
#include "sidecar/crash/crash_info.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/printable.h"
#include "sidecar/store/bundle.h"

/* Takes the first line; text may be NULL. */
static void crash_info_take_text(const char *text, char *to, size_t size)
{
	copy_printable(to, size, text ? text : "", text ? strcspn(text, "\n") : 0);
}

int crash_info_of_summary(const char *text, const char *backtrace, struct crash_info *info,
			  struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;
	const struct {
		const char *path;
		char *to;
		size_t size;
	} texts[] = {
		{ "executable", info->executable, sizeof(info->executable) },
		{ "code", info->code, sizeof(info->code) },
		{ "refused", info->refused, sizeof(info->refused) },
		{ "message", info->message, sizeof(info->message) },
		{ "faultAddress", info->fault_address, sizeof(info->fault_address) },
		{ "crashedFrame.function", info->function, sizeof(info->function) },
		{ "crashedFrame.module", info->module, sizeof(info->module) },
		{ "crashedFrame.offset", info->offset, sizeof(info->offset) },
		{ "crashedFrame.buildId", info->build_id, sizeof(info->build_id) },
		{ "crashedFrame.source", info->source, sizeof(info->source) },
		{ "python", info->python, sizeof(info->python) },
	};
	int rc = json_parse(text, strlen(text), &json, err);

	if (rc < 0)
		return rc;
	if (!cJSON_IsObject(json))
		return err_set(err, EPROTO, "a backtrace's summary that is no object");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		crash_info_take_text(json_str(json, texts[i].path), texts[i].to, texts[i].size);
	int64_t number = json_int(json, "signal", 0);
	if (!info->signal && number > 0 && number < 65)
		info->signal = (int)number;
	number = json_int(json, "threads", 0);
	info->threads = number > 0 && number < 10000000 ? (unsigned int)number : 0;
	number = json_int(json, "pid", 0);
	if (!info->pid && number > 0 && number <= INT32_MAX)
		info->pid = (pid_t)number;
	number = json_int(json, "tid", 0);
	if (!info->tid && number > 0 && number <= INT32_MAX)
		info->tid = (pid_t)number;
	number = json_int(json, "sentBy", -1);
	info->sent = number >= 0 && number <= INT32_MAX;
	info->sender = info->sent ? (pid_t)number : 0;
	if (!info->comm[0])
		crash_info_take_text(json_str(json, "comm"), info->comm, sizeof(info->comm));
	info->cut = info->cut || json_bool(json, "coreCut", false);
	crash_info_take_text(backtrace, info->sentence, sizeof(info->sentence));
	info->unwound = true;
	return 0;
}

const char *crash_info_where(const struct crash_info *info, char *text, size_t size)
{
	text[0] = '\0';
	if (info->function[0] && info->module[0])
		snprintf(text, size, "%s (%s)", info->function, path_base_name(info->module));
	else if (info->function[0])
		snprintf(text, size, "%s", info->function);
	else if (info->module[0])
		snprintf(text, size, "%s+%s", path_base_name(info->module),
			 info->offset[0] ? info->offset : "?");
	return text;
}

void crash_info_name_core(struct crash_info *info)
{
	char comm[sizeof(info->comm)];

	snprintf(comm, sizeof(comm), "%s", info->comm[0] ? info->comm : "unknown");
	bundle_sanitize(comm);
	snprintf(info->core_file, sizeof(info->core_file), "core.%s.%d.zst", comm, (int)info->pid);
}
