#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the directory of a Python environment with what the tests need; makes it when it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
venv=$cache/venv-$(sha256sum e2e/requirements.txt | cut -c1-16)
if [ ! -e "$venv/complete" ]; then
	mkdir -p "$cache"
	exec 8>"$venv.lock"
	flock 8
fi
if [ ! -e "$venv/complete" ]; then
	{
		python3 -c 'import ensurepip, venv' 2>/dev/null || tools/apt-install.sh python3-venv
		python3 -m venv --clear "$venv"
		"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r e2e/requirements.txt
	} >&2
	touch "$venv/complete"
fi
printf '%s\n' "$venv"
