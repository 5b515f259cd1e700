#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# actionlint.sh: checks the workflows in .github by actionlint, from the Go module that tools/actionlint pins, built once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=make_once.sh
. "$here/make_once.sh"

cd "$here/.."
"$(go_program actionlint actionlint "$here/actionlint" github.com/rhysd/actionlint/cmd/actionlint)" -shellcheck= -pyflakes= .github/workflows/*.yml
echo "actionlint: no mistake in $(find .github/workflows -name '*.yml' | wc -l) workflows"
