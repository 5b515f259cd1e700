#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh: what the operator costs and how fast it is, beside KubeRay's and a plain client, in one
# run of some minutes. BENCH_ONLY="idle creation single cold" (and fleet, which needs 12 GB of
# memory: BENCH_FLEET="5000 100000" nodes and pods), BENCH_SINGLE="1000 5000 20000",
# BENCH_PODS="1000 10000", BENCH_DEATHS=60, BENCH_SECONDS=15 narrow it down.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${BUILD:-build}")
e2e/cluster/deps.sh
e2e/cluster/build.sh >&2
kuberay=$(bench/operator/kuberay/build.sh "$PWD/e2e/kuberay")
echo "# $(uname -sr), $(nproc) cores, $(date -u +%FT%TZ), KubeRay $(cat "$kuberay/version")"
"$build/bench/operator/plan_cost" | sed "s/^/operator: /"
exec "$(e2e/venv.sh)/bin/python" bench/operator/measure.py "$build" "$kuberay"
