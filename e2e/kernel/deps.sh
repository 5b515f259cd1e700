#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the kernel tests need.
set -euo pipefail

"$(dirname "$0")/unwind_deps.sh"
exec "$(dirname "$0")/../../tools/apt-install.sh" busybox-static cpio curl dpkg-dev e2fsprogs gcc libc6-dev libcjson-dev libcmocka-dev libevent-dev libssl-dev \
	libzstd-dev make musl-tools procps python3 zstd
