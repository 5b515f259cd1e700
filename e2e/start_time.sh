# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# start_time PID: when a process that still runs began. With its start time, a PID means this process and not another that the kernel
# gave the same number later. Sourced, never run.
start_time() {
	local stat
	{ stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
	# It is field 22. The fields are counted from the last ')', because a process chooses what stands between the parentheses.
	stat=${stat##*) }
	# shellcheck disable=SC2086 # split into fields on purpose
	set -- $stat
	[ "$1" != Z ] || return 1
	printf '%s\n' "${20}"
}
