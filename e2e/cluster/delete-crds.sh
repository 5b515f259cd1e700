#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# delete-crds.sh ARGUMENT...: deletes the CRDs that `kubectl get crd ARGUMENT...` lists, and waits until they are gone.
#
# The API server's controller that finalizes CRDs gives up without a retry when its write of the status conflicts with
# another one, and looks again when its informer resyncs: after five minutes. Every change of the CRD makes it
# look at once, so each CRD that is still there gets an annotation.
set -euo pipefail

mapfile -t names < <(kubectl get crd "$@" --ignore-not-found -o name)
[ "${#names[@]}" -gt 0 ] || exit 0
kubectl delete "${names[@]}" --ignore-not-found --wait=false
for ((second = 0; second < 120; second++)); do
	mapfile -t names < <(kubectl get "${names[@]}" --ignore-not-found -o name)
	[ "${#names[@]}" -gt 0 ] || exit 0
	sleep 1
	kubectl annotate --overwrite "${names[@]}" "test/looked-at=$second" >/dev/null 2>&1 || :
done
echo "delete-crds.sh: still there after two minutes: ${names[*]}" >&2
exit 1
