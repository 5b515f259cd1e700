#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# restart.sh NAME: kills a daemon of the cluster with -9, as one that crashes, and starts it again with its own command line.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_root
[ "$#" = 1 ] || die "usage: restart.sh NAME"
pid=$(pid_of "$1") || die "$1 does not run"
mapfile -d '' -t environment <"/proc/$pid/environ"
mapfile -d '' -t command <"/proc/$pid/cmdline"
kill -KILL "$pid"
while pid_of "$1" >/dev/null; do sleep 0.05; done
start "$1" env -i "${environment[@]}" "${command[@]}"
