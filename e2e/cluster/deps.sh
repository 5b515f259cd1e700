#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the cluster needs. Says nothing and asks no
# registry when all are there.
set -euo pipefail

packages=(ca-certificates conntrack containerd containernetworking-plugins
	curl gcc iproute2 iptables libc6-dev openssl procps runc socat util-linux)

missing=()
for package in "${packages[@]}"; do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
	[ "$status" = installed ] || missing+=("$package")
done
if [ "${#missing[@]}" = 0 ]; then exit 0; fi

echo "deps.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive

# A package's own service must not start: up.sh runs containerd from files of
# its own. Debian's way to say so is policy-rc.d; a machine's own is left.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi

apt-get update -q >/dev/null
apt-get install -q -y --no-install-recommends "${missing[@]}" >/dev/null
