#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# recipe.sh DIR VERSION URL: prints the recipe for conda-forge (recipe.yaml) with the checksums of the archives in DIR, which will be published at URL.
set -euo pipefail

here=$(dirname "$0")
sum() { sha256sum "$dir/afterglow-ray-$version-linux-$1.tar.gz" | cut -d' ' -f1; }
dir=$1 version=$2 url=$3
x86_64=$(sum x86_64)
aarch64=$(sum aarch64)
sed "s#@VERSION@#$version#g; s#@URL@#$url#g; s#@SHA256_x86_64@#$x86_64#; s#@SHA256_aarch64@#$aarch64#" "$here/recipe.yaml"
