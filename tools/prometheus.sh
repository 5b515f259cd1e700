#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prometheus.sh: prints a folder with the programs prometheus and promtool. They are Debian's, unpacked into the cache and not
# installed: the package would start a server.
#
# AFTERGLOW_CACHE       default ~/.cache/afterglow
set -euo pipefail
bin=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}/prometheus

mkdir -p "$bin"
# Suites that run side by side may want it at the same time.
exec 8>"$bin.lock"
flock 8
if [ ! -x "$bin/prometheus" ] || [ ! -x "$bin/promtool" ]; then
	work=$(mktemp -d "$bin.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	(cd "$work" && apt-get -o APT::Sandbox::User=root download -q prometheus >/dev/null &&
		dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/prometheus ./usr/bin/promtool) || {
		echo "prometheus.sh: cannot get Debian's package prometheus" >&2
		exit 1
	}
	mv "$work"/usr/bin/* "$bin"
fi
echo "$bin"
