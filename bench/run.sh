#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh: every measurement, one after the other. Each line holds a figure, its peer or limit, and
# the ratio.
set -euo pipefail
cd "$(dirname "$0")"
echo "# $(uname -sr), $(nproc) cores, $(date -u +%FT%TZ)"
./sidecar_memory.sh
./launcher_start.sh
./death_to_report.py
./sweep.sh
./node_signals.sh
./sampling_age.sh
./freeze.sh
./core_capture.sh
./backtrace.sh
./upload.sh
