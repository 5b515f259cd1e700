#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building images needs.
set -euo pipefail

exec "$(dirname "$0")/../tools/apt-install.sh" buildah ca-certificates mmdebstrap
