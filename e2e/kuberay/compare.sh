#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# compare.sh: has KubeRay's operator (the version in go.mod) act on clusters.yaml once more and compares that with
# recorded.json; then this operator's work is compared with it, and on KubeRay's own sample manifests that of both.
# RECORD=1 puts the new record in the place of the old one. Building KubeRay takes some minutes on a new machine.
set -euo pipefail
cd "$(dirname "$0")/../.."

e2e/cluster/deps.sh
e2e/cluster/build.sh >&2
kuberay=$(bench/operator/kuberay/build.sh "$PWD/e2e/kuberay")
python=$(e2e/venv.sh)/bin/python
out=build/kuberay
mkdir -p "$out"

echo "== KubeRay $(cat "$kuberay/version") on clusters.yaml"
"$python" e2e/kuberay/record.py "$kuberay" "$out/recorded.json"
[ -z "${RECORD:-}" ] || cp "$out/recorded.json" e2e/kuberay/recorded.json
diff -u e2e/kuberay/recorded.json "$out/recorded.json" || {
	echo "compare.sh: KubeRay does something else now; RECORD=1 accepts it" >&2
	exit 1
}
echo "== this operator beside it"
AFTERGLOW_KUBERAY=$kuberay e2e/run.sh operator -k test_kuberay -q
echo "== KubeRay's own samples, by both"
"$python" e2e/kuberay/record.py "$kuberay" "$out/samples.json" "$kuberay/samples"
AFTERGLOW_KUBERAY_SAMPLES=$kuberay/samples AFTERGLOW_KUBERAY_RECORDED=$PWD/$out/samples.json e2e/run.sh operator -k test_kuberay.py -q
