# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for those who source this
# What install.sh and uninstall.sh share. Sourced, never run.

kuberay_label=afterglow.dev/e2e=kuberay
kuberay_namespace=kuberay-system
ray_crd=rayclusters.ray.io

have() { [ -n "$(kubectl get "$@" --ignore-not-found -o name)" ]; }

die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}
