#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# systemd_root.sh: prints the path of a directory with Debian's systemd-coredump, journald and coredumpctl (debian_root.sh).
exec "$(dirname "$0")/debian_root.sh" systemd 'systemd-coredump systemd libsystemd-shared libsystemd0' \
	'lib/systemd/systemd-coredump lib/systemd/systemd-journald usr/bin/coredumpctl bin/journalctl usr/bin/systemd-socket-activate
	usr/lib/sysctl.d/50-coredump.conf'
