#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the tests of afterglow-unwind need: compilers for what
# crashes, gdb and eu-stack to compare with. A rustc that is there already is taken.
set -euo pipefail

packages=(binutils elfutils g++ gdb musl-tools python3-dev time xz-utils zstd)
command -v rustc >/dev/null || packages+=(rustc)
exec "$(dirname "$0")/../../tools/apt-install.sh" "${packages[@]}"
