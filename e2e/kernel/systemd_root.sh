#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# systemd_root.sh: prints the path of a directory with Debian's systemd-coredump, journald and coredumpctl and the libraries they
# name, for AFTERGLOW_VM_ROOT of vm.sh. The packages are unpacked, not installed: installing would change this machine's core pattern.
set -euo pipefail
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
mkdir -p "$cache"
exec 8>"$cache/systemd-root.lock"
flock 8
root=$cache/systemd-root-$(sha256sum <"$0" | cut -c1-12)
if [ ! -e "$root/.whole" ]; then
	work=$(mktemp -d "$cache/systemd.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	(cd "$work" && apt-get -o APT::Sandbox::User=root download -q systemd-coredump systemd libsystemd-shared libsystemd0 >&2)
	for package in "$work"/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work"; done
	rm -rf "$root"
	libraries=$work/usr/lib/x86_64-linux-gnu:$work/usr/lib/x86_64-linux-gnu/systemd
	for program in lib/systemd/systemd-coredump lib/systemd/systemd-journald usr/bin/coredumpctl bin/journalctl usr/bin/systemd-socket-activate; do
		install -D "$work/$program" "$root/$program"
		for library in $(LD_LIBRARY_PATH=$libraries ldd "$work/$program" | grep -o '/[^ ]*'); do
			install -D "$library" "$root/${library#"$work"/}"
		done
	done
	cp "$work/usr/lib/sysctl.d/50-coredump.conf" "$root/"
	touch "$root/.whole"
fi
echo "$root"
