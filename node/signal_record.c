/* SPDX-License-Identifier: Apache-2.0 */
/* Parses records of the trace events signal/signal_generate and oom/mark_victim. */
#include "node/signal_record.h"

#include <signal.h>
#include <string.h>

bool signal_formats_parse(const char *signal, const char *victim,
			  struct signal_formats *ret_formats)
{
	struct signal_formats f = {
		.signal_id = trace_format_id(signal),
		.victim_id = trace_format_id(victim),
		.sender = trace_format_field(signal, "common_pid"),
		.signal = trace_format_field(signal, "sig"),
		.target = trace_format_field(signal, "pid"),
		.victim = trace_format_field(victim, "pid"),
	};

	if (f.signal_id < 0 || !f.sender.size || !f.signal.size || !f.target.size)
		return false;
	if (!f.victim.size)
		f.victim_id = -1;
	*ret_formats = f;
	return true;
}

bool signal_record_parse(const struct signal_formats *f, const struct trace_event *event,
			 struct signal_record *ret_record)
{
	uint16_t id;
	struct signal_record r;

	if (event->len < sizeof(id))
		return false;
	memcpy(&id, event->data, sizeof(id));
	bool victim = id == f->victim_id;
	if (!victim && id != f->signal_id)
		return false;
	r = (struct signal_record){
		.kind = victim ? RECORD_OOM_VICTIM : RECORD_SIGNAL,
		.time_ns = (int64_t)(event->time_ns & INT64_MAX),
		.signal = victim ? SIGKILL :
				   (int)trace_integer(event->data, event->len, f->signal, 0),
		/* common_pid has the same offset in each event. */
		.sender = (pid_t)trace_integer(event->data, event->len, f->sender, 0),
		.target = (pid_t)trace_integer(event->data, event->len,
					       victim ? f->victim : f->target, 0),
	};
	if (r.signal <= 0 || r.signal > SIGRTMAX || r.target <= 0)
		return false;
	*ret_record = r;
	return true;
}
