#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh: what the webhook costs: the time of an admission beside a server that answers at once, and
# the operator's memory with it and without. A real kube-apiserver, and three minutes.
# BENCH_CLUSTERS=500, BENCH_SECONDS=20, BENCH_BURSTS=3. No pod of the reviews ever appears: a group
# that is asked for four times counts as refused, and with too few clusters the run says so and
# fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
AFTERGLOW_BUILD=$(realpath "${BUILD:-build}")
export AFTERGLOW_BUILD
e2e/cluster/deps.sh
e2e/cluster/build.sh >&2
echo "# $(uname -sr), $(nproc) cores, $(date -u +%FT%TZ)"
exec "$(e2e/venv.sh)/bin/python" bench/webhook/measure.py
