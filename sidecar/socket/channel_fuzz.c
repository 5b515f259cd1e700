/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a launcher's message. An accepted message must keep the promises of
 * channel.h.
 */
#include "sidecar/socket/channel.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct launch_message m;
	struct err err = { 0 };

	if (launch_message_parse((const char *)data, size, &m, &err) < 0) {
		if (!err.code || strnlen(err.text, sizeof(err.text)) == sizeof(err.text))
			abort();
		return 0;
	}
	if (m.verb == LAUNCH_HELLO &&
	    (!launch_name_valid(m.name) || strlen(m.fd_letters) > LAUNCH_FDS_MAX ||
	     m.launcher <= 0 || m.command <= 0 || m.started_ns <= 0))
		abort();
	if (m.verb == LAUNCH_CGROUP && m.cgroup_version != 1 && m.cgroup_version != 2)
		abort();
	if (m.verb == LAUNCH_EXIT &&
	    (m.wait_status < 0 || m.wait_status > 0xffff || m.ended_ns <= 0))
		abort();
	if (m.verb == LAUNCH_UNSTARTED &&
	    (m.unstarted.error <= 0 || strlen(m.unstarted.command) > LAUNCH_COMMAND_MAX ||
	     strpbrk(m.unstarted.command, "\n\033")))
		abort();
	return 0;
}
