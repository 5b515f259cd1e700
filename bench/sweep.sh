#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sweep.sh: time of a sweep per process, beside a bare loop of getdents and pread.
set -euo pipefail
cd "$(dirname "$0")"
BUILD=$(realpath "../${BUILD:-build}")
for n in 20 200 400 2000 10000; do "$BUILD/bench/sweep" "$n"; done
