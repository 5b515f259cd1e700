#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stops the cluster and removes all of its state. Caches and built programs stay.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=teardown.sh
. "$here/teardown.sh"

need_root
lock
if [ ! -e "$marker" ]; then
	step "no cluster in $run"
	exit 0
fi
teardown
step "the cluster is down"
