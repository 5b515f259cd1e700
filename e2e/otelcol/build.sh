#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: builds the OpenTelemetry collector of the tests from the Go module here, and prints its path. A minute on two cores when
# nothing is cached, nothing at all when it is built already.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"

go_program otelcol otelcol "$here" .
