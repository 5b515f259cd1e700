#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fills a directory with what deaths need besides busybox in the virtual machine (AFTERGLOW_VM_ROOT of vm.sh): util-linux and coreutils,
# whose options busybox lacks, bash, and Python with its library.
#
#	e2e/deaths/root.sh DIRECTORY
set -euo pipefail
root=$1
# busybox leaves files alone that are in /bin already. Its shell prefers its own programs to these, unless a path is given, such as /usr/bin/unshare.
mkdir -p "$root/bin" "$root/usr/bin" "$root/usr/lib"

libraries() { # PROGRAM...
	local library
	for library in $(ldd "$@" 2>/dev/null | grep -o '/[^ :]*' | sort -u); do
		[ -e "$root$library" ] || install -D "$library" "$root$library"
	done
}

for name in unshare setpriv setsid prlimit timeout chroot nice nohup xargs bash make; do
	program=$(command -v "$name") || continue
	cp -L "$program" "$root/bin/$name"
	cp -L "$program" "$root/usr/bin/$name"
	libraries "$program"
done

python=$(readlink -f /usr/bin/python3)
cp "$python" "$root/usr/bin/python3"
version=${python##*/}
mkdir -p "$root/usr/lib/$version"
tar -C "/usr/lib/$version" --exclude=test --exclude=tests --exclude=idlelib --exclude=lib2to3 --exclude=tkinter --exclude=ensurepip \
	--exclude=pydoc_data --exclude='config-*' --exclude=dist-packages --exclude=distutils -c . | tar -C "$root/usr/lib/$version" -x
libraries "$python" "/usr/lib/$version"/lib-dynload/*.so
