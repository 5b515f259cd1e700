#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: builds the site of docs/ into build/site by mkdocs, which is fetched from PyPI once, pinned by hash. A link or an anchor that leads
# nowhere is an error. The site asks for nothing from elsewhere.
#
# SITE_REPOSITORY       address of the repository, where links to files that are no pages lead
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"

install() { # DIR
	python3 -c 'import ensurepip, venv' 2>/dev/null || "$here/../../tools/apt-install.sh" python3-venv
	python3 -m venv --clear "$1" && "$1/bin/python" -m pip install --quiet --disable-pip-version-check \
		--require-hashes --only-binary :all: --no-deps -r "$here/requirements.txt"
}

venv=$cache/site-$(sha256sum "$here/requirements.txt" | cut -c1-16)
make_once "$venv" install
export NO_MKDOCS_2_WARNING=1 PYTHONDONTWRITEBYTECODE=1
# Not --quiet, for which mkdocs counts no warning.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$venv/bin/mkdocs" build --strict --clean --config-file "$here/mkdocs.yml" >"$log" 2>&1 || { cat "$log" >&2 && exit 1; }
site=$here/../../build/site
# Nothing is loaded from another host: only links that a person follows may lead to one.
if grep -rhoE '<(script|link|img|iframe)[^>]* (src|href)="?https?://[^" >]+' "$site" --include=*.html | grep -v 'rel="\?canonical' | sort -u | grep .; then
	echo "build.sh: the pages load these from elsewhere" >&2
	exit 1
fi
echo "build/site: $(find "$site" -name '*.html' | wc -l) pages"
