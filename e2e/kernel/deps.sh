#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the kernel tests need. Says nothing and asks
# no registry when all are there.
set -euo pipefail

packages=(busybox-static cpio gcc libc6-dev libcjson-dev libcmocka-dev libevent-dev libmd-dev make
	musl-tools procps qemu-system-x86)

missing=()
for package in "${packages[@]}"; do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
	[ "$status" = installed ] || missing+=("$package")
done
if [ "${#missing[@]}" = 0 ]; then exit 0; fi

echo "deps.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
apt-get install -q -y --no-install-recommends "${missing[@]}" >/dev/null
