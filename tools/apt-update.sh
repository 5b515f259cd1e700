#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# apt-update.sh: updates apt's lists, for scripts that download packages and do not install them. Debian's mirrors have
# the current version of a package alone, which old lists do not name. Where it fails, the lists stay as they are.
set -euo pipefail

# One after the other, also with apt-install.sh.
exec 8>/run/lock/afterglow-apt.lock
flock 8
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! apt-get update -q >"$log" 2>&1; then
	echo "apt-update.sh: apt's lists stay as they are:" >&2
	tail -n 5 "$log" >&2
fi
