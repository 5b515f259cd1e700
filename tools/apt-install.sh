#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# apt-install.sh PACKAGE...: installs the Debian packages that are missing. Says
# nothing and asks no registry when all are there. No installed service starts.
set -euo pipefail

find_missing() {
	local package status
	missing=()
	for package in "$@"; do
		status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
		[ "$status" = installed ] || missing+=("$package")
	done
}
find_missing "$@"
if [ "${#missing[@]}" = 0 ]; then exit 0; fi

if [ "$(id -u)" != 0 ]; then
	echo "missing Debian packages; run as root: apt-get install ${missing[*]}" >&2
	exit 1
fi
# One after the other: suites that run side by side may want the same.
exec 8>/run/lock/afterglow-apt.lock
flock 8
find_missing "$@"
if [ "${#missing[@]}" = 0 ]; then exit 0; fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive

# Debian's way to say that a package's service must not start; a machine's own policy is left.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi

log=$(mktemp)
if ! { apt-get -o DPkg::Lock::Timeout=300 update -q && apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
	tail -20 "$log" >&2
	exit 1
fi
rm -f "$log"
