#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Ray image of the demo and the tests: Debian's Python and ray[default,serve]
# from PyPI, pinned with hashes. Prints the archive's path on the last line. The
# result is kept in the cache under the hash of what it is made from.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}

name=$("$here/name.sh")
version=${name##*:}
key=$(cat "$here/build.sh" "$here/requirements.txt" | sha256sum | cut -c1-16)
archive=$cache/ray-image-$key.tar

if [ -e "$archive" ]; then
	echo "$archive"
	exit 0
fi

"$here/../deps.sh" >&2
command -v pip3 >/dev/null || "$here/../../tools/apt-install.sh" python3-pip >&2
mkdir -p "$cache"
work=$(mktemp -d "$cache/ray-build-XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

step() { echo "  ray image: $* (${SECONDS} s)" >&2; }

step "Debian with Python"
mmdebstrap --quiet --variant=minbase --include=python3,bash,wget,procps \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	bookworm "$root" >&2
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*

step "ray $version from PyPI"
packages=$root/usr/local/lib/python3.11/dist-packages
python3 -m pip install --quiet --no-deps --no-compile --require-hashes --only-binary :all: --target "$packages" \
	--root-user-action ignore --python-version 3.11 --implementation cp --abi cp311 --abi abi3 --abi none \
	--platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 \
	--platform manylinux_2_5_x86_64 --platform manylinux1_x86_64 --platform manylinux2010_x86_64 \
	--platform manylinux_2_34_x86_64 -r "$here/requirements.txt" >&2
# What a cluster of tasks does not use, to keep the image small.
mv "$packages/bin/py-spy" "$root/usr/local/bin/"
rm -rf "$packages/bin" "$packages/ray/jars" "$packages/ray/cpp" "$packages/ray/rllib"
printf '#!/usr/bin/python3\nfrom ray.scripts.scripts import main\nmain()\n' >"$root/usr/local/bin/ray"
chmod 755 "$root/usr/local/bin/ray"
# KubeRay's submitter in a head pod (RayJob's SidecarMode) asks by that name.
ln -s ../../bin/python3 "$root/usr/local/bin/python"

step "compiling"
# The user of the container may not write beside the sources, so each start would compile them again.
chroot "$root" python3 -m compileall -q -j 2 /usr/local/lib/python3.11/dist-packages >/dev/null 2>&1 || true
chroot "$root" useradd --uid 1000 --create-home --shell /bin/bash ray
chroot "$root" python3 -c 'import ray; print(ray.__version__)' >/dev/null

step "packing"
"$here/../pack.sh" "$root" "$name" "$work/image.tar" --user 1000:1000 --env HOME=/home/ray \
	--env PYTHONUNBUFFERED=1 --env PATH=/usr/local/bin:/usr/bin:/bin --workingdir /home/ray --cmd /bin/bash
mv "$work/image.tar" "$archive"
step "done"
echo "$archive"
