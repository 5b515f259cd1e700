#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cosign.sh: builds cosign, which signs images, from the Go module that tools/cosign pins, once, and prints its path. Six minutes of
# processor time when nothing is cached.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=make_once.sh
. "$here/make_once.sh"

go_program cosign cosign "$here/cosign" github.com/sigstore/cosign/v3/cmd/cosign
