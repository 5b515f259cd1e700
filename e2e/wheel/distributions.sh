#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# distributions.sh [SUITE...]: install_test.sh with real Ray in a fresh root of each release of Debian (11, 12 and 13 by default), as an ordinary
# user: nothing but Python and its venv is there. Needs the mirrors of Debian and PyPI; a few minutes each.
set -euo pipefail

cd "$(dirname "$0")/../.."
tools/apt-install.sh mmdebstrap
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-roots-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
failed=0
[ $# -gt 0 ] || set -- bullseye bookworm trixie
for name; do
	echo "== $name"
	mmdebstrap --quiet --variant=minbase --include=python3-venv,ca-certificates "$name" "$work/$name"
	e2e/wheel/install_test.sh --ray "$work/$name" || failed=1
	rm -rf --one-file-system "${work:?}/$name"
done
exit $failed
