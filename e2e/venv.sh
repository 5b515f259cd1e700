#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the directory of a Python environment with what the tests need; makes it when it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=../tools/make_once.sh
. tools/make_once.sh

install() { # DIR
	python3 -c 'import ensurepip, venv' 2>/dev/null || tools/apt-install.sh python3-venv
	python3 -m venv --clear "$1" && "$1/bin/python" -m pip install --quiet --disable-pip-version-check \
		--require-hashes --only-binary :all: --no-deps -r e2e/requirements.txt
}

venv=$cache/venv-$(sha256sum e2e/requirements.txt | cut -c1-16)
make_once "$venv" install
printf '%s\n' "$venv"
