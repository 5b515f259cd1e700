#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# launcher_start.sh: start to end of /bin/true, bare, below the launcher without a sidecar, behind
# the line of shell that a pod gets in front of it, and with a sidecar.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
count=${BENCH_COUNT:-500}
spawn=$BUILD/bench/spawn

bare=$("$spawn" "$count" /bin/true)
alone=$("$spawn" "$count" "$BUILD/afterglow-launch" --socket "$dir/none" -- /bin/true)
echo "launcher_start: /bin/true $bare us; with launcher $alone us, ratio $(ratio "$alone" "$bare")"
# In a pod a shell decides first: bash where the command is one for bash, as KubeRay's is. Beside
# the shell that runs it alone.
mkdir -p "$dir/bin"
cp "$BUILD/afterglow-launch" "$dir/bin/$(uname -m)"
for name in x86_64:afterglow-launch aarch64:afterglow-launch-aarch64; do
	[ ! -e "$dir/bin/${name%:*}" ] || ln "$dir/bin/${name%:*}" "$dir/bin/${name#*:}"
done
line=$("$BUILD/bench/launch_line" "$dir/bin" "$dir/none")
for shell in /bin/bash /bin/sh; do
	plain=$("$spawn" "$count" "$shell" -c 'exec "$@"' afterglow /bin/true)
	whole=$("$spawn" "$count" "$shell" -c "$line" afterglow /bin/true)
	echo "launcher_start: $shell and /bin/true $plain us; with its line and launcher $whole us, ratio $(ratio "$whole" "$plain")"
done
# With a sidecar the launcher waits for its "done". In a PID namespace, as in a pod: elsewhere all
# of /proc is looked at.
inside=$("$spawn" --least "$count" /usr/bin/"${container[@]}" /bin/true)
start_sidecar --kernel-log off # as in a pod by default
recorded=$("$spawn" --least "$count" /usr/bin/"${container[@]}" "$BUILD/afterglow-launch" --socket "$dir/socket" -- /bin/true)
echo "launcher_start: container of /bin/true $inside us at the least; with launcher and sidecar $recorded us: $((recorded - inside)) us more (aim 2000)"
