#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: builds the container registry of the tests from the Go module here, once, and prints its path.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"

go_program registry registry "$here" .
