/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the lines of progress, and the result. */
#include "sidecar/ship/progress.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/printable.h"
#include "lib/units.h"

#define LINE_INTERVAL_NS NS_PER_SEC
/* The sidecar kills a shipper that is silent for two minutes. */
#define ALIVE_INTERVAL_NS (20 * NS_PER_SEC)

static atomic_flag result_printed = ATOMIC_FLAG_INIT;

static void progress_say(cJSON *json)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(json);

	/*
	 * Names of files and URLs may have characters that disturb a terminal. If nobody reads the
	 * line, shipping goes on.
	 */
	if (text) {
		mend_printable(text, strlen(text), "");
		printf("%s\n", text);
	}
	fflush(stdout);
}

static void say_progress(struct progress *p)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();
	char file[256];

	json_set_str(json, "file", p->file);
	json_set_int(json, "sent", p->sent);
	json_set_int(json, "total", p->total);
	progress_say(json);
	copy_printable(file, sizeof(file), p->file, strlen(p->file));
	if (p->terminal)
		fprintf(stderr, "\r\033[K%s: %s of %s", file, SIZE_TEXT(p->sent),
			SIZE_TEXT(p->total));
	p->printed_ns = now_boottime_ns();
}

void progress_init(struct progress *p)
{
	*p = (struct progress){ .terminal = isatty(STDERR_FILENO) };
}

void progress_begin(struct progress *p, const char *file, int64_t total)
{
	p->file = file;
	p->total = total;
	p->sent = 0;
	p->printed_ns = now_boottime_ns();
}

void progress_sent(void *progress, int64_t sent)
{
	struct progress *p = progress;

	p->sent = sent;
	if (now_boottime_ns() - p->printed_ns >= LINE_INTERVAL_NS)
		say_progress(p);
}

void progress_kept(struct progress *p, int64_t bytes)
{
	p->kept = MAX(p->kept, bytes);
}

void progress_alive(void *progress)
{
	struct progress *p = progress;

	if (p->file && now_boottime_ns() - p->printed_ns >= ALIVE_INTERVAL_NS)
		say_progress(p);
}

void progress_end(struct progress *p)
{
	progress_sent(p, p->total);
	say_progress(p);
	if (p->terminal)
		fputc('\n', stderr);
}

void progress_shipped(const char *url)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();

	if (atomic_flag_test_and_set(&result_printed))
		return;
	json_set_str(json, "result", "shipped");
	json_set_str(json, "url", url);
	progress_say(json);
}

void progress_failed(const struct fault *fault)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();

	if (atomic_flag_test_and_set(&result_printed))
		return;
	json_set_str(json, "result", "failed");
	json_set(json, "retry", cJSON_CreateBool(fault_may_pass(fault->kind)));
	if (fault->retry_after_s > 0)
		json_set_int(json, "retryAfterSeconds", fault->retry_after_s);
	json_set_str(json, "kind", fault_kind_name(fault->kind));
	json_set_str(json, "error", fault->text);
	progress_say(json);
}
