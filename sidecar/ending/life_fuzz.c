/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a history with valid checksums and any content is opened, revived and reported. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "sidecar/ending/life.h"
#include "sidecar/ending/postmortem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int directory(void)
{
	static int fd = -1;
	static char path[64];

	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/dev/shm/life_fuzz.XXXXXX");
	if (!mkdtemp(path))
		abort();
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd;
}

static size_t take(void *target, size_t len, const uint8_t **data, size_t *size)
{
	size_t n = MIN(len, *size);

	memcpy(target, *data, n);
	*data += n;
	*size -= n;
	return n;
}

static void report(struct history *h)
{
	static const struct record_options options = { .warn_at = 0.8, .kernel_log.off = true };
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX),
				       json = STRBUF_INIT(REPORT_JSON_MAX);
	struct gap gap = { .from_unix_ns = 1, .until_unix_ns = 2, .to_limit_ns = -1 };
	struct life l = *history_life(h);
	struct observer o;
	struct ending e;
	struct report r;

	life_ending(&l, &e);
	if (!e.ended_ns)
		e.gap = &gap;
	life_revive(&o, h, &options);
	postmortem_report(&(struct postmortem){ .observer = &o,
						.ending = &e,
						.options = &options,
						.container = l.name,
						.report = &r });
	report_to_text(&r, &text);
	report_to_json(&r, &json);
	observer_close(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct life l = {
		.name = "ray-worker", .boot_id = "b", .started_ns = 7, .phase = LIFE_RUNS
	};
	struct history *h;

	take(&l, sizeof(l), &data, &size);
	h = history_create(directory(), "x", &l, NULL);
	if (!h)
		abort();
	for (struct sample s = { .at_ns = 8 }; take(&s, sizeof(s), &data, &size);)
		history_add(h, &s);
	history_free(h);
	h = history_open(directory(), "x", NULL);
	if (h)
		report(h);
	unlinkat(directory(), "x", 0);
	return 0;
}
