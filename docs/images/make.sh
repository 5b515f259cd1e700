#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make.sh: makes README's two pictures, terminal.svg and report.png, from one real death: a task of Ray leaks until it reaches the
# memory limit of `afterglow run`, as installed by pip from build/wheel (`make wheel`). Needs root, for the limit, and a minute.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
"$root/tools/apt-install.sh" chromium fonts-dejavu-core python3-venv
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-pictures-XXXXXX")
trap 'rm -rf "$work"' EXIT
ray=$(sed -n 's/^# ray\[[^]]*\]==\([0-9.]*\).*/\1/p' "$root/images/ray/requirements.txt")

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "ray==$ray" "$root"/build/wheel/*.whl
cat >"$work/train.py" <<'CODE'
import time

import ray

ray.init(num_cpus=1, object_store_memory=100 << 20, include_dashboard=False)


@ray.remote(max_retries=0)
def load_samples():
    kept = []
    while True:
        kept.append(bytearray(1 << 20))
        time.sleep(0.006)


ray.get(load_samples.remote())
CODE
cd "$work"
command="afterglow run --memory-max 2Gi -- python3 train.py"
# shellcheck disable=SC2086 # words of a command
env -i HOME="$work" PATH="$work/venv/bin:/usr/bin:/bin" RAY_memory_monitor_refresh_ms=0 $command >/dev/null 2>said || true
"$here/terminal.py" "$command" <said >"$here/terminal.svg"
# The file of the bundle itself: afterglow open puts it into a frame, which headless Chromium has not drawn yet when it takes the picture.
page=$(find "$work/.local/state/afterglow" -name report.html)
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --blink-settings=preferredColorScheme=1 \
	--user-data-dir="$work/profile" --window-size=1100,980 --screenshot="$here/report.png" "file://$(realpath "$page")" 2>chromium.log ||
	{ cat chromium.log >&2 && exit 1; }
