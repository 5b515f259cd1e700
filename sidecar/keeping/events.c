/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the sidecar's own log: one JSON line per event. */
#include "sidecar/keeping/events.h"

#include "lib/json.h"
#include "lib/outlet.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define EVENT_LINE_MAX (16 * 1024)

void event_emit(const struct record_options *options, const char *event, const char *container,
		cJSON *fields)
{
	_cleanup_json_ cJSON *line = cJSON_CreateObject();
	_cleanup_free_ char *text = NULL;
	char when[TIME_TEXT_MAX];
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(EVENT_LINE_MAX);

	json_set_str(line, "time", time_format(now_realtime_ns(), when));
	json_set_str(line, "event", event);
	if (container)
		json_set_str(line, "container", container);
	while (fields && fields->child) {
		cJSON *field = cJSON_DetachItemViaPointer(fields, fields->child);

		if (!cJSON_AddItemToObject(line, field->string, field))
			cJSON_Delete(field);
	}
	cJSON_Delete(fields);
	text = options->events ? cJSON_PrintUnformatted(line) : NULL;
	if (!text)
		return;
	strbuf_addf(&out, "%s\n", text);
	if (!strbuf_failed(&out))
		outlet_write(options->report_fd, strbuf_str(&out), out.len);
}
