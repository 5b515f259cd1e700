#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the cluster needs.
set -euo pipefail

exec "$(dirname "$0")/../../tools/apt-install.sh" ca-certificates conntrack containernetworking-plugins \
	curl gcc iproute2 iptables libc6-dev libseccomp-dev openssl pkg-config procps socat util-linux
