#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# launcher_start.sh: start to end of /bin/true, bare, below the launcher without a recorder, and with one.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
count=${BENCH_COUNT:-500}
spawn=$BUILD/bench/spawn

bare=$("$spawn" "$count" /bin/true)
alone=$("$spawn" "$count" "$BUILD/afterglow-launch" --socket "$dir/none" -- /bin/true)
echo "launcher_start: /bin/true $bare us; with launcher $alone us, ratio $(ratio "$alone" "$bare")"
# With a recorder the launcher waits for its "done". In a PID namespace, as in a pod: elsewhere all of /proc is looked at.
inside=$("$spawn" "$count" /usr/bin/"${container[@]}" /bin/true)
start_recorder
recorded=$("$spawn" "$count" /usr/bin/"${container[@]}" "$BUILD/afterglow-launch" --socket "$dir/socket" -- /bin/true)
echo "launcher_start: container of /bin/true $inside us; with launcher and recorder $recorded us, ratio $(ratio "$recorded" "$inside")"
